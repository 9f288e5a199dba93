"""The Lin table of the topics in use, kept as blocks that are related to nothing outside them.

Topics of different subjects meet only at the root, whose information content is 0, so their Lin
is 0 and needn't be kept: of 14K topics in use the blocks take 0.25 GB, the whole table 1.5 GB.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saber_assets.ontology.lin import lin_matrix

LIN_GRID = 2.0**40
"""Lin is kept as a multiple of 1/LIN_GRID, so that sums of up to 8192 of them are exact."""


class LinBlocks(NamedTuple):
    """A block-diagonal table of m topics; topics of a block have consecutive numbers.

    Attributes:
        values: the blocks, each row by row, on the grid of `LIN_GRID`.
        row: (m,) Lin(t, u) is `values[row[t] + u]` where u lies in t's block.
        first: (m,) first topic of each topic's block.
        last: (m,) one past the last topic of each topic's block.
    """

    values: NDArray[np.float64]
    row: NDArray[np.int64]
    first: NDArray[np.int32]
    last: NDArray[np.int32]


def from_matrices(matrices: Sequence[NDArray[np.float64]]) -> LinBlocks:
    """Put square matrices along the diagonal; values are rounded to the grid.

    Rounding moves a value by at most 4.6e-13 and makes every sum of them exact.
    """
    sizes = np.array([len(matrix) for matrix in matrices], dtype=np.int64)
    values = np.empty(int((sizes**2).sum()))
    begin, offset = 0, 0
    rows, firsts = [], []
    for matrix, size in zip(matrices, sizes.tolist(), strict=True):
        part = values[offset : offset + size * size].reshape(size, size)
        np.multiply(matrix, LIN_GRID, out=part)
        np.rint(part, out=part)
        part /= LIN_GRID
        rows.append(offset + np.arange(size, dtype=np.int64) * size - begin)
        firsts.append(np.full(size, begin, dtype=np.int32))
        begin, offset = begin + size, offset + size * size
    first = np.concatenate([np.empty(0, dtype=np.int32), *firsts])
    return LinBlocks(
        values=values,
        row=np.concatenate([np.empty(0, dtype=np.int64), *rows]),
        first=first,
        last=first + np.repeat(sizes, sizes).astype(np.int32),
    )


def of_tree(
    parent: NDArray[np.integer],
    depth: NDArray[np.integer],
    ic: NDArray[np.float64],
    used: NDArray[np.int32],
) -> tuple[NDArray[np.int32], LinBlocks]:
    """Compute Lin between the nodes of a tree that are in use, a block for each subject.

    Args:
        parent: parent of each node, before its children; -1 for the root, node 0.
        depth: edges from the root.
        ic: information content; 0 at the root.
        used: the nodes in use, ascending.

    Returns:
        The nodes in the order of their blocks, and the blocks.
    """
    subject = np.arange(len(parent))
    for node in np.flatnonzero(depth > 1).tolist():
        subject[node] = subject[parent[node]]
    parts = [used[subject[used] == number] for number in np.unique(subject[used])]
    blocks = from_matrices([lin_matrix(parent, depth, ic, part) for part in parts])
    return np.concatenate([np.empty(0, dtype=np.int32), *parts]), blocks


def to_matrix(blocks: LinBlocks) -> NDArray[np.float64]:
    """Return the whole table (m, m); for tests and small tables."""
    size = len(blocks.row)
    table = np.zeros((size, size))
    for topic in range(size):
        first, last = int(blocks.first[topic]), int(blocks.last[topic])
        begin = int(blocks.row[topic])
        table[topic, first:last] = blocks.values[begin + first : begin + last]
    return table
