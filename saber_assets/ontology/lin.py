"""Lin similarity of tree nodes, and best-match average of sets of them.

SPEC, "Topic similarity": Lin(t, u) = 2 IC(lca) / (IC(t) + IC(u)), and 0 where both IC are 0.
For sets, (sum over t of max over u + sum over u of max over t) / (|Tx| + |Ty|), pooled over both
directions; 0 when either set is empty.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numba import njit
from numpy.typing import NDArray


def lin(
    parent: NDArray[np.integer],
    depth: NDArray[np.integer],
    ic: NDArray[np.float64],
    left: int,
    right: int,
) -> float:
    """Return the Lin similarity of two tree nodes, in [0, 1].

    Args:
        parent: parent of each tree node, -1 for the root.
        depth: edges from the root, of each node.
        ic: information content of each node.
        left: a node with finite information content.
        right: another, or the same.

    Raises:
        ValueError: as `lin_matrix`.
    """
    return float(lin_matrix(parent, depth, ic, [left, right])[0, 1])


def lin_matrix(
    parent: NDArray[np.integer],
    depth: NDArray[np.integer],
    ic: NDArray[np.float64],
    nodes: NDArray[np.integer] | Sequence[int],
) -> NDArray[np.float64]:
    """Return the Lin similarities between the topics in use.

    Args:
        parent: parent of each tree node, -1 for the root; array (n,).
        depth: edges from the root; array (n,).
        ic: information content; array (n,).
        nodes: the m tree nodes in use, each with finite information content.

    Returns:
        Symmetric float64 array (m, m) in [0, 1]; the diagonal is 1, but 0 where IC is 0.

    Raises:
        ValueError: for arrays of different lengths, a node out of range, or one that no
            assignment reaches (infinite information content).
    """
    above = np.ascontiguousarray(parent, dtype=np.int32)
    levels = np.ascontiguousarray(depth, dtype=np.int32)
    content = np.ascontiguousarray(ic, dtype=np.float64)
    used = np.ascontiguousarray(nodes, dtype=np.int32)
    if not len(above) == len(levels) == len(content):
        raise ValueError("parent, depth and ic must have equal lengths")
    if len(used) and (used.min() < 0 or used.max() >= len(above)):
        raise ValueError(f"nodes must be in [0, {len(above)})")
    if not np.all(np.isfinite(content[used])):
        bad = used[~np.isfinite(content[used])][0]
        raise ValueError(f"node {bad} has no finite information content: no assignment reaches it")
    return _lin_matrix(above, levels, content, used)


@njit(cache=True)
def _lin_matrix(
    parent: NDArray[np.int32],
    depth: NDArray[np.int32],
    ic: NDArray[np.float64],
    nodes: NDArray[np.int32],
) -> NDArray[np.float64]:
    count = len(nodes)
    result = np.zeros((count, count), dtype=np.float64)
    for row in range(count):
        for column in range(row, count):
            left, right = nodes[row], nodes[column]
            both = ic[left] + ic[right]
            if both <= 0.0:
                continue
            while left != right:
                if depth[left] >= depth[right]:
                    left = parent[left]
                else:
                    right = parent[right]
            value = min(1.0, 2.0 * ic[left] / both)
            result[row, column] = value
            result[column, row] = value
    return result


def best_match_average(
    x: Collection[int], y: Collection[int], similarity: NDArray[np.float64]
) -> float:
    """Return the pooled best-match average of two topic sets: the reference implementation.

    Args:
        x: row numbers of the similarity matrix; a set, so repeats count once.
        y: likewise.
        similarity: symmetric array (m, m), usually from `lin_matrix`.

    Returns:
        A value in [0, 1]; 0 when either set is empty.

    Raises:
        IndexError: for a number that is no row.
        ValueError: for a negative one, or a matrix that is not square.
    """
    rows = np.array(sorted(set(x)), dtype=np.int64)
    columns = np.array(sorted(set(y)), dtype=np.int64)
    if similarity.ndim != 2 or similarity.shape[0] != similarity.shape[1]:
        raise ValueError(f"the similarity matrix must be square, got shape {similarity.shape}")
    if not len(rows) or not len(columns):
        return 0.0
    if rows[0] < 0 or columns[0] < 0:
        raise ValueError("topic numbers must not be negative")
    if max(rows[-1], columns[-1]) >= len(similarity):
        raise IndexError(f"topic numbers must be below {len(similarity)}")
    return float(_best_match_average(rows, columns, np.ascontiguousarray(similarity)))


@njit(cache=True)
def _best_match_average(
    rows: NDArray[np.int64], columns: NDArray[np.int64], similarity: NDArray[np.float64]
) -> float:
    total = 0.0
    for row in rows:
        best = 0.0
        for column in columns:
            best = max(best, similarity[row, column])
        total += best
    back = 0.0
    for column in columns:
        best = 0.0
        for row in rows:
            best = max(best, similarity[row, column])
        back += best
    return (total + back) / (len(rows) + len(columns))
