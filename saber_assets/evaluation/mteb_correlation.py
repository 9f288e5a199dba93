"""How far another benchmark's scores, such as MTEB's, agree with the board."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from scipy import stats

from saber_assets.evaluation.order_comparison import OrderComparison, compare_orders, shared


@dataclass(frozen=True)
class RankGap:
    """A system that the two benchmarks place differently; rank 1 is best, ties averaged."""

    retriever: str
    board_rank: float
    other_rank: float

    @property
    def gap(self) -> float:
        """Places that lie between the two ranks."""
        return abs(self.board_rank - self.other_rank)


@dataclass(frozen=True)
class Correlation:
    """Agreement of the board with another benchmark.

    Attributes:
        comparison: of the systems that both have.
        missing: systems on the board without a score of the other benchmark.
        unknown: systems with such a score that aren't on the board.
        excluded: systems left out on demand.
        gaps: the compared systems, the largest gap first; equal gaps by the rank on the board.
    """

    comparison: OrderComparison
    missing: tuple[str, ...]
    unknown: tuple[str, ...]
    excluded: tuple[str, ...]
    gaps: tuple[RankGap, ...]


def correlate(
    board: Mapping[str, float], other: Mapping[str, float], excluded: Collection[str] = ()
) -> Correlation:
    """Correlate the board with another benchmark over the systems that both have.

    Args:
        board: mean of each system.
        other: its score there, higher for better ones.
        excluded: systems to leave out, such as those released before some date.

    Raises:
        ValueError: for scores that are not finite.
    """
    kept = {name: score for name, score in board.items() if name not in set(excluded)}
    names, ours, theirs = shared(kept, other)
    our_ranks, their_ranks = (stats.rankdata(-scores) for scores in (ours, theirs))
    gaps = [
        RankGap(name, float(a), float(b))
        for name, a, b in zip(names, our_ranks, their_ranks, strict=True)
    ]
    return Correlation(
        comparison=compare_orders(ours, theirs),
        missing=tuple(sorted(kept.keys() - other.keys())),
        unknown=tuple(sorted(other.keys() - board.keys())),
        excluded=tuple(sorted(set(excluded) & board.keys() & other.keys())),
        gaps=tuple(sorted(gaps, key=lambda gap: (-gap.gap, gap.board_rank, gap.retriever))),
    )


def without_largest_gaps(
    board: Mapping[str, float], other: Mapping[str, float], drop: int
) -> tuple[list[str], float]:
    """Return Spearman's correlation after dropping the systems with the largest rank gaps.

    All gaps are those among all compared systems.

    Args:
        board: mean of each system.
        other: its score on the other benchmark.
        drop: how many, at least 0.

    Returns:
        The dropped systems, the largest gap first, and the correlation of the rest; NaN where
        fewer than two are left.
    """
    dropped = [gap.retriever for gap in correlate(board, other).gaps[:drop]]
    return dropped, correlate(board, other, dropped).comparison.spearman
