"""The DocumentCutter that asks a language model, and checks what it copied against the text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from saber_assets.asking import Asker, ChatModel, Failure, PromptTemplate
from saber_assets.corpus.document_rules import (
    label_at,
    numbered_items,
    numbered_places,
    split_solutions,
)
from saber_assets.corpus.documents import Cut, CutProblem, Piece, PieceKind, TextTask
from saber_assets.corpus.llm_replies import (
    Segmentation,
    read_normalised,
    read_segmentation,
    read_translation,
)

MOST_CHARACTERS = 48_000
"""Longest text that a model is asked to copy: about 16,000 tokens of mathematics."""
LEAST_COVERAGE = 0.5
"""Least share of a text, whitespace aside, that the pieces of a cut must hold."""


class LlmDocumentCutter:
    """A DocumentCutter that asks a language model (SPEC, "Corpus").

    What a model copied must stand in the text to the letter, each piece at a place of its own,
    problems and solutions in the order of the text. Where the text's own headings number a piece,
    the numbers of a problem and of its solution must agree, and no numbered item may be left out.

    Args:
        chat: the model.
        segmentation: prompt with `document`.
        translation: prompt with `language` and `document`; None: nothing is translated.
        normalisation: prompt with `text`; None: formulas stay as they are.
        re_asks: how often a reply that can't be used is asked for again.
        most_characters: length of the longest text that the model takes.
        least_coverage: least share, in [0, 1], of a text that must be in pieces.
    """

    def __init__(
        self,
        chat: ChatModel,
        segmentation: PromptTemplate,
        translation: PromptTemplate | None = None,
        normalisation: PromptTemplate | None = None,
        re_asks: int = 2,
        most_characters: int = MOST_CHARACTERS,
        least_coverage: float = LEAST_COVERAGE,
    ) -> None:
        if most_characters < 1:
            raise ValueError(f"most_characters must be positive, got {most_characters}")
        if not 0 <= least_coverage <= 1:
            raise ValueError(f"least_coverage must be from 0 to 1, got {least_coverage}")
        self.name = chat.model
        self.most_characters: int | None = most_characters
        self._least_coverage = least_coverage
        self._asker = Asker(chat, re_asks)
        self._segmentation = segmentation
        self._translation = translation
        self._normalisation = normalisation

    @property
    def translates(self) -> bool:
        """Whether there is a prompt for it."""
        return self._translation is not None

    @property
    def normalises(self) -> bool:
        """Whether there is a prompt for it."""
        return self._normalisation is not None

    def translate(self, tasks: Sequence[TextTask]) -> list[str | Failure]:
        """Return each text in English, its formulas and numbers unchanged."""
        if self._translation is None:
            return [Failure("there is no prompt for translation") for _ in tasks]
        return self._asker.ask(
            tasks,
            self._translation,
            lambda task: {"language": task.language or "unknown", "document": task.text},
            lambda task: lambda reply: read_translation(reply, task.text),
            lambda task: task.label,
        )

    def segment(self, tasks: Sequence[TextTask]) -> list[Cut | Failure]:
        """Return each text cut into problems and solutions."""
        replies = self._asker.ask(
            tasks,
            self._segmentation,
            lambda task: {"document": task.text},
            lambda task: lambda reply: read_segmentation(reply, task.text),
            lambda task: task.label,
        )
        return [
            reply
            if isinstance(reply, Failure)
            else placed(reply, task.text, least_coverage=self._least_coverage)
            for task, reply in zip(tasks, replies, strict=True)
        ]

    def normalise(self, tasks: Sequence[TextTask]) -> list[str | Failure]:
        """Return each text with its formulas between dollar signs."""
        if self._normalisation is None:
            return [task.text for task in tasks]
        return self._asker.ask(
            tasks,
            self._normalisation,
            lambda task: {"text": task.text},
            lambda task: lambda reply: read_normalised(reply, task.text),
            lambda task: task.label,
        )


def placed(found: Segmentation, text: str, *, least_coverage: float = LEAST_COVERAGE) -> Cut:
    """Return a model's segmentation with its pieces at their places in the text.

    Args:
        found: as read from the reply; whitespace aside, its texts stand in `text`.
        text: what was shown.
        least_coverage: least share, in [0, 1], of the text that must be in pieces.
    """
    places = _Places(text)
    problems, late = places.locate("problem", found.problems)
    solutions, later = places.locate("solution", found.solutions)
    pieces = tuple(sorted([*problems, *solutions], key=lambda piece: (piece.start, piece.end)))
    if len(problems) != len(solutions):
        counts = f"{len(problems)} problems and {len(solutions)} solutions were found"
        return Cut(pieces, fault="count_mismatch", detail=counts)
    fault = late or later or _misplaced(found, pieces)
    if fault:
        return Cut(pieces, fault="not_aligned", detail=fault)
    numbers = numbered_places(text)
    pairs = list(zip(problems, solutions, strict=True))
    fault = _wrong_pair(pairs, numbers)
    if fault:
        return Cut(pieces, fault="not_aligned", detail=fault)
    fault = _left_over(text, pieces, least_coverage)
    if fault:
        return Cut(pieces, fault="text_left_over", detail=fault)
    return Cut(
        pieces,
        tuple(
            CutProblem(
                label_at(numbers, problem.start) or str(place),
                problem.text,
                split_solutions(solution.text),
            )
            for place, (problem, solution) in enumerate(pairs, start=1)
        ),
    )


class _Places:
    """Finds texts in a document, whitespace aside."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts: list[int] = []
        self._joined: list[int] = []
        position = 0
        words = text.split()
        place = 0
        for word in words:
            place = text.index(word, place)
            self._starts.append(place)
            self._joined.append(position)
            place += len(word)
            position += len(word) + 1
        self._source = " ".join(words)

    def locate(self, kind: PieceKind, texts: Sequence[str]) -> tuple[list[Piece], str]:
        """Return a piece for each text, and what is wrong with their order, or ""."""
        found: list[Piece] = []
        fault = ""
        after = 0
        for number, text in enumerate(texts, start=1):
            wanted = " ".join(text.split())
            place = self._source.find(wanted, after)
            if place < 0:
                fault = fault or f"{kind} {number} of the reply stands before {kind} {number - 1}"
                place = self._source.find(wanted)
            after = place + len(wanted)
            start, end = self._offset(place), self._offset(after - 1) + 1
            found.append(Piece(kind, self._text[start:end], start, end))
        return found, fault

    def _offset(self, joined: int) -> int:
        word = bisect_right(self._joined, joined) - 1
        return self._starts[word] + joined - self._joined[word]


def _misplaced(found: Segmentation, pieces: tuple[Piece, ...]) -> str:
    if not found.aligned:
        return "the problems are not each followed by one solution"
    for before, after in pairwise(pieces):
        if after.start < before.end:
            return f"two elements hold the same text, which begins '{after.text[:60]}'"
    return ""


def _wrong_pair(pairs: list[tuple[Piece, Piece]], numbers: list[tuple[int, str]]) -> str:
    for problem, solution in pairs:
        ours, its = label_at(numbers, problem.start), label_at(numbers, solution.start)
        if ours and its and ours != its:
            return f"problem {ours} was given the solution of problem {its}"
    return ""


def _left_over(text: str, pieces: tuple[Piece, ...], least: float) -> str:
    """Return what of the text is missing in the pieces: a numbered item, or too much of all."""
    for name, start, end in numbered_items(text):
        if not any(piece.start < end and start < piece.end for piece in pieces):
            return f"{name} of the document is in no element"
    inside = sum(len("".join(piece.text.split())) for piece in pieces)
    whole = len("".join(text.split()))
    if inside < least * whole:
        return f"only {100 * inside // max(whole, 1)} % of the text are in an element"
    return ""
