"""P, R, RR and AP of a board, against the measures one by one and by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.evaluation.binary import AveragePrecision, Precision, Recall, ReciprocalRank
from saber_assets.evaluation.binary_measures import (
    THRESHOLDS,
    binary_measures,
    compare_with_board,
    relevant_candidates,
)
from saber_assets.evaluation.leaderboard import measure_queries

NO_FAILURES = pl.DataFrame(
    schema={"retriever": pl.String, "setting": pl.String, "query_id": pl.String}
)
QUERIES, POOL = 6, 12


def frames(seed: int, names=("a", "b", "c"), grades=None) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return scores, with ties, in two settings, and ratings."""
    random = np.random.default_rng(seed)
    pairs = [(f"q{q}", f"d{d:02d}") for q in range(QUERIES) for d in range(POOL)]
    rated = random.uniform(0, 5, len(pairs)) if grades is None else grades
    ratings = pl.DataFrame(
        [(*pair, float(rating)) for pair, rating in zip(pairs, rated, strict=True)],
        schema=["query_id", "candidate_id", "rating"],
        orient="row",
    )
    rows = [
        (name, setting, *pair, float(random.integers(0, 6)))
        for name in names
        for setting in ("s1", "s2")
        for pair in pairs
    ]
    columns = ["retriever", "setting", "query_id", "candidate_id", "score"]
    return pl.DataFrame(rows, schema=columns, orient="row"), ratings


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 1000))
def test_they_are_the_means_of_the_single_measures(seed) -> None:
    scores, ratings = frames(seed)
    failed = pl.DataFrame({"retriever": ["b"], "setting": ["s1"], "query_id": ["q2"]})
    found = binary_measures(scores, failed, ratings, (2.5, 4.9), (3, 10), resamples=20)
    for rel in (2.5, 4.9):
        cut = [kind(rel, k) for kind in (Precision, Recall) for k in (3, 10)]
        for measure in (*cut, ReciprocalRank(rel), AveragePrecision(rel)):
            single = measure_queries(scores, failed, ratings, measure)
            means = single.group_by("retriever", "setting").agg(pl.col("value").mean())
            for name, setting, value in means.iter_rows():
                row = found.filter(retriever=name, setting=setting, measure=str(measure))
                assert row["mean"].item() == pytest.approx(value, abs=1e-12)
                assert row["threshold"].item() == rel
    assert found.height == 3 * 2 * 2 * (2 + 2 + 1 + 1)
    assert (found["low"] <= found["mean"]).all() and (found["mean"] <= found["high"]).all()


def test_by_hand() -> None:
    ratings = pl.DataFrame(
        {"query_id": ["q"] * 4, "candidate_id": list("wxyz"), "rating": [0.0, 5.0, 2.5, 2.4]}
    )
    scores = ratings.select(
        "query_id",
        "candidate_id",
        retriever=pl.lit("a"),
        setting=pl.lit("s"),
        score=pl.Series([4.0, 3.0, 1.0, 3.0]),  # w, then x before z by its id, y last
    )
    found = binary_measures(scores, NO_FAILURES, ratings, (2.5,), (2,), resamples=5)
    assert dict(found.select("measure", "mean").iter_rows()) == pytest.approx(
        {
            "P(rel=2.5)@2": 1 / 2,
            "R(rel=2.5)@2": 1 / 2,
            "RR(rel=2.5)": 1 / 2,
            "AP(rel=2.5)": (1 / 2 + 2 / 4) / 2,
        }
    )


def test_nothing_reaches_the_threshold() -> None:
    scores, ratings = frames(1, grades=[1.0] * (QUERIES * POOL))
    found = binary_measures(scores, NO_FAILURES, ratings, (4.0,), resamples=5)
    assert found["mean"].sum() == 0
    counted = relevant_candidates(ratings, (1.0, 4.0))
    assert counted.rows() == [(1.0, POOL, 0), (4.0, 0.0, QUERIES)]
    assert binary_measures(scores.clear(), NO_FAILURES, ratings).is_empty()


@pytest.mark.parametrize(
    "wrong", [{"cutoffs": (0,)}, {"thresholds": (float("nan"),)}], ids=["cutoff", "threshold"]
)
def test_what_is_refused(wrong) -> None:
    with pytest.raises(ValueError, match="must be"):
        binary_measures(*frames(1)[:1], NO_FAILURES, frames(1)[1], **wrong)


def test_the_order_of_each_measure_against_the_board() -> None:
    scores, ratings = frames(3)
    found = binary_measures(scores, NO_FAILURES, ratings, resamples=5).filter(setting="s1")
    first = found.filter(measure=found["measure"][0])
    board = {name: -place for place, name in enumerate(first["retriever"])}
    compared = dict(compare_with_board(found, board))
    assert len(compared) == 4 * len(THRESHOLDS)
    turned = dict(compare_with_board(found, {name: -value for name, value in board.items()}))
    name = found["measure"][0]
    assert compared[name].inversions == 0
    assert turned[name].inversions + turned[name].ties == 3
