"""How a language model is asked for many items at once: render, read, re-ask, or give up.

The model is reached through the small Protocol `ChatModel`. A reply that can't be used is shown to
the model together with what is wrong with it, a bounded number of times; then the item is a
Failure. Nothing is ever guessed from a bad reply.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import orjson

from saber_assets.json_reply import ReplyError

BATCH = 2048
"""Items rendered and asked for at once: bounds memory."""
_SHOWN_REPLY = 4000

T = TypeVar("T")
Item = TypeVar("Item")


@dataclass(frozen=True)
class Failure:
    """An item that could not be done, with the reason in one sentence."""

    reason: str


@dataclass(frozen=True)
class ChatRequest:
    """One question to a model.

    Attributes:
        messages: each with `role` and `content`.
        schema: JSON schema of the reply, or None.
        sampling: temperature, max_tokens and the like.
        attempt: tells apart samples and re-asks; a part of what identifies the answer.
        prompt: name of the prompt; noted with the answer, like the next two, no part of its key.
        prompt_fingerprint: which version of it.
        item: what it is about: ids, joined by "|".
    """

    messages: Sequence[Mapping[str, str]]
    schema: Mapping[str, Any] | None
    sampling: Mapping[str, Any]
    attempt: int = 0
    prompt: str = ""
    prompt_fingerprint: str = ""
    item: str = ""


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

    @property
    def logprobs(self) -> Sequence[Mapping[str, Any]] | None:
        """The reply's tokens in order, where `logprobs` was asked for and the server gives them.

        Each has `token`, its text; `logprob`; and `top`, the likeliest tokens at its place with
        their log-probabilities. The beginning of a long reply may be missing.
        """
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
    def name(self) -> str:
        """Name, for the record."""
        ...

    @property
    def fingerprint(self) -> str:
        """What changes whenever replies may."""
        ...

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


class Again(NamedTuple):
    """How an item is asked again.

    Attributes:
        messages: put behind those before.
        sampling: laid over the item's own.
    """

    messages: Sequence[Mapping[str, str]]
    sampling: Mapping[str, Any]


Repeat = Callable[[str, str], Again]
"""From a reply and what is wrong with it to how its item is asked again."""


@dataclass
class _Open(Generic[T]):
    """An item that has no usable reply yet."""

    position: int
    messages: list[Mapping[str, str]]
    read: Callable[[ChatReply], T]
    sample: int
    label: str
    schema: Mapping[str, Any] | None
    sampling: Mapping[str, Any]
    faults: list[str] = field(default_factory=list)


class Asker:
    """Asks a model one prompt for many items.

    Args:
        chat: the model.
        re_asks: how often a reply that can't be used is asked for again.
    """

    def __init__(self, chat: ChatModel, re_asks: int = 2) -> None:
        if re_asks < 0:
            raise ValueError(f"re_asks must not be negative, got {re_asks}")
        self.model = chat.model
        self._chat = chat
        self._re_asks = re_asks

    def ask(
        self,
        items: Sequence[Item],
        prompt: PromptTemplate,
        values: Callable[[Item], Mapping[str, Any]],
        reader: Callable[[Item], Callable[[str], T]],
        label: Callable[[Item], str],
        *,
        schema_of: Callable[[Item], Mapping[str, Any] | None] | None = None,
    ) -> list[T | Failure]:
        """Return what was read from the reply for each item, in order.

        Args:
            items: what to ask about.
            prompt: how to ask.
            values: what the prompt shows of an item.
            reader: for an item, the function that reads its reply or raises ReplyError.
            label: ids of an item, joined by "|".
            schema_of: JSON schema of an item's reply; None: the prompt's own.
        """

        def read_text(item: Item) -> Callable[[ChatReply], T]:
            read = reader(item)
            return lambda reply: read(reply.text or "")

        return self.ask_replies(items, prompt, values, read_text, label, schema_of=schema_of)

    def ask_replies(
        self,
        items: Sequence[Item],
        prompt: PromptTemplate,
        values: Callable[[Item], Mapping[str, Any]],
        reader: Callable[[Item], Callable[[ChatReply], T]],
        label: Callable[[Item], str],
        *,
        sampling: Mapping[str, Any] | None = None,
        sample: Callable[[Item], int] = lambda item: 0,
        schema_of: Callable[[Item], Mapping[str, Any] | None] | None = None,
        sampling_of: Callable[[Item], Mapping[str, Any]] | None = None,
        repeat: Repeat | None = None,
    ) -> list[T | Failure]:
        """Return what was read from the whole reply for each item, in order.

        Args:
            items: what to ask about.
            prompt: how to ask.
            values: what the prompt shows of an item.
            reader: for an item, the function that reads its reply or raises ReplyError.
            label: ids of an item, joined by "|".
            sampling: laid over the prompt's own.
            sample: number of the sample of an item that is asked several times, from 0.
            schema_of: JSON schema of an item's reply; None: the prompt's own.
            sampling_of: laid over `sampling` for an item.
            repeat: how an item is asked again; None: it is shown its reply and the fault.
        """
        merged = {**prompt.sampling, **(sampling or {})}
        results: list[T | Failure] = []
        for start in range(0, len(items), BATCH):
            opened: list[_Open[T]] = [
                _Open(
                    position,
                    list(prompt.render(**values(item))),
                    reader(item),
                    sample(item),
                    label(item),
                    prompt.schema if schema_of is None else schema_of(item),
                    merged if sampling_of is None else {**merged, **sampling_of(item)},
                )
                for position, item in enumerate(items[start : start + BATCH])
            ]
            answers = self._ask_batch(opened, prompt, repeat or _with_fault)
            results.extend(answers)
        return results

    def _ask_batch(
        self,
        opened: list[_Open[T]],
        prompt: PromptTemplate,
        repeat: Repeat,
    ) -> list[T | Failure]:
        results: list[T | Failure] = [Failure("not asked")] * len(opened)
        for attempt in range(self._re_asks + 1):
            requests = [
                ChatRequest(
                    tuple(item.messages),
                    item.schema,
                    item.sampling,
                    item.sample * (self._re_asks + 1) + attempt,
                    prompt.name,
                    prompt.fingerprint,
                    item.label,
                )
                for item in opened
            ]
            replies = self._chat.complete(requests) if requests else []
            again: list[_Open[T]] = []
            outcomes: list[tuple[bytes, str | None, str | None]] = []
            for item, reply in zip(opened, replies, strict=True):
                if reply.text is None:
                    results[item.position] = Failure(reply.error or "the call gave no text")
                    continue
                value: T | None = None
                fault: str | None = None
                try:
                    _refuse_cut_off(reply)
                    results[item.position] = value = item.read(reply)
                except ReplyError as error:
                    fault = str(error)
                    _note_fault(item, fault, repeat(reply.text, fault))
                    again.append(item)
                if not getattr(reply, "noted", True):
                    parsed = _as_json(value) if fault is None else None
                    outcomes.append((reply.key, parsed, fault))  # type: ignore[attr-defined]
            if outcomes:
                # kept with the answers, for export, and so that a person can list those that
                # can't be used and have them asked again
                self._chat.note(outcomes)  # type: ignore[attr-defined]
            opened = again
        for item in opened:
            asked = f"{len(item.faults)} replies" if len(item.faults) > 1 else "1 reply"
            results[item.position] = Failure(f"{asked} without usable content: {item.faults[-1]}")
        return results


def _refuse_cut_off(reply: ChatReply) -> None:
    """Refuse a reply that ran into its limit: what comes first in it may look like a verdict."""
    if getattr(reply, "finish_reason", None) == "length":
        raise ReplyError("it was cut off at the largest length; answer more briefly")


def _as_json(value: object) -> str:
    return orjson.dumps(value, default=repr).decode()


def _note_fault(item: _Open[Any], fault: str, again: Again) -> None:
    """Note what is wrong, and how the item is asked next."""
    item.faults.append(fault)
    item.messages += again.messages
    item.sampling = {**item.sampling, **again.sampling}


def _with_fault(reply: str, fault: str) -> Again:
    """Return the reply and its fault as the conversation's next turns."""
    shown = {"role": "assistant", "content": reply[-_SHOWN_REPLY:]}
    told = {
        "role": "user",
        "content": f"That answer can't be used: {fault}. Answer again, completely, in the "
        "form that was asked for.",
    }
    return Again((shown, told), {})
