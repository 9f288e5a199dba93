"""Files of the OpenAI Batch API: requests written as JSONL, answers and errors read back.

The `custom_id` of a request is the key under which the response store keeps its answer, as 64 hex
digits, so that an answer that comes back by this way is found as if it had been asked for online.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from saber_resources.chat_request import Usage, compact_logprobs, encode_body, storable
from saber_resources.errors import SetupError

MOST_REQUESTS = 50_000
"""Requests in one file; the service refuses more."""
MOST_BYTES = 200_000_000
"""Bytes of one file; the service refuses more."""
LONGEST_LINE = 64_000_000
"""Bytes of one line of an answer; longer ones are no answers."""
URL = "/v1/chat/completions"
KEY_DIGITS = 64
_SHOWN = 300


@dataclass(frozen=True)
class Answer:
    """One line of an output or error file.

    Attributes:
        key: of the request.
        text: the reply, or None.
        finish_reason: as the service gave it.
        tokens_in: prompt tokens that were billed.
        tokens_out: completion tokens that were billed.
        cached_tokens: of `tokens_in`, those found in a prefix cache; None: not told.
        logprobs: the last tokens, as `compact_logprobs` gives them, or None.
        error: why there is no reply, or None: exactly one of `text` and `error` is not None.
    """

    key: bytes
    text: str | None
    finish_reason: str | None
    tokens_in: int
    tokens_out: int
    cached_tokens: int | None
    logprobs: list[dict[str, Any]] | None
    error: str | None

    @property
    def usage(self) -> Usage:
        """Return the tokens that were billed."""
        return Usage(self.tokens_in, self.tokens_out, self.cached_tokens)


class BatchWriter:
    """Writes requests, as they come, into as many files as the limits ask for.

    To be used as a context; the files are in place when it ends without an error, and called
    `STEM-0001.jsonl` and so on. Files of an earlier writing with the same stem are then removed:
    sending them as well would pay twice.

    Args:
        folder: made where absent.
        stem: of the files' names.
        most_requests: requests in one file.
        most_bytes: bytes of one file.

    Raises:
        SetupError: when the folder can't be written.
    """

    def __init__(
        self,
        folder: Path,
        stem: str,
        most_requests: int = MOST_REQUESTS,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._folder, self._stem = folder, stem
        self._most_requests, self._most_bytes = most_requests, most_bytes
        self._file: BinaryIO | None = None
        self._requests = self._bytes = 0
        self._parts: list[Path] = []
        self.paths: list[Path] = []
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SetupError(
                f"the folder {folder} can't be made ({error.strerror})", "choose another one"
            ) from error

    def __enter__(self) -> BatchWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()
        if error is None:
            for old in self._folder.glob(f"{self._stem}-[0-9][0-9][0-9][0-9].jsonl"):
                old.unlink()
            self.paths = [part.rename(part.with_suffix("")) for part in self._parts]
        for part in self._parts:
            part.unlink(missing_ok=True)

    def add(self, key: bytes, body: Mapping[str, Any]) -> None:
        """Write one request.

        Raises:
            SetupError: when it alone is larger than a file may be.
        """
        line = request_line(key, body)
        if len(line) > self._most_bytes:
            raise SetupError(
                f"one request has {len(line):,} bytes and a batch file may have "
                f"{self._most_bytes:,}",
                "leave out the problem whose text is so long",
            )
        full = self._requests >= self._most_requests
        if self._file is None or full or self._bytes + len(line) > self._most_bytes:
            self._file = self._next_file()
        self._file.write(line)
        self._requests += 1
        self._bytes += len(line)

    def _next_file(self) -> BinaryIO:
        self._close()
        part = self._folder / f"{self._stem}-{len(self._parts) + 1:04d}.jsonl.part"
        self._parts.append(part)
        self._requests = self._bytes = 0
        return part.open("wb")

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def request_line(key: bytes, body: Mapping[str, Any]) -> bytes:
    """Return one line of a request file, in ASCII, which no reader can split wrongly."""
    sound = json.loads(encode_body(body))
    line = {"custom_id": key.hex(), "method": "POST", "url": URL, "body": sound}
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"


def read_answers(path: Path) -> Iterator[Answer]:
    """Yield the answers and errors of one output or error file.

    Raises:
        SetupError: naming the line, when the file can't be read or a line is no answer.
    """
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(LONGEST_LINE + 1):
                number += 1
                if len(line) > LONGEST_LINE:
                    raise _damaged(path, number, f"is longer than {LONGEST_LINE:,} bytes")
                if line.strip():
                    yield _answer(line, path, number)
    except OSError as error:
        raise SetupError(
            f"the batch file {path} can't be read ({error.strerror})", "check the path"
        ) from error


def _answer(line: bytes, path: Path, number: int) -> Answer:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, number, "is not JSON") from error
    if not isinstance(entry, dict) or not isinstance(entry.get("custom_id"), str):
        raise _damaged(path, number, "has no 'custom_id'")
    if "response" not in entry and "error" not in entry:
        raise _damaged(path, number, "has neither 'response' nor 'error'; it may be a request")
    key = _key(entry["custom_id"])
    response = _mapping(entry.get("response"))
    body = _mapping(response.get("body"))
    usage = _mapping(body.get("usage"))
    details = _mapping(usage.get("prompt_tokens_details"))
    text, reason = _text(body)
    why = _error(entry, response, body, text)
    return Answer(
        key=key,
        text=None if why is not None else text,
        finish_reason=reason,
        tokens_in=_count(usage.get("prompt_tokens")) or 0,
        tokens_out=_count(usage.get("completion_tokens")) or 0,
        cached_tokens=_count(details.get("cached_tokens")),
        logprobs=compact_logprobs(_first_choice(body).get("logprobs")),
        error=why,
    )


def _key(custom_id: str) -> bytes:
    """Return the key; an id that is none of ours gives b"", which no request has."""
    if len(custom_id) != KEY_DIGITS:
        return b""
    try:
        return bytes.fromhex(custom_id)
    except ValueError:
        return b""


def _text(body: Mapping[str, Any]) -> tuple[str | None, str | None]:
    first = _first_choice(body)
    text = _mapping(first.get("message")).get("content")
    reason = first.get("finish_reason")
    return (
        storable(text) if isinstance(text, str) and text.strip() else None,
        storable(reason)[:_SHOWN] if isinstance(reason, str) else None,
    )


def _first_choice(body: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = body.get("choices")
    return _mapping(choices[0]) if isinstance(choices, list) and choices else {}


def _error(
    entry: Mapping[str, Any], response: Mapping[str, Any], body: Mapping[str, Any], text: str | None
) -> str | None:
    """Return why an entry holds no reply, or None where it holds one."""
    for fault in (entry.get("error"), body.get("error")):
        if fault:
            said = fault.get("message") or fault.get("code") if isinstance(fault, dict) else fault
            said = storable(" ".join(str(said).split()))[:_SHOWN]
            return f"the batch service says: {said}"
    status = response.get("status_code", 200)
    if status != 200:
        return f"the endpoint answered with status {str(status)[:20]}"
    return None if text is not None else "the endpoint's answer holds no text"


def _count(value: Any) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53
    return value if whole else None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _damaged(path: Path, number: int, what: str) -> SetupError:
    return SetupError(
        f"line {number} of the batch file {path} {what}",
        "give an output or error file of the batch service, unchanged",
    )
