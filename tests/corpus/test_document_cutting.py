"""From documents to problems, with models that do well and models that don't."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from saber_assets.asking import ChatRequest
from saber_assets.corpus.document_cutting import (
    DROPPED_BY_PERSON,
    NO_MODEL,
    CutProblem,
    DocumentOutcome,
    LlmDocumentCutter,
    Reviews,
    RulesDocumentCutter,
    cut_documents,
)
from saber_assets.corpus.document_rules import cut_by_rules
from saber_assets.corpus.source_kinds.protocol import SourceDocument
from saber_resources.prompts import load_prompt

DOCUMENTS = Path(__file__).parent / "fixtures" / "documents"


@dataclass(frozen=True)
class Reply:
    text: str | None
    error: str | None = None
    logprobs: None = None
    finish_reason: str = "stop"


class ScriptedChat:
    """Answers with what a function makes of a request; remembers the requests."""

    model = "scripted-model"

    def __init__(self, answer: Callable[[ChatRequest], Reply | str]) -> None:
        self.requests: list[ChatRequest] = []
        self._answer = answer

    def complete(self, requests: Sequence[ChatRequest]) -> list[Reply]:
        self.requests += requests
        answers = [self._answer(request) for request in requests]
        return [Reply(answer) if isinstance(answer, str) else answer for answer in answers]


def shown(request: ChatRequest) -> str:
    """Return the text that a request shows."""
    return re.split(r"(?:Document|Text):\n", request.messages[1]["content"], maxsplit=1)[1]


ENGLISH = {
    "Aufgaben": "Problems",
    "Aufgabe": "Problem",
    "Lösungen": "Solutions",
    "Bestimme alle Primzahlen": "Find all primes",
    "In einem Dreieck": "In a triangle",
}


def good(request: ChatRequest) -> str:
    text = shown(request)
    if request.prompt == "translation":
        for word, english in ENGLISH.items():
            text = text.replace(word, english)
        return f"<translation>\n{text}\n</translation>"
    if request.prompt == "latex_normalisation":
        return f"<text>\n{text}\n</text>".replace("\\[", "$$").replace("\\]", "$$")
    return "\n".join(
        f"<problem>\n{p.problem}\n</problem>\n<solution>\n{together(text, p)}\n</solution>"
        for p in cut_by_rules(text).problems
    )


def together(text: str, problem: CutProblem) -> str:
    """Return the solutions of a problem with the headings between them, as the prompt asks."""
    start = text.index(problem.solutions[0])
    end = text.index(problem.solutions[-1], start) + len(problem.solutions[-1])
    return text[start:end]


def cutter(answer: Callable[[ChatRequest], Reply | str], **options: object) -> LlmDocumentCutter:
    return LlmDocumentCutter(
        ScriptedChat(answer),
        load_prompt("document_segmentation"),
        load_prompt("translation"),
        load_prompt("latex_normalisation"),
        **options,  # type: ignore[arg-type]
    )


def document(name: str, language: str | None = "en") -> SourceDocument:
    return SourceDocument(
        name.rpartition(".")[0],
        name,
        (DOCUMENTS / name).read_bytes().decode(),
        "latex" if name.endswith(".tex") else "markdown",
        language,
    )


def outcome_of(
    tmp_path: Path, answer: Callable[[ChatRequest], Reply | str], name: str = "alternating.md"
) -> DocumentOutcome:
    reviews = Reviews(tmp_path, "cups")
    (outcome,) = cut_documents([document(name)], cutter(answer), reviews)
    return outcome


def test_a_good_model(tmp_path: Path) -> None:
    outcome = outcome_of(tmp_path, good)
    assert outcome.review is None and outcome.dropped is None
    assert outcome.decided_by == "scripted-model"
    assert [p.number for p in outcome.problems] == ["1", "2", "3"]
    assert outcome.problems[2].problem.startswith("The diagonals")
    assert not list(tmp_path.iterdir())


def test_several_solutions_in_one_element_are_kept_apart(tmp_path: Path) -> None:
    def whole(request: ChatRequest) -> str:
        if request.prompt != "document_segmentation":
            return good(request)
        text = shown(request)
        parts = re.split(r"## Problem \d\.", text)[1:]
        return "".join(
            "<problem>{}</problem><solution>{}</solution>".format(
                *re.split(r"(?=\*\*Solution)", part, maxsplit=1)
            )
            for part in parts
        )

    outcome = outcome_of(tmp_path, whole, "several_solutions.md")
    assert [len(p.solutions) for p in outcome.problems] == [2, 2, 1]
    assert outcome.problems[1].solutions[1].startswith("There are $\\binom{12}{2}")


def segmenting(change: Callable[[str], str]) -> Callable[[ChatRequest], str]:
    return lambda request: (
        change(good(request)) if request.prompt == "document_segmentation" else good(request)
    )


def without(kind: str, number: int) -> Callable[[str], str]:
    def change(reply: str) -> str:
        found = list(re.finditer(rf"<{kind}>.*?</{kind}>\n?", reply, re.DOTALL))[number - 1]
        return reply[: found.start()] + reply[found.end() :]

    return change


def swapped(reply: str) -> str:
    parts = re.findall(r"<solution>.*?</solution>", reply, re.DOTALL)
    return reply.replace(parts[0], "@").replace(parts[1], parts[0]).replace("@", parts[1])


def mixed(reply: str) -> str:
    """Exchange the solutions of the last two problems."""
    parts = re.findall(r"<solution>.*?</solution>", reply, re.DOTALL)
    return reply.replace(parts[1], "@").replace(parts[2], parts[1]).replace("@", parts[2])


BAD = {
    "changed text": (
        segmenting(lambda reply: reply.replace("rhombus", "diamond")),
        "model_failed",
        "not in the document to the letter",
    ),
    "missing tag": (
        segmenting(lambda reply: reply.replace("</problem>", "", 1)),
        "model_failed",
        "",
    ),
    "chatter": (segmenting(lambda reply: f"Sure!\n{reply}"), "model_failed", "outside the tags"),
    "one solution missing": (
        segmenting(without("solution", 2)),
        "count_mismatch",
        "3 problems and 2 solutions",
    ),
    "solutions swapped": (segmenting(swapped), "not_aligned", "stands before"),
    "a problem left out with its solution": (
        segmenting(lambda reply: without("problem", 2)(without("solution", 2)(reply))),
        "text_left_over",
        "problem 2 of the document is in no element",
    ),
    "a problem with another's solution": (
        segmenting(lambda reply: without("problem", 2)(without("solution", 2)(mixed(reply)))),
        "not_aligned",
        "problem 3 was given the solution of problem 2",
    ),
    "the same text twice": (
        segmenting(lambda reply: reply + "<problem>rhombus</problem><solution>side</solution>"),
        "not_aligned",
        "",
    ),
    "cut off": (
        lambda request: Reply(good(request), finish_reason="length"),
        "model_failed",
        "cut off",
    ),
    "no answer": (lambda request: Reply(None, "the endpoint is gone"), "model_failed", "gone"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_models(tmp_path: Path, case: str) -> None:
    answer, reason, detail = BAD[case]
    outcome = outcome_of(tmp_path, answer)
    assert outcome.problems == ()
    assert outcome.review is not None
    assert outcome.review.reason == reason
    assert detail in outcome.review.detail
    assert outcome.review.problems and outcome.review.solutions
    assert (tmp_path / outcome.review.file).exists()


def test_a_bad_reply_is_asked_for_again(tmp_path: Path) -> None:
    def second_time(request: ChatRequest) -> str:
        return good(request) if request.attempt else "I can't"

    def answer(request: ChatRequest) -> str:
        return second_time(request) if request.prompt == "document_segmentation" else good(request)

    assert len(outcome_of(tmp_path, answer).problems) == 3


def test_little_of_the_text(tmp_path: Path) -> None:
    text = f"Remarks. {'They did well. ' * 40}\n\nProblem 1. Find $1+1$.\n\nSolution. $2$.\n"
    item = SourceDocument("long", "long.md", text, language="en")
    (outcome,) = cut_documents([item], cutter(good), Reviews(tmp_path, "cups"))
    assert outcome.review is not None and outcome.review.reason == "text_left_over"
    kept = cutter(good, least_coverage=0.0)
    (outcome,) = cut_documents([item], kept, Reviews(tmp_path, "cups"))
    assert len(outcome.problems) == 1


def test_translation_in_parts(tmp_path: Path) -> None:
    item = document("two_parts_de.md", "de")
    model = cutter(good)
    (outcome,) = cut_documents([item], model, Reviews(tmp_path, "cups"), part_characters=300)
    asked = [r for r in model._asker._chat.requests if r.prompt == "translation"]  # type: ignore[attr-defined]
    assert len(asked) > 2
    assert all(len(shown(request)) <= 300 for request in asked)
    assert outcome.language == "de"
    assert [p.problem[:15] for p in outcome.problems[:2]] == ["Find all primes", "In a triangle $"]
    assert all(p.translated and p.language == "en" for p in outcome.problems)


def test_a_translation_that_changes_a_number(tmp_path: Path) -> None:
    def answer(request: ChatRequest) -> str:
        reply = good(request)
        return reply.replace("45", "46") if request.prompt == "translation" else reply

    reviews = Reviews(tmp_path, "cups")
    (outcome,) = cut_documents([document("two_parts_de.md", "de")], cutter(answer), reviews)
    assert outcome.review is not None
    assert outcome.review.reason == "translation_failed"
    assert "45" in outcome.review.detail and NO_MODEL in outcome.review.detail
    assert len(outcome.review.problems) == 3


def test_english_is_not_translated(tmp_path: Path) -> None:
    for language in ("en", "en-GB", None):
        model = cutter(good)
        item = document("alternating.md", language)
        list(cut_documents([item], model, Reviews(tmp_path, "cups")))
        assert {r.prompt for r in model._asker._chat.requests} == {  # type: ignore[attr-defined]
            "document_segmentation",
            "latex_normalisation",
        }


def test_the_language_is_detected_where_none_is_declared(tmp_path: Path) -> None:
    item = document("two_parts_de.md", None)
    (outcome,) = cut_documents(
        [item], cutter(good), Reviews(tmp_path, "cups"), detect_language=lambda text: "de"
    )
    assert outcome.language == "de"
    assert outcome.problems[0].translated


def test_normalisation(tmp_path: Path) -> None:
    outcome = outcome_of(tmp_path, good, "two_parts_fr.tex")
    assert "$$ f(x+y)=f(x)+y . $$" in outcome.problems[1].problem

    def careless(request: ChatRequest) -> str:
        reply = good(request)
        return (
            reply.replace("f(x+y)", "f(y+x)")
            if request.prompt != "document_segmentation"
            else (reply)
        )

    outcome = outcome_of(tmp_path, careless, "two_parts_fr.tex")
    assert "\\[ f(x+y)=f(x)+y . \\]" in outcome.problems[1].problem
    assert "1 texts stay as they are" in outcome.detail


def test_a_long_document_is_cut_between_problems(tmp_path: Path) -> None:
    model = cutter(good, most_characters=450)
    item = document("alternating.md")
    (outcome,) = cut_documents([item], model, Reviews(tmp_path, "cups"))
    assert len(outcome.problems) == 3
    assert [p.number for p in outcome.problems] == ["1", "2", "3"]
    asked = [r.item for r in model._asker._chat.requests if r.prompt == "document_segmentation"]  # type: ignore[attr-defined]
    assert asked == ["alternating|part 1", "alternating|part 2", "alternating|part 3"]


def test_a_part_that_does_not_pair_up_sets_the_whole_document_aside(tmp_path: Path) -> None:
    def answer(request: ChatRequest) -> str:
        reply = good(request)
        return reply.split("<solution>")[0] if request.item.endswith("part 2") else reply

    model = cutter(answer, most_characters=450)
    (outcome,) = cut_documents([document("alternating.md")], model, Reviews(tmp_path, "cups"))
    assert outcome.review is not None
    assert outcome.review.detail.startswith("part 2: 1 problems and 0 solutions")
    assert len(outcome.review.problems) == 3 and len(outcome.review.solutions) == 2
    text = (tmp_path / outcome.review.file).read_text(encoding="utf-8")
    assert "## Problem 3\n\n<problem>\nThe diagonals" in text


def test_too_long_to_cut(tmp_path: Path) -> None:
    model = cutter(good, most_characters=100)
    (outcome,) = cut_documents([document("alternating.md")], model, Reviews(tmp_path, "cups"))
    assert outcome.review is not None and outcome.review.reason == "too_long"
    assert not model._asker._chat.requests  # type: ignore[attr-defined]


def test_every_document_comes_out_in_order_whatever_the_batch(tmp_path: Path) -> None:
    names = sorted(path.name for path in DOCUMENTS.iterdir())
    items = [document(name, None) for name in names]
    items.append(replace(items[0], source_id="bad", text="", fault="unreadable"))
    seen: list[int] = []
    found = [
        list(
            cut_documents(
                items,
                RulesDocumentCutter(),
                Reviews(tmp_path / str(batch), "cups"),
                batch=batch,
                progress=seen.append,
            )
        )
        for batch in (1, 5, 64)
    ]
    assert found[0] == found[1] == found[2]
    assert sum(seen) == 3 * len(items)
    assert [outcome.document.source_id for outcome in found[0]] == [i.source_id for i in items]
    for outcome in found[0]:
        states = [bool(outcome.problems), outcome.review is not None, outcome.dropped is not None]
        assert sum(states) == 1
    assert found[0][-1].dropped == "unreadable"
    assert sum(outcome.review is not None for outcome in found[0]) == 5


def test_rules_keep_the_language_and_translate_nothing(tmp_path: Path) -> None:
    item = document("two_parts_de.md", "de")
    (outcome,) = cut_documents([item], RulesDocumentCutter(), Reviews(tmp_path, "cups"))
    assert outcome.decided_by == NO_MODEL
    assert {(p.language, p.translated) for p in outcome.problems} == {("de", False)}


def test_a_stream_is_read_no_further_than_a_batch(tmp_path: Path) -> None:
    taken = 0

    def stream() -> object:
        nonlocal taken
        for number in range(10):
            taken += 1
            yield SourceDocument(str(number), "x", "Problem 1. A\nSolution. B", language="en")

    outcomes = cut_documents(
        stream(),  # type: ignore[arg-type]
        RulesDocumentCutter(),
        Reviews(tmp_path, "cups"),
        batch=2,
    )
    next(outcomes)
    assert taken == 2


def test_a_person_decides_without_a_model_being_asked(tmp_path: Path) -> None:
    reviews = Reviews(tmp_path, "cups")
    item = document("count_mismatch.md")
    (first,) = cut_documents([item], RulesDocumentCutter(), reviews)
    assert first.review is not None
    path = tmp_path / first.review.file
    text = path.read_text(encoding="utf-8")
    mended = text.replace(
        "Problem 3.", "<solution>\nThe sum is $27$, so $9$.\n</solution>\nProblem 3."
    ).replace("status: open", "status: done")
    path.write_text(mended, encoding="utf-8")
    model = cutter(good)
    (outcome,) = cut_documents([item], model, reviews)
    assert outcome.decided_by == "person" and outcome.review is None
    assert [p.number for p in outcome.problems] == ["1", "2", "3"]
    assert outcome.problems[1].solutions == ("The sum is $27$, so $9$.",)
    assert not model._asker._chat.requests  # type: ignore[attr-defined]
    assert path.read_text(encoding="utf-8") == mended
    path.write_text(text.replace("status: open", "status: drop, no contest"), encoding="utf-8")
    (outcome,) = cut_documents([item], model, reviews)
    assert (outcome.dropped, outcome.detail) == (DROPPED_BY_PERSON, "no contest")


def test_a_review_of_an_earlier_text_no_longer_applies(tmp_path: Path) -> None:
    reviews = Reviews(tmp_path, "cups")
    item = document("count_mismatch.md")
    (first,) = cut_documents([item], RulesDocumentCutter(), reviews)
    assert first.review is not None
    path = tmp_path / first.review.file
    edited = path.read_text(encoding="utf-8").replace("status: open", "status: drop, too easy")
    path.write_text(edited, encoding="utf-8")
    before = reviews.fingerprint()
    changed = replace(item, text=item.text.replace("36", "64"))
    (outcome,) = cut_documents([changed], RulesDocumentCutter(), reviews)
    assert outcome.review is not None and outcome.dropped is None
    assert "no longer applies" in outcome.review.detail
    assert "$64$" in path.read_text(encoding="utf-8")
    (aside,) = tmp_path.glob("*.outdated-*.md")
    assert aside.read_text(encoding="utf-8") == edited
    assert aside.name in outcome.review.detail
    assert reviews.fingerprint() == before


def test_a_document_that_is_cut_now_leaves_no_review_behind(tmp_path: Path) -> None:
    reviews = Reviews(tmp_path, "cups")
    item = document("alternating.md")
    list(cut_documents([item], cutter(BAD["no answer"][0]), reviews))
    assert len(list(tmp_path.iterdir())) == 1
    list(cut_documents([item], cutter(good), reviews))
    assert not list(tmp_path.iterdir())


def test_options_are_checked(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="positive"):
        list(cut_documents([], RulesDocumentCutter(), Reviews(tmp_path, "a"), batch=0))
    with pytest.raises(ValueError, match="most_characters"):
        cutter(good, most_characters=0)
    with pytest.raises(ValueError, match="least_coverage"):
        cutter(good, least_coverage=2)
