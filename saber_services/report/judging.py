"""Thresholds, ratings and the position effect, as the page shows them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from saber_assets.candidates.tables import CATEGORIES
from saber_assets.ontology.tables import DOMAINS
from saber_assets.tournament.position import PositionEffect, position_effect
from saber_services.report.source import Source

BINS = 25
TOP_RATING = 5.0
FINAL = "final"
FLAGS = {
    "unjudged": "never judged, so without a rating",
    "all_equal": "in a pool where all came out equal",
    "disconnected": "in a pool whose comparisons fall into parts without a common scale",
}


@dataclass(frozen=True)
class ThresholdRow:
    """The thresholds of a domain, or the final ones, which count."""

    domain: str
    problems: int
    quantile: float | None
    tau_topic: float
    tau_summary: float
    eligible: int
    k: int

    @property
    def is_final(self) -> bool:
        """Whether the row is the one in force."""
        return self.domain == FINAL


@dataclass(frozen=True)
class Bin:
    """A bar of the histogram; `height` is relative to the tallest, [0, 1]."""

    low: float
    high: float
    count: int
    height: float


@dataclass(frozen=True)
class CategoryRow:
    """The ratings of one category of candidates."""

    category: str
    rated: int
    mean: float


@dataclass(frozen=True)
class Ratings:
    """The distribution of the ratings.

    Attributes:
        rated: candidates with a rating.
        mean: of the ratings; 0 without any.
        median: likewise.
        bins: equal bins over [0, 5].
        tallest: the largest count of a bin.
        flags: what is flagged, in words, with the number of candidates.
        categories: by category, where the pools are made.
    """

    rated: int
    mean: float
    median: float
    bins: tuple[Bin, ...]
    tallest: int
    flags: tuple[tuple[str, int], ...]
    categories: tuple[CategoryRow, ...]


@dataclass(frozen=True)
class Judgments:
    """The position effect, and the verdicts that are missing.

    `effect` is None where nobody says which candidate was shown first.
    """

    effect: PositionEffect | None
    judgments: int
    ties: int
    without_verdict: int

    @property
    def verdict(self) -> str:
        """What the interval says about a preference for a place, in one sentence."""
        if self.effect is None:
            return "The release does not say which candidate was shown first."
        if not self.effect.verdicts:
            return "No verdicts yet."
        if self.effect.low > 0.5:
            return "The judge favours the candidate that is shown first."
        if self.effect.high < 0.5:
            return "The judge favours the candidate that is shown second."
        return "The interval contains one half: no preference for a place is seen."


def read_thresholds(source: Source) -> tuple[ThresholdRow, ...] | None:
    """Return the thresholds by domain, the final ones last; None where they aren't made."""
    if not source.has("relevance_thresholds"):
        return None
    names = list(ThresholdRow.__dataclass_fields__)
    rows = [
        ThresholdRow(**row)
        for row in source.read("relevance_thresholds", *names).iter_rows(named=True)
    ]
    order = {domain: place for place, domain in enumerate(DOMAINS)}
    last = len(order)
    return tuple(
        sorted(rows, key=lambda row: (row.is_final, order.get(row.domain, last), row.domain))
    )


def read_ratings(source: Source) -> Ratings | None:
    """Return the distribution of the ratings, or None where they aren't made."""
    if not source.has("relevance_ratings"):
        return None
    ratings = source.read("relevance_ratings", "query_id", "candidate_id", "rating", "flag")
    values = ratings["rating"].drop_nulls().to_numpy()
    counts, edges = np.histogram(values, bins=BINS, range=(0.0, TOP_RATING))
    tallest = int(counts.max())
    flags = ratings["flag"].drop_nulls().value_counts().sort("flag")
    return Ratings(
        rated=len(values),
        mean=float(values.mean()) if len(values) else 0.0,
        median=float(np.median(values)) if len(values) else 0.0,
        bins=tuple(
            Bin(float(low), float(high), int(count), count / max(tallest, 1))
            for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
        ),
        tallest=tallest,
        flags=tuple((FLAGS.get(flag, flag), count) for flag, count in flags.iter_rows()),
        categories=_categories(source, ratings),
    )


def _categories(source: Source, ratings: pl.DataFrame) -> tuple[CategoryRow, ...]:
    if not source.has("candidate_pools"):
        return ()
    pools = source.read("candidate_pools", "query_id", "candidate_id", "category")
    rated = pools.join(
        ratings.filter(pl.col("rating").is_not_null()), on=["query_id", "candidate_id"]
    ).sort("query_id", "candidate_id")
    means = {
        str(category): CategoryRow(str(category), count, mean)
        for category, count, mean in rated.group_by("category", maintain_order=True)
        .agg(pl.len(), pl.col("rating").mean())
        .iter_rows()
    }
    return tuple(means[category] for category in CATEGORIES if category in means)


def read_judgments(source: Source, *, is_released: bool = False) -> Judgments | None:
    """Return the position effect, or None where nothing is judged yet.

    Args:
        source: the tables.
        is_released: whether the judgments are those of a release, which names two candidates and
            doesn't promise that the first one was shown first.
    """
    if not source.has("pairwise_judgments"):
        return None
    judgments = source.read("pairwise_judgments", "winner")
    if is_released and judgments.is_empty():
        return None
    return Judgments(
        None if is_released else position_effect(judgments),
        judgments.height,
        int((judgments["winner"] == 0).sum()),
        int(judgments["winner"].null_count()),
    )
