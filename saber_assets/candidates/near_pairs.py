"""The pass over all pairs that reach two floors: blocks of query rows, each against the corpus.

A block yields, for each query, the distinct topic sets whose similarity reaches the topic floor,
the places of the problems whose summary similarity reaches the summary floor, and how many pairs
there are of each overlap. A pair below both floors is never touched. Blocks hold no state and
what is made of them are integer sums, so the number of threads cannot change a result.

The buffers of a block are used again by the next, because fresh memory costs more than the join.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from queue import SimpleQueue
from typing import NamedTuple, TypeVar

import numpy as np

from saber_assets.candidates.features import Features, FloatArray, IntArray
from saber_assets.candidates.near_topics import NearIndex, near_index, near_topic_sets
from saber_assets.candidates.overlap_index import OverlapIndex, Words, overlap_index
from saber_assets.candidates.overlap_join import jaccard_table, least_overlap, overlap_block
from saber_assets.candidates.pairs import (
    Blocked,
    Progress,
    RowArray,
    available_cores,
    by_topic_set,
    over_blocks,
)
from saber_assets.candidates.precision import Precision, bin_edges, binned, cutoff

Result = TypeVar("Result")
MOST_ROWS, FEWEST_ROWS = 1024, 16
COUNTERS = 2**22
"""Bound on the counters of a block; summaries of very different lengths make it smaller."""


class NearBlock(NamedTuple):
    """A block of query rows; the buffers `near` and `overlaps` are used again by the next.

    Attributes:
        rows: (r,) query rows.
        which: (r,) position of each query's topic set in `start`.
        start: offsets into `sets` and `similarities`.
        sets: distinct topic sets that reach the topic floor.
        similarities: their topic similarity.
        near: (r, W) bits of the places that reach the summary floor, without barred pairs.
        overlaps: (r, c, o) pairs by token count of the other and overlap, without barred pairs.
    """

    rows: RowArray
    which: RowArray
    start: RowArray
    sets: IntArray
    similarities: FloatArray
    near: Words
    overlaps: IntArray


@dataclass(frozen=True)
class NearPairs:
    """Both indexes of a corpus at one pair of floors.

    Attributes:
        features: the packed corpus.
        blocked: the barred pairs.
        topics: index of the topic sets at the topic floor.
        summaries: index of the summaries.
        least: (c, c) overlap that reaches the summary floor.
        member_start: (s + 1,) offsets into `members`.
        members: places of the problems of each distinct topic set.
    """

    features: Features
    blocked: Blocked
    topics: NearIndex
    summaries: OverlapIndex
    least: IntArray
    member_start: RowArray
    members: IntArray

    @classmethod
    def build(
        cls, features: Features, blocked: Blocked, topic_floor: float, summary_floor: float
    ) -> NearPairs:
        """Build the indexes; a floor of 0 or less takes in all pairs."""
        arrays = features.arrays
        summaries = overlap_index(features)
        order = np.argsort(arrays.set_of, kind="stable")
        return cls(
            features=features,
            blocked=blocked,
            topics=near_index(features, topic_floor),
            summaries=summaries,
            least=least_overlap(summaries.sizes, arrays.empty_jaccard, summary_floor),
            member_start=np.concatenate(([0], np.cumsum(arrays.set_weight))).astype(np.int64),
            members=summaries.place_of[order],
        )

    @classmethod
    def from_bins(
        cls, features: Features, blocked: Blocked, bins: tuple[int, int], precision: Precision
    ) -> NearPairs:
        """Build the indexes from the lowest bins of topic and summary similarity that count."""
        edges = bin_edges(precision)
        topic, summary = (cutoff(float(edges[place]), precision) for place in bins)
        return cls.build(features, blocked, topic, summary)

    def summary_bins(self, precision: Precision) -> IntArray:
        """Return (c, c, overlaps) bins of the summary similarity, see `jaccard_table`."""
        table = jaccard_table(self.summaries.sizes, self.features.arrays.empty_jaccard)
        return binned(table, precision)

    def over(
        self,
        rows: RowArray,
        kernel: Callable[[NearBlock], Result],
        *,
        near: bool,
        overlaps: bool,
        workers: int | None = None,
        progress: Progress | None = None,
    ) -> Iterator[tuple[RowArray, Result]]:
        """Run a kernel over blocks of query rows on threads.

        Args:
            rows: query rows.
            kernel: takes a block; must not keep its buffers.
            near: the kernel reads `near`, which is empty otherwise.
            overlaps: the kernel reads `overlaps`, which is empty otherwise.
            workers: threads; None for all cores that this process may use.
            progress: called with the number of rows of each finished block.

        Yields:
            The rows of a block and what the kernel returned.
        """
        classes = len(self.summaries.sizes)
        most = int(self.summaries.sizes.max(initial=0)) + 1
        block = max(FEWEST_ROWS, min(MOST_ROWS, COUNTERS // max(1, classes * most)))
        threads = workers or available_cores()
        block = max(1, min(block, -(-len(rows) // threads)))
        idle: SimpleQueue[tuple[Words, IntArray]] = SimpleQueue()
        words = len(self.summaries.occupied)
        for _ in range(threads):
            bits = np.empty((block, words) if near else (0, 0), dtype=np.uint64)
            shape = (block, classes, most) if overlaps else (0, 0, 0)
            idle.put((bits, np.empty(shape, dtype=np.int32)))

        def joined(members: RowArray) -> Result:
            buffers = idle.get()
            try:
                return kernel(self._join(members, *buffers))
            finally:
                idle.put(buffers)

        grouped = by_topic_set(self.features, rows)
        return over_blocks(grouped, joined, workers=threads, block=block, progress=progress)

    def _join(self, rows: RowArray, bits: Words, counters: IntArray) -> NearBlock:
        arrays = self.features.arrays
        near, overlaps = bits[: len(rows)], counters[: len(rows)]
        sets, which = np.unique(arrays.set_of[rows], return_inverse=True)
        start, near_sets, similarities = near_topic_sets(arrays, self.topics, sets)
        barred = (self.blocked.start, self.blocked.rows)
        overlap_block(self.summaries, rows, self.least, barred, near, overlaps)
        return NearBlock(rows, which, start, near_sets, similarities, near, overlaps)
