"""Measures of binary relevance: P, R, RR and AP, relevant from a threshold on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
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
        ranks, hits = _ranked(rankings, self.rel)
        return _per_query(hits & (ranks < self.cutoff), rankings.offsets) / self.cutoff


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
        ranks, hits = _ranked(rankings, self.rel)
        found = _per_query(hits & (ranks < self.cutoff), rankings.offsets)
        return _ratio(found, _relevant(pools, self.rel))


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
        ranks, hits = _ranked(rankings, self.rel)
        within = hits & (ranks < self.cutoff) if self.cutoff else hits
        first = within & (_hits_so_far(within, rankings.offsets) == 1)
        return _per_query(first / (ranks + 1.0), rankings.offsets)


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
        ranks, hits = _ranked(rankings, self.rel)
        precision = hits * _hits_so_far(hits, rankings.offsets) / (ranks + 1.0)
        total = _per_query(precision, rankings.offsets)
        return _ratio(total, _relevant(pools, self.rel))


def _ranked(rankings: Rankings, rel: float) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return ranks from 0, (M,), and (S, M) whether the document there is relevant."""
    sizes = np.diff(rankings.offsets)
    query = np.repeat(np.arange(sizes.size), sizes)
    ranks = np.arange(query.size) - np.repeat(rankings.offsets[:-1], sizes)
    relevant = rankings.relevance >= rel
    hits = np.empty(rankings.scores.shape, dtype=np.bool_)
    for system, scores in enumerate(rankings.scores):
        hits[system] = relevant[np.lexsort((ranks, -scores, query))]
    return ranks, hits


def _per_query(values: NDArray[np.generic], offsets: Offsets) -> Floats:
    """Sum (S, M) within each query, to (S, Q)."""
    total = np.zeros((values.shape[0], offsets.size - 1))
    filled = np.flatnonzero(np.diff(offsets))
    if filled.size:
        summed = np.add.reduceat(values.astype(np.float64), offsets[:-1][filled], axis=1)
        total[:, filled] = summed
    return total


def _hits_so_far(hits: NDArray[np.bool_], offsets: Offsets) -> NDArray[np.int64]:
    """Return (S, M): relevant documents of the query up to and including each rank."""
    running = np.cumsum(hits, axis=1, dtype=np.int64)
    before = np.concatenate([np.zeros((hits.shape[0], 1), dtype=np.int64), running], axis=1)
    earlier: NDArray[np.int64] = np.repeat(before[:, offsets[:-1]], np.diff(offsets), axis=1)
    return np.subtract(running, earlier)


def _relevant(pools: Pools, rel: float) -> Floats:
    relevant: Floats = _per_query((pools.relevance >= rel)[None, :], pools.offsets)[0]
    return relevant


def _ratio(part: Floats, whole: Floats) -> Floats:
    return np.divide(
        part, whole, out=np.zeros_like(part), where=np.broadcast_to(whole > 0, part.shape)
    )
