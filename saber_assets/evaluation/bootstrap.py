"""Percentile bootstrap of means over queries (SPEC, section 2, 'Evaluation')."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

Floats = NDArray[np.float64]

_BLOCK = 1 << 22  # draws made at once, to bound memory


def resample_counts(n: int, resamples: int, seed: int) -> NDArray[np.float64]:
    """Return how often each of n queries is drawn in each resample of size n.

    Args:
        n: queries, at least 1.
        resamples: at least 1.
        seed: not negative.

    Returns:
        float64 (resamples, n) of whole numbers; each row sums to n.
    """
    return np.concatenate(list(count_blocks(n, resamples, seed)))


def count_blocks(n: int, resamples: int, seed: int) -> Iterator[Floats]:
    """Yield `resample_counts` some rows at a time, so that memory stays bounded."""
    generator = np.random.default_rng(seed)
    step = max(1, _BLOCK // n)
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        drawn = generator.integers(0, n, size=(rows, n)) + n * np.arange(rows)[:, None]
        yield np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)


def resampled_means(values: Floats, resamples: int, seed: int) -> Floats:
    """Return the means of several systems in each resample of their queries.

    Args:
        values: (S, n), the measure of S systems on the same n queries.
        resamples: at least 1.
        seed: not negative.

    Returns:
        float64 (resamples, S).
    """
    n = values.shape[1]
    with threadpool_limits(limits=1, user_api="blas"):  # rounding must not depend on threads
        blocks = [counts @ values.T for counts in count_blocks(n, resamples, seed)]
    return np.concatenate(blocks) / n


def intervals(
    values: ArrayLike, resamples: int = 1000, seed: int = 0, level: float = 0.95
) -> tuple[Floats, Floats]:
    """Return percentile intervals of the means of several systems, from the same resamples.

    Args:
        values: (S, n), the measure of S systems on the same n queries.
        resamples: how often the n queries are drawn again, n at a time.
        seed: not negative.
        level: coverage in (0, 1).

    Returns:
        Lower and upper ends, float64 (S,) each.

    Raises:
        ValueError: on NaN or infinite values, no queries, or settings out of range.
    """
    matrix = np.asarray(values, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        raise ValueError(f"values must be (systems, queries) with queries, not {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise ValueError("values must be finite; a query that failed counts as 0")
    if resamples < 1 or not 0 < level < 1:
        raise ValueError(f"resamples {resamples} must be >= 1 and level {level} in (0, 1)")
    means = resampled_means(matrix, resamples, seed)
    tail = (1 - level) / 2
    low, high = np.quantile(means, [tail, 1 - tail], axis=0)
    return low, high


def interval(
    values: ArrayLike, resamples: int = 1000, seed: int = 0, level: float = 0.95
) -> tuple[float, float]:
    """Return the percentile interval of the mean of one system; see `intervals`."""
    low, high = intervals(np.asarray(values, dtype=np.float64)[None, :], resamples, seed, level)
    return float(low[0]), float(high[0])
