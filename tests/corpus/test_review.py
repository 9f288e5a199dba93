"""A person edits a file, and the next run reads it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.corpus.document_rules import cut_by_rules
from saber_assets.corpus.documents import DocumentOutcome, Piece, ReviewReason
from saber_assets.corpus.review import REVIEW_SCHEMA, Reviews, Verdict, review_frame
from saber_assets.corpus.review_text import elements_of, tagged_document
from saber_assets.corpus.source_kinds.protocol import SourceDocument

DOCUMENT = SourceDocument(
    "2030/round1",
    "round1.md",
    "Problem 1. Find $x$ with $2x=6$.\n\nProblem 2. Is $91$ prime?\n\n"
    "Solution 1. $x=3$.\n\nSolution 2. No, $91=7\\cdot13$.\n",
    language="en",
)


def written(reviews: Reviews, document: SourceDocument = DOCUMENT) -> Path:
    cut = cut_by_rules(document.text)
    name = reviews.write(
        document, cut.fault or "", cut.detail, document.text, cut.pieces, document.language
    )
    return reviews.folder / name


def edit(path: Path, *changes: tuple[str, str]) -> str:
    text = path.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path.write_text(text, encoding="utf-8")
    return text


def verdict(reviews: Reviews, document: SourceDocument = DOCUMENT) -> Verdict:
    found = reviews.read(document)
    assert found is not None
    return found


DONE = ("status: open", "status: done")
FIRST = "\n<solution>\n$x=3$.\n</solution>\n"


def test_the_file(tmp_path: Path) -> None:
    reviews = Reviews(tmp_path / "new" / "folder", "cups")
    assert reviews.read(DOCUMENT) is None
    path = written(reviews)
    text = path.read_text(encoding="utf-8")
    assert text.startswith("---\nstatus: open\n")
    assert "reason: not_aligned" in text
    assert "detail: 2 problems and 2 solutions were found; problem 1 has no solution" in text
    assert "Problem 2. <problem>\nIs $91$ prime?\n</problem>" in text
    assert reviews.read(DOCUMENT) is None
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_finished_review(tmp_path: Path) -> None:
    reviews = Reviews(tmp_path, "cups")
    path = written(reviews)
    moved = ("$2x=6$.\n</problem>", f"$2x=6$.\n</problem>{FIRST}")
    edit(path, DONE, ("Solution 1. <solution>\n$x=3$.\n</solution>", ""), moved)
    first, second = verdict(reviews).problems
    assert (first.number, first.problem, first.solutions) == (
        "1",
        "Find $x$ with $2x=6$.",
        ("$x=3$.",),
    )
    assert (second.number, second.solutions) == ("2", ("No, $91=7\\cdot13$.",))
    assert (first.language, first.translated) == ("en", False)


def test_a_problem_can_have_several_solutions(tmp_path: Path) -> None:
    reviews = Reviews(tmp_path, "cups")
    edit(written(reviews), DONE, ("Problem 2.", f"{FIRST}<solution>Halve.</solution>"))
    assert [p.solutions[:2] for p in verdict(reviews).problems][0] == ("$x=3$.", "Halve.")


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("drop, no mathematics", "no mathematics"),
        ("drop: is in 2029, too", "is in 2029, too"),
        ("Drop because unreadable", "because unreadable"),
        ("drop\ndrop_reason: twice", "twice"),
    ],
)
def test_drop(tmp_path: Path, status: str, reason: str) -> None:
    reviews = Reviews(tmp_path, "cups")
    edit(written(reviews), ("status: open", f"status: {status}"))
    assert verdict(reviews).dropped == reason


BROKEN: dict[str, tuple[list[tuple[str, str]], str]] = {
    "drop without reason": ([("status: open", "status: drop")], "needs a reason"),
    "unknown status": ([("status: open", "status: finished")], "write open, done or drop"),
    "done with more": ([("status: open", "status: done not")], "write open, done or drop"),
    "nothing moved": ([DONE], "line 19: problem 1 has no solution"),
    "tag never closed": ([DONE, ("prime?\n</problem>", "prime?")], "begins inside the <problem>"),
    "last tag never closed": ([DONE, ("13$.\n</solution>", "13$.")], "is never closed"),
    "tag closes nothing": ([DONE, ("<problem>\nIs", "Is")], "closes nothing"),
    "misspelt tag": ([DONE, ("<problem>\nIs", "<Problem>\nIs")], "'<Problem>' is no tag"),
    "nothing inside": ([DONE, ("\nIs $91$ prime?\n", "\n")], "nothing in this problem"),
    "solution first": ([DONE, ("Problem 1.", FIRST)], "stands before the first problem"),
    "head gone": ([("---\nstatus: open\n", "")], "head between two lines of dashes"),
    "hash gone": ([("document_hash", "hash")], "'document_hash' is gone"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_cannot_be_used_is_told(tmp_path: Path, case: str) -> None:
    reviews = Reviews(tmp_path, "cups")
    path = written(reviews)
    changes, fault = BROKEN[case]
    text = edit(path, *changes)
    found = verdict(reviews)
    assert fault in found.fault and path.name in found.fault
    assert found.problems == () and found.dropped == ""
    written(reviews)
    assert path.read_text(encoding="utf-8") == text


def test_the_line_of_a_fault_is_right(tmp_path: Path) -> None:
    reviews = Reviews(tmp_path, "cups")
    text = edit(written(reviews), DONE, ("<problem>\nIs", "<Problem>\nIs"))
    found = re.search(r"line (\d+)", verdict(reviews).fault)
    assert found and text.split("\n")[int(found[1]) - 1] == "Problem 2. <Problem>"


def test_no_problem_at_all(tmp_path: Path) -> None:
    reviews = Reviews(tmp_path, "cups")
    document = replace(DOCUMENT, text="Nothing here.")
    edit(written(reviews, document), DONE)
    assert "there is no problem in it" in verdict(reviews, document).fault


def test_a_review_in_another_encoding_stops_nothing(tmp_path: Path) -> None:
    reviews = Reviews(tmp_path, "cups")
    path = written(reviews)
    path.write_bytes(b"\xff\xfe" + "status: done".encode("utf-16-le"))
    before = path.read_bytes()
    assert "can't be read as UTF-8" in verdict(reviews).fault
    written(reviews)
    reviews.close(DOCUMENT)
    assert path.read_bytes() == before
    assert reviews.fingerprint() != Reviews(tmp_path / "none", "cups").fingerprint()


def test_windows_line_ends_and_a_byte_order_mark(tmp_path: Path) -> None:
    reviews = Reviews(tmp_path, "cups")
    path = written(reviews)
    text = edit(path, DONE, ("Problem 2.", FIRST))
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert len(verdict(reviews).problems) == 2


def test_only_saving_a_file_again_does_not_make_it_a_persons(tmp_path: Path) -> None:
    reviews = Reviews(tmp_path, "cups")
    path = written(reviews)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    reviews.close(DOCUMENT)
    assert not path.exists()


def test_an_open_file_is_written_anew_until_a_person_touches_it(tmp_path: Path) -> None:
    reviews = Reviews(tmp_path, "cups")
    path = written(reviews)
    reviews.write(DOCUMENT, "model_failed", "other", DOCUMENT.text, ())
    assert "model_failed" in path.read_text(encoding="utf-8")
    text = edit(path, ("Is $91$ prime?", "Is $91$ a prime?"))
    written(reviews)
    reviews.close(DOCUMENT)
    assert path.read_text(encoding="utf-8") == text


def test_an_earlier_text(tmp_path: Path) -> None:
    reviews = Reviews(tmp_path, "cups")
    path = written(reviews)
    assert reviews.set_aside(DOCUMENT) == ()
    edit(path, DONE, ("Problem 2.", FIRST))
    changed = replace(DOCUMENT, text=DOCUMENT.text.replace("91", "93"))
    assert reviews.read(changed) is None
    (aside,) = reviews.set_aside(changed)
    assert not path.exists() and (tmp_path / aside).exists()
    assert reviews.set_aside(changed) == (aside,)
    edit(written(reviews, changed), DONE)
    assert len(reviews.set_aside(DOCUMENT)) == 2


def test_an_untouched_file_of_an_earlier_text_is_written_anew(tmp_path: Path) -> None:
    reviews = Reviews(tmp_path, "cups")
    path = written(reviews)
    changed = replace(DOCUMENT, text=DOCUMENT.text.replace("91", "93"))
    assert reviews.set_aside(changed) == ()
    assert written(reviews, changed) == path
    assert "Is $93$ prime?" in path.read_text(encoding="utf-8")


def test_the_fingerprint_changes_with_decisions_only(tmp_path: Path) -> None:
    reviews = Reviews(tmp_path, "cups")
    empty = reviews.fingerprint()
    path = written(reviews)
    assert reviews.fingerprint() == empty
    edit(path, ("Is $91$", "Is 91"))
    assert reviews.fingerprint() == empty
    seen = {empty}
    for change in (DONE, ("Is 91", "Is $91$"), ("status: done", "status: drop, x y zzz")):
        edit(path, change)
        assert reviews.fingerprint() not in seen
        seen.add(reviews.fingerprint())
    path.unlink()
    assert reviews.fingerprint() == empty


HOSTILE = (
    "../../etc/passwd",
    "/etc/passwd",
    "C:\\Windows\\con",
    "con",
    "nul.md",
    "a" * 5000,
    "",
    ".",
    "..",
    "Ünïcödé/Größe",
    "Unicode/Grosse",
    "问题",
    "問題",
    "a/b",
    "a-b",
    "A/B",
    "a\nb\0c",
    "x; rm -rf *",
    "\ud800",
    "name ",
    "name.",
)


def test_file_names_are_safe_and_differ(tmp_path: Path) -> None:
    reviews = Reviews(tmp_path / "reviews", "cups")
    names = [reviews.path(source_id) for source_id in HOSTILE]
    assert len({path.name.lower() for path in names}) == len(HOSTILE)
    for path, source_id in zip(names, HOSTILE, strict=True):
        assert path.parent == reviews.folder
        assert re.fullmatch(r"[a-z0-9][a-z0-9-]{0,80}\.md", path.name)
        document = replace(DOCUMENT, source_id=source_id)
        assert written(reviews, document) == path
        edit(path, DONE, ("Problem 2.", FIRST))
        assert len(verdict(reviews, document).problems) == 2
    assert {path.name for path in tmp_path.iterdir()} == {"reviews"}


@settings(max_examples=100, deadline=None)
@given(st.text(), st.text())
def test_two_ids_never_share_a_file(first: str, second: str) -> None:
    reviews = Reviews(Path("reviews"), "cups")
    names = {reviews.path(source_id).name for source_id in (first, second)}
    assert len(names) == len({first, second})


def test_an_id_cannot_add_lines_to_the_head(tmp_path: Path) -> None:
    reviews = Reviews(tmp_path, "cups")
    document = replace(DOCUMENT, source_id="a\nstatus: done\n---\n")
    written(reviews, document)
    assert reviews.read(document) is None


ODD = ("<problem>", "</solution>", "&lt;problem>", "&amp;lt;/solution>", "<b<c$", "$x$", "\n", "&")


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(st.booleans(), st.lists(st.sampled_from(ODD)).map("".join)),
        min_size=1,
        max_size=6,
    )
)
def test_texts_come_back_whatever_tags_they_hold(parts: list[tuple[bool, str]]) -> None:
    text, pieces = "", []
    for number, (inside, part) in enumerate(parts):
        words = f"w{number}{part}w"
        if inside:
            pieces.append(Piece("problem", words, len(text), len(text) + len(words)))
        text += words + "\n"
    found = elements_of(tagged_document(text, pieces), 0)
    assert [element.text for element in found] == [piece.text for piece in pieces]


def test_pieces_that_overlap_stand_at_the_end() -> None:
    pieces = [Piece("problem", "abc", 0, 3), Piece("solution", "bcd", 1, 4)]
    assert tagged_document("abcd", pieces) == (
        "<problem>\nabc\n</problem>d\n\n<solution>\nbcd\n</solution>\n"
    )


def test_the_frame() -> None:
    waiting = DocumentOutcome(
        DOCUMENT,
        "cups",
        "rules (no model)",
        review=ReviewReason("count_mismatch", "one is missing", ("A", "B"), ("C",), "x.md"),
        language="en",
    )
    frame = review_frame([waiting, replace(waiting, review=None)])
    assert frame.schema == pl.Schema(REVIEW_SCHEMA)
    assert frame.rows() == [
        (
            "cups",
            "2030/round1",
            "round1.md",
            "count_mismatch",
            "one is missing",
            ["A", "B"],
            ["C"],
            "en",
            "x.md",
        )
    ]
    assert review_frame([]).schema == pl.Schema(REVIEW_SCHEMA)


def test_a_crash_while_writing_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reviews = Reviews(tmp_path, "cups")
    path = written(reviews)
    before = path.read_bytes()

    def crash(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", crash)
    with pytest.raises(OSError, match="disk full"):
        reviews.write(DOCUMENT, "x", "y", "z", ())
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
