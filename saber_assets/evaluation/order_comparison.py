"""Two sets of scores of the same systems compared: correlations and inversions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from saber_assets.correlation import Floats, paired, pearson, spearman


@dataclass(frozen=True)
class OrderComparison:
    """How alike two sets of scores order the same systems.

    Attributes:
        systems: compared.
        pearson: correlation of the scores; NaN where either is constant or systems < 2.
        spearman: correlation of the ranks, ties at their average rank; NaN likewise.
        pairs: systems * (systems - 1) / 2.
        inversions: pairs in opposite orders.
        ties: pairs that are tied in one set and not in the other; not inversions.
        widest: the largest difference, in the first set, of a pair that is inverted; 0 without.
    """

    systems: int
    pearson: float
    spearman: float
    pairs: int
    inversions: int
    ties: int
    widest: float


def compare_orders(first: ArrayLike, second: ArrayLike) -> OrderComparison:
    """Compare two sets of scores, in the same order of systems, higher for better ones.

    Args:
        first: (n,) finite; the set of which `widest` is told.
        second: (n,) finite.

    Raises:
        ValueError: on unequal lengths or numbers that are not finite.
    """
    a, b = paired(first, second)
    upper = np.triu_indices(a.size, 1)
    in_first = (a[:, None] - a[None, :])[upper]
    in_second = (b[:, None] - b[None, :])[upper]
    inverted = np.sign(in_first) * np.sign(in_second) < 0
    tied = (in_first == 0) != (in_second == 0)
    return OrderComparison(
        systems=a.size,
        pearson=pearson(a, b),
        spearman=spearman(a, b),
        pairs=in_first.size,
        inversions=int(inverted.sum()),
        ties=int(tied.sum()),
        widest=float(np.abs(in_first[inverted]).max(initial=0.0)),
    )


def shared(
    first: Mapping[str, float], second: Mapping[str, float]
) -> tuple[list[str], Floats, Floats]:
    """Return the names that both have, ascending, and the scores of each."""
    names = sorted(first.keys() & second.keys())
    return (
        names,
        np.array([first[name] for name in names], dtype=np.float64),
        np.array([second[name] for name in names], dtype=np.float64),
    )
