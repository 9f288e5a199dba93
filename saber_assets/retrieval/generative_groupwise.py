"""Generative groupwise rerankers: a model sees a group of documents and scores them together.

Each document is in one group a round. Rounds differ in how documents are grouped, and a document's
score is the mean over the rounds. Groups follow from the texts alone, so that neither the order in
which documents are stored nor a restart changes them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from saber_assets.asking import ChatReply, Failure
from saber_assets.json_reply import ReplyError, parse_object
from saber_assets.retrieval.remote.served_chat import (
    AskingRetriever,
    Question,
    ServedModel,
    UnansweredError,
    filled,
    label_of,
)

REVISION = 1
DECIMALS = 6
_ANSWER = re.compile(r"<answer>(.*?)(?:</answer>|\Z)", re.DOTALL)
_KEY = re.compile(r"\s*\[?\s*(\d+)\s*\]*\s*")
_LINES = re.compile(r"\n+")


class GenerativeGroupwise(AskingRetriever):
    """Scores documents in groups.

    Args:
        model: is asked once a group.
        template: text with one {query}, one {documents}, and maybe {count}, their number.
        group_size: documents of a group; the last group of a round may have fewer.
        highest: of the scores that the model gives, from 0.
        rounds: groupings, each another one.
        characters: of the whole text at most: the longest documents lose their ends. None: any.
            A text that the server still finds too long is cut further.
        document_characters: of a document at most, likewise.
    """

    def __init__(
        self,
        model: ServedModel,
        template: str,
        *,
        group_size: int,
        highest: int,
        rounds: int = 1,
        characters: int | None = None,
        document_characters: int | None = None,
    ) -> None:
        super().__init__(model)
        self._template = template
        self._group_size = group_size
        self._highest = highest
        self._rounds = rounds
        self._characters = characters
        self._document_characters = document_characters

    def score(self, query: str, documents: Sequence[str]) -> NDArray[np.float64]:
        """Return one score a document in [0, 1], the mean over the rounds.

        Raises:
            UnansweredError: when a group has no usable answer.
        """
        groups = groups_of(query, documents, self._group_size, self._rounds)
        shown = [[documents[place] for place in group] for group in groups]
        answers = self._model.ask(
            [self._question(query, texts, self._characters) for texts in shown]
        )
        sums = np.zeros(len(documents))
        for number, (group, given) in enumerate(zip(groups, answers, strict=True)):
            if isinstance(given, Failure):
                raise UnansweredError(
                    f"group {number + 1} of {len(groups)} has no usable answer: {given.reason}"
                )
            sums[group] += np.asarray(given[0], dtype=np.float64)
        return np.round(sums / (self._rounds * self._highest), DECIMALS)

    def _question(
        self, query: str, documents: Sequence[str], characters: int | None
    ) -> Question[list[float]]:
        """Return what is asked about a group; the ends of documents that are too long are cut."""
        shown = [_LINES.sub(" ", text)[: self._document_characters] for text in documents]
        if characters is not None:
            around = len(self._text(query, [""] * len(shown)))
            longest = common_length([len(text) for text in shown], characters - around)
            shown = [text[:longest] for text in shown]
        return Question(
            self._text(query, shown),
            f"{label_of(query)}|{label_of(*documents)}",
            self._reader(len(documents)),
            lambda room: self._question(query, documents, room),
        )

    def _text(self, query: str, documents: Sequence[str]) -> str:
        numbered = "".join(f"[{place}]. {text}\n\n" for place, text in enumerate(documents, 1))
        return filled(self._template, query=query, documents=numbered, count=str(len(documents)))

    def _reader(self, count: int) -> Callable[[ChatReply], list[float]]:
        return lambda reply: read_group(reply.text or "", count, self._highest)


def groups_of(query: str, documents: Sequence[str], size: int, rounds: int) -> list[list[int]]:
    """Return the places of the documents of each group, round by round.

    Args:
        query: another query, other groups.
        documents: their order doesn't matter, except among equal texts.
        size: of a group.
        rounds: groupings.
    """
    found = []
    for number in range(rounds):
        mixed = [_mixed(query, text, number) for text in documents]
        order = sorted(range(len(documents)), key=mixed.__getitem__)
        found += [order[start : start + size] for start in range(0, len(order), size)]
    return found


def read_group(text: str, count: int, highest: int) -> list[float]:
    """Return the scores of a group's documents out of a reply such as {"[1]": 5, "[2]": 3}.

    Args:
        text: the reply; of one with an <answer> tag, only what is in the last such tag counts.
        count: documents of the group; each must have a score.
        highest: score.

    Raises:
        ReplyError: for anything else.
    """
    tagged = _ANSWER.findall(text)
    scores: dict[int, float] = {}
    for key, value in parse_object(tagged[-1] if tagged else text).items():
        number = _KEY.fullmatch(key)
        if number is None or not 1 <= int(number[1]) <= count:
            raise ReplyError(f"the key {key!r} is no number from 1 to {count}")
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ReplyError(f"the score of document {number[1]} is no number")
        if not 0 <= value <= highest:
            raise ReplyError(f"the score {value} isn't between 0 and {highest}")
        if int(number[1]) in scores:
            raise ReplyError(f"document {number[1]} has two scores")
        scores[int(number[1])] = float(value)
    absent = [str(number) for number in range(1, count + 1) if number not in scores]
    if absent:
        raise ReplyError(f"no score for {', '.join(absent)}")
    return [scores[number] for number in range(1, count + 1)]


def common_length(lengths: Sequence[int], room: int) -> int:
    """Return the greatest length to which texts must be cut so that all of them fit, 0 at least.

    Args:
        lengths: of the texts.
        room: for all of them.
    """
    left = max(0, room)
    for place, length in enumerate(sorted(lengths)):
        share = left // (len(lengths) - place)
        if length > share:
            return share
        left -= length
    return max(lengths, default=0)


def _mixed(query: str, document: str, number: int) -> bytes:
    """Return a document's place in the order of a round."""
    content = "\x1f".join((str(number), query, document)).encode("utf-8", "replace")
    return hashlib.blake2b(content, digest_size=16).digest()
