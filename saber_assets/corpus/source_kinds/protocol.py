"""What a reader of a source gives: records, threads or documents, one after the other.

A reader streams: it never holds a whole source, so that half a million threads fit in the memory
of a laptop. It changes no text (cleaning does that, later and visibly) and drops nothing: what
can't be used comes with its fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

Shape = Literal["records", "threads", "documents"]
"""What a kind of source consists of: problems with solutions; forum threads; whole documents."""


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """One problem as it stands in its source.

    Attributes:
        source_id: unique in the source.
        location: file name and line, row or environment, for a person who looks for it.
        problem: the statement, untouched.
        solutions: its solutions, the preferred one first; none where there is none.
        answer: the short answer, where the source has one of its own.
        language: as the source declares it (ISO 639-1), or None.
        licence: SPDX identifier of this record, where it differs from its source's, or None.
        origin: what the source itself names as origin, such as a contest; "" where it doesn't.
        metadata: more that the source says, as text: author, year, problem type.
        fault: why the source's own marks rule it out (a name of `READER_FAULTS`), or None.
    """

    source_id: str
    location: str
    problem: str
    solutions: tuple[str, ...]
    answer: str | None = None
    language: str | None = None
    licence: str | None = None
    origin: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Post:
    """One post of a thread, text untouched (BBCode or HTML); `time` in seconds since 1970 or 0."""

    number: int
    author: str
    time: int
    text: str


@dataclass(frozen=True, slots=True)
class SourceThread:
    """A forum thread: the first post states the problem, the others comment.

    Attributes:
        source_id: unique in the source.
        location: file name and line or place in it.
        title: of the thread.
        posts: in the order of their numbers; never empty.
        category: forum or collection, or "".
        fault: why it can't be used at all (a name of `READER_FAULTS`), or None.
    """

    source_id: str
    location: str
    title: str
    posts: tuple[Post, ...]
    category: str = ""
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """A document with problems and solutions, such as the booklet of a competition.

    Attributes:
        source_id: its path below the source's folder, without suffix, with `/`.
        location: file name.
        text: Markdown or LaTeX, untouched.
        syntax: which of both.
        language: as a front matter or file name declares it (ISO 639-1), or None.
        metadata: front matter and the like, as text.
        fault: why it can't be used (a name of `READER_FAULTS`), or None.
    """

    source_id: str
    location: str
    text: str
    syntax: Literal["markdown", "latex"] = "markdown"
    language: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    fault: str | None = None


READER_FAULTS = {
    "synthetic": "the source marks it as synthetic",
    "multiple_choice": "a multiple-choice question",
    "marked_invalid": "the source marks statement or solution as invalid",
    "other_split": "not of the chosen split of its source",
    "unreadable": "its file can't be read as what it should be",
    "no_text_layer": "a PDF, and no OCR command is configured",
}
"""Faults that readers find, with what each means."""

SourceItem = SourceRecord | SourceThread | SourceDocument


class SourceKind(Protocol):
    """A kind of source. A package registers its own by the entry point group `saber.sources`."""

    name: str
    """What `kind` in the settings says, such as `numinamath`."""
    shape: Shape
    description: str
    """One line for `saber corpus kinds`."""
    licence: str | None
    """SPDX identifier that sources of this kind have where the settings name none, or None."""
    for_training: bool
    """Whether text of this kind may be used to train models."""

    def recognises(self, path: Path) -> bool:
        """Tell from a file's name and beginning whether it is of this kind; never raises."""
        ...

    def count(self, paths: tuple[Path, ...], options: Mapping[str, Any]) -> int | None:
        """Return how many items there are, where that is cheap to know, else None."""
        ...

    def read(self, paths: tuple[Path, ...], options: Mapping[str, Any]) -> Iterator[SourceItem]:
        """Yield the items in a fixed order.

        Args:
            paths: files, or folders to walk in sorted order.
            options: from the settings; each kind says in its docstring which it knows.

        Raises:
            InputError: for a file that isn't there, can't be read or isn't of this kind, and for
                an unknown or wrong option; names file, line or row, and the mend.
        """
        ...
