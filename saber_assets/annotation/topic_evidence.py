"""How much a text speaks of each topic: alias hits and TF-IDF, over the ontology's own words only.

Inverse document frequencies come from the topics' names, never from the corpus, so that what one
problem is found to be about does not depend on which other problems there are.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from saber_assets.annotation.topic_words import topic_words

_PLAIN_WORDS = frozenset(
    word
    for line in (
        "a all an and any are area as at base be by can case common coefficient constant",
        "coordinate degree difference divide edge element end equal even every expression factor",
        "field find first for formula from function given graph group has height identity in into",
        "inverse is it its length line mean no number odd of on one operation or order pair path",
        "point power product proof property range ratio real relation ring root rule sequence set",
        "side size solution square substitution sum summation symmetry system term that the then",
        "there this to two union intersection unit value variable vertex we when where which with",
        "zero equation inequality subset logarithm sine cosine",
    )
    for word in line.split()
)
"""Words so common in solved problems that one of them alone is weak evidence for a topic."""

_BARE_SIGNS = frozenset(
    rf"\{name}"
    for name in (
        *("frac", "Rightarrow", "Leftrightarrow", "to", "in", "sim", "arg", "circ"),
        *("langle", "rangle", "rfloor", "rceil"),
    )
)
"""Commands found in every kind of problem: alone they name no topic."""

_PLAIN_FACTOR = 0.35
_PHRASE_BONUS = 0.5
_MIN_SIGNS = 4
_END = ""


@dataclass(frozen=True)
class Hit:
    """One place where a text names topics: word positions [start, stop) and the phrase's number."""

    start: int
    stop: int
    phrase: int


class TopicLexicon:
    """The topics of a tree with their phrases, relations and word weights.

    Args:
        tree: frame of ONTOLOGY_TREE. Topics are told apart by `topic`, so one that sits at several
            nodes is one topic with several parents. The root is no topic.

    Attributes:
        topics: ids, sorted; everything else refers to topics by their number in this list.
        labels: names as people write them.
        ancestors: for each topic, the number of itself and of all above it, ascending, mapped to
            the least number of levels between them.
        number: topic id to number.
        firsts: number of each first-level topic by its label.
        outside: numbers of topics none of whose nodes lies in one of the five domains.
    """

    def __init__(self, tree: pl.DataFrame) -> None:
        rows = tree.sort("node_id").select(
            "node_id", "parent_id", "topic", "label", "aliases", "domain"
        )
        topic_of: dict[int, str] = dict(zip(rows["node_id"], rows["topic"], strict=True))
        root = topic_of[0]
        self.topics: list[str] = sorted(set(topic_of.values()) - {root})
        self.number: dict[str, int] = {topic: n for n, topic in enumerate(self.topics)}
        self.labels = [""] * len(self.topics)
        names: list[set[str]] = [set() for _ in self.topics]
        parents: list[set[int]] = [set() for _ in self.topics]
        self.firsts: dict[str, int] = {}
        inside: set[int] = set()
        for _, parent_id, topic, label, aliases, domain in rows.iter_rows():
            if topic == root:
                continue
            number = self.number[topic]
            self.labels[number] = label
            names[number] |= {label, *(aliases or ())}
            if domain is not None:
                inside.add(number)
            if topic_of[parent_id] == root:
                self.firsts[label] = number
            else:
                parents[number].add(self.number[topic_of[parent_id]])
        self.outside: frozenset[int] = frozenset(range(len(self.topics))) - inside
        self.ancestors = [_closure(number, parents) for number in range(len(self.topics))]
        self._read_phrases(names)
        self._weigh_words()

    def _read_phrases(self, names: Sequence[Iterable[str]]) -> None:
        """Fill the phrase dictionary: a trie of words whose ends carry the phrase's number."""
        self.words_of: list[Counter[str]] = [Counter() for _ in self.topics]
        topics_of: dict[tuple[str, ...], set[int]] = {}
        for number, forms in enumerate(names):
            for form in sorted(forms):
                phrase = tuple(topic_words(form))
                self.words_of[number].update(word for word in phrase if _says_something(word))
                if _usable(phrase):
                    topics_of.setdefault(phrase, set()).add(number)
        self.phrases: list[tuple[str, ...]] = sorted(topics_of)
        self.phrase_topics: list[tuple[int, ...]] = [
            tuple(sorted(topics_of[phrase])) for phrase in self.phrases
        ]
        self._trie: dict[str, Any] = {}
        for number, phrase in enumerate(self.phrases):
            node = self._trie
            for word in phrase:
                node = node.setdefault(word, {})
            node[_END] = number

    def _weigh_words(self) -> None:
        """Compute idf over topic documents, phrase weights, and the word-by-topic matrix."""
        documents: list[Counter[str]] = [Counter() for _ in self.topics]
        frequency: Counter[str] = Counter()
        for number, words in enumerate(self.words_of):
            frequency.update(words.keys())
            for above in self.ancestors[number]:
                documents[above].update(words)
        total = len(self.topics)
        scale = math.log(1 + total) or 1.0
        self.idf: dict[str, float] = {
            word: math.log((1 + total) / (1 + count)) / scale + 0.05
            for word, count in frequency.items()
        }
        self.phrase_weights = [self._phrase_weight(phrase) for phrase in self.phrases]
        postings: dict[str, list[tuple[int, float]]] = {}
        for number, words in enumerate(documents):
            weights = {w: (1 + math.log(n)) * self.idf[w] for w, n in words.items()}
            norm = math.sqrt(sum(value * value for _, value in sorted(weights.items()))) or 1.0
            for word, value in sorted(weights.items()):
                postings.setdefault(word, []).append((number, value / norm))
        self._postings = {
            word: (
                np.array([number for number, _ in entries], dtype=np.int64),
                np.array([value for _, value in entries]),
            )
            for word, entries in postings.items()
        }

    def _phrase_weight(self, phrase: tuple[str, ...]) -> float:
        known = [self.idf[word] for word in phrase if word in self.idf]
        weight = sum(known) / len(known) if known else 0.5
        if len(phrase) == 1 and phrase[0] in _PLAIN_WORDS:
            weight *= _PLAIN_FACTOR
        return weight * (1 + _PHRASE_BONUS * (min(len(phrase), 4) - 1))

    def hits(self, words: Sequence[str]) -> list[Hit]:
        """Return the non-overlapping phrases in a text, leftmost first, longest at each place."""
        found: list[Hit] = []
        position, total, trie = 0, len(words), self._trie
        while position < total:
            node = trie.get(words[position])
            if node is None:
                position += 1
                continue
            best, stop, end = node.get(_END), position + 1, position + 1
            while stop < total and (node := node.get(words[stop])) is not None:
                stop += 1
                if _END in node:
                    best, end = node[_END], stop
            if best is None:
                position += 1
            else:
                found.append(Hit(position, end, best))
                position = end
        return found

    def similarity(self, words: Counter[str]) -> np.ndarray:
        """Return the TF-IDF cosine of a text with each topic's document, shape (topics,), [0, 1].

        A topic's document holds its names and those of everything below it.
        """
        scores = np.zeros(len(self.topics))
        square = 0.0
        for word in sorted(words.keys() & self.idf.keys()):
            weight = (1 + math.log(words[word])) * self.idf[word]
            square += weight * weight
            numbers, values = self._postings[word]
            scores[numbers] += weight * values
        return np.minimum(scores / math.sqrt(square), 1.0) if square else scores


def _closure(number: int, parents: Sequence[set[int]]) -> dict[int, int]:
    distance = {number: 0}
    level = {number}
    steps = 0
    while level:
        level = {up for topic in level for up in parents[topic] if up not in distance}
        steps += 1
        distance.update(dict.fromkeys(level, steps))
    return dict(sorted(distance.items()))


def _says_something(word: str) -> bool:
    return len(word) > 2 and word[0].isalpha() and word not in _PLAIN_WORDS


def _usable(phrase: tuple[str, ...]) -> bool:
    """A single sign, number or variable names no topic, nor do up to three of them."""
    if len(phrase) == 1:
        word = phrase[0]
        return len(word) > 2 and (
            word[0].isalpha() or (word[0] == "\\" and word not in _BARE_SIGNS)
        )
    if len(phrase) >= _MIN_SIGNS or any(len(w) > 2 and w.isalpha() for w in phrase):
        return True
    return all(len(word) > 1 and word.isalpha() for word in phrase)
