"""Finds what belongs together: openings with their closings, and text to leave alone.

All of it is one pass over the tokens, so that no input, however broken, takes more than linear
time.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

_VERBATIM_NAMES = r"verbatim\*?|Verbatim|lstlisting|minted|alltt"
_VERBATIM = re.compile(
    rf"\\begin\{{({_VERBATIM_NAMES})\}}|\\end\{{({_VERBATIM_NAMES})\}}|(```)"
    r"|\\verb\*?([^\sA-Za-z*{])"
)
_LONGEST_VERB = 1000  # characters in which `\verb|...|` must end


class Token(NamedTuple):
    """An opening or closing mark `text[start:end]` of something called `name`."""

    start: int
    end: int
    name: str
    closes: bool


def matched(tokens: Sequence[Token]) -> dict[int, int]:
    """Return for each opening token the index of its closing one.

    A closing token takes the nearest opening one of its name before it that has no partner yet.
    Those without partner don't occur in the result.
    """
    waiting: dict[str, list[int]] = {}
    pairs: dict[int, int] = {}
    for index, token in enumerate(tokens):
        if not token.closes:
            waiting.setdefault(token.name, []).append(index)
        elif waiting.get(token.name):
            pairs[waiting[token.name].pop()] = index
    return pairs


def outermost(tokens: Sequence[Token]) -> list[tuple[int, int]]:
    """Return the spans from opening to closing token that lie in no other such span."""
    spans: list[tuple[int, int]] = []
    for opening, closing in sorted(matched(tokens).items()):
        if not spans or tokens[opening].start >= spans[-1][1]:
            spans.append((tokens[opening].start, tokens[closing].end))
    return spans


def verbatim_spans(text: str) -> list[tuple[int, int]]:
    r"""Return where text is to be read to the letter.

    That is in `\begin{verbatim}` and its like, in `\verb|...|` and between code fences. What
    isn't closed is not verbatim.
    """
    if "\\verb" not in text and "```" not in text and "\\begin{" not in text:
        return []
    marks = list(_VERBATIM.finditer(text))
    if not marks:
        return []
    closings: dict[str, list[int]] = {}
    for mark in marks:
        if name := mark[2] or mark[3]:
            closings.setdefault(name, []).append(mark.start())
    spans: list[tuple[int, int]] = []
    done = 0
    for mark in marks:
        if mark.start() >= done and (end := _verbatim_end(text, mark, closings)) is not None:
            spans.append((mark.start(), end))
            done = end
    return spans


def _verbatim_end(text: str, mark: re.Match[str], closings: dict[str, list[int]]) -> int | None:
    if mark[4]:
        end = text.find(mark[4], mark.end(), mark.end() + _LONGEST_VERB)
        return end + 1 if end >= 0 and "\n" not in text[mark.end() : end] else None
    name = mark[1] or mark[3]
    if not name:
        return None
    places = closings.get(name, [])
    index = bisect_right(places, mark.start())
    if index == len(places):
        return None
    return places[index] + (3 if mark[3] else len(name) + len(r"\end{}"))


def pieces(text: str) -> Iterator[tuple[bool, str]]:
    """Yield the text in pieces, each with whether it is verbatim; joined, they are the text."""
    done = 0
    for start, end in verbatim_spans(text):
        if start > done:
            yield False, text[done:start]
        yield True, text[start:end]
        done = end
    if done < len(text):
        yield False, text[done:]


def outside_verbatim(function: Callable[[str], str]) -> Callable[[str], str]:
    """Return a function that applies another to the pieces that are not verbatim."""

    def apply(text: str) -> str:
        if not verbatim_spans(text):
            return function(text)
        return "".join(p if verbatim else function(p) for verbatim, p in pieces(text))

    apply.__name__ = function.__name__
    apply.__doc__ = function.__doc__
    return apply
