"""Distributions of both similarities over all pairs, per domain, and their order statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from queue import SimpleQueue
from typing import ClassVar

import numpy as np
import polars as pl
from numba import njit
from numpy.typing import NDArray

from saber_assets.candidates.blocks import BlockRunner, Kernel, run_pass
from saber_assets.candidates.features import Features, FloatArray, IntArray
from saber_assets.candidates.near_pairs import NearBlock, NearPairs
from saber_assets.candidates.overlap_join import jaccard_table
from saber_assets.candidates.pairs import Blocked, Progress, RowArray, blocked_pairs
from saber_assets.candidates.precision import Precision, bin_count, bin_edges, binned, cutoff
from saber_assets.ontology.tables import DOMAINS

Counts = NDArray[np.int64]


@njit(nogil=True, cache=True)
def _count_block(
    block: NearBlock,
    topic_bins: IntArray,
    weight: Counts,
    barred: tuple[RowArray, IntArray],
    set_of: IntArray,
    class_of: IntArray,
    bins_of: IntArray,
    belongs: NDArray[np.bool_],
    counts: Counts,
) -> None:
    """Add the pairs of a block of query rows to the histograms (domains, 2, bins)."""
    marked = np.full(weight.shape[0], -1, dtype=np.int64)
    for query in range(block.rows.shape[0]):
        row, which = block.rows[query], block.which[query]
        first, last = block.start[which], block.start[which + 1]
        for position in range(first, last):
            marked[block.sets[position]] = position
        for domain in range(belongs.shape[1]):
            if not belongs[row, domain]:
                continue
            for position in range(first, last):
                counts[domain, 0, topic_bins[position]] += weight[block.sets[position]]
            for place in range(barred[0][row], barred[0][row + 1]):
                position = marked[set_of[barred[1][place]]]
                if first <= position < last:
                    counts[domain, 0, topic_bins[position]] -= 1
            for other in range(block.overlaps.shape[1]):
                for shared in range(block.overlaps.shape[2]):
                    if block.overlaps[query, other, shared] > 0:
                        summary_bin = bins_of[class_of[row], other, shared]
                        counts[domain, 1, summary_bin] += block.overlaps[query, other, shared]


@dataclass(frozen=True)
class SimilarityHistograms:
    """How often each similarity occurs in (rows of a domain) x (all problems).

    Attributes:
        domains: names of the first axis.
        counts: (domains, 2, bins); topic similarity first, summary similarity second.
        precision: what the bins are, see `precision.py`.
        topic_floor: first bin from which topic similarities are told apart; the pairs below are
            counted, all of them, in bin 0.
    """

    domains: tuple[str, ...]
    counts: Counts
    precision: Precision
    topic_floor: int = 0

    def quantile_bins(self, domain: int, quantiles: Sequence[float]) -> IntArray:
        """Return the bins of upper quantiles of both similarities.

        The quantile q of `count` pairs is their order statistic of rank ceil(q count), counted
        from the smallest; q is read as the decimal number that it prints as.

        Args:
            domain: position in `domains`; it must have pairs.
            quantiles: in (0, 1].

        Returns:
            (2, len(quantiles)) bins; 0 for a topic quantile below `topic_floor`.
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


@dataclass(frozen=True)
class HistogramPass:
    """Counts the pairs of query rows; the frames are added up.

    Attributes:
        features: the packed corpus of n problems.
        blocked: pairs that don't count.
        member: (n, domains) which problem belongs to which domain.
        precision: what the bins are.
        topic_floor: bin from which on topic similarities are told apart.
    """

    VERSION: ClassVar[int] = 1
    features: Features
    blocked: Blocked
    member: NDArray[np.bool_]
    precision: Precision
    topic_floor: int

    def prepare(self, threads: int) -> Kernel:
        """Return a kernel that makes domain, signal, bin and pairs, of bins that have some."""
        arrays = self.features.arrays
        floor = cutoff(float(bin_edges(self.precision)[self.topic_floor]), self.precision)
        pairs = NearPairs.build(self.features, self.blocked, floor, 0.0)
        table = jaccard_table(pairs.summaries.sizes, arrays.empty_jaccard)
        bins_of = binned(table, self.precision)
        shape = (self.member.shape[1], 2, bin_count(self.precision))

        def count(rows: RowArray, progress: Progress | None) -> pl.DataFrame:
            idle: SimpleQueue[Counts] = SimpleQueue()
            parts = [np.zeros(shape, dtype=np.int64) for _ in range(threads)]
            for part in parts:
                idle.put(part)

            def kernel(block: NearBlock) -> None:
                counts = idle.get()
                try:
                    _count_block(
                        block,
                        binned(block.similarities, self.precision),
                        arrays.set_weight,
                        (self.blocked.start, self.blocked.rows),
                        arrays.set_of,
                        pairs.summaries.class_of,
                        bins_of,
                        self.member,
                        counts,
                    )
                finally:  # else, after an error on each thread, all would wait for ever
                    idle.put(counts)

            for _ in pairs.over(
                rows, kernel, near=False, overlaps=True, workers=threads, progress=progress
            ):
                pass
            total = np.sum(parts, axis=0)
            filled = np.nonzero(total)
            columns = dict(zip(("domain", "signal", "bin"), filled, strict=True))
            return pl.DataFrame({**columns, "pairs": total[filled]})

        return count


def similarity_histograms(
    features: Features,
    domains: Sequence[Sequence[str]],
    *,
    precision: Precision = "float64",
    self_pairs: bool = True,
    topic_floor: int = 0,
    workers: int | None = None,
    runner: BlockRunner | None = None,
    progress: Progress | None = None,
) -> SimilarityHistograms:
    """Count both similarities over (rows of a domain) x (all problems), for every domain.

    Args:
        features: the packed corpus of n problems.
        domains: the domains of each problem; a problem of several counts in each of them.
        precision: float16 values as bins, or steps of 2^-18.
        self_pairs: the pairs of a problem with itself count, as in the published code.
        topic_floor: bin from which on topic similarities are told apart. The lower it is, the
            more pairs are looked at; summary similarities are all counted at no such cost.
        workers: threads; None for all cores that this process may use.
        runner: makes the pass in blocks, on workers of its own.
        progress: called with the number of finished rows; rows without a domain are skipped.

    Returns:
        Exact counts, independent of threads and runner.

    Source: SPEC section 2, "Thresholds".
    """
    if len(domains) != len(features):
        raise ValueError(f"{len(domains)} lists of domains for {len(features)} problems")
    member = domain_members(domains)
    blocked = blocked_pairs(features, self_pairs=self_pairs)
    work = HistogramPass(features, blocked, member, precision, topic_floor)
    counts = np.zeros((len(DOMAINS), 2, bin_count(precision)), dtype=np.int64)
    rows = np.flatnonzero(member.any(axis=1))
    for part in run_pass(work, rows, runner, workers=workers, progress=progress):
        place = tuple(part[name].to_numpy() for name in ("domain", "signal", "bin"))
        counts[place] += part["pairs"].to_numpy()
    counts[:, 0, 0] += counts[:, 1].sum(axis=1) - counts[:, 0].sum(axis=1)
    return SimilarityHistograms(DOMAINS, counts, precision, topic_floor)
