"""Paired tests between systems on the same queries, and corrections for making many of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

Correction = Literal["holm", "bonferroni", "fdr_bh"]
Floats = NDArray[np.float64]

_EXACT_UP_TO = 16
_BLOCK = 1 << 22
_ROUNDING = 1e-12


@dataclass(frozen=True)
class PairedTest:
    """How two systems differ on the same queries.

    Attributes:
        first: one system.
        second: the other.
        difference: mean of first minus second.
        p_t: two-sided p of the paired t-test.
        p_randomisation: two-sided p of Fisher's randomisation test.
        p_wilcoxon: two-sided p of Wilcoxon's signed-rank test.
        adjusted: p_randomisation, corrected for all pairs tested together.
    """

    first: str
    second: str
    difference: float
    p_t: float
    p_randomisation: float
    p_wilcoxon: float
    adjusted: float


def t_test(differences: ArrayLike) -> tuple[float, float]:
    """Return t and the two-sided p of the paired t-test; (0, 1) for identical systems.

    Args:
        differences: (n,), system minus system on each of n >= 2 queries.
    """
    d = _checked(differences)
    if not d.any():
        return 0.0, 1.0
    result = stats.ttest_1samp(d, 0.0)
    return float(result.statistic), float(result.pvalue)


def wilcoxon(differences: ArrayLike) -> float:
    """Return the two-sided p of Wilcoxon's signed-rank test; 1 for identical systems.

    Args:
        differences: (n,), system minus system on each of n >= 2 queries.
    """
    d = _checked(differences)
    return float(stats.wilcoxon(d).pvalue) if d.any() else 1.0


def randomisation(differences: ArrayLike, resamples: int = 10_000, seed: int = 0) -> float:
    """Return the two-sided p of Fisher's randomisation test of the mean difference.

    Signs of the differences are flipped at random: p = (1 + hits) / (1 + resamples). Up to 16
    queries all sign patterns are counted instead, and p is exact.

    Args:
        differences: (n,), system minus system on each of n >= 2 queries.
        resamples: sign patterns drawn.
        seed: not negative.
    """
    d = _checked(differences)
    # A pattern that ties with the observed sum is a hit, whatever the order of its additions.
    observed = abs(d.sum()) - _ROUNDING * np.abs(d).sum()
    hits = total = 0
    for signs in sign_patterns(d.size, resamples, seed):
        hits += int((np.abs(signs @ d) >= observed).sum())
        total += signs.shape[0]
    return hits / total if is_exact(d.size) else (1 + hits) / (1 + total)


def is_exact(n: int) -> bool:
    """Tell whether all sign patterns of n queries are counted instead of some drawn."""
    return n <= _EXACT_UP_TO


def sign_patterns(n: int, resamples: int, seed: int) -> Iterator[Floats]:
    """Yield sign patterns, (rows, n) of 1 and -1 at a time: all up to 16 queries, else drawn."""
    if is_exact(n):
        patterns = (np.arange(1 << n)[:, None] >> np.arange(n)) & 1
        yield (1 - 2 * patterns).astype(np.float64)
        return
    generator = np.random.default_rng(seed)
    step = max(1, _BLOCK // n)
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        drawn = generator.integers(0, 2, size=(rows, n), dtype=np.int8)
        yield (1 - 2 * drawn).astype(np.float64)


def adjust(p_values: ArrayLike, correction: Correction = "holm") -> Floats:
    """Return p values corrected for being tested together, in the same order.

    Args:
        p_values: (m,) in [0, 1]; NaN counts as 1.
        correction: 'holm' or 'bonferroni' (family-wise error), or 'fdr_bh' (Benjamini-Hochberg,
            false discovery rate).
    """
    p = np.asarray(p_values, dtype=np.float64)
    p = np.where(np.isnan(p), 1.0, p)
    if ((p < 0) | (p > 1)).any():
        raise ValueError("p values must be in [0, 1]")
    m = p.size
    order = np.argsort(p, kind="stable")
    ranks = np.arange(m)
    if correction == "bonferroni":
        return np.minimum(p * m, 1.0)
    adjusted = np.empty(m)
    if correction == "holm":
        adjusted[order] = np.maximum.accumulate(p[order] * (m - ranks))
    elif correction == "fdr_bh":
        adjusted[order] = np.minimum.accumulate((p[order] * m / (ranks + 1))[::-1])[::-1]
    else:
        raise ValueError(f"correction {correction!r} must be 'holm', 'bonferroni' or 'fdr_bh'")
    return np.minimum(adjusted, 1.0)


def compare(
    values: Mapping[str, ArrayLike],
    resamples: int = 10_000,
    seed: int = 0,
    correction: Correction = "holm",
) -> list[PairedTest]:
    """Test all pairs of systems.

    Args:
        values: (n,) measures of each system, on the same queries in the same order.
        resamples: of the randomisation test.
        seed: of the randomisation test.
        correction: see `adjust`; applied to the randomisation test over all pairs.

    Returns:
        One test for each pair, ordered by the names.
    """
    series = {name: np.asarray(values[name], dtype=np.float64) for name in sorted(values)}
    pairs = list(combinations(series, 2))
    differences = [series[a] - series[b] for a, b in pairs]
    randomised = [randomisation(d, resamples, seed) for d in differences]
    adjusted = adjust(randomised, correction)
    return [
        PairedTest(a, b, float(d.mean()), t_test(d)[1], p, wilcoxon(d), float(corrected))
        for (a, b), d, p, corrected in zip(pairs, differences, randomised, adjusted, strict=True)
    ]


def _checked(differences: ArrayLike) -> Floats:
    d = np.asarray(differences, dtype=np.float64)
    if d.ndim != 1 or d.size < 2 or not np.isfinite(d).all():
        raise ValueError("differences must be a vector of at least two finite numbers")
    return d
