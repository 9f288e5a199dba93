"""Why something failed, in words that can be printed and stored."""

from __future__ import annotations

import sqlite3

REASON_LENGTH = 300


def reason_of(error: BaseException) -> str:
    """Return an exception's type and message on one line, cut to `REASON_LENGTH` characters.

    Characters that steer a terminal are dropped: a reason is printed as well as stored.
    """
    shown = (sign if sign.isprintable() else " " for sign in str(error))
    message = " ".join("".join(shown).split())
    text = f"{type(error).__name__}: {message}" if message else type(error).__name__
    return text if len(text) <= REASON_LENGTH else text[: REASON_LENGTH - 1] + "…"


def mend_of(error: BaseException) -> str:
    """Return what to do about a retriever's error that isn't about a text."""
    if isinstance(error, MemoryError) or "outofmemory" in type(error).__name__.lower():
        return "free the memory that it lacks, or serve it elsewhere, and run again"
    if isinstance(error, sqlite3.Error | OSError):
        return "mend that on this machine, such as a full or locked disk, and run again"
    return "mend its card, its weights or its packages, and run again"
