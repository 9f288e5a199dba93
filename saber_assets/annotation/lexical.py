"""The lexical annotator: topics, summaries and comparisons without a language model.

The embedded default. It reads the topic names in a text, so it is quick, deterministic and
explainable, and it knows nothing that is not said in so many words: it stands in for a language
model where there is none, and says so in its name.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import polars as pl

from saber_assets.annotation.annotator import Comparison, Failure, Problem, Summary, TopicTask
from saber_assets.annotation.extractive import extract_summary
from saber_assets.annotation.topic_cues import CUES
from saber_assets.annotation.topic_evidence import TopicLexicon
from saber_assets.annotation.topic_words import topic_words

REVISION = 1
"""To be raised with every change that changes results: it marks what was made before as stale."""
STATEMENT_WEIGHT = 1.0
SOLUTION_WEIGHT = 1.0
SIMILARITY_WEIGHT = 5.0
PROFILE_SOLUTION_WEIGHT = 2.0
"""In comparisons the solution counts twice: what helps is the technique."""
FLOOR = 0.35
"""Evidence below which a problem is taken to speak of nothing."""
FLATTEN = 0.4
"""Exponent from evidence to score: at 0.4, two thirds of the best evidence scores 0.85."""
CUE_WEIGHT = 0.5
"""Evidence that one everyday word lends to its field, times ln(1 + occurrences)."""
OUTSIDE_FACTOR = 0.3
"""Evidence for topics outside the five domains (ways of proving, above all) counts this much."""
ANCESTOR_SHARE = 0.4
"""Share of a topic's weight that each next level above it gets in a profile."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class _Recent(Generic[K, V]):
    """The values of the most recently used keys, made on demand; memory is bounded by `size`."""

    def __init__(self, make: Callable[[K], V], size: int) -> None:
        self._make, self._size = make, size
        self._values: OrderedDict[K, V] = OrderedDict()

    def __call__(self, key: K) -> V:
        value = self._values.get(key)
        if value is None:
            value = self._values[key] = self._make(key)
            if len(self._values) > self._size:
                self._values.popitem(last=False)
        else:
            self._values.move_to_end(key)
        return value


@dataclass(frozen=True)
class _Evidence:
    """What one problem says of topics, by their numbers.

    Attributes:
        own: evidence for the topic itself.
        gathered: evidence for the topic and all below it.
    """

    own: dict[int, float]
    gathered: dict[int, float]


@dataclass(frozen=True)
class _Profile:
    """Sparse unit vectors of a problem over topics, and over words for breaking ties."""

    topics: dict[int, float]
    words: dict[str, float]
    digest: bytes


class LexicalAnnotator:
    """An Annotator that reads topic names in texts (SPEC, sections "Topic sets", "Summary").

    Args:
        tree: frame of ONTOLOGY_TREE, whose labels and aliases are what is looked for.
        cache_size: problems whose evidence is kept in memory, about 5 KB each.
    """

    name = "lexical heuristic (no model)"

    def __init__(self, tree: pl.DataFrame, cache_size: int = 50_000) -> None:
        self.lexicon = TopicLexicon(tree)
        ordered = tree.sort("node_id")
        self._number_of_node: list[int] = [
            self.lexicon.number.get(topic, -1) for topic in ordered["topic"]
        ]
        firsts = self.lexicon.firsts
        self._cues = [(word, firsts[label]) for word, label in CUES.items() if label in firsts]
        self._evidence = _Recent(self._find_evidence, cache_size)
        self._profile = _Recent(self._make_profile, cache_size)
        self._similarity = _Recent(self._compare_profiles, 4 * cache_size)

    def score_topics(self, tasks: Sequence[TopicTask]) -> list[tuple[float, ...] | Failure]:
        """Return a score in [0, 1] for each offered name of each task, the best being 1.

        The visited node counts with what is said of itself, its children with what is said of
        them and of all below them; a root counts as a floor of evidence, so that a problem that
        speaks of no topic gets none. Where nothing is said at all every score is 0.
        """
        return [self._scores(task) for task in tasks]

    def _scores(self, task: TopicTask) -> tuple[float, ...]:
        evidence = self._evidence(task.problem)
        visited, *children = (self._number_of_node[node] for node in task.node_ids)
        values = [evidence.own.get(visited, 0.0) if visited >= 0 else FLOOR]
        values += [evidence.gathered.get(child, 0.0) for child in children]
        top = max(values)
        if top <= 0:
            return (0.0,) * len(values)
        return tuple((value / top) ** FLATTEN for value in values)

    def best_of(self, problem: Problem, node_ids: Sequence[int]) -> int:
        """Return the node with most evidence, the first of them where several have as much."""
        gathered = self._evidence(problem).gathered
        return max(node_ids, key=lambda node: gathered.get(self._number_of_node[node], 0.0))

    def summarise(self, problems: Sequence[Problem]) -> list[Summary | Failure]:
        """Return the core idea of each solution: its techniques and its most telling sentence."""
        return [
            extract_summary(
                problem.solution,
                self.lexicon,
                self._weights([(topic_words(problem.solution), 1.0)]),
            )
            for problem in problems
        ]

    def compare(self, comparisons: Sequence[Comparison]) -> list[int | Failure]:
        """Return 1 where the first candidate shares more techniques with the query, else 2.

        Equal shares are decided by the overlap of words, then by a hash of the texts; where both
        texts are the same, by the id. Order of presentation never matters.
        """
        return [1 if self._first_wins(comparison) else 2 for comparison in comparisons]

    def _first_wins(self, comparison: Comparison) -> bool:
        query, first, second = comparison.query, comparison.first, comparison.second
        left, right = self._similarity((query, first)), self._similarity((query, second))
        if left != right:
            return left > right
        left_key = (self._profile(first).digest, first.problem_id)
        return left_key >= (self._profile(second).digest, second.problem_id)

    def _weights(self, parts: Sequence[tuple[list[str], float]]) -> dict[int, float]:
        """Return the evidence of texts for each topic they name, by number, ascending.

        A phrase counts by its weight times ln(1 + occurrences), split among the topics it names.
        """
        lexicon = self.lexicon
        strength: dict[int, float] = {}
        for words, weight in parts:
            counts = Counter(hit.phrase for hit in lexicon.hits(words))
            for phrase, count in counts.items():
                strength[phrase] = strength.get(phrase, 0.0) + weight * math.log1p(count)
        found: dict[int, float] = {}
        for phrase in sorted(strength):
            topics = lexicon.phrase_topics[phrase]
            share = strength[phrase] * lexicon.phrase_weights[phrase] / len(topics)
            for topic in topics:
                found[topic] = found.get(topic, 0.0) + share
        return dict(sorted(found.items()))

    def _find_evidence(self, problem: Problem) -> _Evidence:
        statement, solution = topic_words(problem.statement), topic_words(problem.solution)
        own = self._weights([(statement, STATEMENT_WEIGHT), (solution, SOLUTION_WEIGHT)])
        gathered: dict[int, float] = {}
        for topic, weight in own.items():
            for above in self.lexicon.ancestors[topic]:
                gathered[above] = gathered.get(above, 0.0) + weight
        counts = Counter(statement + solution)
        similarity = self.lexicon.similarity(counts)
        for topic in gathered:
            gathered[topic] += SIMILARITY_WEIGHT * float(similarity[topic])
        for word, first in self._cues:
            if word in counts:
                weight = CUE_WEIGHT * math.log1p(counts[word])
                gathered[first] = gathered.get(first, 0.0) + weight
        for topic in self.lexicon.outside & gathered.keys():
            gathered[topic] *= OUTSIDE_FACTOR
        return _Evidence(own, gathered)

    def _make_profile(self, problem: Problem) -> _Profile:
        statement, solution = topic_words(problem.statement), topic_words(problem.solution)
        own = self._weights([(statement, STATEMENT_WEIGHT), (solution, PROFILE_SOLUTION_WEIGHT)])
        topics: dict[int, float] = {}
        for topic, weight in own.items():
            for above, steps in self.lexicon.ancestors[topic].items():
                topics[above] = topics.get(above, 0.0) + weight * ANCESTOR_SHARE**steps
        idf = self.lexicon.idf
        words = {
            word: (1 + math.log(count)) * idf[word]
            for word, count in sorted(Counter(statement + solution).items())
            if word in idf
        }
        content = f"{problem.statement}\0{problem.solution}".encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(content, digest_size=16).digest()
        return _Profile(_unit(dict(sorted(topics.items()))), _unit(words), digest)

    def _compare_profiles(self, pair: tuple[Problem, Problem]) -> tuple[float, float]:
        """Return the cosine over topics and, to break ties, over words."""
        query, candidate = self._profile(pair[0]), self._profile(pair[1])
        return _dot(query.topics, candidate.topics), _dot(query.words, candidate.words)


def _unit(vector: dict[K, float]) -> dict[K, float]:
    norm = math.sqrt(sum(value * value for value in vector.values()))
    return {key: value / norm for key, value in vector.items()} if norm else vector


def _dot(left: dict[K, float], right: dict[K, float]) -> float:
    return sum(value * right[key] for key, value in left.items() if key in right)
