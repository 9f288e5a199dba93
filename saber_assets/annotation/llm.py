r"""The annotator that asks a language model: topic scores, summaries, pairwise verdicts.

It reaches the model through the small Protocol `ChatModel`. A reply that can't be used is shown to
the model together with what is wrong with it, a bounded number of times; then the item is a
Failure. Nothing is ever guessed from a bad reply.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from saber_assets.annotation.annotator import Comparison, Failure, Problem, Summary, TopicTask
from saber_assets.annotation.json_reply import ReplyError, parse_object

MAX_CORE_WORDS = 30
MAX_SUPPORTING = 3
BATCH = 2048
"""Items rendered and asked for at once: bounds memory."""
_SHOWN_REPLY = 4000
_BOX = re.compile(r"\\boxed\s*\{\s*(?:\\text\s*\{\s*)?([12])\s*\}")

T = TypeVar("T")
Item = TypeVar("Item")


@dataclass(frozen=True)
class ChatRequest:
    """One question to a model.

    Attributes:
        messages: each with `role` and `content`.
        schema: JSON schema of the reply, or None.
        sampling: temperature, max_tokens and the like.
        attempt: 0, or the number of the re-ask; a part of what identifies the answer.
    """

    messages: Sequence[Mapping[str, str]]
    schema: Mapping[str, Any] | None
    sampling: Mapping[str, Any]
    attempt: int = 0


class ChatReply(Protocol):
    """An answer, or why there is none: exactly one of the two is not None."""

    @property
    def text(self) -> str | None:
        """The reply's text."""
        ...

    @property
    def error(self) -> str | None:
        """Why the call failed for good, in one sentence."""
        ...


class ChatModel(Protocol):
    """What answers: a gateway to an endpoint, or a dummy in a test."""

    @property
    def model(self) -> str:
        """Name of the model, which goes into the tables."""
        ...

    def complete(self, requests: Sequence[ChatRequest]) -> Sequence[ChatReply]:
        """Return one reply for each request, in order."""
        ...


class PromptTemplate(Protocol):
    """A prompt: how to ask, and how to sample."""

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """JSON schema of the reply, or None."""
        ...

    @property
    def sampling(self) -> Mapping[str, Any]:
        """Sampling settings."""
        ...

    def render(self, **values: Any) -> list[dict[str, str]]:
        """Return the messages."""
        ...


@dataclass
class _Open(Generic[T]):
    """An item that has no usable reply yet."""

    position: int
    messages: list[Mapping[str, str]]
    read: Callable[[str], T]
    faults: list[str] = field(default_factory=list)


class LlmAnnotator:
    """An Annotator that asks a language model (SPEC, "Topic sets", "Summary", "Tournament").

    Args:
        chat: the model.
        topic_scores: prompt with `path`, `names`, `statement`, `solution`.
        summary: prompt with `statement`, `solution`.
        pairwise_judge: prompt with `query`, `first`, `second`, each a Problem.
        re_asks: how often a reply that can't be used is asked for again.
    """

    def __init__(
        self,
        chat: ChatModel,
        topic_scores: PromptTemplate,
        summary: PromptTemplate,
        pairwise_judge: PromptTemplate,
        re_asks: int = 2,
    ) -> None:
        if re_asks < 0:
            raise ValueError(f"re_asks must not be negative, got {re_asks}")
        self.name = chat.model
        self._chat = chat
        self._topic_scores = topic_scores
        self._summary = summary
        self._judge = pairwise_judge
        self._re_asks = re_asks

    def score_topics(self, tasks: Sequence[TopicTask]) -> list[tuple[float, ...] | Failure]:
        """Return a score in [0, 1] for each offered name of each task."""
        return self._ask_all(
            tasks,
            self._topic_scores,
            lambda task: {
                "path": task.path,
                "names": task.names,
                "statement": task.problem.statement,
                "solution": task.problem.solution,
            },
            lambda task: lambda reply: read_scores(reply, task.names),
        )

    def summarise(self, problems: Sequence[Problem]) -> list[Summary | Failure]:
        """Return the core idea of each solution."""
        return self._ask_all(
            problems,
            self._summary,
            lambda problem: {"statement": problem.statement, "solution": problem.solution},
            lambda problem: read_summary,
        )

    def compare(self, comparisons: Sequence[Comparison]) -> list[int | Failure]:
        """Return 1 where the first candidate is the more useful one, 2 where the second is."""
        return self._ask_all(
            comparisons,
            self._judge,
            lambda pair: {"query": pair.query, "first": pair.first, "second": pair.second},
            lambda pair: read_verdict,
        )

    def _ask_all(
        self,
        items: Sequence[Item],
        prompt: PromptTemplate,
        values: Callable[[Item], dict[str, Any]],
        reader: Callable[[Item], Callable[[str], T]],
    ) -> list[T | Failure]:
        results: list[T | Failure] = []
        for start in range(0, len(items), BATCH):
            opened: list[_Open[T]] = [
                _Open(position, list(prompt.render(**values(item))), reader(item))
                for position, item in enumerate(items[start : start + BATCH])
            ]
            answers = self._ask(opened, prompt)
            results.extend(answers)
        return results

    def _ask(self, opened: list[_Open[T]], prompt: PromptTemplate) -> list[T | Failure]:
        results: list[T | Failure] = [Failure("not asked")] * len(opened)
        for attempt in range(self._re_asks + 1):
            requests = [
                ChatRequest(tuple(item.messages), prompt.schema, prompt.sampling, attempt)
                for item in opened
            ]
            replies = self._chat.complete(requests) if requests else []
            again: list[_Open[T]] = []
            for item, reply in zip(opened, replies, strict=True):
                if reply.text is None:
                    results[item.position] = Failure(reply.error or "the call gave no text")
                    continue
                try:
                    results[item.position] = item.read(reply.text)
                except ReplyError as error:
                    _note_fault(item, reply.text, str(error))
                    again.append(item)
            opened = again
        for item in opened:
            asked = f"{len(item.faults)} replies" if len(item.faults) > 1 else "1 reply"
            results[item.position] = Failure(f"{asked} without usable content: {item.faults[-1]}")
        return results


def _note_fault(item: _Open[Any], reply: str, fault: str) -> None:
    """Add the reply and its fault to the conversation."""
    item.faults.append(fault)
    item.messages += [
        {"role": "assistant", "content": reply[-_SHOWN_REPLY:]},
        {
            "role": "user",
            "content": f"That answer can't be used: {fault}. Answer again, completely, in the "
            "form that was asked for.",
        },
    ]


def read_scores(reply: str, names: Sequence[str]) -> tuple[float, ...]:
    """Return the scores of the offered names, in their order.

    Raises:
        ReplyError: for names that weren't offered, missing names, and scores outside [0, 1].
    """
    scores = parse_object(reply).get("scores")
    if not isinstance(scores, dict):
        raise ReplyError("the key 'scores' with an object of names and numbers is missing")
    unknown = sorted(scores.keys() - set(names))
    if unknown:
        raise ReplyError(f"these names were not offered: {', '.join(unknown[:5])}")
    missing = [name for name in names if name not in scores]
    if missing:
        raise ReplyError(f"these names have no score: {', '.join(missing[:5])}")
    return tuple(_share(scores[name], f"the score of '{name}'") for name in names)


def read_summary(reply: str) -> Summary:
    """Return the summary that a reply gives as JSON.

    Raises:
        ReplyError: for missing keys, wrong types, and more words or ideas than allowed.
    """
    value = parse_object(reply)
    nothing = value.get("noCoreIdea")
    if not isinstance(nothing, bool):
        raise ReplyError("'noCoreIdea' must be true or false")
    core = value.get("coreIdea", "" if nothing else None)
    if not isinstance(core, str):
        raise ReplyError("'coreIdea' must be a string")
    core = "" if nothing else " ".join(core.split())
    if not nothing and not core:
        raise ReplyError("'coreIdea' is empty though 'noCoreIdea' is false")
    if len(core.split()) > MAX_CORE_WORDS:
        raise ReplyError(
            f"'coreIdea' has {len(core.split())} words and may have {MAX_CORE_WORDS} at most"
        )
    supporting = _strings(value.get("supportingIdeas", []), "supportingIdeas")
    if len(supporting) > MAX_SUPPORTING:
        raise ReplyError(f"'supportingIdeas' may have {MAX_SUPPORTING} entries at most")
    return Summary(
        no_core_idea=nothing,
        core_idea=core,
        supporting_ideas=supporting,
        keywords=_strings(value.get("keywords", []), "keywords"),
        confidence=_share(value.get("confidence"), "'confidence'"),
    )


def read_verdict(reply: str) -> int:
    r"""Return 1 or 2: the last `\boxed{1}` or `\boxed{2}` in a reply.

    Raises:
        ReplyError: when there is none.
    """
    verdicts = _BOX.findall(reply)
    if not verdicts:
        raise ReplyError(r"there is no verdict: it must end with \boxed{1} or \boxed{2}")
    return int(verdicts[-1])


def _share(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ReplyError(f"{what} must be a number from 0 to 1")
    if not math.isfinite(value) or not 0 <= value <= 1:
        raise ReplyError(f"{what} is {value} and must be from 0 to 1")
    return float(value)


def _strings(value: Any, key: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise ReplyError(f"'{key}' must be a list of strings")
    return tuple(stripped for entry in value if (stripped := entry.strip()))
