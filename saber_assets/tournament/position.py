"""How much a judge favours the candidate that is shown first."""

from __future__ import annotations

import math
from dataclasses import dataclass

import polars as pl

_Z = 1.959963984540054  # 97.5 % point of the normal distribution


@dataclass(frozen=True)
class PositionEffect:
    """Share of verdicts for the candidate shown first.

    Attributes:
        first_wins: verdicts for the candidate shown first.
        verdicts: verdicts for one of the two.
        share: first_wins / verdicts, 0.5 for a judge without position bias; NaN without verdicts.
        low: lower end of its 95 % Wilson interval.
        high: upper end.
    """

    first_wins: int
    verdicts: int
    share: float
    low: float
    high: float


def position_effect(judgments: pl.DataFrame) -> PositionEffect:
    """Estimate the position effect over all queries.

    Args:
        judgments: a frame with the column winner (1, 2; null or 0 are left out).
    """
    first_wins = int((judgments["winner"] == 1).sum())
    verdicts = first_wins + int((judgments["winner"] == 2).sum())
    share = first_wins / verdicts if verdicts else math.nan
    low, high = wilson(first_wins, verdicts)
    return PositionEffect(first_wins, verdicts, share, low, high)


def wilson(successes: int, trials: int, z: float = _Z) -> tuple[float, float]:
    """Return the Wilson score interval of a proportion, (0, 1) without trials.

    Args:
        successes: between 0 and `trials`.
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
