r"""Reads replies to the prompts that turn forum threads and documents into problems.

Texts come between tags, never in JSON: their LaTeX needs no escapes then. What a model was told to
copy is compared with what it was given, so that a text that it changed is refused.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from saber_assets.json_reply import ReplyError
from saber_assets.reply_model import ReplyModel, read_model

_ELEMENT = re.compile(r"<(problem|solution)>(.*?)</\1>", re.DOTALL)
_ANY_TAG = re.compile(r"</?(?:problem|solution)>")
_FORMULA = re.compile(
    r"(?<!\\)\$\$(.+?)(?<!\\)\$\$|(?<!\\)\$(.+?)(?<!\\)\$|\\\((.+?)\\\)|\\\[(.+?)\\\]", re.DOTALL
)
_WORDS_IN_FORMULA = re.compile(r"\\(?:text|textrm|mbox|textbf|textit)\s*\{[^{}]*\}")
_DELIMITERS = re.compile(r"\\\\?[()\[\]]|(?<!\\)\$+|\s+")
_DIGITS = re.compile(r"\d+")


class SelfContained(ReplyModel):
    """Whether a post states one problem that can be solved from it alone, and why."""

    selfContained: bool  # noqa: N815 -- the reply's key
    reason: str


class _Mark(ReplyModel):
    number: int
    substantive: bool


class _Marks(ReplyModel):
    comments: list[_Mark]


class Choice(ReplyModel):
    """The most detailed solution that answers the problem.

    Attributes:
        chosen: its number, from 1; None where none does.
        answersProblem: whether one does.
        reason: in a few words.
    """

    chosen: int | None
    answersProblem: bool  # noqa: N815 -- the reply's key
    reason: str


@dataclass(frozen=True)
class Segmentation:
    """A document cut into problems and solutions.

    Attributes:
        problems: statements, in the order of the reply.
        solutions: of equal length where the document is `aligned`.
        aligned: whether each problem is followed by exactly one solution; a document that isn't
            is set aside for a person, never guessed.
    """

    problems: tuple[str, ...]
    solutions: tuple[str, ...]
    aligned: bool


def read_self_contained(reply: str) -> SelfContained:
    """Return what a reply to `aops_self_contained` says.

    Raises:
        ReplyError: for missing or unknown keys and wrong types.
    """
    return read_model(reply, SelfContained)


def read_substantive(reply: str, comments: int) -> tuple[bool, ...]:
    """Return for each comment whether it is a substantive solution.

    Args:
        reply: to `aops_solutions`.
        comments: how many were shown.

    Raises:
        ReplyError: when the numbers 1 to `comments` don't occur exactly once each.
    """
    marks = read_model(reply, _Marks).comments
    numbers = sorted(mark.number for mark in marks)
    if numbers != list(range(1, comments + 1)):
        raise ReplyError(f"each number from 1 to {comments} must occur exactly once")
    by_number = {mark.number: mark.substantive for mark in marks}
    return tuple(by_number[number] for number in range(1, comments + 1))


def read_choice(reply: str, solutions: int) -> Choice:
    """Return which solution a reply to `aops_choose` chooses.

    Args:
        reply: the text.
        solutions: how many were shown.

    Raises:
        ReplyError: for a number that wasn't shown, or a choice that contradicts itself.
    """
    choice = read_model(reply, Choice)
    if choice.chosen is not None and not 1 <= choice.chosen <= solutions:
        raise ReplyError(f"'chosen' must be from 1 to {solutions}, or null")
    if (choice.chosen is not None) != choice.answersProblem:
        raise ReplyError("'answersProblem' must be true exactly where a solution is chosen")
    return choice


def read_segmentation(reply: str, document: str) -> Segmentation:
    """Return the problems and solutions of a document.

    Args:
        reply: to `document_segmentation`.
        document: what was shown. Whitespace aside, every element must occur in it to the letter.

    Raises:
        ReplyError: for tags that don't match, text outside of them, empty elements, no element,
            and elements that aren't in the document.
    """
    if _ANY_TAG.sub("", _ELEMENT.sub("", reply)).strip():
        raise ReplyError("there is text outside the tags")
    elements = [(kind, text.strip()) for kind, text in _ELEMENT.findall(reply)]
    if 2 * len(elements) != len(_ANY_TAG.findall(reply)):
        raise ReplyError("opening and closing tags don't match")
    if not elements:
        raise ReplyError("there is no <problem> element")
    source = " ".join(document.split())
    for number, (kind, text) in enumerate(elements, start=1):
        if not text:
            raise ReplyError(f"element {number} ({kind}) is empty")
        if " ".join(text.split()) not in source:
            raise ReplyError(
                f"element {number} ({kind}) is not in the document to the letter; "
                f"it begins '{text[:60]}'"
            )
    kinds = [kind for kind, _ in elements]
    return Segmentation(
        tuple(text for kind, text in elements if kind == "problem"),
        tuple(text for kind, text in elements if kind == "solution"),
        aligned=kinds == ["problem", "solution"] * (len(kinds) // 2),
    )


def read_normalised(reply: str, text: str) -> str:
    """Return a text with its formulas between dollar signs.

    Args:
        reply: to `latex_normalisation`.
        text: what was shown. Formula delimiters and whitespace aside, it must be unchanged.

    Raises:
        ReplyError: for missing tags, a changed text, or dollar signs that don't pair up.
    """
    found = tagged(reply, "text")
    if _DELIMITERS.sub("", found) != _DELIMITERS.sub("", text):
        raise ReplyError("something else than the formula delimiters was changed")
    if len(re.findall(r"(?<!\\)\$", found)) % 2:
        raise ReplyError("a dollar sign has no partner")
    return found


def read_translation(reply: str, document: str) -> str:
    r"""Return the English text of a document.

    Args:
        reply: to `translation`.
        document: what was shown. The formulas must be the same, words in `\text{...}` and
            whitespace aside, and each of its numbers must occur as often.

    Raises:
        ReplyError: for missing tags, and for formulas or numbers that were changed or lost.
    """
    found = tagged(reply, "translation")
    before, after = _formulas(document), _formulas(found)
    for formula in before - after:
        raise ReplyError(f"the formula {formula[:60]} was changed or left out")
    for formula in after - before:
        raise ReplyError(f"the formula {formula[:60]} is not in the document")
    lost = Counter(_DIGITS.findall(document)) - Counter(_DIGITS.findall(found))
    for number in lost:
        raise ReplyError(f"the number {number[:20]} was changed or left out")
    return found


def tagged(reply: str, tag: str) -> str:
    """Return the text between the one pair of tags of a reply.

    Raises:
        ReplyError: when there is no pair, more than one, text outside of it, or none inside.
    """
    opening, closing = f"<{tag}>", f"</{tag}>"
    if reply.count(opening) != 1 or reply.count(closing) != 1:
        raise ReplyError(f"there must be exactly one {opening} and one {closing}")
    before, rest = reply.split(opening)
    if closing not in rest:
        raise ReplyError(f"{closing} comes before {opening}")
    inside, after = rest.split(closing)
    if before.strip() or after.strip():
        raise ReplyError(f"there is text outside {opening} and {closing}")
    if not inside.strip():
        raise ReplyError(f"there is no text between {opening} and {closing}")
    return inside.strip()


def _formulas(text: str) -> Counter[str]:
    return Counter(
        re.sub(r"\s+", "", _WORDS_IN_FORMULA.sub("", "".join(parts)))
        for parts in _FORMULA.findall(text)
    )
