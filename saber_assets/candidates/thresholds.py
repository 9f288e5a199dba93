"""The search for the thresholds of relevance.

For each domain: a descending grid of quantiles; at each, the pair (tau_topic, tau_summary) of
that common upper quantile of both distributions over (rows of the domain) x (all problems); the
first pair for which `min_queries` queries of the domain have K candidates in each category is
the strictest. Eligibility is not monotone in the quantile, because "topic only" shrinks when
the summary threshold falls; so every step of the grid is evaluated and kept for a plot. The
final pair is, for each similarity, the minimum over the domains.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from saber_assets.candidates.categories import count_categories, domain_capacities
from saber_assets.candidates.features import Features, FloatArray, IntArray
from saber_assets.candidates.histograms import (
    SimilarityHistograms,
    domain_members,
    similarity_histograms,
)
from saber_assets.candidates.pairs import Progress
from saber_assets.candidates.precision import Precision, bin_edges
from saber_assets.candidates.tables import RELEVANCE_THRESHOLDS
from saber_assets.errors import InputError
from saber_assets.ontology.tables import DOMAINS

QUANTILES: tuple[float, ...] = (
    0.9999, 0.9998, 0.9995, 0.999, 0.998, 0.997, 0.996, 0.995, 0.994, 0.993, 0.992, 0.991, 0.99,
    0.985, 0.98, 0.975, 0.97, 0.965, 0.96, 0.955, 0.95, 0.94, 0.93, 0.92, 0.91, 0.9,
    0.88, 0.86, 0.84, 0.82, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5,
)  # fmt: skip
"""The default grid, from strict to lenient."""


class ThresholdSearch(NamedTuple):
    """What the search found.

    Attributes:
        thresholds: rows of RELEVANCE_THRESHOLDS: each domain that has problems, then "final".
        search: every step: domain, quantile, tau_topic, tau_summary, eligible, chosen.
        counts: (n, 3) candidates of every problem in each category at the final pair.
        histograms: both distributions per domain.
        notes: one sentence for each domain that was left out.
    """

    thresholds: pl.DataFrame
    search: pl.DataFrame
    counts: NDArray[np.int64]
    histograms: SimilarityHistograms
    notes: tuple[str, ...]


def search_thresholds(
    features: Features,
    domains: Sequence[Sequence[str]],
    k: int = 50,
    min_queries: int = 150,
    quantiles: Sequence[float] = QUANTILES,
    precision: Precision = "float64",
    *,
    self_pairs: bool = True,
    excluded: Iterable[tuple[str, str]] = (),
    workers: int | None = None,
    progress: Progress | None = None,
) -> ThresholdSearch:
    """Find the strictest thresholds under which every domain has enough eligible queries.

    Three passes over all pairs: distributions, eligibility at every step, final counts.

    Args:
        features: the packed corpus of n problems.
        domains: the domains of each problem; may be empty, then it is only a candidate.
        k: K, candidates that a query needs in each category, itself excluded.
        min_queries: eligible queries that each domain needs; never lowered for a small domain.
        quantiles: the grid, distinct values in (0, 1), at most 255; any order.
        precision: "float64": the order statistics rounded down to multiples of 2^-18;
            "float16": similarities are rounded to float16, thresholds are such values, exactly
            the order statistics, and pairs are compared there.
        self_pairs: the distributions hold the pairs of a problem with itself (published code).
        excluded: pairs of problem ids that are never candidates of each other.
        workers: threads; None for all cores that this process may use.
        progress: called with the number of finished rows, 3 n in total where all problems have
            a domain.

    Returns:
        Thresholds, the table of the search, final category counts, histograms and notes.

    Raises:
        InputError: when no problem has a domain, or a domain with problems reaches
            `min_queries` at no quantile; the message says what it does reach.
        ValueError: for `k`, `min_queries` or `quantiles` out of range.

    Source: SPEC section 2, "Thresholds".
    """
    grid = _checked_grid(k, min_queries, quantiles)
    member = domain_members(domains)
    present = np.flatnonzero(member.any(axis=0))
    if present.size == 0:
        raise InputError(
            "no problem has a domain, so there is nothing to choose thresholds from",
            "annotate topics that lie below one of the five domains",
        )
    excluded = list(excluded)
    histograms = similarity_histograms(
        features, domains, precision=precision, self_pairs=self_pairs, workers=workers,
        progress=progress,
    )  # fmt: skip
    bins = np.stack([histograms.quantile_bins(int(domain), grid) for domain in present])
    capacities = domain_capacities(
        features, member[:, present], bins, precision=precision, excluded=excluded,
        workers=workers, progress=progress,
    )  # fmt: skip
    names = [DOMAINS[domain] for domain in present]
    chosen = _strictest(names, capacities, grid, k, min_queries)
    taus = bin_edges(precision)[bins]
    final = np.array([taus[i, :, step] for i, step in enumerate(chosen)]).min(axis=0)
    counts = count_categories(
        features, final[0], final[1], precision=precision, excluded=excluded, workers=workers,
        progress=progress,
    )  # fmt: skip
    search = _search_frame(names, capacities, taus, chosen, grid, k)
    return ThresholdSearch(
        thresholds=_thresholds_frame(search, len(features), final, counts, k),
        search=search,
        counts=counts,
        histograms=histograms,
        notes=tuple(
            f"{name} has no problems and is left out of the thresholds"
            for name in DOMAINS
            if name not in names
        ),
    )


def _checked_grid(k: int, min_queries: int, quantiles: Sequence[float]) -> list[float]:
    """Return the grid in ascending order."""
    if k < 1 or min_queries < 1:
        raise ValueError(f"k and min_queries are at least 1, got {k} and {min_queries}")
    grid = sorted(float(quantile) for quantile in quantiles)
    if not grid or not 0.0 < grid[0] <= grid[-1] < 1.0 or len(set(grid)) != len(grid):
        raise ValueError("quantiles are distinct numbers between 0 and 1, and at least one")
    return grid


def _strictest(
    names: Sequence[str],
    capacities: Sequence[IntArray],
    grid: Sequence[float],
    k: int,
    min_queries: int,
) -> list[int]:
    """Return for each domain the last step of the ascending grid with enough queries."""
    chosen: list[int] = []
    faults: list[str] = []
    for name, capacity in zip(names, capacities, strict=True):
        enough = np.flatnonzero((capacity >= k).sum(axis=0) >= min_queries)
        if enough.size:
            chosen.append(int(enough[-1]))
        else:
            faults.append(_shortage(name, capacity, grid, k, min_queries))
    if faults:
        raise InputError(
            f"the corpus is too small for K = {k} and {min_queries} queries a domain: "
            + "; ".join(faults),
            "add problems, or set a smaller thresholds.k (K) or thresholds.min_queries",
        )
    return chosen


def _shortage(
    name: str, capacity: IntArray, grid: Sequence[float], k: int, min_queries: int
) -> str:
    """Return what a domain does reach: queries at this K, and K for this many queries."""
    eligible = (capacity >= k).sum(axis=0)
    best = int(np.flatnonzero(eligible == eligible.max())[-1])
    reached = (
        f"{name} ({capacity.shape[0]} problems) has at most {eligible[best]} eligible "
        f"(at quantile {grid[best]:g})"
    )
    if capacity.shape[0] < min_queries:
        return reached
    servable = int(np.sort(capacity, axis=0)[-min_queries].max())
    if servable == 0:
        return f"{reached}, and {min_queries} for no K"
    return f"{reached}, and {min_queries} only up to K = {servable}"


def _search_frame(
    names: Sequence[str],
    capacities: Sequence[IntArray],
    taus: FloatArray,
    chosen: Sequence[int],
    grid: Sequence[float],
    k: int,
) -> pl.DataFrame:
    """Return every step of the search, strictest first within a domain."""
    parts = [
        pl.DataFrame(
            {
                "domain": [name] * len(grid),
                "problems": np.full(len(grid), capacity.shape[0], dtype=np.int64),
                "quantile": grid,
                "tau_topic": taus[position, 0],
                "tau_summary": taus[position, 1],
                "eligible": (capacity >= k).sum(axis=0).astype(np.int64),
                "chosen": np.arange(len(grid)) == chosen[position],
            }
        ).reverse()
        for position, (name, capacity) in enumerate(zip(names, capacities, strict=True))
    ]
    return pl.concat(parts)


def _thresholds_frame(
    search: pl.DataFrame,
    problems: int,
    final: FloatArray,
    counts: NDArray[np.int64],
    k: int,
) -> pl.DataFrame:
    """Return the chosen steps and the final row, as RELEVANCE_THRESHOLDS."""
    rows = search.filter(pl.col("chosen")).with_columns(pl.lit(k).alias("k"))
    last = pl.DataFrame(
        {
            "domain": ["final"],
            "problems": [problems],
            "quantile": pl.Series([None], dtype=pl.Float64),
            "tau_topic": [final[0]],
            "tau_summary": [final[1]],
            "eligible": [int((counts.min(axis=1) >= k).sum())],
            "k": [k],
        }
    )
    names = list(RELEVANCE_THRESHOLDS.columns)
    return RELEVANCE_THRESHOLDS.conform(
        pl.concat([rows.select(names), last.select(names)], how="vertical_relaxed")
    )
