"""Normalised discounted cumulative gain over continuous relevance (SPEC, section 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numba import njit
from numpy.typing import NDArray

from saber_assets.evaluation.rankings import Floats, Offsets, Pools, Rankings

Gain = Literal["exp2", "linear"]


@dataclass(frozen=True)
class Ndcg:
    """nDCG: sum of gain / log2(rank + 1) over the first `cutoff` ranks, divided by the ideal.

    The ideal ranking is over the whole pool; where it is worth 0, so is the measure.

    Attributes:
        gain: 'exp2' for 2^relevance - 1, 'linear' for the relevance itself.
        cutoff: how many ranks count, at least 1.
    """

    gain: Gain = "exp2"
    cutoff: int = 10

    def __post_init__(self) -> None:
        """Raise ValueError on an unknown gain or a cutoff below 1."""
        if self.gain not in ("exp2", "linear"):
            raise ValueError(f"gain {self.gain!r} must be 'exp2' or 'linear'")
        if self.cutoff < 1:
            raise ValueError(f"cutoff {self.cutoff} must be at least 1")

    def __str__(self) -> str:
        return f'nDCG(gain="{self.gain}")@{self.cutoff}'

    def values(self, rankings: Rankings, pools: Pools) -> Floats:
        """Return float64 (S, Q) in [0, 1], the nDCG of each system on each query."""
        discounts = 1.0 / np.log2(np.arange(2, self.cutoff + 2))
        ideal_gains = self.gains(pools.relevance)
        ideal = _dcg(ideal_gains, ideal_gains[None, :], pools.offsets, discounts)
        reached = _dcg(self.gains(rankings.relevance), rankings.scores, rankings.offsets, discounts)
        worth = np.broadcast_to(ideal > 0, reached.shape)
        ndcg = np.divide(reached, ideal, out=np.zeros_like(reached), where=worth)
        return np.minimum(ndcg, 1.0)  # the quotient may round to just above 1

    def gains(self, relevance: Floats) -> Floats:
        """Return the gain of each relevance, of the same shape."""
        if self.gain == "linear":
            return relevance
        return np.power(2.0, relevance) - 1.0


@njit(cache=True)
def _dcg(gains: Floats, scores: Floats, offsets: Offsets, discounts: Floats) -> Floats:
    """Return (S, Q): discounted gains of the best-scored documents; ties go to the first one."""
    systems, queries, cutoff = scores.shape[0], offsets.size - 1, discounts.size
    dcg = np.zeros((systems, queries))
    best = np.empty(cutoff, dtype=np.int64)
    for s in range(systems):
        for q in range(queries):
            held = _best(scores[s], offsets[q], offsets[q + 1], best)
            total = 0.0
            for rank in range(held):
                total += gains[best[rank]] * discounts[rank]
            dcg[s, q] = total
    return dcg


@njit(cache=True)
def _best(scores: Floats, start: int, stop: int, best: NDArray[np.int64]) -> int:
    """Fill `best` with the places of the highest scores in scores[start:stop], in rank order."""
    held = 0
    for document in range(start, stop):
        score = scores[document]
        if held == best.size:
            if score <= scores[best[held - 1]]:
                continue
            held -= 1
        rank = held
        while rank > 0 and score > scores[best[rank - 1]]:
            best[rank] = best[rank - 1]
            rank -= 1
        best[rank] = document
        held += 1
    return held
