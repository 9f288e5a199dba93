"""Which candidates of a query are linked by verdicts (SPEC, section 2, 'Ratings')."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components


def components(
    n: int, first: NDArray[np.integer], second: NDArray[np.integer]
) -> NDArray[np.int32]:
    """Return the connected part of the comparison graph that each candidate belongs to.

    Ratings of candidates in different parts have no common scale. A candidate that was in no
    verdict is a part of its own.

    Args:
        n: candidates of the query.
        first: (m,) index in [0, n) of one side of each verdict.
        second: (m,) index of the other side.

    Returns:
        int32 (n,), numbered from 0 in the order of each part's lowest index.
    """
    links = coo_array((np.ones(first.size, dtype=np.int8), (first, second)), shape=(n, n))
    _, labels = connected_components(links, directed=False)
    _, lowest, part = np.unique(labels, return_index=True, return_inverse=True)
    number = np.empty(lowest.size, dtype=np.int32)
    number[np.argsort(lowest)] = np.arange(lowest.size, dtype=np.int32)
    return number[part]
