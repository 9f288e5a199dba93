"""Distributions of both similarities over all pairs, per domain, and their order statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from queue import SimpleQueue

import numpy as np
import polars as pl
from numba import njit
from numpy.typing import NDArray

from saber_assets.candidates.features import Features, FloatArray, IntArray
from saber_assets.candidates.pairs import (
    Blocked,
    Progress,
    RowArray,
    available_cores,
    blocked_pairs,
    by_topic_set,
    over_blocks,
    similarity_rows,
)
from saber_assets.candidates.precision import Precision, bin_count, bin_edges, bin_row
from saber_assets.ontology.tables import DOMAINS

Counts = NDArray[np.int64]


@njit(nogil=True, cache=True)
def _count_row(
    set_of: IntArray,
    set_weight: Counts,
    topic_bins: IntArray,
    summary_bins: IntArray,
    counts: Counts,
) -> None:
    """Add one query row to the histograms (2, bins) of one domain; barred pairs have bin -1."""
    for topic_set in range(topic_bins.shape[0]):
        counts[0, topic_bins[topic_set]] += set_weight[topic_set]
    for other in range(summary_bins.shape[0]):
        if summary_bins[other] >= 0:
            counts[1, summary_bins[other]] += 1
        else:
            counts[0, topic_bins[set_of[other]]] -= 1


def _count_block(
    features: Features,
    blocked: Blocked,
    rows: RowArray,
    member: NDArray[np.bool_],
    precision: Precision,
    counts: Counts,
) -> None:
    """Add the pairs of a block of query rows to the histograms (domains, 2, bins)."""
    arrays = features.arrays
    half = precision == "float16"
    topic_bins = np.empty(len(arrays.set_weight), dtype=np.int32)
    summary_bins = np.empty(len(features), dtype=np.int32)
    for row, topic, summary, new_topics in similarity_rows(features, blocked, rows):
        if new_topics:
            bin_row(topic, half, topic_bins)
        bin_row(summary, half, summary_bins)
        for domain in np.flatnonzero(member[row]):
            _count_row(arrays.set_of, arrays.set_weight, topic_bins, summary_bins, counts[domain])


@dataclass(frozen=True)
class SimilarityHistograms:
    """How often each similarity occurs in (rows of a domain) x (all problems).

    Attributes:
        domains: names of the first axis.
        counts: (domains, 2, bins); topic similarity first, summary similarity second.
        precision: what the bins are, see `precision.py`.
    """

    domains: tuple[str, ...]
    counts: Counts
    precision: Precision

    def quantile_bins(self, domain: int, quantiles: Sequence[float]) -> IntArray:
        """Return the bins of upper quantiles of both similarities.

        The quantile q of `count` pairs is their order statistic of rank ceil(q count), counted
        from the smallest; q is read as the decimal number that it prints as.

        Args:
            domain: position in `domains`; it must have pairs.
            quantiles: in (0, 1].

        Returns:
            (2, len(quantiles)) bins.
        """
        found = np.empty((2, len(quantiles)), dtype=np.int32)
        for signal in range(2):
            cumulated = np.cumsum(self.counts[domain, signal])
            total = int(cumulated[-1])
            ranks = [
                int((Decimal(repr(float(q))) * total).to_integral_value(ROUND_CEILING))
                for q in quantiles
            ]
            found[signal] = np.searchsorted(cumulated, ranks, side="left")
        return found

    def coarse(self, signal: int, bins: int = 200) -> tuple[FloatArray, Counts]:
        """Return the distribution over all domains in equal bins, for a plot.

        Args:
            signal: 0 for topic similarity, 1 for summary similarity.
            bins: bins over [0, 1]; the last includes 1.

        Returns:
            Edges (bins + 1,) and pairs (bins,); a query of several domains counts in each.
        """
        return self._regroup(self.counts[:, signal].sum(axis=0), bins)

    def frame(self, bins: int = 200) -> pl.DataFrame:
        """Return the distributions of every domain in equal bins, for a plot.

        Args:
            bins: bins over [0, 1]; the last includes 1.

        Returns:
            domain, similarity ("topic" or "summary"), lower, upper, pairs.
        """
        parts = []
        for domain, name in enumerate(self.domains):
            for signal, similarity in enumerate(("topic", "summary")):
                edges, pairs = self._regroup(self.counts[domain, signal], bins)
                columns = {"lower": edges[:-1], "upper": edges[1:], "pairs": pairs}
                parts.append(
                    pl.DataFrame(columns).select(
                        pl.lit(name).alias("domain"),
                        pl.lit(similarity).alias("similarity"),
                        pl.all(),
                    )
                )
        return pl.concat(parts)

    def _regroup(self, counts: Counts, bins: int) -> tuple[FloatArray, Counts]:
        group = np.minimum((bin_edges(self.precision) * bins).astype(np.int64), bins - 1)
        total = np.zeros(bins, dtype=np.int64)
        np.add.at(total, group, counts)
        return np.arange(bins + 1) / bins, total


def domain_members(
    domains: Sequence[Sequence[str]], names: Sequence[str] = DOMAINS
) -> NDArray[np.bool_]:
    """Return which problem belongs to which domain: (n, domains).

    Raises:
        ValueError: for a domain that is not in `names`.
    """
    column_of = {name: column for column, name in enumerate(names)}
    member = np.zeros((len(domains), len(names)), dtype=np.bool_)
    for row, listed in enumerate(domains):
        for name in listed:
            if name not in column_of:
                raise ValueError(f"unknown domain {name!r}; known are {', '.join(names)}")
            member[row, column_of[name]] = True
    return member


def similarity_histograms(
    features: Features,
    domains: Sequence[Sequence[str]],
    *,
    precision: Precision = "float64",
    self_pairs: bool = True,
    workers: int | None = None,
    progress: Progress | None = None,
) -> SimilarityHistograms:
    """Count both similarities over (rows of a domain) x (all problems), for every domain.

    Args:
        features: the packed corpus of n problems.
        domains: the domains of each problem; a problem of several counts in each of them.
        precision: float16 values as bins, or steps of 2^-18.
        self_pairs: the pairs of a problem with itself count, as in the published code.
        workers: threads; None for all cores that this process may use.
        progress: called with the number of finished rows; rows without a domain are skipped.

    Returns:
        Exact counts, independent of the number of threads.

    Source: SPEC section 2, "Thresholds".
    """
    if len(domains) != len(features):
        raise ValueError(f"{len(domains)} lists of domains for {len(features)} problems")
    member = domain_members(domains)
    blocked = blocked_pairs(features, self_pairs=self_pairs)
    threads = workers or available_cores()
    idle: SimpleQueue[Counts] = SimpleQueue()
    parts = [
        np.zeros((len(DOMAINS), 2, bin_count(precision)), dtype=np.int64) for _ in range(threads)
    ]
    for part in parts:
        idle.put(part)

    def kernel(rows: RowArray) -> None:
        counts = idle.get()
        _count_block(features, blocked, rows, member, precision, counts)
        idle.put(counts)

    rows = by_topic_set(features, np.flatnonzero(member.any(axis=1)))
    for _ in over_blocks(rows, kernel, workers=threads, progress=progress):
        pass
    return SimilarityHistograms(DOMAINS, np.sum(parts, axis=0), precision)
