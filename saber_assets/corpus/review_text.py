"""The text of a review: a document with tags around its problems and solutions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from saber_assets.corpus.document_marks import find_marks
from saber_assets.corpus.documents import CutProblem, Piece, PieceKind

_TAG = re.compile(r"<(/?)(problem|solution)>")
_ALMOST_TAG = re.compile(
    r"<\s*/?\s*(?:problems?|solutions?|probl?e?m|soluti?o?n)\s*/?\s*>", re.IGNORECASE
)
_ESCAPED = re.compile(r"&((?:amp;)*)lt;(/?(?:problem|solution)>)")


class ReviewError(Exception):
    """A review that can't be used; says what is wrong, and in which line."""


@dataclass(frozen=True, slots=True)
class Element:
    """What stands between a pair of tags.

    Attributes:
        kind: problem or solution.
        text: without the whitespace around it.
        start: offset of the opening tag in the file.
        end: offset behind the closing tag.
        line: of the opening tag, from 1.
    """

    kind: PieceKind
    text: str
    start: int
    end: int
    line: int


def tagged_document(text: str, pieces: Sequence[Piece]) -> str:
    """Return a text with tags around its pieces; those that overlap stand at the end once more."""
    parts: list[str] = []
    apart: list[Piece] = []
    position = 0
    for piece in sorted(pieces, key=lambda piece: (piece.start, piece.end)):
        if piece.start < position:
            apart.append(piece)
            continue
        parts += [_escape(text[position : piece.start]), _element(piece)]
        position = piece.end
    parts.append(_escape(text[position:]))
    parts += [f"\n\n{_element(piece)}" for piece in apart]
    return "".join(parts).rstrip() + "\n"


def _element(piece: Piece) -> str:
    return f"<{piece.kind}>\n{_escape(piece.text)}\n</{piece.kind}>"


def _escape(text: str) -> str:
    """Keep tags that are a part of the document from being read as tags."""
    text = _ESCAPED.sub(lambda match: f"&amp;{match[1]}lt;{match[2]}", text)
    return _TAG.sub(lambda match: "&lt;" + match[0][1:], text)


def _unescape(text: str) -> str:
    return _ESCAPED.sub(
        lambda match: f"&{match[1][4:]}lt;{match[2]}" if match[1] else f"<{match[2]}", text
    )


def elements_of(text: str, body: int) -> list[Element]:
    """Return what is tagged in a review.

    Args:
        text: of the whole file.
        body: offset where its head ends.

    Raises:
        ReviewError: for tags that don't match, elements in elements, and empty ones.
    """
    _refuse_almost_tags(text, body)
    found: list[Element] = []
    opening: re.Match[str] | None = None
    for tag in _TAG.finditer(text, body):
        line = line_of(text, tag.start())
        if not tag[1]:
            if opening is not None:
                raise ReviewError(
                    f"line {line}: {tag[0]} begins inside the {opening[0]} of line "
                    f"{line_of(text, opening.start())}"
                )
            opening = tag
            continue
        if opening is None or opening[2] != tag[2]:
            raise ReviewError(f"line {line}: {tag[0]} closes nothing")
        inside = _unescape(text[opening.end() : tag.start()].strip())
        begin = line_of(text, opening.start())
        if not inside:
            raise ReviewError(f"line {begin}: there is nothing in this {opening[2]}")
        kind: PieceKind = "problem" if tag[2] == "problem" else "solution"
        found.append(Element(kind, inside, opening.start(), tag.end(), begin))
        opening = None
    if opening is not None:
        raise ReviewError(f"line {line_of(text, opening.start())}: {opening[0]} is never closed")
    return found


def _refuse_almost_tags(text: str, body: int) -> None:
    for almost in _ALMOST_TAG.finditer(text, body):
        if not _TAG.fullmatch(almost[0]):
            raise ReviewError(
                f"line {line_of(text, almost.start())}: '{almost[0]}' is no tag; write it in lower "
                "case, without spaces, as <problem> or <solution>"
            )


def paired_problems(
    text: str, body: int, elements: Sequence[Element], language: str | None, translated: bool
) -> tuple[CutProblem, ...]:
    """Return the problems of a review, each with the solutions that follow it.

    Their numbers are those of the headings that stand before them, outside the tags, where all
    have one and no two the same; else their places.

    Raises:
        ReviewError: for a solution before the first problem, a problem without solution, and a
            review without problem.
    """
    if not elements:
        raise ReviewError("there is no problem in it; write 'status: drop, because ...' if so")
    if elements[0].kind == "solution":
        raise ReviewError(f"line {elements[0].line}: a solution stands before the first problem")
    groups: list[list[Element]] = []
    for element in elements:
        if element.kind == "problem":
            groups.append([])
        groups[-1].append(element)
    for number, group in enumerate(groups, start=1):
        if len(group) == 1:
            raise ReviewError(f"line {group[0].line}: problem {number} has no solution")
    problems = [
        CutProblem(
            str(number),
            group[0].text,
            tuple(element.text for element in group[1:]),
            language,
            translated,
        )
        for number, group in enumerate(groups, start=1)
    ]
    ends = [body, *(group[-1].end for group in groups)]
    labels = [
        _label_before(text[end : group[0].start]) for end, group in zip(ends, groups, strict=False)
    ]
    if all(labels) and len(set(labels)) == len(labels):
        problems = [
            replace(problem, number=label) for problem, label in zip(problems, labels, strict=True)
        ]
    return tuple(problems)


def _label_before(text: str) -> str:
    labels = [mark.label for mark in find_marks(text) if mark.kind == "problem" and mark.label]
    return labels[-1] if labels else ""


def line_of(text: str, offset: int) -> int:
    """Return the number of the line, from 1, that an offset stands in."""
    return text.count("\n", 0, offset) + 1
