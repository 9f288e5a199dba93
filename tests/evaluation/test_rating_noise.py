"""Ratings drawn again from their errors: no errors change nothing, more errors widen."""

import numpy as np
import polars as pl
import pytest

from saber_assets.evaluation.bootstrap import intervals
from saber_assets.evaluation.leaderboard import measure_queries
from saber_assets.evaluation.ndcg import Ndcg
from saber_assets.evaluation.rankings import MeasureError
from saber_assets.evaluation.rating_noise import SCHEMA, rating_noise

NO_FAILURES = pl.DataFrame(
    schema={"retriever": pl.String, "setting": pl.String, "query_id": pl.String}
)


def frames(error, queries=20, documents=25, systems=3, seed=0):
    rng = np.random.default_rng(seed)
    ids = [(f"q{q:02d}", f"d{d:02d}") for q in range(queries) for d in range(documents)]
    strength = rng.normal(0, 2, (queries, documents))
    low, high = strength.min(axis=1, keepdims=True), strength.max(axis=1, keepdims=True)
    rating = (5 * (strength - low) / (high - low)).ravel()
    ratings = pl.DataFrame(ids, schema=["query_id", "candidate_id"], orient="row").with_columns(
        strength=pl.Series(strength.ravel()),
        standard_error=pl.lit(error),
        rating=pl.Series(rating),
        flag=pl.lit(None, dtype=pl.String),
    )
    scores = pl.concat(
        ratings.select(
            pl.lit(f"s{s}").alias("retriever"),
            pl.lit("statement-full").alias("setting"),
            "query_id",
            "candidate_id",
            score=pl.Series(strength.ravel() + rng.normal(0, 1 + s, rating.size)),
        )
        for s in range(systems)
    )
    return scores, NO_FAILURES, ratings


def test_without_errors_it_is_the_query_bootstrap():
    found = rating_noise(*frames(0.0), Ndcg(), draws=5, resamples=500, seed=3)
    table = found.systems
    assert dict(table.schema) == SCHEMA
    assert np.allclose(table["mean"], table["drawn_mean"])
    assert table["sd_ratings"].max() < 1e-12
    assert np.allclose(table["low"], table["low_queries"])
    assert np.allclose(table["high"], table["high_queries"])
    assert found.inversions == {"statement-full": 0.0}


def test_the_query_interval_is_that_of_the_board():
    scores, failures, ratings = frames(0.4)
    measured = measure_queries(scores, failures, ratings, Ndcg())
    matrix = np.array([
        measured.filter(pl.col("retriever") == f"s{s}").sort("query_id")["value"] for s in range(3)
    ])  # fmt: skip
    low, high = intervals(matrix, 400, seed=7)
    table = rating_noise(scores, failures, ratings, Ndcg(), 4, 400, seed=7).systems.sort(
        "retriever"
    )
    assert np.allclose(table["low_queries"], low)
    assert np.allclose(table["high_queries"], high)


def test_larger_errors_widen_and_lower():
    tables = [
        rating_noise(*frames(error), Ndcg(), draws=60, resamples=600).systems.sort("retriever")
        for error in (0.1, 0.8)
    ]
    assert (tables[1]["sd_ratings"] > 2 * tables[0]["sd_ratings"]).all()
    assert (tables[1]["drawn_mean"] < tables[0]["drawn_mean"]).all()
    combined = np.sqrt(tables[1]["sd_ratings"] ** 2 + tables[1]["sd_queries"] ** 2)
    width = tables[1]["high"] - tables[1]["low"]
    assert (width > 2 * combined * 1.2).all()
    assert (width < 2 * combined * 3.2).all()


def test_draws_match_a_simulation_by_hand():
    scores, failures, ratings = frames(0.5, queries=4, documents=12, systems=1)
    table = rating_noise(scores, failures, ratings, Ndcg(), draws=800, resamples=800).systems
    rng = np.random.default_rng(42)
    strength = ratings["strength"].to_numpy().reshape(4, 12)
    score = scores["score"].to_numpy().reshape(4, 12)
    order = np.argsort(-score, axis=1)[:, :10]
    discount = 1 / np.log2(np.arange(2, 12))
    means = []
    for _ in range(800):
        theta = strength + 0.5 * rng.standard_normal(strength.shape)
        low, high = theta.min(axis=1, keepdims=True), theta.max(axis=1, keepdims=True)
        gain = 2 ** (5 * (theta - low) / (high - low)) - 1
        got = (np.take_along_axis(gain, order, axis=1) * discount).sum(axis=1)
        ideal = (-np.sort(-gain, axis=1)[:, :10] * discount).sum(axis=1)
        means.append((got / ideal).mean())
    assert table["drawn_mean"][0] == pytest.approx(np.mean(means), abs=0.006)
    assert table["sd_ratings"][0] == pytest.approx(np.std(means), rel=0.15)


def test_seed_decides_and_progress_is_told():
    told = []
    first = rating_noise(*frames(0.3), Ndcg(), 6, 60, seed=1, progress=told.append)
    again = rating_noise(*frames(0.3), Ndcg(), 6, 60, seed=1)
    other = rating_noise(*frames(0.3), Ndcg(), 6, 60, seed=2)
    assert told == [1] * 6
    assert first.systems.equals(again.systems)
    assert not first.systems.equals(other.systems)


def test_all_equal_queries_keep_their_zeros_and_refusals():
    scores, failures, ratings = frames(0.3, queries=2)
    flat = ratings.with_columns(
        flag=pl.when(pl.col("query_id") == "q00").then(pl.lit("all_equal")),
        rating=pl.when(pl.col("query_id") == "q00").then(0.0).otherwise("rating"),
    )
    table = rating_noise(scores, failures, flat, Ndcg(), 20, 20).systems
    assert table["drawn_mean"].max() <= 0.5
    lacking = ratings.with_columns(standard_error=pl.lit(None, dtype=pl.Float64))
    with pytest.raises(MeasureError, match="standard error"):
        rating_noise(scores, failures, lacking, Ndcg())
    with pytest.raises(ValueError, match="draws"):
        rating_noise(scores, failures, ratings, Ndcg(), draws=1)
    assert rating_noise(scores.clear(), failures, ratings, Ndcg()).systems.is_empty()
