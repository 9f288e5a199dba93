"""Cuts documents by their headings alone, without a model, and only where numbers pair up exactly.

Two layouts are known. Alternating: each problem is followed by its solution or solutions. Two
parts: a part headed as solutions follows the problems, and each solution stands there under the
number of its problem, with or without the statement once more. Whatever leaves a doubt (a number
that is missing or occurs twice, solutions that could belong to two problems, text that the rules
can't place) is for a person: a cut with a fault has no problems.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from saber_assets.asking import Failure
from saber_assets.corpus.document_marks import STYLES, Mark, find_marks
from saber_assets.corpus.document_trim import Trimmer
from saber_assets.corpus.documents import Cut, CutProblem, Piece, PieceKind, TextTask

NO_MODEL = "rules (no model)"

Part = Literal["problems", "solutions"]


@dataclass(slots=True)
class _Entry:
    """A heading with what follows it: in the part of the problems, or of the solutions."""

    part: Part
    label: str
    lead: Piece | None
    solutions: list[tuple[Mark, Piece]] = field(default_factory=list)


class RulesDocumentCutter:
    """A DocumentCutter that translates nothing and asks no model (SPEC, "Corpus")."""

    name = NO_MODEL
    translates = False
    normalises = False
    most_characters: int | None = None

    def translate(self, tasks: Sequence[TextTask]) -> list[str | Failure]:
        """Return a failure for each: rules can't translate."""
        return [Failure("rules without a model can't translate") for _ in tasks]

    def segment(self, tasks: Sequence[TextTask]) -> list[Cut | Failure]:
        """Return each text cut at its headings."""
        return [cut_by_rules(task.text) for task in tasks]

    def normalise(self, tasks: Sequence[TextTask]) -> list[str | Failure]:
        """Return each text as it is."""
        return [task.text for task in tasks]


def cut_by_rules(text: str) -> Cut:
    """Return a document cut at its headings, or with the fault that leaves it to a person."""
    entries = _entries(text)
    pieces = _pieces(entries)
    problems = sum(piece.kind == "problem" for piece in pieces)
    solutions = len(pieces) - problems
    if not text.strip():
        return Cut((), fault="empty", detail="the document has no text")
    if not problems:
        return Cut(pieces, fault="no_problems", detail="no heading of a problem was found")
    try:
        return Cut(pieces, tuple(_paired(entries)))
    except _NotPairedError as error:
        kind = "not_aligned" if problems == solutions else "count_mismatch"
        counts = f"{problems} problems and {solutions} solutions were found"
        return Cut(pieces, fault=kind, detail=f"{counts}; {error}")


def numbered_places(text: str) -> list[tuple[int, str]]:
    """Return where each numbered item of a document begins, with its number.

    Only headings in words ("Problem 3", "Lösung zu Aufgabe 3") and environments count here.
    """
    return [
        (mark.end, mark.label)
        for mark in find_marks(text)
        if mark.label and mark.style == "word" and (mark.kind == "problem" or mark.names_problem)
    ]


def numbered_items(text: str) -> list[tuple[str, int, int]]:
    """Return the numbered items that the headings show: name, and offsets of what they hold."""
    found = []
    for entry in _entries(text):
        pieces = [entry.lead, *(piece for _, piece in entry.solutions)]
        inside = [piece for piece in pieces if piece is not None and piece.text]
        if entry.label and inside:
            kind = "problem" if entry.part == "problems" else "solution"
            found.append((f"{kind} {entry.label}", inside[0].start, inside[-1].end))
    return found


def problem_starts(text: str) -> list[int]:
    """Return the offsets of the headings of problems, where a long document may be cut."""
    return [mark.start for mark in _used_marks(text) if mark.kind == "problem" and not mark.closing]


def split_solutions(text: str) -> tuple[str, ...]:
    """Return the solutions in a text, cut where a heading says that another one begins.

    A text is cut only where its headings are numbered without a gap ("Solution 1", "Solution 2")
    or call themselves another solution; else it stays whole.
    """
    marks = [mark for mark in find_marks(text) if mark.kind == "solution" and mark.style == "word"]
    if not marks or any(mark.names_problem for mark in marks):
        return (text,)
    trim = Trimmer(text)
    before = trim.piece("solution", 0, marks[0].start)
    ends = [*(mark.start for mark in marks[1:]), len(text)]
    found = [
        (mark, trim.piece("solution", mark.end, end)) for mark, end in zip(marks, ends, strict=True)
    ]
    try:
        pieces = _group(found, "", "the text", lead=before)
    except _NotPairedError:
        return (text,)
    return tuple(piece.text for piece in pieces)


class _NotPairedError(Exception):
    """Problems and solutions do not pair up; says where."""


def _used_marks(text: str) -> list[Mark]:
    """Return the marks that count: parts, and in each part one style of headings."""
    marks = find_marks(text)
    first = next((n for n, mark in enumerate(marks) if mark.kind in ("problem", "solution")), 0)
    # what heads a part before anything else is a title or a table of contents
    parts = [mark for n, mark in enumerate(marks) if _is_part(mark) and n > first]
    used: list[Mark] = []
    borders = [0, *(mark.start for mark in parts), len(text) + 1]
    names: list[Part] = ["problems", *(_part_of(mark) for mark in parts)]
    for part, start, end in zip(names, borders, borders[1:], strict=False):
        inside = [mark for mark in marks if start <= mark.start < end and not _is_part(mark)]
        used.extend(mark for mark in parts if mark.start == start)
        used.extend(_one_style(inside, part))
    return used


def _is_part(mark: Mark) -> bool:
    return mark.kind in ("problems", "solutions")


def _part_of(mark: Mark) -> Part:
    return "solutions" if mark.kind == "solutions" else "problems"


def _one_style(marks: list[Mark], part: Part) -> list[Mark]:
    styles = {mark.style for mark in marks if mark.kind == "problem"}
    if part == "solutions" and "word" not in styles and any(_heads_item(mark) for mark in marks):
        styles = set()
    style = next((style for style in STYLES if style in styles), None)
    chosen: list[Mark] = []
    for mark in marks:
        if mark.kind == "problem" and mark.style != style:
            continue
        before = chosen[-1].kind if chosen and part == "problems" else ""
        if mark.kind in ("answer", "proof") and before != "problem":
            continue
        plain = mark.label in ("", "1") and not mark.alternative
        if before == "answer" and mark.kind == "solution" and plain:
            continue  # the answer stands before its solution: one text
        chosen.append(mark)
    return chosen


def _heads_item(mark: Mark) -> bool:
    return mark.kind == "solution" and bool(mark.label) and not mark.alternative


def _entries(text: str) -> list[_Entry]:
    """Return what the headings of a document head, in order."""
    marks = _used_marks(text)
    if not marks:
        return []
    trim = Trimmer(text)
    entries: list[_Entry] = []
    part: Part = "problems"
    ends = [*(mark.start for mark in marks[1:]), len(text)]
    items = _item_solutions(marks)
    for mark, end in zip(marks, ends, strict=True):
        if mark.closing:
            continue
        if _is_part(mark):
            part = _part_of(mark)
        elif mark.kind == "problem":
            kind: PieceKind = "problem" if part == "problems" else "solution"
            entries.append(_Entry(part, mark.label, trim.piece(kind, mark.end, end, mark.label)))
        elif mark in items:
            piece = trim.piece("solution", mark.end, end, mark.label)
            entries.append(_Entry("solutions", mark.label, piece))
        else:
            begin = mark.start if mark.kind == "answer" else mark.end
            solution = trim.piece("solution", begin, end)
            if not entries:
                entries.append(_Entry(part, "", None))
            entries[-1].solutions.append((mark, solution))
    return entries


def _item_solutions(marks: list[Mark]) -> set[Mark]:
    """Return the headings of solutions that open an item of their own, by the problem's number."""
    items: set[Mark] = set()
    part: Part = "problems"
    by_problem = False
    current = ""
    for place, mark in enumerate(marks):
        if _is_part(mark):
            part, current = _part_of(mark), ""
            by_problem = _has_problems(marks[place + 1 :])
        elif mark.kind == "problem":
            current = mark.label
        elif mark.kind == "solution" and mark.label:
            named = mark.names_problem and mark.label != current
            if named or (part == "solutions" and _heads_item(mark) and not by_problem):
                items.add(mark)
                current = mark.label
    return items


def _has_problems(marks: list[Mark]) -> bool:
    """Tell whether a heading of a problem comes before the next part."""
    for mark in marks:
        if _is_part(mark):
            return False
        if mark.kind == "problem":
            return True
    return False


def _pieces(entries: list[_Entry]) -> tuple[Piece, ...]:
    found: list[Piece] = []
    for entry in entries:
        if entry.lead is not None and entry.lead.text:
            found.append(entry.lead)
        found.extend(piece for _, piece in entry.solutions if piece.text)
    return tuple(sorted(found, key=lambda piece: piece.start))


def _paired(entries: list[_Entry]) -> list[CutProblem]:
    stated = [entry for entry in entries if entry.part == "problems"]
    solved = [entry for entry in entries if entry.part == "solutions"]
    _check_labels(stated)
    for entry in stated:
        if entry.lead is None:
            raise _NotPairedError("a solution stands before the first problem")
        if not entry.lead.text:
            raise _NotPairedError(f"problem {entry.label} has no statement")
    _check_numbering(entries)
    if not solved:
        return [
            _problem(entry, place, _group(entry.solutions, entry.label, _name(entry, place)))
            for place, entry in enumerate(stated, start=1)
        ]
    both = next((entry for entry in stated if entry.solutions), None)
    if both is not None:
        raise _NotPairedError(f"problem {both.label} has solutions in both parts")
    _check_same_labels(stated, solved)
    return [
        _problem(entry, place, _solved(entry, other))
        for place, (entry, other) in enumerate(zip(stated, solved, strict=True), start=1)
    ]


def _problem(entry: _Entry, place: int, solutions: list[Piece]) -> CutProblem:
    statement = entry.lead.text if entry.lead else ""
    return CutProblem(
        entry.label or str(place), statement, tuple(piece.text for piece in solutions)
    )


def _name(entry: _Entry, place: int) -> str:
    return f"problem {entry.label or place}"


def _check_numbering(entries: list[_Entry]) -> None:
    """Refuse "Solution 2" as the number of the problem here and of the solution there."""
    own = by_problem = ""
    for entry in entries:
        numbers = [mark.label for mark, _ in entry.solutions if not mark.names_problem]
        further = len(numbers) > 1 and "2" in numbers
        if further or (numbers == ["1"] and entry.label not in ("", "1")):
            own = entry.label
        elif len(numbers) == 1 and numbers[0] == entry.label not in ("", "1"):
            by_problem = entry.label
    if own and by_problem:
        raise _NotPairedError(
            f"the solutions of problem {own} are numbered on their own, that of problem "
            f"{by_problem} has the problem's number"
        )


def _check_labels(stated: list[_Entry]) -> None:
    """Refuse numbers that occur twice or leave a gap: a heading may have been misread."""
    labels = [entry.label for entry in stated]
    if any(labels) and not all(labels):
        raise _NotPairedError("some problems have numbers and some have none")
    if not any(labels):
        return
    seen: set[str] = set()
    before: tuple[str, int] | None = None
    for label in labels:
        if label in seen:
            raise _NotPairedError(f"the number {label} heads two problems")
        seen.add(label)
        prefix = label.rstrip("0123456789")
        number = int(label[len(prefix) :])
        if before and prefix == before[0] and number != before[1] + 1:
            raise _NotPairedError(f"problem {label} follows problem {prefix}{before[1]}")
        if before and prefix != before[0] and number != 1:
            raise _NotPairedError(f"problem {label} is the first with that letter")
        before = prefix, number


def _check_same_labels(stated: list[_Entry], solved: list[_Entry]) -> None:
    problems = [entry.label for entry in stated]
    solutions = [entry.label for entry in solved]
    if not all(problems) or not all(solutions):
        raise _NotPairedError("the solutions of the second part can't be matched by number")
    for label in problems:
        if label not in solutions:
            raise _NotPairedError(f"problem {label} has no solution")
    for label in solutions:
        if label not in problems:
            raise _NotPairedError(f"solution {label} has no problem")
    if problems != solutions:
        raise _NotPairedError("the solutions stand in another order than the problems, or twice")


def _solved(entry: _Entry, other: _Entry) -> list[Piece]:
    """Return the solutions of a problem from its item in the part of the solutions."""
    lead, name = other.lead, f"problem {entry.label}"
    if lead is None or not lead.text:
        return _group(other.solutions, entry.label, name)
    statement = entry.lead.text if entry.lead else ""
    if lead.text.split() == statement.split():
        return _group(other.solutions, entry.label, name)
    if lead.text.split()[: len(statement.split())] == statement.split():
        raise _NotPairedError(f"{name}: its solution begins with the statement, without a border")
    first = other.solutions[0][0] if other.solutions else None
    if first and not (first.alternative or first.label == "2"):
        raise _NotPairedError(
            f"{name}: in the second part, text that is not its statement comes before its solution"
        )
    return _group(other.solutions, entry.label, name, lead=lead)


def _group(
    found: Sequence[tuple[Mark, Piece]], label: str, name: str, lead: Piece | None = None
) -> list[Piece]:
    """Return the solutions of one problem, if their headings leave no doubt that they are."""
    pieces = [piece for _, piece in found]
    if lead is not None and lead.text:
        pieces.insert(0, lead)
    if not pieces:
        raise _NotPairedError(f"{name} has no solution")
    if not all(piece.text for piece in pieces):
        raise _NotPairedError(f"{name} has a solution without text")
    heads = [mark for mark, _ in found]
    wrong = next((mark for mark in heads if mark.names_problem and mark.label != label), None)
    if wrong is not None:
        raise _NotPairedError(f"{name} is followed by the solution of problem {wrong.label}")
    numbers = ["" if mark.names_problem else mark.label for mark in heads]
    if len(pieces) == 1:
        if numbers and (numbers[0] not in ("", "1", label) or heads[0].alternative):
            raise _NotPairedError(f"{name} has only solution {numbers[0] or 'alternative'}")
        return pieces
    offset = len(pieces) - len(heads)
    for place, (mark, number) in enumerate(zip(heads, numbers, strict=True), start=offset + 1):
        first = place == 1 and number in ("", "1", label) and not mark.alternative
        further = place > 1 and (number == str(place) or (mark.alternative and not number))
        if not (first or further):
            raise _NotPairedError(
                f"{name} has {len(pieces)} solutions that are not numbered from 1 nor called "
                "alternatives"
            )
    return pieces


def label_at(places: Sequence[tuple[int, str]], offset: int) -> str:
    """Return the number of the item that an offset stands in, or ""."""
    found = bisect_right([place for place, _ in places], offset)
    return places[found - 1][1] if found else ""
