"""The funnel adds up, and the report counts what is there."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.corpus.dedup import deduplicate
from saber_assets.corpus.duplicate_groups import duplicate_groups
from saber_assets.corpus.quality import (
    CORPUS_FUNNEL,
    GROUP_SIZES,
    PROBLEM_FEATURES,
    PROBLEM_VALUES,
    TEXT_LENGTHS,
    funnel,
    funnel_faults,
    report,
)
from saber_assets.corpus.readers import problem_id_of
from saber_assets.corpus.tables import RAW_PROBLEMS


def row(number, source, problem, fault=None, **more):
    solution = f"It follows from the above by induction on the number of steps {number}."
    return {
        "problem_id": problem_id_of(problem, solution), "occurrence": 1, "source": source,
        "source_id": str(number), "location": f"row {number}", "problem": problem,
        "solution": solution, "language": "en", "answer": None, "alternatives": [],
        "diagrams": [], "images": 0, "licence": "MIT", "for_training": True, "steps": [],
        "flags": [], "fault": fault, "detail": None,
    } | more  # fmt: skip


def raw(*rows):
    return RAW_PROBLEMS.conform(pl.DataFrame(list(rows), schema=RAW_PROBLEMS.schema))


ROWS = (
    row(0, "a", "Find x", answer="3", steps=["html", "html", "money"], flags=["odd_dollars"]),
    row(1, "a", "find  x.", language="de", steps=["html"]),
    row(2, "a", "Find the longest y", images=2, diagrams=["draw"], licence="CC-BY-4.0"),
    row(3, "a", "", fault="empty_statement"),
    row(4, "b", "Find $x$", alternatives=["again"], for_training=False),
    row(5, "b", "Find z", alternatives=["again"], for_training=False, answer=" "),
)
REVIEW = pl.DataFrame({"source": ["c", "c", "b"], "reason": ["counts_differ"] * 3})
DROPPED_DOCUMENTS = pl.DataFrame({"source": ["c"], "reason": ["no_text_layer"]})


def built(*rows):
    frame = raw(*rows)
    corpus, dropped = deduplicate(frame, ["a"])
    return frame, corpus, dropped


def test_the_funnel_of_each_source():
    found = CORPUS_FUNNEL.conform(funnel(*built(*ROWS), REVIEW, DROPPED_DOCUMENTS))
    assert funnel_faults(found) == []
    assert found.select("source", "stage", "reason", "scope", "records").rows() == [
        ("a", "read", "", "", 4),
        ("a", "dropped", "empty_statement", "", 1),
        ("a", "dropped", "exact_duplicate", "within", 1),
        ("a", "kept", "", "", 2),
        ("b", "read", "", "", 3),
        ("b", "dropped", "exact_duplicate", "across", 1),
        ("b", "in_review", "counts_differ", "", 1),
        ("b", "kept", "", "", 1),
        ("c", "read", "", "", 3),
        ("c", "dropped", "no_text_layer", "", 1),
        ("c", "in_review", "counts_differ", "", 2),
        ("c", "kept", "", "", 0),
    ]
    assert found.filter(stage="kept")["share"].to_list() == pytest.approx([0.5, 1 / 3, 0.0])
    assert found.filter(stage="read")["share"].to_list() == [1.0, 1.0, 1.0]


def test_records_that_are_lost_or_counted_twice_are_named():
    frame, corpus, dropped = built(*ROWS)
    lost = funnel_faults(funnel(frame, corpus.filter(source="a"), dropped))
    assert lost == [
        "the source 'b' has 2 records, but 1 are dropped, in review or kept",
    ]
    assert len(funnel_faults(funnel(frame, pl.concat([corpus, corpus]), dropped))) == 2
    from_nowhere = corpus.with_columns(source=pl.lit("z"))
    faults = funnel_faults(funnel(frame, from_nowhere, dropped))
    assert any("'z' has 0 records" in fault for fault in faults)


def test_the_report():
    frame, corpus, dropped = built(*ROWS)
    found = report(frame, corpus, dropped, duplicate_groups(corpus, dropped))
    lengths = TEXT_LENGTHS.conform(found.lengths)
    statements = lengths.filter(source="a", text="statement")
    kept = sorted(len(text) for text in corpus.filter(source="a")["problem"])
    assert statements["quantile"].to_list() == [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0]
    assert statements["characters"].to_list()[::6] == [kept[0], kept[-1]]
    features = PROBLEM_FEATURES.conform(found.features)
    shares = {(r["source"], r["feature"]): r["share"] for r in features.rows(named=True)}
    assert shares["a", "images"] == shares["a", "diagrams"] == 0.5
    assert shares["b", "answer"] == 0.0
    assert shares["b", "alternatives"] == 1.0
    assert (shares["a", "for_training"], shares["b", "for_training"]) == (1.0, 0.0)
    values = PROBLEM_VALUES.conform(found.values)
    licences = values.filter(source="a", what="licence")
    assert dict(licences.select("value", "problems").rows()) == {"MIT": 1, "CC-BY-4.0": 1}
    assert values.filter(what="language")["problems"].sum() == corpus.height
    steps = dict(values.filter(what="step").select("value", "problems").rows())
    kept_first = "0" in corpus["source_id"].to_list()
    assert steps == ({"html": 1, "money": 1} if kept_first else {"html": 1})
    sizes = GROUP_SIZES.conform(found.group_sizes)
    assert sizes.rows() == [("a", 3, 1, 1, 1)]


def test_nothing_at_all():
    frame, corpus, dropped = built()
    assert funnel(frame, corpus, dropped).height == 0
    found = report(frame, corpus, dropped, duplicate_groups(corpus, dropped))
    parts = (found.lengths, found.features, found.values, found.group_sizes)
    tables = (TEXT_LENGTHS, PROBLEM_FEATURES, PROBLEM_VALUES, GROUP_SIZES)
    for part, table in zip(parts, tables, strict=True):
        assert table.conform(part).height == 0


texts = st.sampled_from(["Find x", "find $x$", "Find y", "", "Prove it", "x = 1", "[image]"])
faults = st.sampled_from([None, None, None, "empty_statement", "no_real_solution"])


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), texts, faults), max_size=25),
    st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["counts_differ", "empty"]))),
    st.randoms(use_true_random=False),
)
def test_sums_add_up_whatever_comes_in_any_order(rows, waiting, random):
    made = [row(number, *parts) for number, parts in enumerate(rows)]
    review = pl.DataFrame(waiting, schema={"source": pl.String, "reason": pl.String}, orient="row")
    frame, corpus, dropped = built(*made)
    found = CORPUS_FUNNEL.conform(funnel(frame, corpus, dropped, review))
    assert funnel_faults(found) == []
    assert found.filter(stage="read")["records"].sum() == len(rows) + len(waiting)
    groups = duplicate_groups(corpus, dropped)
    sizes = report(frame, corpus, dropped, groups).group_sizes
    displaced = sizes["displaced_within"].sum() + sizes["displaced_across"].sum()
    assert displaced == dropped["kept_problem_id"].drop_nulls().len()
    random.shuffle(made)
    again = funnel(*built(*made), review.sample(fraction=1.0, shuffle=True, seed=1))
    assert again.equals(found.select(again.columns))
