r"""Takes from the ends of a piece what is part of the page and not of the text.

Page numbers, running heads, rules, page breaks and headings with nothing below them. Only whole
lines go, only at the ends, and only where they can't be content: a bare number is the last line of
a solution more often than not, so it goes only beside a page break.
"""

from __future__ import annotations

import re
from collections import Counter

from saber_assets.corpus import document_words as words
from saber_assets.corpus.documents import Piece, PieceKind

_BREAK = re.compile(
    r"\s*(?:\\(?:newpage|clearpage|pagebreak|hrule|hrulefill|bigskip|medskip)\b.*"
    r"|\\end\s*\{document\}|-{3,}|\*{3,}|_{3,}|<!--.*-->|\f)\s*"
)
_PAGE_NUMBER = re.compile(r"\s*[-–—]\s*\d{1,4}\s*[-–—]\s*")
_PAGE_WORD = re.compile(r"\s*([^\W\d_]+)\.?\s*\d{1,4}(?:\s*(?:/|\w{1,4})\s*\d{1,4})?\s*")
_BARE_NUMBER = re.compile(r"\s*\d{1,4}(?:\s*/\s*\d{1,4})?\s*")
_HEADING = re.compile(
    r"\s*(?:#{1,6}\s+(?=.*[^\W\d_]).*|\\(?:sub)*section\*?\s*\{[^{}]*\}|\\chapter.*)\s*"
)
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_REPEATED = 3


class Trimmer:
    """Makes pieces of one text.

    Args:
        text: the whole of it.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        lines = Counter(line.strip() for line in re.split(r"[\n\f]", text))
        self._heads = {
            line
            for line, times in lines.items()
            if times >= _REPEATED and _YEAR.search(line) and len(line) <= 90
        }

    def piece(self, kind: PieceKind, start: int, end: int, label: str = "") -> Piece:
        """Return what is left between two offsets; its text is empty where nothing is."""
        start, end = self._from_front(start, end), self._from_back(start, end)
        if end <= start:
            return Piece(kind, "", start, start, label)
        return Piece(kind, self._text[start:end], start, end, label)

    def _from_back(self, start: int, end: int) -> int:
        after_break = False
        while True:
            stripped = start + len(self._text[start:end].rstrip())
            after_break |= "\f" in self._text[stripped:end]
            end = stripped
            cut = max(self._text.rfind("\n", start, end), self._text.rfind("\f", start, end)) + 1
            line = self._text[max(cut, start) : end]
            if not line or not self._goes(line, self._beside_break(start, cut, after_break)):
                return end
            if not _HEADING.fullmatch(line):
                after_break = True
            if cut <= start:
                return start
            end = cut

    def _beside_break(self, start: int, cut: int, after_break: bool) -> bool:
        return after_break or "\f" in self._text[max(start, cut - 2) : cut]

    def _from_front(self, start: int, end: int) -> int:
        while True:
            inside = self._text[start:end]
            start += len(inside) - len(inside.lstrip())
            line = re.split(r"[\n\f]", self._text[start:end], maxsplit=1)[0]
            if not line or _HEADING.fullmatch(line) or not self._goes(line, beside_break=False):
                return start
            start += len(line)

    def _goes(self, line: str, beside_break: bool) -> bool:
        if _BREAK.fullmatch(line) or _PAGE_NUMBER.fullmatch(line) or _HEADING.fullmatch(line):
            return True
        page = _PAGE_WORD.fullmatch(line)
        if page and words.fold(page[1]) in words.PAGE:
            return True
        return line.strip() in self._heads or (beside_break and bool(_BARE_NUMBER.fullmatch(line)))
