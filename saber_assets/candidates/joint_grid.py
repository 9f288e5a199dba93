"""How many queries are eligible at every combination of a topic and a summary threshold.

The search for the thresholds follows one line, on which both thresholds have a common quantile.
This is the plane around that line. A pair of problems counts in a small table by how many topic
and how many summary thresholds it reaches; sums from the strict end of both axes give the
candidates near in both at every combination. A pair that reaches no threshold of either
similarity is never touched.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
from numba import njit
from numpy.typing import NDArray

from saber_assets.candidates.blocks import BlockRunner, Kernel, run_pass
from saber_assets.candidates.features import Features, IntArray
from saber_assets.candidates.histograms import Counts, SimilarityHistograms
from saber_assets.candidates.near_pairs import NearBlock, NearPairs
from saber_assets.candidates.overlap_index import OverlapIndex
from saber_assets.candidates.pairs import Blocked, Progress, RowArray, blocked_pairs
from saber_assets.candidates.precision import Precision, binned, levels_reached

MOST_THRESHOLDS = 255
Levels = NDArray[np.uint8]


@njit(nogil=True, cache=True)
def _add_both(
    block: NearBlock,
    query: int,
    topic_level: Levels,
    members: tuple[RowArray, IntArray],
    summaries: OverlapIndex,
    summary_level: Levels,
    both: Counts,
) -> None:
    """Add the pairs of one query that reach both lowest thresholds to `both`, by their levels."""
    row, which = block.rows[query], block.which[query]
    mine = summaries.class_of[row]
    begin, end = summaries.token_start[row], summaries.token_start[row + 1]
    for position in range(block.start[which], block.start[which + 1]):
        topic_set, level = block.sets[position], topic_level[position]
        for member in range(members[0][topic_set], members[0][topic_set + 1]):
            place = members[1][member]
            if not (block.near[query, place >> 6] >> np.uint64(place & 63)) & np.uint64(1):
                continue
            other = summaries.problem_at[place]
            left, right, shared = begin, summaries.token_start[other], 0
            right_end = summaries.token_start[other + 1]
            while left < end and right < right_end:
                one, two = summaries.tokens[left], summaries.tokens[right]
                shared += one == two
                left += one <= two
                right += two <= one
            both[level, summary_level[mine, summaries.class_of[other], shared]] += 1


@njit(nogil=True, cache=True)
def _sum_from_strict(topics: Counts, summaries: Counts, both: Counts) -> None:
    """Turn counts by level reached into counts of all that reach it, in place."""
    for level in range(topics.shape[0] - 2, -1, -1):
        topics[level] += topics[level + 1]
        for other in range(summaries.shape[0]):
            both[level, other] += both[level + 1, other]
    for level in range(summaries.shape[0] - 2, -1, -1):
        summaries[level] += summaries[level + 1]
        for other in range(topics.shape[0]):
            both[other, level] += both[other, level + 1]


@njit(nogil=True, cache=True)
def _grid_block(
    block: NearBlock,
    topic_level: Levels,
    members: tuple[RowArray, IntArray],
    barred: tuple[RowArray, IntArray],
    set_of: IntArray,
    index: OverlapIndex,
    summary_level: Levels,
    belongs: NDArray[np.bool_],
    k: int,
    eligible: Counts,
) -> None:
    """Add the eligible queries of a block to `eligible` (domains, topic, summary)."""
    marked = np.full(set_of.shape[0], -1, dtype=np.int64)
    topics = np.empty(eligible.shape[1] + 1, dtype=np.int64)
    summaries = np.empty(eligible.shape[2] + 1, dtype=np.int64)
    both = np.empty((topics.shape[0], summaries.shape[0]), dtype=np.int64)
    for query in range(block.rows.shape[0]):
        row, which = block.rows[query], block.which[query]
        topics[:], summaries[:], both[:] = 0, 0, 0
        first, last = block.start[which], block.start[which + 1]
        for position in range(first, last):
            topic_set = block.sets[position]
            marked[topic_set] = position
            topics[topic_level[position]] += members[0][topic_set + 1] - members[0][topic_set]
        for place in range(barred[0][row], barred[0][row + 1]):
            position = marked[set_of[barred[1][place]]]
            if first <= position < last:
                topics[topic_level[position]] -= 1
        for other in range(block.overlaps.shape[1]):
            for shared in range(block.overlaps.shape[2]):
                if block.overlaps[query, other, shared] > 0:
                    level = summary_level[index.class_of[row], other, shared]
                    summaries[level] += block.overlaps[query, other, shared]
        _add_both(block, query, topic_level, members, index, summary_level, both)
        _sum_from_strict(topics, summaries, both)
        for topic in range(eligible.shape[1]):
            for summary in range(eligible.shape[2]):
                shared = both[topic + 1, summary + 1]
                alone = min(topics[topic + 1], summaries[summary + 1]) - shared
                if min(alone, shared) >= k:
                    for domain in range(belongs.shape[1]):
                        eligible[domain, topic, summary] += belongs[row, domain]


@dataclass(frozen=True)
class JointGridPass:
    """Counts the eligible among query rows; the frames are added up.

    Attributes:
        features: the packed corpus of n problems.
        blocked: pairs that are never candidates of each other.
        member: (n, domains) which problem belongs to which domain.
        topic_bins: (g,) bins of the topic thresholds.
        summary_bins: (h,) bins of the summary thresholds.
        k: K, candidates that a query needs in each category.
        precision: what the bins are.
    """

    VERSION: ClassVar[int] = 1
    features: Features
    blocked: Blocked
    member: NDArray[np.bool_]
    topic_bins: IntArray
    summary_bins: IntArray
    k: int
    precision: Precision

    def prepare(self, threads: int) -> Kernel:
        """Return a kernel that makes domain, topic, summary and eligible, where there are any."""
        floors = int(self.topic_bins[0]), int(self.summary_bins[0])
        pairs = NearPairs.from_bins(self.features, self.blocked, floors, self.precision)
        topic_levels = levels_reached(self.topic_bins, self.precision)
        summary_levels = levels_reached(self.summary_bins, self.precision)
        summary_level = summary_levels[pairs.summary_bins(self.precision)]
        shape = (self.member.shape[1], len(self.topic_bins), len(self.summary_bins))

        def kernel(block: NearBlock) -> Counts:
            eligible = np.zeros(shape, dtype=np.int64)
            _grid_block(
                block,
                topic_levels[binned(block.similarities, self.precision)],
                (pairs.member_start, pairs.members),
                (self.blocked.start, self.blocked.rows),
                self.features.arrays.set_of,
                pairs.summaries,
                summary_level,
                self.member,
                self.k,
                eligible,
            )
            return eligible

        def count(rows: RowArray, progress: Progress | None) -> pl.DataFrame:
            total = np.zeros(shape, dtype=np.int64)
            for _, eligible in pairs.over(
                rows, kernel, near=True, overlaps=True, workers=threads, progress=progress
            ):
                total += eligible
            filled = np.nonzero(total)
            columns = dict(zip(("domain", "topic", "summary"), filled, strict=True))
            return pl.DataFrame({**columns, "eligible": total[filled]})

        return count


def eligible_grid(
    features: Features,
    member: NDArray[np.bool_],
    topic_bins: IntArray,
    summary_bins: IntArray,
    k: int,
    *,
    precision: Precision,
    excluded: Iterable[tuple[str, str]] = (),
    workers: int | None = None,
    runner: BlockRunner | None = None,
    progress: Progress | None = None,
) -> Counts:
    """Count the eligible queries of each domain at every combination of two thresholds.

    Args:
        features: the packed corpus of n problems.
        member: (n, domains) which problem belongs to which domain.
        topic_bins: (g,) bins of the topic thresholds, not descending, see `precision.py`.
        summary_bins: (h,) bins of the summary thresholds, likewise.
        k: K, candidates that a query needs in each category, itself excluded.
        precision: what the bins are.
        excluded: pairs of problem ids that are never candidates of each other.
        workers: threads; None for all cores that this process may use.
        runner: makes the pass in blocks, on workers of its own.
        progress: called with the number of finished rows; rows without a domain are skipped.

    Returns:
        (domains, g, h) problems of the domain with K candidates in each of topic-only,
        summary-only and both.

    Raises:
        ValueError: for no threshold, more than `MOST_THRESHOLDS`, descending ones, or K below 1.
    """
    for bins in (topic_bins, summary_bins):
        if not 1 <= len(bins) <= MOST_THRESHOLDS or (np.diff(bins) < 0).any():
            raise ValueError(f"thresholds are 1 to {MOST_THRESHOLDS} bins that don't descend")
    if k < 1:
        raise ValueError(f"k is at least 1, got {k}")
    blocked = blocked_pairs(features, excluded)
    work = JointGridPass(features, blocked, member, topic_bins, summary_bins, k, precision)
    eligible = np.zeros((member.shape[1], len(topic_bins), len(summary_bins)), dtype=np.int64)
    rows = np.flatnonzero(member.any(axis=1))
    for part in run_pass(work, rows, runner, workers=workers, progress=progress):
        place = tuple(part[name].to_numpy() for name in ("domain", "topic", "summary"))
        eligible[place] += part["eligible"].to_numpy()
    return eligible


def joint_bins(
    histograms: SimilarityHistograms,
    quantiles: tuple[float, float],
    chosen: tuple[float, float],
    steps: int = 16,
) -> tuple[IntArray, IntArray]:
    """Return thresholds of both similarities for a grid that holds the chosen pair.

    Args:
        histograms: resolved from the lower quantile on; no topic threshold is below their floor.
        quantiles: the lowest and the highest, in (0, 1). Between them the share of the pairs
            above falls by a constant factor a step; of each quantile the minimum over the domains
            is taken, as for the chosen pair.
        chosen: topic and summary threshold, values of bins.
        steps: at most so many thresholds of each similarity, 2 or more; equal ones appear once.

    Returns:
        Ascending bins of the topic and the summary thresholds.
    """
    grid = (1.0 - np.geomspace(1.0 - quantiles[0], 1.0 - quantiles[1], steps - 1)).tolist()
    grid[0], grid[-1] = quantiles
    present = np.flatnonzero(histograms.counts[:, 1].any(axis=1)).tolist()
    lowest = np.min([histograms.quantile_bins(domain, grid) for domain in present], axis=0)
    lowest[0] = np.maximum(lowest[0], histograms.topic_floor)
    places = binned(np.array(chosen), histograms.precision)
    topic, summary = (
        np.unique(np.append(bins, place)).astype(np.int32)
        for bins, place in zip(lowest, places, strict=True)
    )
    return topic, summary
