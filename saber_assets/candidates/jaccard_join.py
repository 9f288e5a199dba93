"""Summary similarity of one problem with all others: Jaccard through postings and counters.

The intersection is an integer count and the quotient one correctly rounded division, so equal
fractions give equal numbers and no order of summation exists.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from saber_assets.candidates.features import Features, FloatArray, IntArray, JoinArrays


@njit(nogil=True, cache=True)
def jaccard_row(arrays: JoinArrays, row: int, shared: IntArray, out: FloatArray) -> None:
    """Write the Jaccard similarity of one problem with each problem, itself included.

    Args:
        arrays: the packed corpus.
        row: the query row.
        shared: (n,) scratch space.
        out: (n,) receives the similarities, in [0, 1].
    """
    shared[:] = 0
    begin, end = arrays.token_start[row], arrays.token_start[row + 1]
    for position in range(begin, end):
        token = arrays.tokens[position]
        for posting in range(arrays.posting_start[token], arrays.posting_start[token + 1]):
            shared[arrays.postings[posting]] += 1
    size = end - begin
    for other in range(out.shape[0]):
        common = shared[other]
        if common > 0:
            other_size = arrays.token_start[other + 1] - arrays.token_start[other]
            out[other] = common / (size + other_size - common)
        else:
            out[other] = 0.0
    if size == 0 and arrays.empty_jaccard > 0.0:
        for other in range(out.shape[0]):
            if arrays.token_start[other + 1] == arrays.token_start[other]:
                out[other] = arrays.empty_jaccard


@njit(nogil=True, cache=True)
def _jaccard_rows(arrays: JoinArrays, rows: NDArray[np.int64], out: FloatArray) -> None:
    shared = np.empty(out.shape[1], dtype=np.int32)
    for position in range(rows.shape[0]):
        jaccard_row(arrays, rows[position], shared, out[position])


def summary_similarities(features: Features, rows: NDArray[np.int64]) -> FloatArray:
    """Return the Jaccard similarity of some problems with all problems.

    Args:
        features: the packed corpus of n problems.
        rows: (q,) query rows; the result takes 8 q n bytes, so ask for a block at a time.

    Returns:
        (q, n) float64 in [0, 1]; two empty token sets give `empty_jaccard`.

    Source: SPEC section 2, "Summary similarity".
    """
    out = np.empty((len(rows), len(features)))
    _jaccard_rows(features.arrays, np.asarray(rows, dtype=np.int64), out)
    return out
