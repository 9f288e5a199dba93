"""Ratings as whole-numbered gains, for tools that know integer relevances only (SPEC, section 5).

A tool that takes relevances for gains (linear nDCG, as trec_eval and MTEB) gets our exponential
nDCG@10 out of them within 2e-5.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

SCALE = 1000
"""Gains are kept to a thousandth; the largest is 31,000, which fits MTEB's int32."""
LARGEST_RATING = 5.0


def encode(ratings: ArrayLike, scale: int = SCALE) -> NDArray[np.int32]:
    """Return round(scale * (2^rating - 1)) of each rating, of the same shape.

    Args:
        ratings: in [0, 5], finite.
        scale: at least 1.

    Raises:
        ValueError: for a rating out of range, or a scale that doesn't fit int32.
    """
    values = np.asarray(ratings, dtype=np.float64)
    if not ((values >= 0) & (values <= LARGEST_RATING)).all():
        raise ValueError(f"ratings must lie in [0, {LARGEST_RATING:g}]")
    most = np.iinfo(np.int32).max / (2**LARGEST_RATING - 1)
    if not 1 <= scale <= most:
        raise ValueError(f"the scale {scale} must lie in [1, {int(most)}]")
    return np.rint(scale * (np.exp2(values) - 1.0)).astype(np.int32)


def decode(gains: ArrayLike, scale: int = SCALE) -> NDArray[np.float64]:
    """Return the ratings that gains stand for: log2(1 + gain / scale).

    Args:
        gains: as `encode` makes them, 0 or more.
        scale: as given to `encode`.

    Raises:
        ValueError: for a negative gain.
    """
    values = np.asarray(gains, dtype=np.float64)
    if (values < 0).any():
        raise ValueError("gains are never negative")
    return np.log2(1.0 + values / scale)
