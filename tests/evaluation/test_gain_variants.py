"""Variants of gain and range: the base is the board, linear gain ignores the range."""

import math

import numpy as np
import polars as pl
import pytest

from saber_assets.evaluation.gain_variants import (
    VARIANTS,
    Variant,
    compare_variants,
    gain_variants,
)
from saber_assets.evaluation.leaderboard import measure_queries
from saber_assets.evaluation.ndcg import Ndcg

NO_FAILURES = pl.DataFrame(
    schema={"retriever": pl.String, "setting": pl.String, "query_id": pl.String}
)


def frames(systems=8, queries=12, documents=30, seed=0):
    rng = np.random.default_rng(seed)
    ids = [(f"q{q:02d}", f"d{d:02d}") for q in range(queries) for d in range(documents)]
    rating = rng.uniform(0, 5, len(ids))
    ratings = pl.DataFrame(ids, schema=["query_id", "candidate_id"], orient="row").with_columns(
        rating=pl.Series(rating)
    )
    scores = pl.concat(
        ratings.select(
            pl.lit(f"s{s}").alias("retriever"),
            pl.lit("statement-full").alias("setting"),
            "query_id",
            "candidate_id",
            score=pl.Series(rating + rng.normal(0, 1 + s, len(ids))),
        )
        for s in range(systems)
    )
    return scores, ratings


def test_the_first_variant_is_the_board_and_linear_ignores_the_range():
    scores, ratings = frames()
    means = gain_variants(scores, NO_FAILURES, ratings)
    board = (
        measure_queries(scores, NO_FAILURES, ratings, Ndcg())
        .group_by("retriever")
        .agg(pl.col("value").mean())
    )
    base = means.filter(pl.col("variant") == str(VARIANTS[0]))
    joined = base.join(board, on="retriever")
    assert joined.height == 8
    assert np.abs(joined["mean"] - joined["value"]).max() < 1e-12
    compared = dict(compare_variants(means))
    assert list(compared) == ["[0,3] exponential", "[0,5] linear", "[0,3] linear"]
    linear = {
        name: means.filter(pl.col("variant") == name).sort("retriever")["mean"]
        for name in ("[0,5] linear", "[0,3] linear")
    }
    assert np.abs(linear["[0,5] linear"] - linear["[0,3] linear"]).max() < 1e-12
    assert compared["[0,5] linear"].inversions == compared["[0,3] linear"].inversions
    assert compared["[0,5] linear"].pairs == 28
    assert compared["[0,5] linear"].pearson < 1


def test_a_value_by_hand():
    ids = pl.DataFrame({"query_id": ["q", "q"], "candidate_id": ["a", "b"], "rating": [5.0, 2.5]})
    scores = ids.select(
        pl.lit("s").alias("retriever"),
        pl.lit("statement-full").alias("setting"),
        "query_id",
        "candidate_id",
        score=pl.Series([0.0, 1.0]),
    )
    found = dict(gain_variants(scores, NO_FAILURES, ids).select("variant", "mean").iter_rows())
    second = 1 / math.log2(3)
    for variant in VARIANTS:
        high, low = variant.top, variant.top / 2
        gains = [2**x - 1 for x in (high, low)] if variant.gain == "exp2" else [high, low]
        expected = (gains[1] + second * gains[0]) / (gains[0] + second * gains[1])
        assert found[str(variant)] == pytest.approx(expected, abs=1e-12)


def test_without_scores_and_with_an_unknown_base():
    _, ratings = frames(1)
    scores = frames(1)[0].clear()
    assert gain_variants(scores, NO_FAILURES, ratings).is_empty()
    means = gain_variants(*frames(2)[:1], NO_FAILURES, frames(2)[1], [Variant()])
    assert compare_variants(means) == []
    with pytest.raises(ValueError, match="no variant"):
        compare_variants(means, "cubic")
