"""The board under measures of binary relevance: P, R, MRR and MAP, useful from a rating on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from saber_assets.evaluation.alignment import Aligned, Scores, align
from saber_assets.evaluation.binary import (
    AveragePrecision,
    Precision,
    Recall,
    ReciprocalRank,
    find,
    ratio,
    reciprocal,
)
from saber_assets.evaluation.bootstrap import intervals
from saber_assets.evaluation.order_comparison import OrderComparison, compare_orders
from saber_assets.evaluation.rankings import Floats, Measure
from saber_assets.evaluation.tables import BINARY_MEASURES

THRESHOLDS = (1.0, 2.5, 4.0)
"""Ratings, from 0 to 5, from which on a candidate counts as relevant."""


def binary_measures(
    scores: Scores,
    failures: pl.DataFrame,
    ratings: pl.DataFrame,
    thresholds: Sequence[float] = THRESHOLDS,
    cutoffs: Sequence[int] = (10,),
    resamples: int = 1000,
    seed: int = 0,
) -> pl.DataFrame:
    """Return the means of P and R at each cutoff, and of RR and AP over the whole pool.

    A query without any candidate at a threshold is worth 0 to everybody, and so is one that a
    retriever failed on.

    Args:
        scores: RETRIEVER_SCORES; see `Scores`.
        failures: RETRIEVER_FAILURES.
        ratings: RELEVANCE_RATINGS.
        thresholds: lowest ratings that count as relevant, without repeats.
        cutoffs: ranks that count for P and R, each at least 1, without repeats.
        resamples: of the query bootstrap, within each setting.
        seed: of the bootstrap, not negative.

    Returns:
        BINARY_MEASURES, ordered by setting, threshold and measure as given, mean descending, name.

    Raises:
        MeasureError: see `alignment.align`.
        ValueError: for a cutoff below 1, and a threshold that is no number.
    """
    if not np.isfinite(thresholds).all():
        raise ValueError(f"thresholds must be numbers, got {list(thresholds)}")
    if any(cutoff < 1 for cutoff in cutoffs):
        raise ValueError(f"cutoffs must be at least 1, got {list(cutoffs)}")
    aligned = align(scores, failures, ratings)
    if not aligned.systems:
        return BINARY_MEASURES.empty()
    rows: list[dict[str, object]] = []
    settings = np.array([setting for _, setting in aligned.systems])
    measured = list(_measured(aligned, thresholds, cutoffs))
    for setting in sorted(set(settings)):
        own = np.flatnonzero(settings == setting)
        names = [aligned.systems[place][0] for place in own]
        for threshold, measure, values in measured:
            mine = values[own]
            means = mine.mean(axis=1)
            low, high = intervals(mine, resamples, seed)
            rows += [
                {
                    "retriever": names[place],
                    "setting": setting,
                    "measure": str(measure),
                    "threshold": threshold,
                    "mean": float(means[place]),
                    "low": float(low[place]),
                    "high": float(high[place]),
                }
                for place in sorted(range(own.size), key=lambda s: (-means[s], names[s]))
            ]
    return BINARY_MEASURES.conform(pl.DataFrame(rows, schema=BINARY_MEASURES.schema))


def relevant_candidates(ratings: pl.DataFrame, thresholds: Sequence[float]) -> pl.DataFrame:
    """Return how many candidates count as relevant at each threshold.

    Args:
        ratings: RELEVANCE_RATINGS; queries without any rated candidate are left out.
        thresholds: lowest ratings that count.

    Returns:
        Columns threshold, a_query (mean number of relevant candidates), queries_without_any.
    """
    rated = ratings.drop_nulls("rating")
    rows = []
    for threshold in thresholds:
        found = rated.group_by("query_id").agg((pl.col("rating") >= threshold).sum())["rating"]
        rows.append((threshold, found.mean(), int((found == 0).sum())))
    columns = {"threshold": pl.Float64, "a_query": pl.Float64, "queries_without_any": pl.Int64}
    return pl.DataFrame(rows, schema=columns, orient="row")


def compare_with_board(
    means: pl.DataFrame, board: Mapping[str, float]
) -> list[tuple[str, OrderComparison]]:
    """Compare the order of each measure with the board's.

    Args:
        means: of one setting, from `binary_measures`.
        board: mean of each retriever there, of those in `means` at least.

    Returns:
        Each measure with its comparison, in the order of `means`; inversions are against the board,
        and `widest` is a difference on it.
    """
    found = []
    for key, rows in means.group_by("measure", maintain_order=True):
        ours = [board[name] for name in rows["retriever"]]
        found.append((str(key[0]), compare_orders(ours, rows["mean"].to_numpy())))
    return found


def _measured(
    aligned: Aligned, thresholds: Sequence[float], cutoffs: Sequence[int]
) -> Iterator[tuple[float, Measure, Floats]]:
    """Yield threshold, measure and its values (S, Q); every ranking is sorted once."""
    found = find(aligned.rankings, aligned.pools, thresholds, cutoffs)
    present = ~aligned.missed
    for t, threshold in enumerate(thresholds):
        for c, cutoff in enumerate(cutoffs):
            hits = (found.hits[:, :, t, c] * present).astype(np.float64)
            yield threshold, Precision(threshold, cutoff), hits / cutoff
            yield threshold, Recall(threshold, cutoff), ratio(hits, found.relevant[:, t])
        yield threshold, ReciprocalRank(threshold), reciprocal(found.first[:, :, t] * present)
        precision = ratio(found.precision[:, :, t], found.relevant[:, t])
        yield threshold, AveragePrecision(threshold), precision * present
