"""Topic similarity of one problem with all others: best-match average over the Lin table.

Lin values lie on a grid of 2^-40 (`features.LIN_GRID`), on which float64 sums are exact: the
order of summation cannot change a similarity, BMA(x, y) equals BMA(y, x) to the bit, and the
one rounding is that of the final division. Against the unrounded definition a similarity moves
by at most 4.6e-13. Comparisons with a threshold use the value on the grid.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from saber_assets.candidates.features import Features, FloatArray, JoinArrays


@njit(nogil=True, cache=True)
def _gather(arrays: JoinArrays, topic_set: int, table: FloatArray) -> int:
    """Write Lin of every node with each topic of the set, and in the last column their maximum.

    Returns the number of topics. The layout puts all that one node needs on one cache line.
    """
    begin, end = arrays.set_start[topic_set], arrays.set_start[topic_set + 1]
    last = table.shape[1] - 1
    table[:, last] = 0.0
    for position in range(begin, end):
        lin = arrays.lin[arrays.set_nodes[position]]
        for node in range(lin.shape[0]):
            value = lin[node]
            table[node, position - begin] = value
            if value > table[node, last]:
                table[node, last] = value
    return end - begin


@njit(nogil=True, cache=True)
def topic_row(
    arrays: JoinArrays, topic_set: int, table: FloatArray, top: FloatArray, out: FloatArray
) -> None:
    """Write the best-match average of one topic set with each distinct topic set.

    Args:
        arrays: the packed corpus.
        topic_set: the number of the query's distinct topic set.
        table: (m, w) scratch space, w above the size of the largest set.
        top: (w,) scratch space.
        out: (s,) receives the similarities, in [0, 1]; 0 where either set is empty.
    """
    count = _gather(arrays, topic_set, table)
    last = table.shape[1] - 1
    for other in range(out.shape[0]):
        begin, end = arrays.set_start[other], arrays.set_start[other + 1]
        total = 0.0
        for topic in range(count):
            top[topic] = 0.0
        for position in range(begin, end):
            node = arrays.set_nodes[position]
            best = table[node, last]
            if best > 0.0:  # most pairs lie in different branches and share only the root
                total += best
                for topic in range(count):
                    if table[node, topic] > top[topic]:
                        top[topic] = table[node, topic]
        if total > 0.0:
            for topic in range(count):
                total += top[topic]
            out[other] = total / (count + end - begin)
        else:
            out[other] = 0.0


@njit(nogil=True, cache=True)
def table_width(arrays: JoinArrays) -> int:
    """Return the columns that the scratch table of `topic_row` needs."""
    widest = 0
    for topic_set in range(arrays.set_start.shape[0] - 1):
        widest = max(widest, arrays.set_start[topic_set + 1] - arrays.set_start[topic_set])
    return widest + 1


@njit(nogil=True, cache=True)
def _topic_rows(arrays: JoinArrays, rows: NDArray[np.int64], out: FloatArray) -> None:
    width = table_width(arrays)
    table = np.zeros((arrays.lin.shape[0], width))
    top = np.zeros(width)
    by_set = np.empty(arrays.set_weight.shape[0])
    for position in range(rows.shape[0]):
        topic_row(arrays, arrays.set_of[rows[position]], table, top, by_set)
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
