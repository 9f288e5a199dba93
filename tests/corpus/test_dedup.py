"""Near-duplicates: what merges, what must not, and who survives."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.corpus.dedup import deduplicate
from saber_assets.corpus.duplicate_groups import duplicate_groups
from saber_assets.corpus.figure_mentions import refers_to_figure
from saber_assets.corpus.minhash import exact_jaccard
from saber_assets.corpus.readers import problem_id_of, read_corpus
from saber_assets.corpus.tables import (
    DEDUPED_CORPUS,
    DROPPED_PROBLEMS,
    DUPLICATE_GROUPS,
    RAW_PROBLEMS,
)
from saber_assets.corpus.tokens import shingle_tokens, shingles

REAL = Path(__file__).parents[2].parent / "shared" / "data" / "problems" / "real_1684.jsonl"

PROOF = "It follows step by step from what is given above, as one sees in remark"
LONG = (
    "A rectangular garden lies next to a straight river and the gardener wants to build a fence "
    "around the other sides of it with the wood that is left over from the last season, without "
    "buying more of it and without wasting any. She has {n} metres of wood. {verb} which shape "
    "of the garden gives the {bound} possible area, and describe how the answer changes if the "
    "river bends slightly towards the {place} of her neighbour on the opposite bank."
)


def long(n=40, bound="largest", place="house", verb="Determine"):
    return LONG.format(n=n, bound=bound, place=place, verb=verb)


def raw(*rows):
    """Build RAW_PROBLEMS rows from (statement, solution, source) with defaults."""
    seen = {}
    records = []
    for number, row in enumerate(rows):
        problem, solution, source, fault = (*row, *(None,) * (4 - len(row)))
        solution = solution or f"{PROOF} {number}"
        problem_id = problem_id_of(problem, solution)
        seen[problem_id] = seen.get(problem_id, 0) + 1
        records.append(
            {
                "problem_id": problem_id,
                "occurrence": seen[problem_id],
                "source": source or "s",
                "source_id": str(number),
                "location": f"f line {number}",
                "problem": problem,
                "solution": solution,
                "fault": fault,
            }
        )
    schema = dict.fromkeys(records[0], pl.String) | {"occurrence": pl.Int32}
    return with_all_columns(pl.DataFrame(records, schema=schema))


def with_all_columns(frame):
    """Give the columns that cleaning fills values that say nothing."""
    full = pl.concat([RAW_PROBLEMS.empty(), frame], how="diagonal")
    lists = [name for name, dtype in full.schema.items() if dtype == pl.List(pl.String)]
    return full.with_columns(
        pl.col("language").fill_null("und"),
        pl.col("licence").fill_null("LicenseRef-unknown"),
        pl.col("for_training").fill_null(False),
        pl.col("images").fill_null(0),
        pl.col(lists).fill_null([]),
    )


def run(frame, priority=(), **options):
    corpus, dropped = deduplicate(frame, priority, **options)
    DEDUPED_CORPUS.conform(corpus)
    DROPPED_PROBLEMS.conform(dropped)
    assert corpus.height + dropped.height == frame.height
    groups = DUPLICATE_GROUPS.conform(duplicate_groups(corpus, dropped))
    duplicates = dropped["kept_problem_id"].drop_nulls()
    assert groups.height == duplicates.len() + duplicates.n_unique()
    assert set(groups.filter("is_kept")["problem_id"]) == set(duplicates)
    assert groups["size"].sum() == groups.group_by("kept_problem_id").len()["len"].pow(2).sum()
    return corpus, dropped


def merged(left, right, **options):
    return run(raw(left, right), **options)[0].height == 1


def test_retypeset_and_reworded_copies_merge():
    assert merged((r"Find $\dfrac{1}{2}+x^{2}$.",), (r"Find \(\frac12 + x^2\)",))
    assert merged((long(),), (long(verb="Decide"),))
    assert merged((long(place="house"),), (long(place="houses"),))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("at most 12", "at most 17"),
        ("Solve $x^2+3x-4=0$", "Solve $x^2-3x+4=0$"),
        (long(n=40), long(n=41)),
        (long(bound="largest"), long(bound="smallest")),
        (long(n="$3x+4$"), long(n="$3x-4$")),
        (long(n="$AB$"), long(n="$BA$")),
        (long(place="house"), long(place="cottage")),
        (long(n="3 red and 5 blue"), long(n="5 red and 3 blue")),
        ("Prove it", "Prove that"),
    ],
)
def test_other_problems_do_not_merge(left, right):
    assert not merged((left,), (right,))
    assert not merged((left,), (right,), threshold=0.01)


def test_the_source_with_priority_survives():
    rows = [("Find x", "1", "aops"), ("Find  x", "2", "official"), ("find x.", "3", "numina")]
    corpus, dropped = run(raw(*rows), ["official", "numina"])
    assert corpus["source"].to_list() == ["official"]
    assert sorted(dropped["source"]) == ["aops", "numina"]
    assert set(dropped["kept_problem_id"]) == {problem_id_of("Find x", "2")}
    assert dropped["reason"].unique().to_list() == ["exact_duplicate"]
    assert dropped["similarity"].to_list() == [1.0, 1.0]
    assert run(raw(*rows))[0]["source"].to_list() == ["aops"]


def test_equal_content_in_two_sources():
    frame = raw(("Find x", "1", "b"), ("Find x", "1", "a"))
    corpus, dropped = run(frame, ["b"])
    assert corpus["source"].to_list() == ["b"]
    assert dropped.select("problem_id", "occurrence", "kept_problem_id").row(0) == (
        frame["problem_id"][0], 2, frame["problem_id"][0],
    )  # fmt: skip


def test_no_merging_through_a_chain():
    words = [f"word{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(80)]
    variants = []
    for start in (0, 1, 2):
        text = list(words)
        for position in range(start):
            text[10 + 30 * position] = ("whereas", "otherwise")[position]
        variants.append(" ".join(text))
    first, middle, last = (shingles(shingle_tokens(v), 5) for v in variants)
    near = exact_jaccard(first, middle)
    far = exact_jaccard(first, last)
    assert far < 0.85 <= near
    assert exact_jaccard(middle, last) >= 0.85
    rows = [(variant, None, source) for variant, source in zip(variants, "abc", strict=True)]
    corpus, dropped = run(raw(*rows), ["a", "b", "c"])
    assert sorted(corpus["source"]) == ["a", "c"]
    assert dropped.row(0, named=True)["similarity"] == near
    assert dropped["reason"].to_list() == ["near_duplicate"]
    # the middle one first: it takes both ends with it, each similar to it directly
    assert run(raw(*rows), ["b"])[0]["source"].to_list() == ["b"]


def test_the_far_end_of_a_chain_is_judged_on_its_own():
    """Deduplicated within b first, the last would go for the middle one, which goes for a's."""
    words = [f"word{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(80)]
    middle, last = list(words), list(words)
    middle[10] = last[10] = "whereas"
    last[40] = "otherwise"
    rows = [
        (" ".join(words), None, "a"),
        (" ".join(middle), None, "b"),
        (" ".join(last), None, "b"),
    ]
    alone, gone = run(raw(*rows[1:]))
    assert (alone.height, gone["scope"].to_list()) == (1, ["within"])
    corpus, gone = run(raw(*rows), ["a"])
    assert sorted(corpus["source"]) == ["a", "b"]
    assert gone.select("scope", "evidence").row(0) == ("across", "similar_tokens")
    assert set(corpus["problem"]) == {" ".join(words), " ".join(last)}


def test_scope_and_evidence():
    rows = [("Find  $x$", "1", "b"), ("Find $x$", "2", "b"), ("find x.", "3", "a"),
            (long(), None, "a"), (long(verb="Find"), None, "b"),
            ("Find $x$", "4", "c")]  # fmt: skip
    frame = raw(*rows)
    _, dropped = run(frame, ["b", "a"])
    evidence = {row["source_id"]: (row["scope"], row["evidence"], row["reason"])
                for row in dropped.rows(named=True)}  # fmt: skip
    kept = ({"0", "1"} - set(evidence)).pop()
    assert evidence == {
        "1" if kept == "0" else "0": ("within", "equal_text", "exact_duplicate"),
        "2": ("across", "equal_tokens", "exact_duplicate"),
        "3": ("across", "similar_tokens", "near_duplicate"),
        "5": ("across", "equal_text", "exact_duplicate"),
    }
    groups = duplicate_groups(*run(frame, ["b", "a"]))
    assert groups["size"].to_list() == [4] * 4 + [2] * 2
    assert groups["is_kept"].to_list() == [True, False, False, False, True, False]
    assert groups.filter("is_kept")["similarity"].to_list() == [1.0, 1.0]


def test_groups_of_nothing():
    empty = duplicate_groups(*run(raw(("Find x", "1"))))
    assert empty.height == 0
    assert empty.columns == list(DUPLICATE_GROUPS.columns)


def test_near_duplicates_with_other_answers_are_two_problems():
    one, other = long(), long(verb="Find")
    assert not merged((one, "12"), (other, "15"))
    assert merged((one, r"$12$ litres"), (other, "12"))
    assert merged((one, "12"), (other, f"{PROOF} 15"))
    assert merged((one, "12"), (one, "15"))  # one of both answers is wrong
    frame = raw((one, None), (other, None))
    assert run(frame.with_columns(answer=pl.Series(["12", "15"])))[0].height == 2
    assert run(frame.with_columns(answer=pl.Series(["12", None])))[0].height == 1
    assert run(frame.with_columns(answer=pl.Series(["12", "$12$."])))[0].height == 1


def test_columns_after_the_solution_need_not_be_there():
    few = raw(("Find x", "1"), ("Find x", "2")).select(
        "problem_id",
        "occurrence",
        "source",
        "source_id",
        "location",
        "problem",
        "solution",
        "fault",
    )
    corpus, dropped = deduplicate(few)
    assert corpus.columns == ["problem_id", "source", "source_id", "problem", "solution"]
    assert dropped.height == 1


def test_figures_are_not_merged_on_their_text():
    figure = "Find the area of the shaded region in the figure."
    assert not merged((figure, "12"), (figure, "15"))
    assert merged((figure, "$12$"), (figure, "12."))
    assert not merged((long() + " [image]", "12"), (long(verb="Find") + " [image]", "15"))
    assert merged((long() + " [image]", "12"), (long(verb="Find") + " [image]", "12"))
    assert not merged(("[image]", "1"), ("[image]", "2"))


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ("In the diagram below, find x.", True),
        ("The circle shown has radius 1.", True),
        ("Use the graph below.", True),
        ("The following table lists values.", True),
        (r"\includegraphics{a.png}", True),
        ("[asy] draw(A--B); [/asy]", True),
        ("![](x.png)", True),
        ("Sketch the graph of y = x^2.", False),
        ("Is the graph G planar?", False),
        ("A round table seats 5 people.", False),
        ("Find x.", False),
    ],
)
def test_what_refers_to_a_figure(text, points):
    assert refers_to_figure(text) is points


def test_faulted_rows_are_listed_first_and_never_kept():
    frame = raw(
        ("Find x", "Omitted.", "a", "no_real_solution"), ("Find x", "1", "b"), ("y?", "2", "c")
    )
    corpus, dropped = run(frame, ["a"])
    assert corpus.height == 2
    assert dropped.select("reason", "kept_problem_id", "similarity").row(0) == (
        "no_real_solution", None, None,
    )  # fmt: skip
    nothing, all_dropped = run(frame.head(1))
    assert (nothing.height, all_dropped.height) == (0, 1)


def test_progress_counts_every_record():
    done = []
    deduplicate(raw(("a", "1"), ("b", "", "s", "empty_solution"), ("a", "2")), progress=done.append)
    assert sum(done) == 3


words = st.sampled_from(
    ["find", "the", "area", "of", "a", "b", "x", "1", "2", "+", "=", "circle", "with", "radius"]
)
statements = st.lists(words, min_size=1, max_size=14).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(statements, st.sampled_from(["1", "2"]), st.sampled_from("abc")), min_size=1
    ),
    st.randoms(use_true_random=False),
)
def test_rules_hold_in_any_order(rows, random):
    frame = raw(*rows)
    corpus, dropped = run(frame, ["b"], threshold=0.6, shingle=3)
    text_of = dict(zip(corpus["problem_id"], corpus["problem"], strict=True))
    originals = {(r["problem_id"], r["occurrence"]): r["problem"] for r in frame.rows(named=True)}
    for row in dropped.rows(named=True):
        kept = shingle_tokens(text_of[row["kept_problem_id"]])
        gone = shingle_tokens(originals[row["problem_id"], row["occurrence"]])
        if row["reason"] == "exact_duplicate":
            assert kept == gone
        else:
            exact = exact_jaccard(shingles(kept, 3), shingles(gone, 3))
            assert row["similarity"] == exact >= 0.6
        kept_source = corpus.filter(pl.col("problem_id") == row["kept_problem_id"])["source"][0]
        assert row["scope"] == ("within" if kept_source == row["source"] else "across")
        # a group never chains: each member is like the kept one itself
        assert (row["evidence"] == "similar_tokens") == (row["reason"] == "near_duplicate")
    tokens = [tuple(shingle_tokens(text)) for text in text_of.values()]
    assert len(set(tokens)) == len(tokens)
    # the source with the highest priority is deduplicated as if it were alone
    first = frame.filter(pl.col("source") == "b")
    assert run(first, threshold=0.6, shingle=3)[0]["problem_id"].to_list() == sorted(
        corpus.filter(pl.col("source") == "b")["problem_id"]
    )
    shuffled = list(rows)
    random.shuffle(shuffled)
    again = run(raw(*shuffled), ["b"], threshold=0.6, shingle=3)[0]
    assert again["problem_id"].to_list() == corpus["problem_id"].to_list()
    assert again["source"].to_list() == corpus["source"].to_list()


def test_real_problems():
    if not REAL.exists():
        pytest.skip("the real problems are not beside the checkout")
    frame = with_all_columns(read_corpus([REAL]))
    corpus, dropped = run(frame)
    assert frame.height == 1684
    assert dict(dropped["reason"].value_counts().iter_rows()) == {
        "exact_duplicate": 25,
    }
    records = [json.loads(line) for line in REAL.read_bytes().split(b"\n") if line]
    assert set(corpus["source_id"]) <= {str(record["id"]) for record in records}
