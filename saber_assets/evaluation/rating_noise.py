"""What the ratings' own uncertainty does to the board.

A rating is an estimate: its log strength has a standard error. Here strengths are drawn again
from their normal approximation, rescaled to [0, 5] within each query as ratings are (SPEC,
section 2, 'Ratings'), and every system is measured against each draw. The approximation is the
posterior of the strengths under the prior that the fit's penalty amounts to, so the draws show
where a system's measure would lie, had the tournament's truth been known.

Two limits. The strengths of one query are drawn independently, for their covariances are not
kept; a shift that all share would not matter anyway. And the ratings that the board uses are the
centre of their own draws: each draw is a less extreme match for any ranking than they are, so
that the mean over the draws may lie below the board's value. Both are given, and the interval is
that of the draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from saber_assets.evaluation.alignment import Aligned, Scores, align
from saber_assets.evaluation.bootstrap import resample_counts
from saber_assets.evaluation.ndcg import Ndcg, best_places
from saber_assets.evaluation.order_comparison import compare_orders
from saber_assets.evaluation.rankings import MeasureError
from saber_assets.tournament.bradley_terry import TOP_RATING

Floats = NDArray[np.float64]

ALL_EQUAL = "all_equal"
DRAWS = 200

SCHEMA = {
    "retriever": pl.String,
    "setting": pl.String,
    "mean": pl.Float64,
    "drawn_mean": pl.Float64,
    "sd_ratings": pl.Float64,
    "sd_queries": pl.Float64,
    "low_queries": pl.Float64,
    "high_queries": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
}


@dataclass(frozen=True)
class RatingNoise:
    """The board with the ratings' uncertainty.

    Attributes:
        systems: columns of `SCHEMA`, by setting and mean descending. `mean` is the board's;
            `drawn_mean` and `sd_ratings` are mean and deviation over draws of the ratings, on
            all queries; `sd_queries`, `low_queries`, `high_queries` are those of the query
            bootstrap alone; `low` and `high` come from drawing ratings and queries together.
        inversions: by setting, the mean number of pairs of systems that a draw orders otherwise
            than the board does, on the same queries.
        draws: of the ratings.
    """

    systems: pl.DataFrame
    inversions: dict[str, float]
    draws: int


def rating_noise(
    scores: Scores,
    failures: pl.DataFrame,
    ratings: pl.DataFrame,
    measure: Ndcg,
    draws: int = DRAWS,
    resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
    progress: Callable[[int], None] | None = None,
) -> RatingNoise:
    """Propagate the ratings' standard errors into the intervals of the board.

    A query whose candidates are all equal (flag 'all_equal') keeps its ratings of 0.

    Args:
        scores: RETRIEVER_SCORES; see `Scores`.
        failures: RETRIEVER_FAILURES.
        ratings: RELEVANCE_RATINGS.
        measure: nDCG of some gain and cutoff.
        draws: of the ratings, at least 2.
        resamples: of the queries, at least `draws`; they are shared out among the draws.
        seed: not negative; decides everything that is drawn.
        level: coverage of the intervals.
        progress: called with the number of newly finished draws.

    Raises:
        ValueError: on settings out of range.
        MeasureError: see `alignment.align`; also for a rated candidate without a standard error.
    """
    if draws < 2 or resamples < draws or not 0 < level < 1:
        raise ValueError("needed are draws >= 2, resamples >= draws, and a level in (0, 1)")
    aligned = align(scores, failures, ratings)
    if not aligned.systems:
        return RatingNoise(pl.DataFrame(schema=SCHEMA), {}, draws)
    strengths = _Strengths.of(ratings, aligned)
    rng = np.random.default_rng([seed, 1])
    counts = resample_counts(len(aligned.query_ids), resamples, seed)
    board = aligned.values(measure)
    places = best_places(aligned.rankings, measure.cutoff)  # which no draw changes
    drawn_means = np.empty((draws, len(aligned.systems)))
    together = []
    with threadpool_limits(limits=1, user_api="blas"):  # rounding must not depend on threads
        for number in range(draws):
            values = aligned.values_at(measure, places, strengths.ratings(rng))
            drawn_means[number] = values.mean(axis=1)
            together.append(counts[number::draws] @ values.T / counts.shape[1])
            if progress:
                progress(1)
        by_query = counts @ board.T / counts.shape[1]
    return RatingNoise(
        _table(aligned, board.mean(axis=1), drawn_means, by_query, np.concatenate(together), level),
        _inversions(aligned, board.mean(axis=1), drawn_means),
        draws,
    )


def has_errors(ratings: pl.DataFrame) -> bool:
    """Tell whether every rated candidate has a strength with a standard error.

    Args:
        ratings: RELEVANCE_RATINGS; those of a released benchmark have none.
    """
    rated = ratings.filter(pl.col("rating").is_not_null())
    return rated.select(pl.col("strength", "standard_error").is_null().any()).row(0) == (
        False,
        False,
    )


@dataclass(frozen=True)
class _Strengths:
    """Log strengths (N,) with their errors, in the order of the aligned documents."""

    centre: Floats
    error: Floats
    fixed: NDArray[np.bool_]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, ratings: pl.DataFrame, aligned: Aligned) -> _Strengths:
        keys = ["query_id", "candidate_id"]
        rows = aligned.documents.join(
            ratings.select(*keys, "strength", "standard_error", "flag"),
            on=keys,
            how="left",
            maintain_order="left",
        )
        lacking = rows.filter(pl.any_horizontal(pl.col("strength", "standard_error").is_null()))
        if lacking.height:
            raise MeasureError("no strength with a standard error for", lacking.select(keys).rows())
        return cls(
            rows["strength"].to_numpy(),
            rows["standard_error"].to_numpy(),
            (rows["flag"] == ALL_EQUAL).fill_null(False).to_numpy(),
            aligned.pools.offsets,
        )

    def ratings(self, rng: np.random.Generator) -> Floats:
        """Draw ratings (N,) in [0, 5], rescaled within each query."""
        drawn = self.centre + self.error * rng.standard_normal(self.centre.size)
        starts, sizes = self.offsets[:-1], np.diff(self.offsets)
        low = np.repeat(np.minimum.reduceat(drawn, starts), sizes)
        high = np.repeat(np.maximum.reduceat(drawn, starts), sizes)
        spread = np.where(high > low, high - low, 1.0)
        rated = np.clip(TOP_RATING * (drawn - low) / spread, 0.0, TOP_RATING)
        return np.where(self.fixed, 0.0, rated)


def _table(
    aligned: Aligned,
    means: Floats,
    drawn_means: Floats,
    by_query: Floats,
    together: Floats,
    level: float,
) -> pl.DataFrame:
    tails = [(1 - level) / 2, (1 + level) / 2]
    low_queries, high_queries = np.quantile(by_query, tails, axis=0)
    low, high = np.quantile(together, tails, axis=0)
    frame = pl.DataFrame(
        {
            "retriever": [retriever for retriever, _ in aligned.systems],
            "setting": [setting for _, setting in aligned.systems],
            "mean": means,
            "drawn_mean": drawn_means.mean(axis=0),
            "sd_ratings": drawn_means.std(axis=0, ddof=1),
            "sd_queries": by_query.std(axis=0, ddof=1),
            "low_queries": low_queries,
            "high_queries": high_queries,
            "low": low,
            "high": high,
        },
        schema=SCHEMA,
    )
    return frame.sort(["setting", "mean", "retriever"], descending=[False, True, False])


def _inversions(aligned: Aligned, means: Floats, drawn_means: Floats) -> dict[str, float]:
    settings = np.array([setting for _, setting in aligned.systems])
    found = {}
    for setting in sorted(set(settings.tolist())):
        mine = settings == setting
        counts = [compare_orders(means[mine], drawn[mine]).inversions for drawn in drawn_means]
        found[setting] = float(np.mean(counts))
    return found
