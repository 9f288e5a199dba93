"""MinHash signatures and locality-sensitive banding: which texts may be near-duplicates.

The pairs are proposals with high recall; `exact_jaccard` confirms or refutes each of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from typing import Any

import numpy as np
from datasketch import MinHash
from numpy.typing import NDArray

MISS_PROBABILITY = 1e-3
"""Chance, at most, that a pair exactly at the threshold is not proposed."""

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_MIXER = np.uint64(0xD6E8FEB86659FD93)
_SHIFT = np.uint64(32)


def exact_jaccard(left: Set[Any], right: Set[Any]) -> float:
    """Return |A and B| / |A or B| in [0, 1]; 0 for two empty sets, which share nothing."""
    common = len(left & right)
    union = len(left) + len(right) - common
    return common / union if union else 0.0


def banding(threshold: float, num_perm: int) -> tuple[int, int]:
    """Return (bands, rows): the most selective banding that still misses almost nothing.

    A pair of similarity s shares a band with probability 1 - (1 - s^rows)^bands. The rows are
    the most for which a pair at the threshold is missed with at most `MISS_PROBABILITY`.

    Args:
        threshold: the similarity of interest, in (0, 1].
        num_perm: number of hash values in a signature.

    Raises:
        ValueError: for a threshold outside (0, 1], or a `num_perm` below 1.
    """
    if not 0.0 < threshold <= 1.0:
        raise ValueError(f"threshold must be in (0, 1], got {threshold}")
    if num_perm < 1:
        raise ValueError(f"num_perm must be at least 1, got {num_perm}")
    for rows in range(num_perm, 1, -1):
        bands = num_perm // rows
        if (1.0 - threshold**rows) ** bands <= MISS_PROBABILITY:
            return bands, rows
    return num_perm, 1


def signatures(
    token_lists: Iterable[Sequence[str]],
    shingle: int,
    num_perm: int,
    seed: int,
    progress: Callable[[int], None] | None = None,
) -> NDArray[np.uint32]:
    """Return the MinHash signatures of the texts' word shingles.

    Args:
        token_lists: the tokens of each text, at least `shingle` of them.
        shingle: tokens in a shingle.
        num_perm: hash values in a signature.
        seed: of the permutations.
        progress: called with 1 for each finished text.

    Returns:
        Array (texts, num_perm). It depends on the texts and the seed only, not on their order.

    Raises:
        ValueError: for a text that is too short to have a shingle.
    """
    hashed = _hashed_shingles(token_lists, shingle)
    rows = []
    for minhash in MinHash.generator(hashed, num_perm=num_perm, seed=seed, hashfunc=_as_is):
        rows.append(minhash.hashvalues)
        if progress is not None:
            progress(1)
    if not rows:
        return np.empty((0, num_perm), dtype=np.uint32)
    return np.stack(rows).astype(np.uint32)


def _as_is(value: int) -> int:
    """Take an integer that is already a hash for its own hash."""
    return value


def _hashed_shingles(token_lists: Iterable[Sequence[str]], shingle: int) -> Iterator[list[int]]:
    known: dict[str, int] = {}
    for tokens in token_lists:
        if len(tokens) < shingle:
            raise ValueError(f"a text of {len(tokens)} tokens has no shingle of {shingle}")
        values = []
        for token in tokens:
            value = known.get(token)
            if value is None:
                digest = hashlib.blake2b(token.encode(), digest_size=8).digest()
                value = known[token] = int.from_bytes(digest, "little")
            values.append(value)
        array = np.array(values, dtype=np.uint64)
        count = len(values) - shingle + 1
        mixed = np.zeros(count, dtype=np.uint64)
        for start in range(shingle):
            mixed = mixed * _MULTIPLIER + array[start : start + count]
            mixed ^= mixed >> _SHIFT
        mixed *= _MIXER
        yield (mixed >> _SHIFT).tolist()


def candidate_pairs(
    signature_matrix: NDArray[np.uint32],
    threshold: float,
    blocks: NDArray[np.uint64] | None = None,
) -> NDArray[np.int64]:
    """Return the pairs of texts that share a band of their signatures.

    Args:
        signature_matrix: array (texts, num_perm).
        threshold: the similarity of interest, in (0, 1].
        blocks: one number a text; texts of different blocks are never paired.

    Returns:
        Array (pairs, 2) of row numbers, smaller first, sorted, without repeats.
    """
    count, num_perm = signature_matrix.shape
    bands, rows = banding(threshold, num_perm)
    start = np.zeros(count, dtype=np.uint64) if blocks is None else blocks * _MULTIPLIER
    start ^= start >> _SHIFT
    found: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)]
    for band in range(bands):
        keys = start.copy()
        for column in range(band * rows, (band + 1) * rows):
            keys = (keys ^ signature_matrix[:, column].astype(np.uint64)) * _MULTIPLIER
            keys ^= keys >> _SHIFT
        found.append(_pairs_with_equal_key(keys))
    coded = np.unique(np.concatenate(found))
    pairs = np.stack([coded // max(count, 1), coded % max(count, 1)], axis=1)
    return pairs if blocks is None else pairs[blocks[pairs[:, 0]] == blocks[pairs[:, 1]]]


def _pairs_with_equal_key(keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return each pair i < j of equal keys, coded as i * len(keys) + j."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    coded: list[NDArray[np.int64]] = []
    alive = np.arange(len(keys))
    distance = 1
    while True:
        alive = alive[alive + distance < len(keys)]
        alive = alive[ordered[alive] == ordered[alive + distance]]
        if not len(alive):
            break
        # a stable sort keeps equal keys in row order, so the first of the two is the smaller
        coded.append(order[alive] * len(keys) + order[alive + distance])
        distance += 1
    return np.concatenate(coded) if coded else np.empty(0, dtype=np.int64)
