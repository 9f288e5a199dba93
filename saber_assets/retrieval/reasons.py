"""Why something failed, in words that can be printed and stored."""

from __future__ import annotations

import sqlite3
from typing import Any

from saber_assets.errors import printable

REASON_LENGTH = 300
MASK = "***"


def reason_of(error: BaseException, secret: str = "") -> str:
    """Return an exception's type and message on one line, cut to `REASON_LENGTH` characters.

    Characters that steer a terminal are dropped: a reason is printed as well as stored. `secret` is
    masked: a server may repeat the key that it got.
    """
    message = masked(" ".join(printable(str(error)).split()), secret)
    text = f"{type(error).__name__}: {message}" if message else type(error).__name__
    return text if len(text) <= REASON_LENGTH else text[: REASON_LENGTH - 1] + "…"


def mend_of(error: BaseException) -> str:
    """Return what to do about a retriever's error that isn't about a text."""
    if isinstance(error, MemoryError) or "outofmemory" in type(error).__name__.lower():
        return "free the memory that it lacks, or serve it elsewhere, and run again"
    if isinstance(error, sqlite3.Error | OSError):
        return "mend that on this machine, such as a full or locked disk, and run again"
    return "mend its card, its weights or its packages, and run again"


def said(message: str, secret: str = "") -> str:
    """Return what a server said, on one line, without a secret that it may repeat."""
    return masked(" ".join(message.split()), secret)[:REASON_LENGTH]


def masked(text: str, secret: str) -> str:
    """Return a text that a server sent without the key that it may repeat."""
    bare = secret.strip()
    return text.replace(bare, MASK) if bare else text


def masked_in(answer: Any, secret: str) -> Any:
    """Return what JSON became with all its texts masked; numbers and names stay."""
    if isinstance(answer, str):
        return masked(answer, secret)
    if isinstance(answer, list):
        return [masked_in(one, secret) for one in answer]
    if isinstance(answer, dict):
        return {name: masked_in(one, secret) for name, one in answer.items()}
    return answer
