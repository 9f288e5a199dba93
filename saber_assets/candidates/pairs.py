"""What every pass over pairs needs: barred pairs, blocks of query rows on threads, dense rows.

`similarity_rows` computes both similarities of one query row after the other with the whole
corpus into the same two buffers: for the sampling, which has few queries. Passes over all queries
touch only the pairs above a floor, see `near_pairs.py`. Blocks are handed out in a fixed order
and hold no state, and all sums over blocks are integers, so the number of threads cannot change a
result.

The compiled functions of this stage call none of another module: numba's cache watches only the
file of the function itself, and would go on using an outdated copy of what it calls elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from saber_assets.candidates.features import Features, FloatArray, IntArray
from saber_assets.candidates.jaccard_join import jaccard_row
from saber_assets.candidates.topic_join import LANES, topic_row

Progress = Callable[[int], None]
RowArray = NDArray[np.int64]
Result = TypeVar("Result")
BLOCK = 128


class Blocked(NamedTuple):
    """Pairs that don't count, in CSR form: `rows[start[i]:start[i + 1]]` are barred for row i."""

    start: RowArray
    rows: IntArray


class SimilarityRow(NamedTuple):
    """One query row against the whole corpus; the buffers are reused for the next row.

    Attributes:
        row: the query row.
        topic: (s,) topic similarity with each distinct topic set, see `JoinArrays.set_of`.
        summary: (n,) summary similarity with each problem; -1 for a barred pair.
    """

    row: int
    topic: FloatArray
    summary: FloatArray


def similarity_rows(
    features: Features, blocked: Blocked, rows: RowArray
) -> Iterator[SimilarityRow]:
    """Compute both similarities of query rows, one row at a time.

    Args:
        features: the packed corpus of n problems.
        blocked: the barred pairs.
        rows: query rows; consecutive rows with equal topic sets share the topic join.

    Yields:
        The rows in their order.
    """
    arrays = features.arrays
    nodes = arrays.lin.row.shape[0]
    table, best, top = np.empty((nodes, LANES)), np.empty(nodes), np.empty(LANES)
    shared = np.empty(len(features), dtype=np.int32)
    topic, summary = np.empty(len(arrays.set_weight)), np.empty(len(features))
    previous = -1
    for row in rows.tolist():
        topic_set = int(arrays.set_of[row])
        if topic_set != previous:
            topic_row(arrays, topic_set, table, best, top, topic)
        jaccard_row(arrays, row, shared, summary)
        summary[blocked.rows[blocked.start[row] : blocked.start[row + 1]]] = -1.0
        yield SimilarityRow(row, topic, summary)
        previous = topic_set


def blocked_pairs(
    features: Features, excluded: Iterable[tuple[str, str]] = (), *, self_pairs: bool = False
) -> Blocked:
    """Return the pairs that a pass leaves out.

    Args:
        features: the packed corpus.
        excluded: pairs of problem ids (duplicates of each other), in either order; an id that
            is not in the corpus is ignored, because its problem was dropped.
        self_pairs: a problem counts as its own neighbour.

    Returns:
        Barred rows, ascending for each row.
    """
    row_of = {problem_id: row for row, problem_id in enumerate(features.problem_ids)}
    barred: set[tuple[int, int]] = set()
    if not self_pairs:
        barred.update((row, row) for row in range(len(features)))
    for first, second in excluded:
        if first in row_of and second in row_of:
            barred.add((row_of[first], row_of[second]))
            barred.add((row_of[second], row_of[first]))
    listed = np.array(sorted(barred), dtype=np.int64).reshape(-1, 2)
    lengths = np.bincount(listed[:, 0], minlength=len(features))
    start = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    return Blocked(start=start, rows=listed[:, 1].astype(np.int32))


def available_cores() -> int:
    """Return the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def by_topic_set(features: Features, rows: RowArray) -> RowArray:
    """Return row numbers grouped by topic set, so that a kernel computes each set once."""
    return rows[np.argsort(features.arrays.set_of[rows], kind="stable")]


def over_blocks(
    rows: RowArray,
    kernel: Callable[[RowArray], Result],
    *,
    workers: int | None = None,
    block: int = BLOCK,
    progress: Progress | None = None,
) -> Iterator[tuple[RowArray, Result]]:
    """Run a kernel over blocks of query rows on threads.

    Args:
        rows: query rows.
        kernel: takes the rows of one block; must release the interpreter lock to run in
            parallel, and must not depend on other blocks.
        workers: threads; None for all cores that this process may use.
        block: rows of a block.
        progress: called with the number of rows of each finished block.

    Yields:
        The rows of a block and what the kernel returned, in the order of `rows`.
    """
    blocks = [rows[begin : begin + block] for begin in range(0, len(rows), block)]
    pool = ThreadPoolExecutor(workers or available_cores())
    try:
        for members, result in zip(blocks, pool.map(kernel, blocks), strict=True):
            yield members, result
            if progress is not None:
                progress(len(members))
    finally:  # an error or an interrupt drops the blocks that have not begun
        pool.shutdown(cancel_futures=True)
