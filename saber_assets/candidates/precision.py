"""How similarities meet thresholds: in float64, or stored as float16 as the release does.

Rounding to float16 is monotone, so "float16(s) >= float16(tau)" is the same as "s >= c" for one
float64 number c, the smallest that rounds to float16(tau) or above. The passes compare with c
and never store a float16. For order statistics, similarities fall into bins: in float16 one bin
per value, which is exact; in float64 bins of width 2^-18, whose lower edges are the possible
thresholds.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numba import njit
from numpy.typing import NDArray

from saber_assets.candidates.features import FloatArray, IntArray

Precision = Literal["float64", "float16"]
FLOAT64_BINS = 2**18
"""Bins over [0, 1) in float64 mode; the similarity 1 has a bin of its own."""
_FLOAT16_OF_ONE = 0x3C00
_SMALLEST_NORMAL = 2.0**-14


def check_precision(precision: str) -> None:
    """Raise ValueError for an unknown name."""
    if precision not in ("float64", "float16"):
        raise ValueError(f"precision is 'float64' or 'float16', got {precision!r}")


def cutoff(tau: float, precision: Precision) -> float:
    """Return the float64 number that a similarity must reach to count as >= tau.

    Args:
        tau: a threshold in [0, 1].
        precision: where the comparison takes place.

    Raises:
        ValueError: for a threshold outside [0, 1] or an unknown precision.
    """
    check_precision(precision)
    if not 0.0 <= tau <= 1.0:
        raise ValueError(f"a threshold lies in [0, 1], got {tau}")
    if precision == "float64":
        return float(tau)
    rounded = np.float16(tau)
    if rounded == 0.0:
        return 0.0
    below = np.nextafter(rounded, np.float16(0.0))
    midpoint = (float(below) + float(rounded)) / 2
    return midpoint if np.float16(midpoint) == rounded else float(np.nextafter(midpoint, 1.0))


def as_stored(similarities: FloatArray, precision: Precision) -> FloatArray:
    """Return similarities as they are kept: unchanged, or rounded to float16 (both float64)."""
    check_precision(precision)
    if precision == "float64":
        return similarities
    return similarities.astype(np.float16).astype(np.float64)


def bin_count(precision: Precision) -> int:
    """Return how many bins `bin_row` uses."""
    check_precision(precision)
    return (_FLOAT16_OF_ONE if precision == "float16" else FLOAT64_BINS) + 1


def levels_reached(thresholds: IntArray, precision: Precision) -> NDArray[np.uint8]:
    """Return for each bin how many thresholds it reaches: (bins,).

    Args:
        thresholds: at most 255 bins, not descending.
        precision: what the bins are.
    """
    every_bin = np.arange(bin_count(precision))
    return np.searchsorted(thresholds, every_bin, side="right").astype(np.uint8)


def bin_edges(precision: Precision) -> FloatArray:
    """Return the smallest similarity of each bin, as the possible thresholds: (bins,) float64."""
    if precision == "float16":
        bits = np.arange(bin_count(precision), dtype=np.uint16)
        return bits.view(np.float16).astype(np.float64)
    return np.arange(bin_count(precision)) / FLOAT64_BINS


@njit(nogil=True, cache=True)
def bin_row(similarities: FloatArray, half: bool, out: IntArray) -> None:
    """Write the bin of each similarity; negative ones, which mark excluded pairs, get -1.

    Args:
        similarities: (n,) in [0, 1] or negative.
        half: bins are float16 values (round half to even) instead of steps of 2^-18.
        out: (n,) receives the bins.
    """
    bits = similarities.view(np.int64)
    for position in range(similarities.shape[0]):
        value = similarities[position]
        if value < 0.0:
            out[position] = -1
        elif not half:
            out[position] = int(value * FLOAT64_BINS)
        elif value < _SMALLEST_NORMAL:
            out[position] = int(np.rint(value * 2.0**24))
        else:
            raw = bits[position]
            kept = (raw + 0x1FFFFFFFFFF + ((raw >> 42) & 1)) >> 42
            out[position] = kept - (1008 << 10)


def binned(similarities: FloatArray, precision: Precision) -> IntArray:
    """Return the bin of each similarity, in an array of the same shape."""
    check_precision(precision)
    out = np.empty(similarities.size, dtype=np.int32)
    bin_row(np.ascontiguousarray(similarities).ravel(), precision == "float16", out)
    return out.reshape(similarities.shape)
