"""Cuts long documents into parts that together are the document, at harmless borders."""

from __future__ import annotations

import re
from bisect import bisect_right

from saber_assets.corpus.document_rules import problem_starts

_PARAGRAPH = re.compile(r"\n[ \t]*\n\s*")
_LINE = re.compile(r"\n")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_CLOSED = re.compile(
    r"(?<!\\)\$\$.+?(?<!\\)\$\$|(?<!\\)\$[^$\n]+?(?<!\\)\$|\\\(.+?\\\)|\\\[.+?\\\]"
    r"|\\begin\{(\w+\*?)\}.*?\\end\{\1\}|```.*?```",
    re.DOTALL,
)


def parts_at_paragraphs(text: str, most: int) -> list[str] | None:
    """Return a text in parts of at most `most` characters, whose concatenation is the text.

    Borders are paragraphs; where a paragraph is too long, lines; then sentences; never inside a
    formula or an environment that is shorter than a part.

    Args:
        text: the whole of it.
        most: length of the longest part.

    Returns:
        None where a stretch without any border is longer.
    """
    if len(text) <= most:
        return [text]
    closed = [match.span() for match in _CLOSED.finditer(text) if len(match[0]) <= most]
    levels = [
        _outside([match.end() for match in pattern.finditer(text)], closed)
        for pattern in (_PARAGRAPH, _LINE, _SENTENCE)
    ]
    return _parts(text, most, levels)


def parts_at_problems(text: str, most: int) -> list[str] | None:
    """Return a document in parts of at most `most` characters, cut before headings of problems.

    Returns:
        None where there are no headings, or one problem with its solution is longer.
    """
    if len(text) <= most:
        return [text]
    starts = problem_starts(text)[1:]
    return _parts(text, most, [starts])


def _outside(borders: list[int], closed: list[tuple[int, int]]) -> list[int]:
    starts = [start for start, _ in closed]
    kept = []
    for border in borders:
        place = bisect_right(starts, border - 1) - 1
        if place < 0 or closed[place][1] <= border:
            kept.append(border)
    return kept


def _parts(text: str, most: int, levels: list[list[int]]) -> list[str] | None:
    parts: list[str] = []
    start = 0
    while len(text) - start > most:
        for borders in levels:
            place = bisect_right(borders, start + most) - 1
            if place >= 0 and borders[place] > start:
                break
        else:
            return None
        parts.append(text[start : borders[place]])
        start = borders[place]
    parts.append(text[start:])
    return parts
