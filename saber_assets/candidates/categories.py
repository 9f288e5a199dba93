"""How many candidates of each category a query has: at one pair of thresholds, or at many."""

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
from saber_assets.candidates.near_pairs import NearBlock, NearPairs
from saber_assets.candidates.overlap_index import OverlapIndex
from saber_assets.candidates.pairs import Blocked, Progress, RowArray, blocked_pairs
from saber_assets.candidates.precision import Precision, binned, cutoff, levels_reached
from saber_assets.candidates.tables import CATEGORIES

MOST_LEVELS = 255
CATEGORY_COLUMNS = list(CATEGORIES)


@njit(nogil=True, cache=True)
def _count_block(
    block: NearBlock,
    members: tuple[RowArray, IntArray],
    barred: tuple[RowArray, IntArray],
    set_of: IntArray,
    counts: NDArray[np.int64],
) -> None:
    """Write for each query how many candidates are near in topic, and how many in both."""
    start, places = members
    marked = np.full(start.shape[0], -1, dtype=np.int64)
    for query in range(block.rows.shape[0]):
        row, which = block.rows[query], block.which[query]
        topics, both = np.int64(0), np.int64(0)
        for position in range(block.start[which], block.start[which + 1]):
            topic_set = block.sets[position]
            marked[topic_set] = which
            topics += start[topic_set + 1] - start[topic_set]
            for member in range(start[topic_set], start[topic_set + 1]):
                place = places[member]
                word = block.near[query, place >> 6] >> np.uint64(place & 63)
                both += np.int64(word & np.uint64(1))
        for position in range(barred[0][row], barred[0][row + 1]):
            topics -= marked[set_of[barred[1][position]]] == which
        counts[query, 0] = topics
        counts[query, 2] = both


@dataclass(frozen=True)
class CountPass:
    """Counts the candidates of query rows in each category.

    Attributes:
        features: the packed corpus.
        blocked: pairs that are never candidates of each other.
        cut_topic: topic similarity to reach.
        cut_summary: summary similarity to reach.
    """

    VERSION: ClassVar[int] = 1
    features: Features
    blocked: Blocked
    cut_topic: float
    cut_summary: float

    def prepare(self, threads: int) -> Kernel:
        """Return a kernel that makes row and the three counts."""
        pairs = NearPairs.build(self.features, self.blocked, self.cut_topic, self.cut_summary)
        members = (pairs.member_start, pairs.members)
        barred = (self.blocked.start, self.blocked.rows)

        def kernel(block: NearBlock) -> NDArray[np.int64]:
            found = np.empty((len(block.rows), 3), dtype=np.int64)
            _count_block(block, members, barred, self.features.arrays.set_of, found)
            found[:, 0] -= found[:, 2]
            for query, near in enumerate(block.near):
                found[query, 1] = np.bitwise_count(near).sum(dtype=np.int64) - found[query, 2]
            return found

        def count(rows: RowArray, progress: Progress | None) -> pl.DataFrame:
            order, counts = [np.empty(0, dtype=np.int64)], [np.empty((0, 3), dtype=np.int64)]
            for done, found in pairs.over(
                rows, kernel, near=True, overlaps=False, workers=threads, progress=progress
            ):
                order.append(done)
                counts.append(found)
            columns = dict(zip(CATEGORY_COLUMNS, np.concatenate(counts).T, strict=True))
            return pl.DataFrame({"row": np.concatenate(order), **columns})

        return count


def count_categories(
    features: Features,
    tau_topic: float,
    tau_summary: float,
    *,
    precision: Precision = "float64",
    excluded: Iterable[tuple[str, str]] = (),
    workers: int | None = None,
    runner: BlockRunner | None = None,
    progress: Progress | None = None,
) -> NDArray[np.int64]:
    """Count the candidates of every problem in each category.

    Args:
        features: the packed corpus of n problems.
        tau_topic: topic threshold in [0, 1]; a similarity equal to it is relevant.
        tau_summary: summary threshold in [0, 1], likewise.
        precision: compare in float64, or round similarities and thresholds to float16 first.
        excluded: pairs of problem ids that are never candidates of each other.
        workers: threads; None for all cores that this process may use.
        runner: makes the pass in blocks, on workers of its own.
        progress: called with the number of finished rows.

    Returns:
        (n, 3): topic-only, summary-only, both; the problem itself is not counted.

    Source: SPEC section 2, "Thresholds" and "Selection".
    """
    cuts = cutoff(tau_topic, precision), cutoff(tau_summary, precision)
    work = CountPass(features, blocked_pairs(features, excluded), *cuts)
    total = np.zeros((len(features), 3), dtype=np.int64)
    rows = np.arange(len(features))
    for part in run_pass(work, rows, runner, workers=workers, progress=progress):
        total[part["row"].to_numpy()] = part.select(CATEGORY_COLUMNS).to_numpy()
    return total


@njit(nogil=True, cache=True)
def _near_both(
    block: NearBlock,
    query: int,
    topic_bins: IntArray,
    members: tuple[RowArray, IntArray],
    summaries: OverlapIndex,
    bins_of: IntArray,
    found: IntArray,
) -> IntArray:
    """Return (2, count) bins of the pairs of one query that are near in both similarities."""
    row, which = block.rows[query], block.which[query]
    mine, count = summaries.class_of[row], 0
    begin, end = summaries.token_start[row], summaries.token_start[row + 1]
    for position in range(block.start[which], block.start[which + 1]):
        topic_set = block.sets[position]
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
            found[0, count] = topic_bins[position]
            found[1, count] = bins_of[mine, summaries.class_of[other], shared]
            count += 1
    return found[:, :count]


@njit(nogil=True, cache=True)
def _smallest(near: NDArray[np.int64], out: IntArray) -> None:
    """Write for each level the smallest category count; `near` (3, levels + 1) is by level."""
    topics, summaries, both = 0, 0, 0
    for level in range(out.shape[0], 0, -1):
        topics += near[0, level]
        summaries += near[1, level]
        both += near[2, level]
        out[level - 1] = min(topics - both, summaries - both, both)


@njit(nogil=True, cache=True)
def _capacity_block(
    block: NearBlock,
    topic_bins: IntArray,
    members: tuple[RowArray, IntArray],
    barred: tuple[RowArray, IntArray],
    set_of: IntArray,
    summaries: OverlapIndex,
    bins_of: IntArray,
    belongs: NDArray[np.bool_],
    levels: NDArray[np.uint8],
    out: IntArray,
) -> None:
    """Write (queries, domains, steps) smallest category counts; 0 where not of that domain."""
    marked = np.full(set_of.shape[0], -1, dtype=np.int64)
    buffer = np.empty((2, set_of.shape[0]), dtype=np.int32)
    near = np.empty((3, out.shape[2] + 1), dtype=np.int64)
    for query in range(block.rows.shape[0]):
        row, which = block.rows[query], block.which[query]
        first, last = block.start[which], block.start[which + 1]
        for position in range(first, last):
            marked[block.sets[position]] = position
        both = _near_both(block, query, topic_bins, members, summaries, bins_of, buffer)
        mine = summaries.class_of[row]
        for domain in range(belongs.shape[1]):
            if not belongs[row, domain]:
                continue
            near[:] = 0
            for position in range(first, last):
                topic_set = block.sets[position]
                weight = members[0][topic_set + 1] - members[0][topic_set]
                near[0, levels[domain, 0, topic_bins[position]]] += weight
            for place in range(barred[0][row], barred[0][row + 1]):
                position = marked[set_of[barred[1][place]]]
                if first <= position < last:
                    near[0, levels[domain, 0, topic_bins[position]]] -= 1
            for other in range(block.overlaps.shape[1]):
                for shared in range(block.overlaps.shape[2]):
                    if block.overlaps[query, other, shared] > 0:
                        level = levels[domain, 1, bins_of[mine, other, shared]]
                        near[1, level] += block.overlaps[query, other, shared]
            for pair in range(both.shape[1]):
                one, two = levels[domain, 0, both[0, pair]], levels[domain, 1, both[1, pair]]
                near[2, min(one, two)] += 1
            _smallest(near, out[query, domain])


@dataclass(frozen=True)
class CapacityPass:
    """Finds the largest K that query rows could serve at each of many threshold pairs.

    Attributes:
        features: the packed corpus of n problems.
        blocked: pairs that are never candidates of each other.
        member: (n, domains) which problem belongs to which domain.
        threshold_bins: (domains, 2, steps), see `domain_capacities`.
        precision: what the bins are.
    """

    VERSION: ClassVar[int] = 1
    features: Features
    blocked: Blocked
    member: NDArray[np.bool_]
    threshold_bins: IntArray
    precision: Precision

    def prepare(self, threads: int) -> Kernel:
        """Return a kernel that makes row, domain and an array of capacities by step."""
        domains, _, steps = self.threshold_bins.shape
        topic, summary = self.threshold_bins.min(axis=(0, 2)).tolist()
        pairs = NearPairs.from_bins(self.features, self.blocked, (topic, summary), self.precision)
        bins_of = pairs.summary_bins(self.precision)
        levels = np.array(
            [
                [levels_reached(bins, self.precision) for bins in both]
                for both in self.threshold_bins
            ]
        )

        def kernel(block: NearBlock) -> IntArray:
            capacity = np.zeros((len(block.rows), domains, steps), dtype=np.int32)
            _capacity_block(
                block,
                binned(block.similarities, self.precision),
                (pairs.member_start, pairs.members),
                (self.blocked.start, self.blocked.rows),
                self.features.arrays.set_of,
                pairs.summaries,
                bins_of,
                self.member,
                levels,
                capacity,
            )
            return capacity

        def serve(rows: RowArray, progress: Progress | None) -> pl.DataFrame:
            schema: dict[str, pl.DataType | type[pl.DataType]] = {
                "row": pl.Int64,
                "domain": pl.Int64,
                "capacity": pl.Array(pl.Int32, steps),
            }
            parts = [pl.DataFrame(schema=schema)]
            for done, found in pairs.over(
                rows, kernel, near=True, overlaps=True, workers=threads, progress=progress
            ):
                query, domain = np.nonzero(self.member[done])
                columns = {"row": done[query], "domain": domain, "capacity": found[query, domain]}
                parts.append(pl.DataFrame(columns, schema=schema))
            return pl.concat(parts)

        return serve


def domain_capacities(
    features: Features,
    member: NDArray[np.bool_],
    threshold_bins: IntArray,
    *,
    precision: Precision,
    excluded: Iterable[tuple[str, str]] = (),
    workers: int | None = None,
    runner: BlockRunner | None = None,
    progress: Progress | None = None,
) -> list[IntArray]:
    """Return, for many threshold pairs at once, the largest K that each query could serve.

    Args:
        features: the packed corpus of n problems.
        member: (n, domains) which problem belongs to which domain.
        threshold_bins: (domains, 2, steps) bins of the thresholds of topic and summary
            similarity, not descending along the last axis.
        precision: what the bins are.
        excluded: pairs of problem ids that are never candidates of each other.
        workers: threads; None for all cores that this process may use.
        runner: makes the pass in blocks, on workers of its own.
        progress: called with the number of finished rows; rows without a domain are skipped.

    Returns:
        One (problems of the domain, steps) array a domain: the smallest of the three category
        counts. A query is eligible at K where its value is K or more.

    Raises:
        ValueError: for more than `MOST_LEVELS` steps.
    """
    domains, _, steps = threshold_bins.shape
    if steps > MOST_LEVELS:
        raise ValueError(f"at most {MOST_LEVELS} threshold pairs at once, got {steps}")
    blocked = blocked_pairs(features, excluded)
    work = CapacityPass(features, blocked, member, threshold_bins, precision)
    rows = np.flatnonzero(member.any(axis=1))
    found = pl.concat(run_pass(work, rows, runner, workers=workers, progress=progress))
    domain, capacity = found["domain"].to_numpy(), found["capacity"].to_numpy()
    return [capacity[domain == number] for number in range(domains)]
