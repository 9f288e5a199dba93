"""Generative pointwise rerankers: a model writes about a query and a document, then judges them.

Two ways of judging: one of two words, whose score is the probability of the wanted one against the
other; or a whole number in a <score> tag. A reply without a judgment is asked for again; then the
query has no scores, with the reason.
"""

from __future__ import annotations

import copy
import logging
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saber_assets.asking import Again, ChatReply, Failure
from saber_assets.json_reply import ReplyError
from saber_assets.retrieval.remote.served_chat import (
    AskingRetriever,
    Question,
    ServedModel,
    UnansweredError,
    filled,
    label_of,
)

REVISION = 2
THINK, THOUGHT = "<think>", "</think>"
_INSTRUCTION = "{instruction}"
_SCORE = re.compile(r"<score>\s*(\d+)\s*</score>")
_SENTENCE_END = re.compile(r".*[.!?]", re.DOTALL)
_SPECIAL = re.compile(r"<\|[^|<>]*\|>")
"""Tokens such as the end of a text, which some servers are asked to show."""
_FORCED_TOKENS = 2

Reader = Callable[[ChatReply], float]

logger = logging.getLogger(__name__)


class GenerativePointwise(AskingRetriever):
    """Scores pairs of texts by what a model says about each.

    Args:
        model: is asked.
        template: text with one {query} and one {document}, and maybe an {instruction}.
        read: reads the score out of a reply, or raises ReplyError.
        instruction: what stands in the template's {instruction}.
        characters: of the whole text at most: a longer document loses its end. None: any number.
            A text that the server still finds too long is cut further.
        document_characters: of a document at most, likewise.
    """

    def __init__(
        self,
        model: ServedModel,
        template: str,
        read: Reader,
        *,
        instruction: str = "",
        characters: int | None = None,
        document_characters: int | None = None,
    ) -> None:
        super().__init__(model)
        self._template = template
        self._read = read
        self._instruction = instruction
        self._characters = characters
        self._document_characters = document_characters

    def score(self, query: str, documents: Sequence[str]) -> NDArray[np.float64]:
        """Return one score a document, the mean over its samples.

        Nothing is rounded: probabilities of a model that is sure differ far behind the point.

        Raises:
            UnansweredError: when a pair has no usable answer.
        """
        answers = self._model.ask(
            [self._question(query, text, self._characters) for text in documents]
        )
        lost = [
            f"first document number {number}: {scores.reason}"
            for number, scores in enumerate(answers, 1)
            if isinstance(scores, Failure)
        ]
        if lost:
            raise UnansweredError(
                f"{len(lost)} of {len(documents)} documents have no usable answer, {lost[0]}"
            )
        given = [scores for scores in answers if not isinstance(scores, Failure)]
        means = [sum(scores) / len(scores) for scores in given]
        return np.asarray(means, dtype=np.float64)

    def with_instruction(self, text: str) -> GenerativePointwise | None:
        """Return a reranker with another instruction, or None where it has no field for one."""
        if _INSTRUCTION not in self._template:
            return None
        other = copy.copy(self)
        other._instruction = text
        return other

    def _question(self, query: str, document: str, characters: int | None) -> Question[float]:
        """Return what is asked about a pair; the end of a document that is too long is cut."""
        shown = document[: self._document_characters]
        if characters is not None:
            around = len(self._text(query, ""))
            shown = shown[: max(0, characters - around)]
        return Question(
            self._text(query, shown),
            label_of(query, document),
            self._read,
            lambda room: self._question(query, document, room),
        )

    def _text(self, query: str, document: str) -> str:
        return filled(self._template, query=query, document=document, instruction=self._instruction)


def score_reader(highest: int) -> Reader:
    """Return what reads a whole number up to `highest` in a <score> tag; the last one counts."""

    def read(reply: ChatReply) -> float:
        found = _SCORE.findall(reply.text or "")
        if not found:
            raise ReplyError("it holds no whole number in a <score> tag")
        score = int(found[-1])
        if score > highest:
            raise ReplyError(f"the score {score} is above {highest}")
        return float(score)

    return read


def answer_reader(answers: tuple[str, str], template: str) -> Reader:
    """Return what reads the probability of the first answer against the second.

    Where the server gives no log-probabilities the score is 1 or 0, as stated; that is logged once.
    Of several mentions the last one counts; those amid reasoning don't.

    Args:
        answers: the wanted word and the other one; letter case doesn't count.
        template: where it ends in <think>, a reply must end its reasoning before it answers.
    """
    words = (_plain(answers[0]), _plain(answers[1]))
    mention = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, words))})(?!\w)", re.IGNORECASE)
    thinks = template.rstrip().endswith(THINK)
    told: list[bool] = []

    def read(reply: ChatReply) -> float:
        _, closed, text = (reply.text or "").rpartition(THOUGHT)
        if thinks and not closed and _plain(text) not in words:
            raise ReplyError("its reasoning has no end")
        stated = mention.findall(text)
        if not stated:
            raise ReplyError(f"it answers neither {answers[0]} nor {answers[1]}")
        share = _share(reply.logprobs or (), words, mention)
        if share is not None:
            return share
        if not told:
            told.append(True)
            logger.warning("the server gives no log-probabilities: scores are 1 or 0")
        return float(_plain(stated[-1]) == words[0])

    return read


def close_reasoning(answers: tuple[str, str]) -> Callable[[str, str], Again]:
    """Return how a model that reasons in plain text is asked again.

    Its reasoning is cut behind the last whole sentence and closed; what is left to write is the
    answer.
    """

    def repeat(reply: str, fault: str) -> Again:
        reasoning = _SPECIAL.sub("", reply.partition(THOUGHT)[0]).rstrip()
        whole = _SENTENCE_END.match(reasoning)
        text = f"\n{(whole[0] if whole else reasoning).strip()}\n{THOUGHT}"
        stop = [f" {answer}" for answer in answers]
        return Again(
            ({"role": "assistant", "content": text},),
            {"max_tokens": _FORCED_TOKENS, "stop": stop, "include_stop_str_in_output": True},
        )

    return repeat


def _share(
    tokens: Sequence[Mapping[str, Any]], words: tuple[str, str], mention: re.Pattern[str]
) -> float | None:
    """Return the probability of the first word against the second where one is said last.

    None where that is no token of its own, or the tokens are lacking.
    """
    behind = ""
    for entry in reversed(tokens):
        if mention.search(behind):
            return None
        if _plain(entry["token"]) not in words or entry.get("logprob") is None:
            behind = entry["token"] + behind
            continue
        weights = {words[0]: 0.0, words[1]: 0.0}
        for token, logprob in _choices(entry):
            if _plain(token) in weights:
                weights[_plain(token)] += math.exp(logprob)
        whole = sum(weights.values())
        return weights[words[0]] / whole if whole > 0 else None
    return None


def _choices(entry: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield the likeliest tokens at a place, the written one always among them."""
    top = dict(entry.get("top") or {})
    top.setdefault(entry["token"], entry["logprob"])
    yield from top.items()


def _plain(text: str) -> str:
    return text.strip().lower()
