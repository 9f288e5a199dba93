"""Cuts a source's documents into problems, or sets them aside for a person; guesses nothing.

A person's finished review counts first. Else a document is translated where it isn't English,
cut into problems and solutions, and the counts compared; what doesn't pair up goes into review
with all that was found.

A document that is longer than its cutter takes is cut between two problems first, where headings
show them; the parts do not overlap, and the document counts only if each part pairs up by itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from saber_assets.asking import Failure
from saber_assets.corpus.document_parts import parts_at_paragraphs, parts_at_problems
from saber_assets.corpus.document_rules import NO_MODEL, RulesDocumentCutter, cut_by_rules
from saber_assets.corpus.documents import (
    DROPPED_BY_PERSON,
    PERSON,
    REVIEW_REASONS,
    Cut,
    CutProblem,
    DocumentCutter,
    DocumentOutcome,
    Piece,
    ReviewReason,
    TextTask,
)
from saber_assets.corpus.llm_document_cutter import LlmDocumentCutter
from saber_assets.corpus.review import Reviews, Verdict, review_frame
from saber_assets.corpus.source_kinds.protocol import SourceDocument

__all__ = [
    "DROPPED_BY_PERSON",
    "NO_MODEL",
    "PERSON",
    "REVIEW_REASONS",
    "CutProblem",
    "DocumentCutter",
    "DocumentOutcome",
    "LlmDocumentCutter",
    "ReviewReason",
    "Reviews",
    "RulesDocumentCutter",
    "cut_documents",
    "review_frame",
]

BATCH = 64
"""Documents held and asked about at once: bounds memory."""
PART_CHARACTERS = 12_000
"""Longest part of a document that is translated at once."""
_ENGLISH = "en"


@dataclass(slots=True)
class _Work:
    """A document on its way: what is known of it so far."""

    position: int
    document: SourceDocument
    language: str | None
    text: str
    translated: bool = False
    cut: Cut | None = None
    note: str = ""

    def fail(self, fault: str, detail: str) -> None:
        self.cut = Cut((), fault=fault, detail=detail)


def cut_documents(
    documents: Iterable[SourceDocument],
    cutter: DocumentCutter,
    review: Reviews,
    *,
    batch: int = BATCH,
    part_characters: int = PART_CHARACTERS,
    detect_language: Callable[[str], str | None] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Iterator[DocumentOutcome]:
    """Yield what becomes of each document, in order (SPEC section 2, "Corpus").

    Args:
        documents: a stream; their ids are unique.
        cutter: a model, or rules.
        review: where a person's decisions are read, and files for a person written.
        batch: documents held at once.
        part_characters: length of the longest part that is translated at once.
        detect_language: gives the language of a text whose source declares none (ISO 639-1).
        progress: called with the number of newly finished documents.
    """
    if batch < 1 or part_characters < 1:
        raise ValueError(f"batch and part_characters must be positive: {batch}, {part_characters}")
    stream = iter(documents)
    while chunk := list(islice(stream, batch)):
        yield from _cut_batch(chunk, cutter, review, part_characters, detect_language)
        if progress is not None:
            progress(len(chunk))


def _cut_batch(
    documents: Sequence[SourceDocument],
    cutter: DocumentCutter,
    reviews: Reviews,
    part_characters: int,
    detect_language: Callable[[str], str | None] | None,
) -> list[DocumentOutcome]:
    outcomes: list[DocumentOutcome | None] = [None] * len(documents)
    works: list[_Work] = []
    for position, document in enumerate(documents):
        language = document.language
        if language is None and detect_language is not None and document.text.strip():
            language = detect_language(document.text)
        earlier = () if document.fault else reviews.set_aside(document)
        verdict = None if document.fault else reviews.read(document)
        outcomes[position] = _settled(document, reviews.source, verdict, language)
        if outcomes[position] is None:
            works.append(_Work(position, document, language, document.text))
            if earlier:
                works[-1].note = (
                    f"the document has changed, so that the review in {', '.join(earlier)} no "
                    "longer applies"
                )
    for work in works:
        if not work.text.strip():
            work.fail("empty", REVIEW_REASONS["empty"])
    _translate([work for work in works if work.cut is None], cutter, part_characters)
    _segment([work for work in works if work.cut is None], cutter)
    for work in works:
        _propose_by_rules(work)
    _normalise([work for work in works if work.cut and not work.cut.fault], cutter)
    for work in works:
        outcomes[work.position] = _outcome(work, cutter.name, reviews)
    return [outcome for outcome in outcomes if outcome is not None]


def _settled(
    document: SourceDocument, source: str, verdict: Verdict | None, language: str | None
) -> DocumentOutcome | None:
    """Return the outcome where it needs no cutter: a reader's fault, or a person's decision."""
    if document.fault:
        return DocumentOutcome(document, source, "", dropped=document.fault, language=language)
    if verdict is None:
        return None
    outcome = DocumentOutcome(document, source, PERSON, language=language)
    if verdict.problems:
        return replace(outcome, problems=verdict.problems)
    if verdict.dropped:
        return replace(outcome, dropped=DROPPED_BY_PERSON, detail=verdict.dropped)
    reason = ReviewReason(
        "review_unfinished",
        verdict.fault,
        verdict.found_problems,
        verdict.found_solutions,
        verdict.file,
    )
    return replace(outcome, review=reason)


def _translate(works: Sequence[_Work], cutter: DocumentCutter, part_characters: int) -> None:
    if not cutter.translates:
        return
    tasks: list[TextTask] = []
    owners: list[_Work] = []
    limit = min(part_characters, cutter.most_characters or part_characters)
    for work in works:
        if work.language is None or re.split("[-_]", work.language.lower())[0] == _ENGLISH:
            continue
        parts = parts_at_paragraphs(work.text, limit)
        if parts is None:
            work.fail("too_long", f"a paragraph is longer than {limit} characters")
            continue
        label = work.document.source_id
        tasks += [
            TextTask(f"{label}|translation {number}", part, work.language)
            for number, part in enumerate(parts, start=1)
        ]
        owners += [work] * len(parts)
    replies = cutter.translate(tasks) if tasks else []
    translated: dict[int, list[str]] = {}
    for task, work, reply in zip(tasks, owners, replies, strict=True):
        parts_so_far = translated.setdefault(work.position, [])
        if isinstance(reply, Failure):
            number = task.label.rpartition(" ")[2]
            if work.cut is None:
                work.fail("translation_failed", f"part {number}: {reply.reason}")
        else:
            parts_so_far.append(_with_edges(reply, task.text))
    for work in works:
        if work.cut is None and work.position in translated:
            work.text = "".join(translated[work.position])
            work.translated = True


def _with_edges(reply: str, part: str) -> str:
    """Return a translated part with the whitespace that its original begins and ends with."""
    front = part[: len(part) - len(part.lstrip())]
    return front + reply.strip() + part[len(part.rstrip()) :]


def _segment(works: Sequence[_Work], cutter: DocumentCutter) -> None:
    tasks: list[TextTask] = []
    owners: list[_Work] = []
    most = cutter.most_characters
    for work in works:
        parts = [work.text] if most is None else parts_at_problems(work.text, most)
        if parts is None:
            work.fail(
                "too_long",
                f"it has {len(work.text)} characters, {most} can be cut at once, and its headings "
                "don't show where one problem ends",
            )
            continue
        label = work.document.source_id
        names = [label] if len(parts) == 1 else [f"{label}|part {n + 1}" for n in range(len(parts))]
        tasks += [
            TextTask(name, part, work.language) for name, part in zip(names, parts, strict=True)
        ]
        owners += [work] * len(parts)
    replies = cutter.segment(tasks) if tasks else []
    cuts: dict[int, list[tuple[str, Cut | Failure]]] = {}
    for task, work, reply in zip(tasks, owners, replies, strict=True):
        cuts.setdefault(work.position, []).append((task.text, reply))
    for work in works:
        if work.cut is None:
            work.cut = _joined(cuts[work.position])


def _joined(parts: Sequence[tuple[str, Cut | Failure]]) -> Cut:
    """Return the cuts of a document's parts as one; any fault of a part is the document's."""
    pieces: list[Piece] = []
    problems: list[CutProblem] = []
    faults: list[tuple[str, str]] = []
    offset = 0
    for number, (text, cut) in enumerate(parts, start=1):
        place = f"part {number}: " if len(parts) > 1 else ""
        if isinstance(cut, Failure):
            faults.append(("model_failed", place + cut.reason))
        else:
            pieces += [
                replace(piece, start=piece.start + offset, end=piece.end + offset)
                for piece in cut.pieces
            ]
            problems += cut.problems
            if cut.fault:
                faults.append((cut.fault, place + cut.detail))
        offset += len(text)
    if faults:
        return Cut(tuple(pieces), fault=faults[0][0], detail="; ".join(text for _, text in faults))
    if len({problem.number for problem in problems}) < len(problems):
        problems = [
            replace(problem, number=str(place)) for place, problem in enumerate(problems, start=1)
        ]
    return Cut(tuple(pieces), tuple(problems))


def _propose_by_rules(work: _Work) -> None:
    """Where a model gave no piece at all, show a person what the rules find; it decides nothing."""
    cut = work.cut
    if cut is None or not cut.fault or cut.pieces or cut.fault in ("empty", "no_problems"):
        return
    proposal = cut_by_rules(work.text)
    if proposal.pieces:
        work.cut = replace(
            cut, pieces=proposal.pieces, detail=f"{cut.detail}; the pieces are by {NO_MODEL}"
        )


def _normalise(works: Sequence[_Work], cutter: DocumentCutter) -> None:
    if not cutter.normalises:
        return
    tasks: list[TextTask] = []
    for work in works:
        for number, problem in enumerate(_problems(work), start=1):
            label = f"{work.document.source_id}|{number}"
            tasks += [
                TextTask(f"{label}|{place}", text, work.language)
                for place, text in enumerate((problem.problem, *problem.solutions))
            ]
    replies = iter(zip(tasks, cutter.normalise(tasks) if tasks else [], strict=True))
    for work in works:
        failed = 0
        changed: list[CutProblem] = []
        for problem in _problems(work):
            texts: list[str] = []
            for task, reply in islice(replies, 1 + len(problem.solutions)):
                failed += isinstance(reply, Failure)
                texts.append(task.text if isinstance(reply, Failure) else reply)
            changed.append(replace(problem, problem=texts[0], solutions=tuple(texts[1:])))
        if work.cut is not None:
            work.cut = replace(work.cut, problems=tuple(changed))
        if failed:
            note = f"{failed} texts stay as they are, because their formulas could not be marked"
            work.note = f"{work.note}; {note}" if work.note else note


def _problems(work: _Work) -> tuple[CutProblem, ...]:
    return work.cut.problems if work.cut is not None else ()


def _outcome(work: _Work, name: str, reviews: Reviews) -> DocumentOutcome:
    cut = work.cut or Cut((), fault="model_failed", detail=REVIEW_REASONS["model_failed"])
    outcome = DocumentOutcome(
        work.document, reviews.source, name, language=work.language, detail=work.note
    )
    if cut.fault is None and cut.problems:
        reviews.close(work.document)
        language = _ENGLISH if work.translated else work.language
        return replace(
            outcome,
            problems=tuple(
                replace(problem, language=language, translated=work.translated)
                for problem in cut.problems
            ),
        )
    fault = cut.fault or "no_problems"
    detail = "; ".join(part for part in (cut.detail or REVIEW_REASONS[fault], work.note) if part)
    file = reviews.write(
        work.document, fault, detail, work.text, cut.pieces, work.language, work.translated
    )
    found = sorted(cut.pieces, key=lambda piece: piece.start)
    return replace(
        outcome,
        review=ReviewReason(
            fault,
            detail,
            tuple(piece.text for piece in found if piece.kind == "problem"),
            tuple(piece.text for piece in found if piece.kind == "solution"),
            file,
        ),
    )
