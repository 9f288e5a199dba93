"""Cumulative shares by category: by hand, and their ends."""

import numpy as np
import polars as pl
import pytest

from saber_assets.evaluation.signal_effect import at_ranks, signal_effect


def frames(rows):
    frame = pl.DataFrame(
        rows, schema=["query_id", "candidate_id", "category", "rating"], orient="row"
    )
    return frame.drop("category"), frame.drop("rating")


def test_by_hand_with_ties_and_an_unjudged_candidate():
    ratings, pools = frames([
        ("q1", "a", "both", 5.0),
        ("q1", "b", "topic_only", 1.0),
        ("q1", "c", "summary_only", 1.0),
        ("q1", "d", "both", None),
        ("q2", "a", "topic_only", 0.0),
        ("q2", "b", "both", 4.0),
    ])  # fmt: skip
    found = signal_effect(ratings, pools)
    curve = {
        name: found.filter(pl.col("category") == name)["share"].to_list()
        for name in ("topic_only", "summary_only", "both")
    }
    # ranks: q1 a, b (tie with c, smaller id), c; q2 b, a
    assert curve == {"topic_only": [0, 1, 1], "summary_only": [0, 0, 1], "both": [1, 1, 1]}
    assert found.filter(pl.col("category") == "both")["candidates"].to_list() == [2, 2, 2]
    assert found.filter(pl.col("rank") == 2)["topped"].to_list() == [0.5, 0, 0.5]
    summary = at_ranks(found, (1, 3, 50))
    assert summary.columns == ["category", "candidates", "top 1", "top 3", "area"]
    assert summary["area"].to_list() == pytest.approx([2 / 3, 1 / 3, 1])


def test_random_ratings_have_equal_curves():
    rng = np.random.default_rng(0)
    names = ["both"] * 10 + ["topic_only"] * 10 + ["summary_only"] * 10
    rows = [
        (f"q{q}", f"d{d:02d}", names[d], float(rng.uniform(0, 5)))
        for q in range(200)
        for d in range(30)
    ]
    found = signal_effect(*frames(rows))
    assert found.height == 90
    assert (found["share"] - found["rank"] / 30).abs().max() < 0.05
    assert found.filter(pl.col("rank") == 30)["share"].to_list() == [1, 1, 1]
    assert found.group_by("rank").agg(pl.col("topped").sum())["topped"].to_numpy() == pytest.approx(
        1
    )


def test_nothing():
    ratings, pools = frames([])
    ratings = ratings.cast({"rating": pl.Float64, "query_id": pl.String, "candidate_id": pl.String})
    pools = pools.cast(dict.fromkeys(pools.columns, pl.String))
    found = signal_effect(ratings, pools)
    assert found.is_empty()
    assert at_ranks(found).is_empty()
