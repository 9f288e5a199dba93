"""Intervals and p values of a proportion; half points are allowed, as ties score one half."""

from __future__ import annotations

import math

from scipy.stats import binomtest

Z_95 = 1.959963984540054
"""97.5 % point of the normal distribution."""


def wilson(successes: float, trials: int, z: float = Z_95) -> tuple[float, float]:
    """Return the Wilson score interval of a proportion, (0, 1) without trials.

    Args:
        successes: between 0 and `trials`; may be fractional.
        trials: number of independent trials.
        z: normal quantile; the default gives 95 %.
    """
    if trials == 0:
        return 0.0, 1.0
    share = successes / trials
    centre = share + z * z / (2 * trials)
    spread = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    low = 0.0 if successes == 0 else max(0.0, (centre - spread) / scale)
    high = 1.0 if successes == trials else min(1.0, (centre + spread) / scale)
    return low, high


def binomial_p(successes: float, trials: int) -> float:
    """Return the two-sided exact binomial p value against one half, 1 without trials.

    Fractional successes are rounded towards half the trials, which can only make p larger.
    """
    if trials == 0:
        return 1.0
    # 1e-9: sums of thirds and sixths that stand for a whole number
    whole = (
        math.floor(successes + 1e-9)
        if successes > trials / 2
        else min(math.ceil(successes - 1e-9), trials // 2)
    )
    return float(binomtest(whole, trials, 0.5).pvalue)


def normal_p(successes: float, trials: int) -> float:
    """Return its normal approximation, 2 (1 - Phi(z)), 1 without trials.

    The published p values are these, not the exact binomial that their caption names.
    """
    if trials == 0:
        return 1.0
    z = abs(2 * successes - trials) / math.sqrt(trials)
    return math.erfc(z / math.sqrt(2))
