"""What cutting a document gives: problems with solutions, a drop, or a review by a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from saber_assets.asking import Failure
from saber_assets.corpus.source_kinds.protocol import SourceDocument

PERSON = "person"
"""What `decided_by` says of a document that a person cut or dropped."""

DROPPED_BY_PERSON = "dropped_by_person"
"""Why a document is dropped that a person's review says to drop."""

REVIEW_REASONS: Mapping[str, str] = {
    "empty": "the document has no text",
    "no_problems": "no problem was found in it",
    "count_mismatch": "the numbers of problems and solutions differ",
    "not_aligned": "problems and solutions do not pair up one after the other",
    "text_left_over": "much of the text, or a numbered problem, is in none of the pieces",
    "too_long": "it is longer than the model takes and can't be cut between problems",
    "translation_failed": "the model's translation could not be used",
    "model_failed": "the model's cut could not be used",
    "review_unfinished": "a person's review is marked as done and can't be used yet",
}
"""Why a document is set aside for a person, with what each means."""

PieceKind = Literal["problem", "solution"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A statement or solution as it stands in a text.

    Attributes:
        kind: which of both.
        text: exactly `document[start:end]`.
        start: offset in the text.
        end: offset behind it.
        label: number that the document gives it, such as "3" or "A1", or "".
    """

    kind: PieceKind
    text: str
    start: int
    end: int
    label: str = ""


@dataclass(frozen=True, slots=True)
class CutProblem:
    """One problem of a document.

    Attributes:
        number: as in the document ("3", "A1"); its place, from 1, where the document has none.
        problem: the statement.
        solutions: never empty; the first of the document first.
        language: of the texts here (ISO 639-1), or None where unknown.
        translated: whether a model translated them.
    """

    number: str
    problem: str
    solutions: tuple[str, ...]
    language: str | None = None
    translated: bool = False


@dataclass(frozen=True, slots=True)
class Cut:
    """A text cut into pieces.

    Attributes:
        pieces: in the order of the text; they do not overlap.
        problems: number, statement and solutions of each; empty where there is a fault.
        fault: a name of `REVIEW_REASONS`, or None.
        detail: the fault in one sentence, or "".
    """

    pieces: tuple[Piece, ...]
    problems: tuple[CutProblem, ...] = ()
    fault: str | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ReviewReason:
    """Why a document waits for a person, and with what.

    Attributes:
        reason: a name of `REVIEW_REASONS`.
        detail: one or more sentences: what is wrong, where.
        problems: statements that were found.
        solutions: solutions that were found.
        file: name of the file to edit.
    """

    reason: str
    detail: str
    problems: tuple[str, ...]
    solutions: tuple[str, ...]
    file: str


@dataclass(frozen=True, slots=True)
class DocumentOutcome:
    """What became of a document: problems, or a drop with its reason, or a review.

    Attributes:
        document: as its reader gave it.
        source: name of the source.
        decided_by: name of the model, "rules (no model)" or "person".
        problems: empty where the document is dropped or in review.
        review: why it waits for a person, or None.
        dropped: `DROPPED_BY_PERSON` or a name of the readers' faults, or None.
        language: of the document (ISO 639-1), declared or detected, or None.
        detail: what else is to be known, in sentences; "" mostly.
    """

    document: SourceDocument
    source: str
    decided_by: str
    problems: tuple[CutProblem, ...] = ()
    review: ReviewReason | None = None
    dropped: str | None = None
    language: str | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class TextTask:
    """A text to translate, cut or normalise.

    Attributes:
        label: tells which text it is, for the record of a model's answers.
        text: all of it.
        language: ISO 639-1, or None where unknown.
    """

    label: str
    text: str
    language: str | None = field(default=None)


class DocumentCutter(Protocol):
    """Cuts documents; each method takes a batch and answers in its order."""

    @property
    def name(self) -> str:
        """Name of the model, or "rules (no model)"."""
        ...

    @property
    def translates(self) -> bool:
        """Whether `translate` is to be called for a document in another language than English."""
        ...

    @property
    def normalises(self) -> bool:
        """Whether `normalise` is to be called."""
        ...

    @property
    def most_characters(self) -> int | None:
        """Length of the longest text that `translate` and `segment` take, or None."""
        ...

    def translate(self, tasks: Sequence[TextTask]) -> list[str | Failure]:
        """Return each text in English."""
        ...

    def segment(self, tasks: Sequence[TextTask]) -> list[Cut | Failure]:
        """Return each text cut into problems and solutions."""
        ...

    def normalise(self, tasks: Sequence[TextTask]) -> list[str | Failure]:
        """Return each text with its formulas between dollar signs."""
        ...
