"""Whole documents with problems and solutions: OCR Markdown, LaTeX, and PDF by an OCR command."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from saber_assets.corpus.source_kinds import options as opt
from saber_assets.corpus.source_kinds.document_pages import (
    PDF_SUFFIX,
    SUFFIXES,
    DocumentFiles,
    group_files,
    join_pages,
    split_pages,
)
from saber_assets.corpus.source_kinds.front_matter import (
    language_code,
    latex_front_matter,
    split_front_matter,
)
from saber_assets.corpus.source_kinds.latex import KIND as LATEX
from saber_assets.corpus.source_kinds.latex_files import LARGEST_FILE, LATEX_SUFFIXES, decode
from saber_assets.corpus.source_kinds.ocr import Ocr, OcrError
from saber_assets.corpus.source_kinds.protocol import Shape, SourceDocument
from saber_assets.corpus.source_kinds.source_files import SourceFile, source_files
from saber_assets.errors import InputError

BEGINNING = 65536
"""Bytes of a file that tell whether it is text."""

_ABOUT = re.compile(
    r"(?:readme|licen[cs]e|copying|notice|changelog|contributing|citation|authors)\b.*",
    re.IGNORECASE,
)
_OPTIONS = ("ocr_command", "ocr_timeout", "cache")


@dataclass(slots=True)
class _Read:
    """What the pages of one document hold."""

    texts: list[str] = field(default_factory=list)
    entries: dict[str, str] = field(default_factory=dict)
    fault: str | None = None
    reason: str = ""


class DocumentsKind:
    """Documents of competitions, each with several problems and their solutions.

    Markdown (`.md`, `.markdown`), LaTeX without problem environments, and PDF. The front matter
    of Markdown is taken off the text and becomes metadata; a language comes from its `language`
    or `lang`, else from a name such as `imo.de.md`. Files `x.p1.md`, `x.p2.md`, ... are the pages
    of one document. A PDF beside a text of the same name is where that comes from, and isn't
    read. A README, a licence and the like are no documents.

    Options:
        ocr_command: words of a command that reads a PDF, as ["mytool", "{pdf}", "{out}"].
        ocr_timeout: seconds that it may take for one PDF, 600 by default.
        cache: folder where the texts of PDFs are kept, by content.
    """

    name = "documents"
    shape: Shape = "documents"
    description = "booklets of competitions: OCR Markdown, LaTeX, PDF with an OCR command"
    licence: str | None = None
    for_training = True

    def recognises(self, path: Path) -> bool:
        """Tell whether a file is Markdown, PDF, or LaTeX that is no collection of problems."""
        path = Path(path)
        suffix = path.suffix.lower()
        if suffix not in SUFFIXES or _ABOUT.fullmatch(path.name):
            return False
        try:
            with path.open("rb") as file:
                beginning = file.read(BEGINNING)
            if suffix == PDF_SUFFIX:
                return b"%PDF-" in beginning[:1024]
            return bool(decode(beginning)[0].strip()) and not (
                suffix in LATEX_SUFFIXES and LATEX.recognises(path)
            )
        except (OSError, ValueError):
            return False

    def count(self, paths: tuple[Path, ...], options: Mapping[str, Any]) -> int | None:
        """Return how many documents there are."""
        return len(_documents(paths))

    def read(self, paths: tuple[Path, ...], options: Mapping[str, Any]) -> Iterator[SourceDocument]:
        """Yield the documents in the order of their ids.

        Raises:
            InputError: for a path or option that is wrong. A document that can't be read comes
                with a fault instead, and the reason in its metadata.
        """
        ocr = _ocr(options)
        for document in _documents(paths):
            yield _read(document, ocr)


def _ocr(options: Mapping[str, Any]) -> Ocr | None:
    opt.check_known("documents", options, _OPTIONS)
    timeout = options.get("ocr_timeout", 600)
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
        raise InputError(
            f"ocr_timeout = {timeout!r} is no number of seconds", "write ocr_timeout = 600"
        )
    command = opt.texts("documents", options, "ocr_command", ())
    cache = options.get("cache")
    if cache is not None and not isinstance(cache, str | Path):
        raise InputError(f"cache = {cache!r} is no folder", 'write cache = "ocr-texts"')
    if "ocr_command" not in options:
        return None
    return Ocr(command, Path(cache) if cache is not None else None, float(timeout))


def _documents(paths: tuple[Path, ...]) -> list[DocumentFiles]:
    given = {Path(path) for path in paths}
    files = [
        (_name(file), file.path)
        for file in source_files(paths, SUFFIXES)
        if file.path in given or not _ABOUT.fullmatch(file.path.name)
    ]
    for _, path in files:
        if path.suffix.lower() not in SUFFIXES:
            raise InputError(
                f"{path} is no document",
                f"give a folder, or a file that ends in one of {', '.join(SUFFIXES)}",
            )
    return group_files(files)


def _name(file: SourceFile) -> str:
    """Return a file's label with its number, which tells labels apart, before its suffix."""
    label, mark, number = file.label.rpartition("#")
    if not mark or not number.isdigit() or not file.path.name.endswith(label.rpartition("/")[2]):
        return file.label
    folder, slash, last = label.rpartition("/")
    stem, dot, rest = last.partition(".")
    return f"{folder}{slash}{stem}#{number}{dot}{rest}"


def _read(document: DocumentFiles, ocr: Ocr | None) -> SourceDocument:
    found = _Read()
    if document.suffix == PDF_SUFFIX:
        _read_pdfs(document, ocr, found)
    else:
        _read_texts(document, found)
    markdown = document.suffix not in LATEX_SUFFIXES
    metadata = dict(found.entries)
    if not found.fault:
        _check_pages(document, found)
    if len(found.texts) > 1:
        metadata["pages"] = str(len(found.texts))
    if document.pdf is not None:
        metadata["pdf"] = document.pdf.name
    if found.reason:
        metadata["reason"] = found.reason
    declared = found.entries.get("language") or found.entries.get("lang") or ""
    return SourceDocument(
        source_id=document.source_id,
        location=document.pages[0][1].name,
        text=found.texts[0] if len(found.texts) == 1 else join_pages(found.texts),
        syntax="markdown" if markdown else "latex",
        language=language_code(declared) or document.language,
        metadata=metadata,
        fault=found.fault,
    )


def _check_pages(document: DocumentFiles, found: _Read) -> None:
    missing, repeated = document.missing(), document.repeated()
    if missing:
        found.fault = "unreadable"
        found.reason = f"pages are missing: {', '.join(map(str, missing))}"
    elif repeated is not None:
        found.fault = "unreadable"
        found.reason = f"page {repeated} is there twice"
    elif not any(text.strip() for text in found.texts):
        found.fault, found.reason = "unreadable", "it holds no text"


def _read_texts(document: DocumentFiles, found: _Read) -> None:
    for _, path in document.pages:
        try:
            if path.stat().st_size > LARGEST_FILE:
                raise ValueError(f"it has more than {LARGEST_FILE // 2**20} MiB")
            text, assumed = decode(path.read_bytes())
        except (OSError, ValueError) as error:
            found.fault = "unreadable"
            found.reason = f"{path.name}: {getattr(error, 'strerror', None) or error}"
            return
        if assumed:
            found.entries.setdefault("encoding", assumed)
        _add(document, found, text)


def _read_pdfs(document: DocumentFiles, ocr: Ocr | None, found: _Read) -> None:
    if ocr is None:
        found.fault = "no_text_layer"
        found.reason = (
            f"{document.pages[0][1].name} is a PDF, and no ocr_command is set that reads it"
        )
        return
    for _, path in document.pages:
        try:
            text = ocr.text(path)
        except (OcrError, OSError) as error:
            found.fault = "unreadable"
            found.reason = f"{path.name}: {error}"
            return
        _add(document, found, text)


def _add(document: DocumentFiles, found: _Read, text: str) -> None:
    if document.suffix in LATEX_SUFFIXES:
        entries = latex_front_matter(text)
        found.texts.append(text)
    else:
        entries, text = split_front_matter(text)
        found.texts += split_pages(text)
    for key, value in entries.items():
        found.entries.setdefault(key, value)


KIND = DocumentsKind()
