"""Normalised discounted cumulative gain over continuous relevance (SPEC, section 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numba import njit
from numpy.typing import NDArray

from saber_assets.evaluation.rankings import Floats, Offsets, Pools, Rankings

Gain = Literal["exp2", "linear"]
Places = NDArray[np.int64]


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
        return self.values_at(best_places(rankings, self.cutoff), rankings.relevance, pools)

    def values_at(self, places: Places, relevance: Floats, pools: Pools) -> Floats:
        """Return what `values` does, where it is known who ranks first: that is the slow part.

        Args:
            places: from `best_places`, of at least `cutoff` ranks.
            relevance: float64 (M,), of each scored document.
            pools: what is judged.
        """
        discounts = 1.0 / np.log2(np.arange(2, self.cutoff + 2))
        ideal_gains = self.gains(pools.relevance)
        ideal_places = _places(ideal_gains[None, :], pools.offsets, self.cutoff)
        ideal = _dcg(ideal_gains, ideal_places, discounts)
        reached = _dcg(self.gains(relevance), places, discounts)
        worth = np.broadcast_to(ideal > 0, reached.shape)
        ndcg = np.divide(reached, ideal, out=np.zeros_like(reached), where=worth)
        return np.minimum(ndcg, 1.0)  # the quotient may round to just above 1

    def gains(self, relevance: Floats) -> Floats:
        """Return the gain of each relevance, of the same shape."""
        if self.gain == "linear":
            return relevance
        return np.power(2.0, relevance) - 1.0


def best_places(rankings: Rankings, cutoff: int) -> Places:
    """Return (S, Q, cutoff): which column each system ranks at each rank, -1 past the last one."""
    return _places(rankings.scores, rankings.offsets, cutoff)


@njit(cache=True)
def _places(scores: Floats, offsets: Offsets, cutoff: int) -> Places:
    systems, queries = scores.shape[0], offsets.size - 1
    places = np.full((systems, queries, cutoff), -1, dtype=np.int64)
    for s in range(systems):
        for q in range(queries):
            _best(scores[s], offsets[q], offsets[q + 1], places[s, q])
    return places


@njit(cache=True)
def _dcg(gains: Floats, places: Places, discounts: Floats) -> Floats:
    """Return (S, Q): discounted gains of the best-scored documents; ties go to the first one."""
    systems, queries = places.shape[:2]
    dcg = np.zeros((systems, queries))
    for s in range(systems):
        for q in range(queries):
            total = 0.0
            for rank in range(discounts.size):
                place = places[s, q, rank]
                if place < 0:
                    break
                total += gains[place] * discounts[rank]
            dcg[s, q] = total
    return dcg


@njit(cache=True)
def _best(scores: Floats, start: int, stop: int, best: NDArray[np.int64]) -> None:
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
