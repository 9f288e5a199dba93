"""How informative a topic is: -ln of the share of assignments at or below it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit
from numpy.typing import NDArray


def assignment_counts(
    parent: NDArray[np.integer] | Sequence[int], assignments: Sequence[Sequence[int]]
) -> NDArray[np.int64]:
    """Return c(t) for each tree node: the topic assignments at or below it.

    A problem with k topics adds k assignments, and k to the root (SPEC, "Topic similarity": the
    count is of assignments, not of problems). A node listed twice for a problem adds two.

    Args:
        parent: parent of each tree node, smaller than the node itself; -1 for the root, node 0.
        assignments: the tree nodes of each problem.

    Returns:
        int64 array (nodes,); the root's value is N.

    Raises:
        ValueError: for a node out of range, or parents that do not come first.
    """
    above = np.asarray(parent, dtype=np.int64)
    if len(above) and (above[0] != -1 or np.any(above[1:] >= np.arange(1, len(above)))):
        raise ValueError("node 0 must be the root, and each parent must come before its children")
    if np.any(above[1:] < 0):
        raise ValueError("only node 0 may be without a parent")
    flat = np.array([node for topics in assignments for node in topics], dtype=np.int64)
    if len(flat) and (flat.min() < 0 or flat.max() >= len(above)):
        raise ValueError(f"assigned nodes must be in [0, {len(above)})")
    counts = np.bincount(flat, minlength=len(above)).astype(np.int64)
    _accumulate(above, counts)
    return counts


@njit(cache=True)
def _accumulate(parent: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
    for node in range(len(parent) - 1, 0, -1):
        counts[parent[node]] += counts[node]


def information_content(counts: NDArray[np.int64], total: int) -> NDArray[np.float64]:
    """Return IC(t) = -ln(c(t) / N).

    Args:
        counts: c(t) of each node, from `assignment_counts`.
        total: N, all assignments.

    Returns:
        float64 array in [0, inf]; inf for a node that no assignment reaches, which therefore
        never occurs in a topic set.

    Raises:
        ValueError: for a negative count, or one above the total.
    """
    counts = np.asarray(counts, dtype=np.int64)
    if len(counts) and (counts.min() < 0 or counts.max() > total):
        raise ValueError(f"counts must be in [0, {total}]")
    content = np.full(len(counts), np.inf)
    seen = counts > 0
    content[seen] = np.log(total / counts[seen])
    return content
