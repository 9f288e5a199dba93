"""Reads replies to the prompts of the duplicate task and of the leakage audit."""

from __future__ import annotations

import re

from saber_assets.corpus.llm_replies import tagged
from saber_assets.json_reply import ReplyError
from saber_assets.reply_model import ReplyModel, read_model

_LETTERS_AND_DIGITS = re.compile(r"[\W_]+")
LONGER = 6
"""A restatement may be so many times as long as the problem, and 600 characters more."""


class Flag(ReplyModel):
    """A document that states a problem equivalent to the query."""

    document: int
    reason: str


class _Flags(ReplyModel):
    equivalent: list[Flag]


def read_rewriting(reply: str, statement: str) -> str:
    """Return the restated problem.

    Args:
        reply: to `query_rewriting`.
        statement: the problem that was shown.

    Raises:
        ReplyError: for missing tags, a text that says the same in the same words, and one that
            is far longer than the problem.
    """
    found = tagged(reply, "problem")
    if _plain(found) == _plain(statement):
        raise ReplyError("the problem was not restated")
    if len(found) > LONGER * len(statement) + 600:
        raise ReplyError("the restatement is far longer than the problem")
    return found


def read_audit(reply: str, documents: int) -> tuple[Flag, ...]:
    """Return the documents that a reply flags, ascending.

    Args:
        reply: to `leakage_audit`.
        documents: how many were shown.

    Raises:
        ReplyError: for numbers that weren't shown or occur twice.
    """
    flags = read_model(reply, _Flags).equivalent
    numbers = [flag.document for flag in flags]
    if any(not 1 <= number <= documents for number in numbers):
        raise ReplyError(f"'document' must be from 1 to {documents}")
    if len(set(numbers)) < len(numbers):
        raise ReplyError("a document is flagged twice")
    return tuple(sorted(flags, key=lambda flag: flag.document))


def _plain(text: str) -> str:
    return _LETTERS_AND_DIGITS.sub("", text).lower()
