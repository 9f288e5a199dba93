"""Measures of binary relevance: P, R, RR and AP, relevant from a threshold on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from saber_assets.evaluation.rankings import Floats, Offsets, Pools, Rankings


@dataclass(frozen=True)
class Precision:
    """P: share of relevant documents among the first `cutoff`; empty ranks are not relevant.

    Attributes:
        rel: lowest relevance that counts as relevant.
        cutoff: how many ranks count, at least 1.
    """

    rel: float = 1.0
    cutoff: int = 10

    def __str__(self) -> str:
        return f"P(rel={self.rel:g})@{self.cutoff}"

    def values(self, rankings: Rankings, pools: Pools) -> Floats:
        """Return float64 (S, Q) in [0, 1]."""
        return find(rankings, pools, [self.rel], [self.cutoff]).hits[:, :, 0, 0] / self.cutoff


@dataclass(frozen=True)
class Recall:
    """R: share of a query's relevant documents that are among the first `cutoff`; 0 without any.

    Attributes:
        rel: lowest relevance that counts as relevant.
        cutoff: how many ranks count, at least 1.
    """

    rel: float = 1.0
    cutoff: int = 10

    def __str__(self) -> str:
        return f"R(rel={self.rel:g})@{self.cutoff}"

    def values(self, rankings: Rankings, pools: Pools) -> Floats:
        """Return float64 (S, Q) in [0, 1]."""
        found = find(rankings, pools, [self.rel], [self.cutoff])
        return ratio(found.hits[:, :, 0, 0].astype(np.float64), found.relevant[:, 0])


@dataclass(frozen=True)
class ReciprocalRank:
    """RR: 1 / rank of the first relevant document; 0 where there is none.

    Attributes:
        rel: lowest relevance that counts as relevant.
        cutoff: how many ranks count; None for all.
    """

    rel: float = 1.0
    cutoff: int | None = None

    def __str__(self) -> str:
        return f"RR(rel={self.rel:g})" + (f"@{self.cutoff}" if self.cutoff else "")

    def values(self, rankings: Rankings, pools: Pools) -> Floats:
        """Return float64 (S, Q) in [0, 1]."""
        first = find(rankings, pools, [self.rel], [0]).first[:, :, 0]
        return reciprocal(np.where(first <= self.cutoff, first, 0) if self.cutoff else first)


@dataclass(frozen=True)
class AveragePrecision:
    """AP: precision at each relevant document, averaged over the query's relevant documents.

    Attributes:
        rel: lowest relevance that counts as relevant.
    """

    rel: float = 1.0

    def __str__(self) -> str:
        return f"AP(rel={self.rel:g})"

    def values(self, rankings: Rankings, pools: Pools) -> Floats:
        """Return float64 (S, Q) in [0, 1]."""
        found = find(rankings, pools, [self.rel], [0])
        return ratio(found.precision[:, :, 0], found.relevant[:, 0])


class Found(NamedTuple):
    """What S systems found of Q queries, at T thresholds and C cutoffs.

    Attributes:
        hits: int64 (S, Q, T, C), relevant documents among the first of each cutoff.
        first: int64 (S, Q, T), rank of the first relevant document from 1; 0 without any.
        precision: float64 (S, Q, T), sum of the precision at each relevant document.
        relevant: float64 (Q, T), relevant documents of the pool.
    """

    hits: NDArray[np.int64]
    first: NDArray[np.int64]
    precision: Floats
    relevant: Floats


def find(
    rankings: Rankings, pools: Pools, thresholds: Sequence[float], cutoffs: Sequence[int]
) -> Found:
    """Walk down each ranking once, for all thresholds and cutoffs."""
    rels = np.asarray(thresholds, dtype=np.float64)
    cuts = np.asarray(cutoffs, dtype=np.int64)
    counted = _relevant(pools.relevance, pools.offsets, rels)
    return Found(*_walk(rankings.scores, rankings.relevance, rankings.offsets, rels, cuts), counted)


def ratio(part: Floats, whole: Floats) -> Floats:
    """Return part / whole, 0 where the whole is 0; the whole is broadcast over the systems."""
    return np.divide(
        part, whole, out=np.zeros(part.shape), where=np.broadcast_to(whole > 0, part.shape)
    )


def reciprocal(first: NDArray[np.int64]) -> Floats:
    """Return 1 / rank, 0 where there is none."""
    return ratio(np.ones(first.shape), first.astype(np.float64))


@njit(cache=True)
def _walk(
    scores: Floats,
    relevance: Floats,
    offsets: Offsets,
    thresholds: Floats,
    cutoffs: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    systems, queries = scores.shape[0], offsets.size - 1
    hits = np.zeros((systems, queries, thresholds.size, cutoffs.size), dtype=np.int64)
    first = np.zeros((systems, queries, thresholds.size), dtype=np.int64)
    precision = np.zeros((systems, queries, thresholds.size))
    for s in range(systems):
        for q in range(queries):
            own = relevance[offsets[q] : offsets[q + 1]]
            # a stable sort: ties go to the document that comes first
            order = np.argsort(-scores[s, offsets[q] : offsets[q + 1]], kind="mergesort")
            for t in range(thresholds.size):
                count = 0
                for place in range(order.size):
                    if own[order[place]] < thresholds[t]:
                        continue
                    count += 1
                    if count == 1:
                        first[s, q, t] = place + 1
                    precision[s, q, t] += count / (place + 1)
                    for c in range(cutoffs.size):
                        hits[s, q, t, c] += place < cutoffs[c]
    return hits, first, precision


@njit(cache=True)
def _relevant(relevance: Floats, offsets: Offsets, thresholds: Floats) -> Floats:
    counted = np.zeros((offsets.size - 1, thresholds.size))
    for q in range(offsets.size - 1):
        for place in range(offsets[q], offsets[q + 1]):
            for t in range(thresholds.size):
                counted[q, t] += relevance[place] >= thresholds[t]
    return counted
