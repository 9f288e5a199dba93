"""Swiss pairing of one round of one query's tournament (SPEC, section 2, 'Tournament')."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numba import njit
from numpy.typing import NDArray

Order = Literal["random", "id"]

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31, _S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)


class Standings:
    """One query's tournament between two rounds: who has won how often, and who has met whom.

    Candidates are kept in ascending order of their ids, so that a schedule never depends on the
    order in which a pool happens to be stored.

    Attributes:
        query_id: the query.
        candidate_ids: its candidates, ascending.
        wins: float64 (n,), judgments won so far; a tie is half a win for both.
        met: bool (n, n), symmetric; true where a pair was played, with or without a verdict.
    """

    def __init__(self, query_id: str, candidate_ids: Sequence[str]) -> None:
        """Start a tournament without any judgment.

        Raises:
            ValueError: when a candidate is listed twice.
        """
        self.query_id = query_id
        self.candidate_ids = sorted(candidate_ids)
        n = len(self.candidate_ids)
        if len(set(self.candidate_ids)) < n:
            twice = sorted({c for c in self.candidate_ids if self.candidate_ids.count(c) > 1})
            raise ValueError(f"query {query_id!r} lists candidates twice: {twice[:5]}")
        self.wins: NDArray[np.float64] = np.zeros(n)
        self.met: NDArray[np.bool_] = np.zeros((n, n), dtype=np.bool_)

    def pair(self, round_number: int, seed: int, order: Order = "random") -> NDArray[np.int32]:
        """Return the pairs of the next round; the standings stay as they are.

        Shuffle, sort stably by wins ascending, then take the lowest unpaired candidate and pair
        it with the unpaired candidate of closest win count that it has not met; whoever has none
        left sits out. Without any judgment this is a random pairing, so round 1 is no exception.
        The draws depend only on (seed, query_id, round_number), so that a round can be computed
        again from the standings before it.

        Args:
            round_number: from 1.
            seed: any integer.
            order: which candidate of a pair is shown first: 'random' draws it for each pair,
                'id' shows the smaller id first (the published code; a bias). The pairs are the
                same either way.

        Returns:
            int32 (pairs, 2), indices into `candidate_ids`; column 0 is shown first.
        """
        state = round_state(seed, self.query_id, round_number)
        half_wins = np.rint(2 * self.wins).astype(np.int32)
        return _pair(half_wins, self.met, state, order == "random")

    def record(self, pairs: NDArray[np.int32], winners: Sequence[int | None]) -> None:
        """Enter the verdicts of a round.

        Args:
            pairs: as returned by `pair`.
            winners: 1 where the first won, 2 where the second won, 0 for a tie (half a win for
                both), None without a verdict: such a pair counts as played, and nobody gains
                anything, as in the published code.

        Raises:
            ValueError: when a winner is none of these.
        """
        for (first, second), winner in zip(pairs.tolist(), winners, strict=True):
            if winner not in (0, 1, 2, None):
                raise ValueError(
                    f"query {self.query_id!r}: winner {winner!r} is not 0, 1, 2 or None"
                )
            self.met[first, second] = self.met[second, first] = True
            if winner == 0:
                self.wins[[first, second]] += 0.5
            elif winner is not None:
                self.wins[first if winner == 1 else second] += 1


def round_state(seed: int, query_id: str, round_number: int) -> np.uint64:
    """Return the 64-bit state from which a round's draws start."""
    text = f"{seed}\x1f{query_id}\x1f{round_number}".encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(text, digest_size=8, person=b"swiss-round").digest()
    return np.uint64(int.from_bytes(digest, "big"))


@njit(cache=True)
def _draw(state: np.uint64, bound: int) -> tuple[np.uint64, int]:
    """Step SplitMix64 and return the new state and an integer in [0, bound)."""
    state = state + _GAMMA
    mixed = (state ^ (state >> _S30)) * _MIX_1
    mixed = (mixed ^ (mixed >> _S27)) * _MIX_2
    mixed = mixed ^ (mixed >> _S31)
    return state, int(((mixed >> _S32) * np.uint64(bound)) >> _S32)


@njit(cache=True)
def _seats(wins: NDArray[np.int32], state: np.uint64) -> tuple[np.uint64, NDArray[np.int32]]:
    """Shuffle the candidates, then sort them stably by wins ascending (counting sort)."""
    n = wins.size
    shuffled = np.arange(n, dtype=np.int32)
    for i in range(n - 1, 0, -1):
        state, j = _draw(state, i + 1)
        shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
    start = np.zeros(wins.max() + 2, dtype=np.int32)
    for i in range(n):
        start[wins[i] + 1] += 1
    start = np.cumsum(start)
    seats = np.empty(n, dtype=np.int32)
    for candidate in shuffled:
        seats[start[wins[candidate]]] = candidate
        start[wins[candidate]] += 1
    return state, seats


@njit(cache=True)
def _pair(
    wins: NDArray[np.int32], met: NDArray[np.bool_], state: np.uint64, random_order: bool
) -> NDArray[np.int32]:
    n = wins.size
    pairs = np.empty((n // 2, 2), dtype=np.int32)
    if n < 2:
        return pairs
    state, seats = _seats(wins, state)
    paired = np.zeros(n, dtype=np.bool_)
    count = 0
    for low in range(n):
        if paired[low]:
            continue
        a = seats[low]
        # Seats above hold at least as many wins, so the first that is free is the closest.
        for high in range(low + 1, n):
            b = seats[high]
            if paired[high] or met[a, b]:
                continue
            paired[low] = paired[high] = True
            pairs[count, 0] = min(a, b)
            pairs[count, 1] = max(a, b)
            count += 1
            break
    if random_order:
        for pair in range(count):
            state, swap = _draw(state, 2)
            if swap:
                pairs[pair, 0], pairs[pair, 1] = pairs[pair, 1], pairs[pair, 0]
    return pairs[:count].copy()
