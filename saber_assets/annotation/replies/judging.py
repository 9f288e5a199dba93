r"""Reads replies to the judges' prompts: the verdict, the score, the technique profile."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, field_validator

from saber_assets.json_reply import ReplyError
from saber_assets.reply_model import ReplyModel, read_model

TOP_SCORE = 100
VERDICT_BOX = re.compile(r"\\boxed\s*\{\s*(?:\\text\s*\{\s*)?([12])\s*\}")
_ANY_BOX = re.compile(r"\\boxed\s*\{")
_ANSWER_BOX = re.compile(r"\\boxed\s*\{\s*(?:[3-9]|\d{2,})\s*\}")
_SCORE_BOX = re.compile(r"\\boxed\s*\{\s*(?:\\text\s*\{\s*)?(\d{1,3})(?:\s*/\s*100)?\s*\}")


class Technique(ReplyModel):
    """A technique that a solution uses.

    Attributes:
        name: by its usual name.
        role: how much of the solution rests on it.
        why: what it does there, in a few words.
    """

    name: str = Field(min_length=1, max_length=200)
    role: Literal["decisive", "supporting", "routine"]
    why: str = Field(max_length=400)


class TechniqueProfile(ReplyModel):
    """What a solution turns on, short enough to stand for it.

    Attributes:
        techniques: at least one.
        objects: what the argument introduces or works with.
        key_steps: the backbone of the argument, in order.
    """

    techniques: list[Technique] = Field(min_length=1, max_length=6)
    objects: list[str] = Field(max_length=6)
    keySteps: list[str] = Field(min_length=1, max_length=6)  # noqa: N815 -- the reply's key

    @field_validator("objects", "keySteps")
    @classmethod
    def _short(cls, entries: list[str]) -> list[str]:
        if any(not entry.strip() or len(entry) > 400 for entry in entries):
            raise ValueError("each entry must have 1 to 400 characters")
        return entries


def read_verdict(reply: str) -> int:
    r"""Return 1 or 2: the last `\boxed{1}` or `\boxed{2}` in a reply.

    Raises:
        ReplyError: when there is none, or it is doubtful; see `verdict_box`.
    """
    return int(verdict_box(reply)[1])


def read_score(reply: str) -> int:
    r"""Return the whole number from 0 to 100 in the last `\boxed{...}` of a reply.

    Raises:
        ReplyError: when there is none, or the last box holds or begins something else.
    """
    score = int(last_box(reply, _SCORE_BOX, r"\boxed{N}, N a whole number from 0 to 100")[1])
    if score > TOP_SCORE:
        raise ReplyError(f"the score is {score} and must be from 0 to 100")
    return score


def read_profile(reply: str) -> TechniqueProfile:
    """Return the technique profile that a reply gives as JSON.

    Raises:
        ReplyError: for missing or unknown keys, wrong types, and more entries than allowed.
    """
    return read_model(reply, TechniqueProfile)


def last_box(reply: str, wanted: re.Pattern[str], form: str) -> re.Match[str]:
    r"""Return the match of the box that counts: the last one of a reply.

    Args:
        reply: the text.
        wanted: what the box must look like.
        form: said to the model where it doesn't.

    Raises:
        ReplyError: when there is none, or the last box holds or begins something else.
    """
    boxes = list(_ANY_BOX.finditer(reply))
    if not boxes:
        raise ReplyError(f"there is no verdict: it must end with {form}")
    match = wanted.match(reply, boxes[-1].start())
    if match is None:
        raise ReplyError(f"the last box holds no verdict: it must end with {form}")
    return match


def verdict_box(reply: str) -> re.Match[str]:
    r"""Return the match of the last `\boxed{1}` or `\boxed{2}`; group 1 is the digit.

    A box with another number after it is taken for the answer of a problem that is quoted; any
    other box after it, or one that is cut off, makes the verdict doubtful.

    Raises:
        ReplyError: when there is no verdict, or it is doubtful.
    """
    return last_box(_ANSWER_BOX.sub(_blanks, reply), VERDICT_BOX, r"\boxed{1} or \boxed{2}")


def _blanks(box: re.Match[str]) -> str:
    """Keep every later position where it is."""
    return " " * len(box[0])
