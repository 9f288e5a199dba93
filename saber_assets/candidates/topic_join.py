"""Topic similarity of one problem with all others: best-match average over the Lin table.

Lin values lie on a grid of 2^-40 (`lin_blocks.LIN_GRID`), on which float64 sums are exact: the
order of summation cannot change a similarity, BMA(x, y) equals BMA(y, x) to the bit, and the
one rounding is that of the final division. Against the unrounded definition a similarity moves
by at most 4.6e-13. Comparisons with a threshold use the value on the grid.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from saber_assets.candidates.features import Features, FloatArray, IntArray, JoinArrays
from saber_assets.candidates.lin_blocks import LinBlocks

LANES = 8
"""Topics of the query that one sweep over the corpus handles: one cache line of float64."""


@njit(nogil=True, cache=True)
def _gather(lin: LinBlocks, topics: IntArray, table: FloatArray, best: FloatArray) -> None:
    """Write Lin of every node with each of at most `LANES` topics, and raise `best` to it."""
    table[:] = 0.0
    for lane in range(topics.shape[0]):
        topic = topics[lane]
        for node in range(lin.first[topic], lin.last[topic]):
            value = lin.values[lin.row[topic] + node]
            table[node, lane] = value
            best[node] = value if value > best[node] else best[node]


@njit(nogil=True, cache=True)
def _add_best_of_topics(
    arrays: JoinArrays, table: FloatArray, top: FloatArray, out: FloatArray
) -> None:
    """Add, for each distinct topic set, the sum over the lanes of the best Lin in that set."""
    for other in range(out.shape[0]):
        for lane in range(LANES):
            top[lane] = 0.0
        for position in range(arrays.set_start[other], arrays.set_start[other + 1]):
            node = arrays.set_nodes[position]
            for lane in range(LANES):  # without branches, so that the compiler makes it SIMD
                value = table[node, lane]
                top[lane] = value if value > top[lane] else top[lane]
        total = 0.0
        for lane in range(LANES):
            total += top[lane]
        out[other] += total


@njit(nogil=True, cache=True)
def topic_row(
    arrays: JoinArrays,
    topic_set: int,
    table: FloatArray,
    best: FloatArray,
    top: FloatArray,
    out: FloatArray,
) -> None:
    """Write the best-match average of one topic set with each distinct topic set.

    Args:
        arrays: the packed corpus.
        topic_set: the number of the query's distinct topic set.
        table: (m, LANES) scratch space.
        best: (m,) scratch space.
        top: (LANES,) scratch space.
        out: (s,) receives the similarities, in [0, 1]; 0 where either set is empty.
    """
    topics = arrays.set_nodes[arrays.set_start[topic_set] : arrays.set_start[topic_set + 1]]
    count = topics.shape[0]
    out[:] = 0.0
    best[:] = 0.0
    for begin in range(0, count, LANES):
        _gather(arrays.lin, topics[begin : begin + LANES], table, best)
        _add_best_of_topics(arrays, table, top, out)
    for other in range(out.shape[0]):
        begin, end = arrays.set_start[other], arrays.set_start[other + 1]
        total = out[other]
        for position in range(begin, end):
            total += best[arrays.set_nodes[position]]
        if total > 0.0:
            out[other] = total / (count + end - begin)


@njit(nogil=True, cache=True)
def _topic_rows(arrays: JoinArrays, rows: NDArray[np.int64], out: FloatArray) -> None:
    table = np.empty((arrays.lin.row.shape[0], LANES))
    best = np.empty(arrays.lin.row.shape[0])
    top = np.empty(LANES)
    by_set = np.empty(arrays.set_weight.shape[0])
    for position in range(rows.shape[0]):
        topic_row(arrays, arrays.set_of[rows[position]], table, best, top, by_set)
        for other in range(out.shape[1]):
            out[position, other] = by_set[arrays.set_of[other]]


def topic_similarities(features: Features, rows: NDArray[np.int64]) -> FloatArray:
    """Return the best-match average of some problems with all problems.

    Args:
        features: the packed corpus of n problems.
        rows: (q,) query rows; the result takes 8 q n bytes, so ask for a block at a time.

    Returns:
        (q, n) float64 in [0, 1]; 0 where either topic set is empty.

    Source: SPEC section 2, "Topic similarity": (sum over t of max over u of Lin + sum over u of
    max over t) / (|Tx| + |Ty|).
    """
    out = np.empty((len(rows), len(features)))
    _topic_rows(features.arrays, np.asarray(rows, dtype=np.int64), out)
    return out
