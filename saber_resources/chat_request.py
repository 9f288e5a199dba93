"""The OpenAI-compatible chat format: what is sent for a request, and what is read of an answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

LOGPROBS_KEPT = 24
"""Tokens at the end of a reply whose log-probabilities are kept: the verdict is there."""


class Request(Protocol):
    """What can be asked; see `ChatRequest` of the annotation stage.

    A request may also have `prompt` and `prompt_fingerprint` (name and fingerprint of the prompt)
    and `item` (what it is about): they are noted in the store.
    """

    @property
    def messages(self) -> Sequence[Mapping[str, str]]:
        """Chat messages."""
        ...

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """JSON schema of the reply, or None."""
        ...

    @property
    def sampling(self) -> Mapping[str, Any]:
        """Sampling settings."""
        ...

    @property
    def attempt(self) -> int:
        """Sample index, or number of the re-ask."""
        ...


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that an answer reports; zero and None where it reports none."""

    tokens_in: int = 0
    tokens_out: int = 0
    cached_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """What was read of an endpoint's answer.

    Attributes:
        usage: tokens, also where there is no text.
        text: the reply, or None.
        finish_reason: why it ended.
        logprobs: the last tokens, as `compact_logprobs` gives them, or None.
        fault: why there is no text, or None.
    """

    usage: Usage
    text: str | None = None
    finish_reason: str | None = None
    logprobs: list[dict[str, Any]] | None = None
    fault: str | None = None


def request_body(
    model: str,
    messages: Sequence[Mapping[str, str]],
    schema: Mapping[str, Any] | None,
    sampling: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the body of a chat completion call.

    Args:
        model: name of the model.
        messages: each with `role` and `content`.
        schema: JSON schema of the reply, or None.
        sampling: temperature, max_tokens and whatever else the endpoint takes.
    """
    body = {"model": model, "messages": list(messages), **sampling}
    if schema is not None:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "reply", "schema": schema},
        }
    return body


def encode_body(body: Mapping[str, Any]) -> bytes:
    """Return a body as JSON; unpaired surrogates, which no request can carry, are replaced."""
    try:
        return orjson.dumps(body)
    except TypeError:
        messages = [
            {name: storable(value) for name, value in message.items()}
            for message in body["messages"]
        ]
        return orjson.dumps({**body, "messages": messages}, default=_plain)


def _plain(value: Any) -> Any:
    """Return mappings and sequences of other kinds as those that JSON knows."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(f"{type(value).__name__} is no JSON")


def storable(text: str) -> str:
    """Return a text with unpaired surrogates replaced, fit for UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def read_completion(data: bytes) -> Completion:
    """Return what an endpoint's answer holds; one that can't be read has a `fault`.

    Args:
        data: body of the answer.
    """
    try:
        answer = orjson.loads(data)
    except orjson.JSONDecodeError:
        return Completion(Usage(), fault="the endpoint's answer is no JSON")
    if not isinstance(answer, dict):
        return Completion(Usage(), fault="the endpoint's answer is no JSON object")
    usage = _usage(answer.get("usage"))
    choices = answer.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(first, dict):
        return Completion(usage, fault="the endpoint's answer holds no choice")
    reason = first.get("finish_reason")
    reason = reason if isinstance(reason, str) else None
    message = first.get("message")
    text = message.get("content") if isinstance(message, dict) else None
    if not isinstance(text, str) or not text.strip():
        why = " and was cut off at max_tokens" if reason == "length" else ""
        return Completion(usage, None, reason, fault=f"the endpoint's answer holds no text{why}")
    return Completion(usage, storable(text), reason, compact_logprobs(first.get("logprobs")))


def _usage(value: Any) -> Usage:
    if not isinstance(value, dict):
        return Usage()
    details = value.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    return Usage(
        _count(value.get("prompt_tokens")),
        _count(value.get("completion_tokens")),
        cached if isinstance(cached, int) else None,
    )


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def compact_logprobs(value: Any) -> list[dict[str, Any]] | None:
    """Return the last tokens of a choice's `logprobs`, or None where there are none.

    Each has `token`, `logprob`, and `top`: the likeliest tokens at its place, as a mapping from
    token to log-probability.
    """
    content = value.get("content") if isinstance(value, dict) else None
    if not isinstance(content, list) or not content:
        return None
    kept: list[dict[str, Any]] = []
    for entry in content[-LOGPROBS_KEPT:]:
        if not isinstance(entry, dict) or not isinstance(entry.get("token"), str):
            return None
        top = {other["token"]: other["logprob"] for other in _tops(entry.get("top_logprobs"))}
        kept.append({"token": entry["token"], "logprob": entry.get("logprob"), "top": top})
    return kept


def _tops(value: Any) -> Iterator[dict[str, Any]]:
    for entry in value if isinstance(value, list) else ():
        if (
            isinstance(entry, dict)
            and isinstance(entry.get("token"), str)
            and isinstance(entry.get("logprob"), (int, float))
        ):
            yield entry
