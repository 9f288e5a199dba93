"""Documents that wait for a person: a file each, edited by the person and read by the next run.

The file is the document's text with tags around what was found, below a short head. Text outside
the tags counts for nothing, so that a person only moves tags. A file that a person has touched is
never written again.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from saber_assets.corpus.documents import CutProblem, DocumentOutcome, Piece
from saber_assets.corpus.review_text import (
    ReviewError,
    elements_of,
    paired_problems,
    tagged_document,
)
from saber_assets.corpus.source_kinds.protocol import SourceDocument
from saber_assets.text_file import write_text

_HEAD = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*\n", re.DOTALL | re.MULTILINE)
_ENTRY = re.compile(r"^([a-z_]+)[ \t]*:[ \t]*(.*)$", re.MULTILINE | re.IGNORECASE)
_WRITTEN = re.compile(r"^written:.*\n", re.MULTILINE)
_OUTDATED = ".outdated-"
_SLUG_LENGTH = 60
_INSTRUCTIONS = """\
# This document could not be cut into problems and solutions with certainty. To settle it:
# 1. Below, put each problem and each solution between tags, so that each problem is followed by
#    its solution, or by several solutions. Each tag stands between < and >: problem, /problem,
#    solution, /solution. What is outside of tags is ignored. Mend misread text where you like.
# 2. Write 'status: done' above, or 'status: drop, because ...' to leave the document out.
# 3. Run the command again. What can't be used then is told by line.
# Change nothing else above the next line of dashes.
"""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a person's review of a document says.

    Attributes:
        problems: as the person cut them; empty unless the review is done.
        dropped: why the person drops the document, or "".
        fault: what is wrong with a review that is marked as done, where; or "".
        found_problems: of a review with a fault, what is tagged so far.
        found_solutions: the same.
        file: name of its file.
    """

    file: str
    problems: tuple[CutProblem, ...] = ()
    dropped: str = ""
    fault: str = ""
    found_problems: tuple[str, ...] = ()
    found_solutions: tuple[str, ...] = ()


class Reviews:
    """The reviews of one source.

    Args:
        folder: where the files are; made when the first is written.
        source: name of the source.
    """

    def __init__(self, folder: Path, source: str) -> None:
        self.folder = folder
        self.source = source

    def path(self, source_id: str) -> Path:
        """Return the file of a document: safe on every system, and another for every id."""
        spread = unicodedata.normalize("NFKD", source_id).encode("ascii", "ignore").decode()
        slug = re.sub(r"[^a-z0-9]+", "-", spread.lower())[:_SLUG_LENGTH].strip("-") or "document"
        return self.folder / f"{slug}-{_hash(self.source, source_id)[:12]}.md"

    def read(self, document: SourceDocument) -> Verdict | None:
        """Return what a person decided, or None where nobody decided anything.

        A file that can't be understood is a verdict with a fault, not an error: it must not stop
        the documents beside it.
        """
        path = self.path(document.source_id)
        try:
            text = _load(path)
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            return Verdict(path.name, fault=f"{path.name} can't be read as UTF-8 text ({error})")
        head = _HEAD.match(text)
        if head is None:
            return Verdict(
                path.name,
                fault=f"{path.name}: its head between two lines of dashes is gone; delete the file "
                "to get a new one",
            )
        entries = _entries(head[1])
        status = entries.get("status", "")
        if "document_hash" not in entries:
            return Verdict(
                path.name,
                fault=f"{path.name}: the line 'document_hash' is gone; delete the file to get a "
                "new one",
            )
        if entries["document_hash"] != document_hash(document):
            return None
        return self._verdict(path.name, text, head.end(), entries, status)

    def _verdict(
        self, name: str, text: str, body: int, entries: dict[str, str], status: str
    ) -> Verdict | None:
        word, _, rest = re.sub(r"[,;:.\s]+", " ", status, count=1).strip().partition(" ")
        if word.lower() == "open":
            return None
        if word.lower() == "drop":
            reason = (rest or entries.get("drop_reason", "")).strip()
            if re.search(r"\w{3}", reason):
                return Verdict(name, dropped=reason)
            return Verdict(name, fault=f"{name}: 'status: drop' needs a reason behind it")
        if word.lower() != "done" or rest:
            return Verdict(
                name, fault=f"{name}: the status is '{status[:40]}'; write open, done or drop"
            )
        translated = entries.get("translated") == "yes"
        language = "en" if translated else entries.get("language") or None
        try:
            elements = elements_of(text, body)
        except ReviewError as error:
            return Verdict(name, fault=f"{name}, {error}")
        try:
            problems = paired_problems(text, body, elements, language, translated)
        except ReviewError as error:
            return Verdict(
                name,
                fault=f"{name}, {error}",
                found_problems=tuple(e.text for e in elements if e.kind == "problem"),
                found_solutions=tuple(e.text for e in elements if e.kind == "solution"),
            )
        return Verdict(name, problems=problems)

    def write(
        self,
        document: SourceDocument,
        reason: str,
        detail: str,
        text: str,
        pieces: Sequence[Piece],
        language: str | None = None,
        translated: bool = False,
    ) -> str:
        """Write the file of a document, unless a person has touched it; return its name.

        Args:
            document: as its reader gave it.
            reason: a name of `REVIEW_REASONS`.
            detail: what is wrong, where.
            text: of the document, or its translation.
            pieces: of `text`.
            language: of the document.
            translated: whether `text` is a translation.
        """
        path = self.path(document.source_id)
        content = _content(
            {
                "status": "open",
                "document": document.source_id,
                "document_hash": document_hash(document),
                "reason": reason,
                "detail": detail,
                "language": language or "",
                "translated": "yes" if translated else "no",
            },
            tagged_document(text, pieces),
        )
        if not self._is_a_persons(path):
            write_text(path, content)
        return path.name

    @staticmethod
    def _is_a_persons(path: Path) -> bool:
        """Tell whether a person has touched a file; one that can't be read is a person's."""
        try:
            return _is_edited(_load(path))
        except FileNotFoundError:
            return False
        except (OSError, UnicodeDecodeError):
            return True

    def set_aside(self, document: SourceDocument) -> tuple[str, ...]:
        """Move a touched file for an earlier text of the document out of the way.

        Returns:
            The names of all files of the document that were moved, now or before.
        """
        path = self.path(document.source_id)
        names = []
        number = 1
        while (aside := path.with_name(f"{path.stem}{_OUTDATED}{number}.md")).exists():
            names.append(aside.name)
            number += 1
        try:
            text = _load(path)
        except (OSError, UnicodeDecodeError):
            return tuple(names)
        head = _HEAD.match(text)
        old = _entries(head[1]).get("document_hash") if head else None
        if old is not None and old != document_hash(document) and _is_edited(text):
            path.replace(aside)
            names.append(aside.name)
        return tuple(names)

    def close(self, document: SourceDocument) -> None:
        """Delete the file of a document without need for a review, unless a person touched it."""
        path = self.path(document.source_id)
        if path.exists() and not self._is_a_persons(path):
            path.unlink(missing_ok=True)

    def fingerprint(self) -> str:
        """Return a hash that changes whenever a person's decision does.

        Files that nobody marked as done or dropped don't count: a run that writes them does not
        make its own result stale. Neither do names, so that a file moved aside changes nothing.
        """
        found = []
        for path in sorted(self.folder.glob("*.md")) if self.folder.is_dir() else []:
            try:
                text = _load(path)
            except (OSError, UnicodeDecodeError):
                text = hashlib.blake2b(path.read_bytes()).hexdigest() if path.is_file() else ""
            head = _HEAD.match(text)
            status = _entries(head[1]).get("status", "") if head else ""
            if status.lower() != "open":
                found.append(_hash(text))
        return _hash(*sorted(found))


def review_frame(outcomes: Iterable[DocumentOutcome]) -> pl.DataFrame:
    """Return the documents that wait for a person.

    Returns:
        One row for each outcome in review, in their order: source, source_id, location, reason,
        detail, problems and solutions (lists of texts), language (null where unknown) and
        review_file (its name).
    """
    rows = [
        {
            "source": outcome.source,
            "source_id": outcome.document.source_id,
            "location": outcome.document.location,
            "reason": outcome.review.reason,
            "detail": outcome.review.detail,
            "problems": list(outcome.review.problems),
            "solutions": list(outcome.review.solutions),
            "language": outcome.language,
            "review_file": outcome.review.file,
        }
        for outcome in outcomes
        if outcome.review is not None
    ]
    return pl.DataFrame(rows, schema=REVIEW_SCHEMA)


REVIEW_SCHEMA = {
    "source": pl.String(),
    "source_id": pl.String(),
    "location": pl.String(),
    "reason": pl.String(),
    "detail": pl.String(),
    "problems": pl.List(pl.String()),
    "solutions": pl.List(pl.String()),
    "language": pl.String(),
    "review_file": pl.String(),
}
"""Columns of `review_frame`."""


def document_hash(document: SourceDocument) -> str:
    """Return the hash of a document's text, by which a review knows which text it is of."""
    return _hash(document.text)[:16]


def _hash(*texts: str) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()


def _content(entries: dict[str, str], body: str) -> str:
    lines = "".join(
        f"{key}: {' '.join(value.split())}".rstrip() + "\n" for key, value in entries.items()
    )
    text = f"---\n{lines}{_INSTRUCTIONS}---\n\n{body}"
    text = text.encode("utf-8", "replace").decode()
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    first, rest = text.split("\n", 2)[0:2], text.split("\n", 2)[2]
    return "\n".join([*first, f"written: {_hash(text)}", rest])


def _is_edited(text: str) -> bool:
    written = re.search(r"^written: (\w+)$", text, re.MULTILINE)
    return written is None or written[1] != _hash(_WRITTEN.sub("", text, count=1))


def _entries(head: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in _ENTRY.findall(head):
        found.setdefault(key.lower(), value.strip())
    return found


def _load(path: Path) -> str:
    return path.read_text(encoding="utf-8-sig")
