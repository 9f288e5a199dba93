"""Correlations of two vectors of scores; both stages that compare rankings use these."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

Floats = NDArray[np.float64]


def pearson(first: ArrayLike, second: ArrayLike) -> float:
    """Return Pearson's correlation of two vectors; NaN where either is constant."""
    a, b = paired(first, second)
    a, b = a - a.mean() if a.size else a, b - b.mean() if b.size else b
    scale = float(np.sqrt((a**2).sum() * (b**2).sum()))
    return float(np.clip((a * b).sum() / scale, -1.0, 1.0)) if scale > 0 else float("nan")


def spearman(first: ArrayLike, second: ArrayLike) -> float:
    """Return Spearman's correlation, ties at their average rank; NaN where either is constant."""
    a, b = paired(first, second)
    return pearson(stats.rankdata(a), stats.rankdata(b))


def paired(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats]:
    """Return two vectors as arrays.

    Raises:
        ValueError: on unequal lengths or numbers that are not finite.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"two vectors of one length are needed, not {a.shape} and {b.shape}")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError("scores must be finite")
    return a, b
