"""How much a judge favours the candidate that is shown first."""

from __future__ import annotations

import math
from dataclasses import dataclass

import polars as pl

from saber_assets.tournament.intervals import wilson


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
