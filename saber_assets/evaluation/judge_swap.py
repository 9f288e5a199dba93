"""What the board would be under another judge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from saber_assets.correlation import spearman
from saber_assets.evaluation.alignment import Scores
from saber_assets.evaluation.leaderboard import measure_queries
from saber_assets.evaluation.order_comparison import OrderComparison, compare_orders
from saber_assets.evaluation.rankings import Measure

SCHEMA = {
    "retriever": pl.String,
    "setting": pl.String,
    "mean": pl.Float64,
    "other_mean": pl.Float64,
    "rank": pl.Int64,
    "other_rank": pl.Int64,
}


@dataclass(frozen=True)
class JudgeSwap:
    """Two boards of the same scores, under two judges' ratings.

    Attributes:
        systems: columns of `SCHEMA`, by setting, then rank. Equal means are ordered by name.
        orders: by setting, how the two boards compare.
        queries: that both judges rated; both boards are means over these alone.
        left_out: queries that only one of them rated.
        rating_correlation: mean over the shared queries of Spearman's correlation between the two
            judges' ratings of the candidates that both rated; NaN where there is none.
    """

    systems: pl.DataFrame
    orders: dict[str, OrderComparison]
    queries: int
    left_out: int
    rating_correlation: float


def judge_swap(
    scores: Scores,
    failures: pl.DataFrame,
    ratings: pl.DataFrame,
    other: pl.DataFrame,
    measure: Measure,
) -> JudgeSwap:
    """Measure the same scores against two judges' ratings.

    Another judge's judgments become ratings by `bradley_terry.rate`.

    Args:
        scores: RETRIEVER_SCORES; see `Scores`. In parts, they are read twice.
        failures: RETRIEVER_FAILURES.
        ratings: RELEVANCE_RATINGS of the board's judge.
        other: RELEVANCE_RATINGS of the other judge, of the same pools.
        measure: such as `Ndcg()`.

    Raises:
        ValueError: when no query is rated by both.
        MeasureError: see `alignment.align`.
    """
    both = [frame.drop_nulls("rating") for frame in (ratings, other)]
    first, second = (set(frame["query_id"]) for frame in both)
    shared = sorted(first & second)
    if not shared:
        raise ValueError("no query is rated by both judges")
    kept = pl.col("query_id").is_in(shared)
    boards = [
        measure_queries(scores, failures, frame.filter(kept), measure)
        .group_by("setting", "retriever")
        .agg(mean=pl.col("value").mean())
        for frame in both
    ]
    joined = (
        boards[0]
        .join(boards[1].rename({"mean": "other_mean"}), on=["setting", "retriever"])
        .with_columns(rank=_rank("mean"), other_rank=_rank("other_mean"))
        .sort("setting", "rank")
        .select(pl.col(name).cast(dtype) for name, dtype in SCHEMA.items())
    )
    orders = {
        str(key[0]): compare_orders(frame["mean"].to_numpy(), frame["other_mean"].to_numpy())
        for key, frame in joined.group_by("setting", maintain_order=True)
    }
    return JudgeSwap(
        joined, orders, len(shared), len(first ^ second), _rating_correlation(both[0], both[1])
    )


def _rank(column: str) -> pl.Expr:
    ordered = pl.struct(-pl.col(column), "retriever")
    return ordered.rank("ordinal").over("setting")


def _rating_correlation(first: pl.DataFrame, second: pl.DataFrame) -> float:
    keys = ["query_id", "candidate_id"]
    pairs = first.select(*keys, "rating").join(
        second.select(*keys, other=pl.col("rating")), on=keys
    )
    found = [
        spearman(frame["rating"].to_numpy(), frame["other"].to_numpy())
        for _, frame in pairs.sort(keys).group_by("query_id", maintain_order=True)
    ]
    usable = [value for value in found if np.isfinite(value)]
    return float(np.mean(usable)) if usable else float("nan")
