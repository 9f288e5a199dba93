"""Where a problem came from and what became of it, by any of its names."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.corpus.dedup import deduplicate
from saber_assets.corpus.provenance import CorpusFrames, explain
from saber_assets.corpus.readers import problem_id_of
from saber_assets.corpus.tables import RAW_PROBLEMS
from saber_assets.errors import InputError

PROOF = "It follows from what is given above, step by step, as one sees by induction on"


def row(source, source_id, problem, solution=None, occurrence=1, **more):
    solution = solution or f"{PROOF} {source_id}."
    return {
        "problem_id": problem_id_of(problem, solution), "occurrence": occurrence,
        "source": source, "source_id": source_id, "location": f"{source}.jsonl line {source_id}",
        "problem": problem, "solution": solution, "language": "en", "answer": None,
        "alternatives": [], "diagrams": [], "images": 0, "licence": "MIT", "for_training": True,
        "steps": [], "flags": [], "fault": None, "detail": None,
    } | more  # fmt: skip


def frames(*rows, **more):
    raw = RAW_PROBLEMS.conform(pl.DataFrame(list(rows), schema=RAW_PROBLEMS.schema))
    return CorpusFrames(raw, deduplicate(raw, ["official", "numina"])[1], **more)


REVIEW = pl.DataFrame(
    [("official", "imo/1999", "imo/1999.md", "counts_differ", "6 problems, 5 solutions", "en")],
    schema=["source", "source_id", "location", "reason", "detail", "language"],
    orient="row",
)
LEFT_OUT = pl.DataFrame(
    [("official", "imo/scan", "imo/scan.pdf", "no_text_layer", "")],
    schema=["source", "source_id", "location", "reason", "detail"],
    orient="row",
)
FRAMES = frames(
    row("official", "imo-1", r"Find $\frac{x}{2}$", steps=["html", "delimiters"], flags=["odd"]),
    row("numina", "n7", "Find x/2.", licence="Apache-2.0"),
    row("aops", "t100", "find $x/2$", licence="LicenseRef-AoPS", for_training=False),
    row("aops", "t101", "", fault="empty_statement", detail="the first post is empty"),
    row("aops", "imo-1", "Another problem"),
    row("aops", "t102", "Twice", "The same solution, which is long enough to be one of them."),
    row("numina", "n8", "Twice", "The same solution, which is long enough to be one of them.", 2),
    review=REVIEW,
    dropped_documents=LEFT_OUT,
)


def test_a_kept_problem_and_what_it_displaced():
    found = explain("official:imo-1", FRAMES)
    assert (found.source, found.source_id, found.location) == (
        "official", "imo-1", "official.jsonl line imo-1",
    )  # fmt: skip
    assert (found.fate, found.reason, found.displaced_by) == ("kept", None, None)
    assert (found.licence, found.for_training, found.language) == ("MIT", True, "en")
    assert (found.steps, found.flags) == (("html", "delimiters"), ("odd",))
    assert {(d.source, d.source_id, d.scope, d.evidence) for d in found.displaced} == {
        ("numina", "n7", "across", "equal_tokens"),
        ("aops", "t100", "across", "equal_tokens"),
    }
    assert [d.similarity for d in found.displaced] == [1.0, 1.0]
    assert explain(found.problem_id, FRAMES) == found
    assert explain(found.problem_id[:9], FRAMES) == found
    assert explain(f"{found.problem_id}#1", FRAMES) == found


def test_a_dropped_problem_names_what_displaced_it():
    found = explain("t100", FRAMES)
    assert (found.fate, found.reason, found.for_training) == ("dropped", "exact_duplicate", False)
    assert found.displaced_by.source_id == "imo-1"
    assert (found.displaced_by.similarity, found.displaced_by.scope) == (1.0, "across")
    assert [member.source_id for member in found.group] == ["imo-1", "n7"]
    assert found.displaced == ()


def test_a_fault_has_no_displacer():
    found = explain("t101", FRAMES)
    assert (found.fate, found.reason) == ("dropped", "empty_statement")
    assert (found.displaced_by, found.group) == (None, ())
    assert found.detail == "the first post is empty"


def test_documents():
    found = explain("imo/1999", FRAMES)
    assert (found.fate, found.reason, found.problem_id) == ("in_review", "counts_differ", None)
    assert found.detail == "6 problems, 5 solutions"
    assert explain("official:imo/1999", FRAMES) == found
    assert explain("imo/scan", FRAMES).reason == "no_text_layer"


def test_equal_contents_in_two_sources():
    kept, gone = explain("numina:n8", FRAMES), explain("t102", FRAMES)
    assert kept.problem_id == gone.problem_id
    assert (kept.fate, kept.occurrence) == ("kept", 2)
    assert (gone.fate, gone.displaced_by.source_id) == ("dropped", "n8")
    assert explain(kept.problem_id, FRAMES) == kept
    assert explain(f"{kept.problem_id}#1", FRAMES) == gone


def test_an_id_of_several_records_is_refused_with_names_for_each():
    with pytest.raises(InputError, match="2 records have the id 'imo-1'") as caught:
        explain("imo-1", FRAMES)
    assert caught.value.mend == "name one of them: aops:imo-1, official:imo-1"
    several = frames(row("a", "x", "One"), row("b", "x", "One", f"{PROOF} x.", 2))
    with pytest.raises(InputError, match="2 records") as caught:
        explain("x", several)
    assert "a:x, b:x" in caught.value.mend
    twice = frames(row("a", "x", "One"), row("a", "x", "Two", f"{PROOF} 2."))
    with pytest.raises(InputError, match="#1"):
        explain("x", twice)


@pytest.mark.parametrize(
    ("name", "close"), [("t103", "t10"), ("imo/1998", "imo/1999"), ("imo1", "imo-1")]
)
def test_an_unknown_id_is_refused_with_close_ones(name, close):
    with pytest.raises(InputError, match="no record has the id") as caught:
        explain(name, FRAMES)
    assert close in caught.value.mend


def test_nothing_like_it():
    with pytest.raises(InputError, match="give a problem id"):
        explain("completely different", FRAMES)
    with pytest.raises(InputError, match="no record"):
        explain("", frames())


statements = st.sampled_from(["Find x", "find $x$.", "Find y", "", "Prove it"])


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["official", "aops"]), statements), max_size=12))
def test_every_record_can_be_explained_and_groups_agree(rows):
    made = frames(
        *(
            row(source, str(number), text, fault=None if text else "empty_statement")
            for number, (source, text) in enumerate(rows)
        )
    )
    displaced = 0
    for number, (source, _) in enumerate(rows):
        found = explain(f"{source}:{number}", made)
        assert (found.fate == "kept") == (found.reason is None)
        for other in found.displaced:
            back = explain(f"{other.source}:{other.source_id}", made)
            assert back.displaced_by.problem_id == found.problem_id
        displaced += len(found.displaced)
    assert displaced == made.dropped["kept_problem_id"].drop_nulls().len()
