r"""Which files make one document, and how pages become one text.

`booklet.p1.md`, `booklet.p2.md`, ... are the pages of `booklet`, joined in the order of their
numbers. In one file, pages are divided by a form feed or a line such as `<!-- page 2 -->`,
`[[page 2]]`, `--- page 2 ---` or `{2}------------`; where each has a number they are put in order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path, PurePosixPath

from saber_assets.corpus.source_kinds.front_matter import language_code

TEXT_SUFFIXES = (".md", ".markdown", ".tex", ".ltx", ".latex")
PDF_SUFFIX = ".pdf"
SUFFIXES = (*TEXT_SUFFIXES, PDF_SUFFIX)

_PAGE = re.compile(r"(?:p|page|seite)[-_]?(\d{1,6})", re.IGNORECASE)
_CODE = re.compile(r"[a-z]{2}(?:[-_][A-Za-z]{2,4})?")
_BREAK = re.compile(
    r"^[ \t]*(?:"
    r"<!--[ \t]*page[ \t]?-?(?:break)?[ \t:#]*(?P<html>\d{1,6})?[^>\n]{0,40}-->"
    r"|\[\[[ \t]*page[ \t]+(?P<wiki>\d{1,6})[ \t]*\]\]"
    r"|-{2,9}[ \t]*page[ \t]+(?P<rule>\d{1,6})[ \t]*-{2,9}"
    r"|\{(?P<number>\d{1,6})\}-{10,80}"
    r")[ \t]*$\n?|\f",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(slots=True)
class DocumentFiles:
    """The files of one document.

    Attributes:
        source_id: path below the source's folder, without suffix and page number.
        pages: (number, path) in order; one page without number is (None, path).
        language: as the file name declares it, or None.
        pdf: its PDF, where there is one beside the text.
    """

    source_id: str
    pages: list[tuple[int | None, Path]] = field(default_factory=list)
    language: str | None = None
    pdf: Path | None = None

    @property
    def suffix(self) -> str:
        """Suffix of its files, in lower case."""
        return self.pages[0][1].suffix.lower()

    def missing(self) -> list[int]:
        """Return the numbers of pages that lack between the first and the last, the first ten."""
        numbers = {number for number, _ in self.pages if number is not None}
        if not numbers:
            return []
        found = []
        for number in range(min(numbers), max(numbers) + 1):
            if number not in numbers:
                found.append(number)
                if len(found) == 10:
                    break
        return found

    def repeated(self) -> int | None:
        """Return a page number that two files have, or None."""
        numbers = [number for number, _ in self.pages]
        return next((n for n, m in pairwise(numbers) if n == m and n is not None), None)


def name_parts(name: str) -> tuple[str, int | None, str | None]:
    """Return a file name without suffix and page number, the page number, and the language.

    >>> name_parts("imo-2001.de.p12.md"), name_parts("notes.md")
    (('imo-2001.de', 12, 'de'), ('notes', None, None))
    """
    first, *rest = PurePosixPath(name).stem.split(".")
    page: int | None = None
    at = -2 if len(rest) > 1 and language_code_of(rest[-1]) else -1
    if rest and (match := _PAGE.fullmatch(rest[at])):
        page = int(match[1])
        del rest[at]
    language = language_code_of(rest[-1]) if rest else None
    return ".".join((first, *rest)), page, language


def language_code_of(part: str) -> str | None:
    """Return the language that a part of a file name stands for, such as `de` or `pt-BR`."""
    return language_code(part) if _CODE.fullmatch(part) else None


def group_files(files: Iterable[tuple[str, Path]]) -> list[DocumentFiles]:
    """Put files together that make one document, in the order of their ids.

    Args:
        files: (name below the source's folder with `/`, path).

    A PDF beside a text of its name is the text's origin, and no document of its own. Where a
    Markdown and a LaTeX file have the same name, the second's id keeps its suffix.
    """
    found: dict[tuple[str, str, bool], DocumentFiles] = {}
    for name, path in sorted(files):
        folder, slash, last = name.rpartition("/")
        stem, page, language = name_parts(last)
        key = (folder + slash + stem, path.suffix.lower(), page is not None)
        document = found.setdefault(key, DocumentFiles(key[0], language=language))
        document.pages.append((page, path))
    named: dict[str, DocumentFiles] = {}
    for key in sorted(found, key=lambda key: (key[0], _rank(key[1]), key[2])):
        document = found[key]
        document.pages.sort(key=lambda entry: (entry[0] or 0, str(entry[1])))
        first = named.setdefault(key[0], document)
        if first is document:
            continue
        if document.suffix == PDF_SUFFIX:
            first.pdf = document.pages[0][1]
            continue
        document.source_id = f"{key[0]}{document.suffix}{' (pages)' if key[2] else ''}"
        named[document.source_id] = document
    return [named[source_id] for source_id in sorted(named)]


def _rank(suffix: str) -> int:
    return SUFFIXES.index(suffix) if suffix in SUFFIXES else len(SUFFIXES)


def join_pages(pages: Iterable[str]) -> str:
    """Return pages as one text, with a blank line between them."""
    return "\n\n".join(page.strip("\n") for page in pages)


def split_pages(text: str) -> list[str]:
    """Return the pages of a text that has page breaks, in order; [text] where it has none.

    What stands before the first numbered mark comes first.
    """
    marks = list(_BREAK.finditer(text))
    if not marks:
        return [text]
    pages: list[tuple[int | None, str]] = [(None, text[: marks[0].start()])]
    for at, mark in enumerate(marks):
        end = marks[at + 1].start() if at + 1 < len(marks) else len(text)
        number = next((int(group) for group in mark.groups() if group), None)
        pages.append((number, text[mark.end() : end]))
    numbers = [number for number, _ in pages[1:]]
    if None not in numbers and len(set(numbers)) == len(numbers):
        pages[1:] = sorted(pages[1:], key=lambda entry: entry[0] or 0)
    return [page for _, page in pages if page.strip()]
