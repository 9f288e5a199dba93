"""The search for the thresholds of relevance.

For each domain: a descending grid of quantiles; at each, the pair (tau_topic, tau_summary) of
that common upper quantile of both distributions over (rows of the domain) x (all problems); the
first pair for which `min_queries` queries of the domain have K candidates in each category is
the strictest. Eligibility is not monotone in the quantile, because "topic only" shrinks when
the summary threshold falls; so every step of the grid is evaluated and kept for a plot. The
final pair is, for each similarity, the minimum over the domains.

The search reads the grid from its strict end, in parts: the first part has quantiles that at most
`PAIRS_AT_FIRST` pairs lie above, each further one `PAIRS_FACTOR` times as many, until every domain
has its queries. Corpora of up to 10,000 problems have one part. A part needs the exact order
statistics of its quantiles only, so pairs of topic sets below a floor are counted, but not told
apart. The floor is guessed from a few query rows; a guess that turns out too high for a quantile
is lowered and the part begun again, so it cannot change a result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from saber_assets.candidates.blocks import BlockRunner
from saber_assets.candidates.categories import count_categories, domain_capacities
from saber_assets.candidates.features import Features, FloatArray, IntArray
from saber_assets.candidates.histograms import (
    SimilarityHistograms,
    domain_members,
    similarity_histograms,
)
from saber_assets.candidates.pairs import Progress
from saber_assets.candidates.precision import Precision, bin_count, bin_edges, binned
from saber_assets.candidates.tables import RELEVANCE_THRESHOLDS
from saber_assets.candidates.topic_join import topic_similarities
from saber_assets.errors import InputError
from saber_assets.ontology.tables import DOMAINS

PAIRS_AT_FIRST = 1e8
PAIRS_FACTOR = 8
SAMPLED_ROWS = 64
"""Query rows of each domain from which the floor is guessed."""
SAMPLE_BLOCK = 8
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
        search: every step that was looked at: domain, quantile, tau_topic, tau_summary, eligible,
            chosen.
        counts: (n, 3) candidates of every problem in each category at the final pair.
        histograms: both distributions per domain; see `SimilarityHistograms.topic_floor`.
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
    runner: BlockRunner | None = None,
    progress: Progress | None = None,
) -> ThresholdSearch:
    """Find the strictest thresholds under which every domain has enough eligible queries.

    Passes over all pairs: distributions and eligibility for each part of the grid, final counts.

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
        runner: makes every pass in blocks, on workers of its own.
        progress: called with the number of finished rows, 3 n in total where all problems have
            a domain and the strictest part of the grid suffices.

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
    names = [DOMAINS[domain] for domain in present]
    for steps in _parts(grid, len(features)):
        histograms = _resolved(
            features, domains, member, steps, precision, self_pairs, workers, runner, progress
        )
        bins = np.stack([histograms.quantile_bins(int(domain), steps) for domain in present])
        capacities = domain_capacities(
            features, member[:, present], bins, precision=precision, excluded=excluded,
            workers=workers, runner=runner, progress=progress,
        )  # fmt: skip
        chosen = _strictest(capacities, k, min_queries)
        if None not in chosen:
            break
    else:
        raise _too_small(names, capacities, steps, k, min_queries)
    found = [step for step in chosen if step is not None]
    taus = bin_edges(precision)[bins]
    final = np.array([taus[i, :, step] for i, step in enumerate(found)]).min(axis=0)
    counts = count_categories(
        features, final[0], final[1], precision=precision, excluded=excluded, workers=workers,
        runner=runner, progress=progress,
    )  # fmt: skip
    search = _search_frame(names, capacities, taus, found, steps, k)
    return ThresholdSearch(
        thresholds=_thresholds_frame(search, len(features), final, counts, k),
        search=search,
        counts=counts,
        histograms=histograms,
        notes=_notes(names, histograms, steps, grid),
    )


def _checked_grid(k: int, min_queries: int, quantiles: Sequence[float]) -> list[float]:
    """Return the grid in ascending order."""
    if k < 1 or min_queries < 1:
        raise ValueError(f"k and min_queries are at least 1, got {k} and {min_queries}")
    grid = sorted(float(quantile) for quantile in quantiles)
    if not grid or not 0.0 < grid[0] <= grid[-1] < 1.0 or len(set(grid)) != len(grid):
        raise ValueError("quantiles are distinct numbers between 0 and 1, and at least one")
    return grid


def _parts(grid: Sequence[float], problems: int) -> Iterator[list[float]]:
    """Yield the strict end of the ascending grid, longer and longer up to the whole."""
    pairs, yielded = PAIRS_AT_FIRST, 0
    while yielded < len(grid):
        part = [q for q in grid if (1.0 - q) * problems**2 <= pairs]
        if len(part) > yielded:
            yielded = len(part)
            yield part
        pairs *= PAIRS_FACTOR


def _resolved(
    features: Features,
    domains: Sequence[Sequence[str]],
    member: NDArray[np.bool_],
    steps: Sequence[float],
    precision: Precision,
    self_pairs: bool,
    workers: int | None,
    runner: BlockRunner | None,
    progress: Progress | None,
) -> SimilarityHistograms:
    """Return histograms that tell apart everything from the lowest quantile on."""
    share = 1.0 - steps[0]
    while True:
        share *= 1.5
        floor = 0
        if len(features) ** 2 > PAIRS_AT_FIRST and share < 1.0:
            floor = _guessed_floor(features, member, share, precision)
        histograms = similarity_histograms(
            features, domains, precision=precision, self_pairs=self_pairs, topic_floor=floor,
            workers=workers, runner=runner, progress=progress,
        )  # fmt: skip
        present = np.flatnonzero(member.any(axis=0)).tolist()
        lowest = [histograms.quantile_bins(domain, steps[:1])[0, 0] for domain in present]
        if min(lowest) >= floor:
            return histograms


def _guessed_floor(
    features: Features, member: NDArray[np.bool_], share: float, precision: Precision
) -> int:
    """Return a bin above which about `share` of the topic similarities of each domain lie."""
    floors = []
    for domain in np.flatnonzero(member.any(axis=0)):
        rows = np.flatnonzero(member[:, domain])
        sampled = rows[np.linspace(0, len(rows) - 1, min(SAMPLED_ROWS, len(rows))).astype(int)]
        counts = np.zeros(bin_count(precision), dtype=np.int64)
        for begin in range(0, len(sampled), SAMPLE_BLOCK):
            similarities = topic_similarities(features, sampled[begin : begin + SAMPLE_BLOCK])
            bins = binned(similarities, precision)
            counts += np.bincount(bins.ravel(), minlength=counts.size)
        below = np.cumsum(counts)
        floors.append(int(np.searchsorted(below, (1.0 - share) * below[-1])))
    return min(floors)


def _strictest(capacities: Sequence[IntArray], k: int, min_queries: int) -> list[int | None]:
    """Return for each domain the last step of the ascending grid with enough queries."""
    enough = [np.flatnonzero((capacity >= k).sum(axis=0) >= min_queries) for capacity in capacities]
    return [int(steps[-1]) if steps.size else None for steps in enough]


def _too_small(
    names: Sequence[str],
    capacities: Sequence[IntArray],
    grid: Sequence[float],
    k: int,
    min_queries: int,
) -> InputError:
    faults = [
        _shortage(name, capacity, grid, k, min_queries)
        for name, capacity, step in zip(
            names, capacities, _strictest(capacities, k, min_queries), strict=True
        )
        if step is None
    ]
    return InputError(
        f"the corpus is too small for K = {k} and {min_queries} queries a domain: "
        + "; ".join(faults),
        "add problems, or set a smaller thresholds.k (K) or thresholds.min_queries, as the "
        "profile `small` does",
    )


def _notes(
    names: Sequence[str],
    histograms: SimilarityHistograms,
    steps: Sequence[float],
    grid: Sequence[float],
) -> tuple[str, ...]:
    notes = [
        f"{name} has no problems and is left out of the thresholds"
        for name in DOMAINS
        if name not in names
    ]
    if len(steps) < len(grid):
        notes.append(f"quantiles below {steps[0]:g} were not needed")
    if histograms.topic_floor:
        floor = bin_edges(histograms.precision)[histograms.topic_floor]
        notes.append(f"topic similarities below {floor:.4f} are counted as 0 in the histogram")
    return tuple(notes)


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
