"""One language-model response as the store keeps it, and the key that it is found by."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Response:
    """What one request came to.

    Attributes:
        model: who was asked.
        text: the raw reply, or None for a failure.
        finish_reason: as the endpoint gave it.
        tokens_in: prompt tokens, over all calls, also of those that gave nothing.
        tokens_out: completion tokens, likewise.
        latency: seconds of the last call.
        attempts: calls made.
        error: why there is no reply, or None.
        prompt: name of the prompt, or "".
        prompt_fingerprint: what identifies its text, schema and sampling, or "".
        sample: sample index, or number of the re-ask.
        item: what was asked about, such as a problem's id or "query|first|second", or "".
        parsed: what was read out of the reply, as JSON, or None.
        fault: why the reply's content can't be used, or None; the reply is kept nevertheless, so
            that it isn't paid for again.
        logprobs: JSON of the last tokens' log-probabilities where they were asked for, or None.
        cached_tokens: prompt tokens that the endpoint had in its prefix cache; None: not told.
        price: in the currency of the price table, over all calls; None without a table.
        endpoint: host and port of who answered; never with credentials.
        created: when it was written, UTC in ISO format; None lets the store set it.
    """

    model: str
    text: str | None
    finish_reason: str | None
    tokens_in: int
    tokens_out: int
    latency: float
    attempts: int
    error: str | None = None
    prompt: str = ""
    prompt_fingerprint: str = ""
    sample: int = 0
    item: str = ""
    parsed: str | None = None
    fault: str | None = None
    logprobs: str | None = None
    cached_tokens: int | None = None
    price: float | None = None
    endpoint: str = ""
    created: str | None = None


Row = tuple[bytes, Response]
"""A key with its response."""


@dataclass(frozen=True, slots=True)
class Select:
    """Which responses are meant; None leaves a field out of account.

    Attributes:
        model: name of the model.
        prompt: name of the prompt.
        prompt_fingerprint: fingerprint of the prompt.
        item: label of the item, exactly.
        since: earliest `created`, UTC in ISO format such as 2026-01-31.
    """

    model: str | None = None
    prompt: str | None = None
    prompt_fingerprint: str | None = None
    item: str | None = None
    since: str | None = None

    def where(self) -> tuple[str, list[str]]:
        """Return the condition in SQL and its values."""
        conditions, values = ["TRUE"], []
        for name in ("model", "prompt", "prompt_fingerprint", "item"):
            value = getattr(self, name)
            if value is not None:
                conditions.append(f"{name} = ?")
                values.append(value)
        if self.since is not None:
            conditions.append("created >= ?")
            values.append(self.since)
        return " AND ".join(conditions), values


EVERYTHING = Select()


@dataclass(frozen=True, slots=True)
class PromptStats:
    """Sums over the responses of one model to one version of one prompt.

    Attributes:
        model: name of the model.
        prompt: name of the prompt, or "".
        prompt_fingerprint: which version of it, or "".
        responses: usable answers in the store.
        unusable: answers whose content can't be used (`fault`).
        failures: requests without an answer (`error`).
        imported: responses that came from others; not in the sums below.
        calls: calls made, also those that gave nothing.
        tokens_in: prompt tokens paid for.
        tokens_out: completion tokens paid for.
        cached_tokens: of `tokens_in`, those found in a prefix cache.
        latency: seconds, sum over the last calls of all responses.
        price: money spent, or None where no price was known.
        hits: look-ups that the store answered.
        misses: look-ups that had to be asked for.
    """

    model: str
    prompt: str
    prompt_fingerprint: str
    responses: int
    unusable: int
    failures: int
    imported: int
    calls: int
    tokens_in: int
    tokens_out: int
    cached_tokens: int
    latency: float
    price: float | None
    hits: int
    misses: int

    @property
    def hit_rate(self) -> float | None:
        """Share of the look-ups that the store answered, or None without any."""
        asked = self.hits + self.misses
        return self.hits / asked if asked else None


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over the store."""

    responses: int
    failures: int
    calls: int
    tokens_in: int
    tokens_out: int


def request_key(
    model: str,
    messages: Sequence[Mapping[str, str]],
    schema: Mapping[str, Any] | None,
    sampling: Mapping[str, Any],
    attempt: int,
) -> bytes:
    """Return the 32 bytes under which the answer to a request is kept.

    Args:
        model: name of the model.
        messages: chat messages.
        schema: JSON schema of the reply that is sent along, or None.
        sampling: sampling settings.
        attempt: sample index, or number of the re-ask.
    """
    content = json.dumps(
        [model, [dict(message) for message in messages], schema, dict(sampling), attempt],
        sort_keys=True,
        separators=(",", ":"),
    )
    return hashlib.blake2b(content.encode(), digest_size=32).digest()
