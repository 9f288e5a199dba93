"""MinHash signatures and locality-sensitive banding: which texts may be near-duplicates.

The pairs are proposals with high recall; `exact_jaccard` confirms or refutes each of them.

The permutations are those of datasketch's MinHash (scheme "affine32", a * h + b mod 2^32 with odd
a, after a fixed mix of h), and so are the signatures, to the bit; only the loop is compiled here.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from itertools import islice
from typing import Any

import numba
import numpy as np
from datasketch import MinHash
from numpy.typing import NDArray

MISS_PROBABILITY = 1e-3
"""Chance, at most, that a pair exactly at the threshold is not proposed."""

_BATCH = 1024
_KNOWN_TOKENS = 1 << 20
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_MIXER = np.uint64(0xD6E8FEB86659FD93)
_SHIFT = np.uint64(32)
_EMPTY = np.uint32(0xFFFFFFFF)


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
    """Return the MinHash signatures of the texts' word shingles: `signature_batches` in one.

    Args:
        token_lists: the tokens of each text, at least `shingle` of them.
        shingle: tokens in a shingle.
        num_perm: hash values in a signature.
        seed: of the permutations.
        progress: called with the number of newly finished texts.

    Returns:
        Array (texts, num_perm). It depends on the texts and the seed only, not on their order.

    Raises:
        ValueError: for a text that is too short to have a shingle.
    """
    batches = [np.empty((0, num_perm), dtype=np.uint32)]
    for batch in signature_batches(token_lists, shingle, num_perm, seed):
        batches.append(batch)
        if progress is not None:
            progress(len(batch))
    return np.concatenate(batches)


def signature_batches(
    token_lists: Iterable[Sequence[str]], shingle: int, num_perm: int, seed: int
) -> Iterator[NDArray[np.uint32]]:
    """Yield the signatures of the texts, some at a time, so that no more need be in memory.

    Args:
        token_lists: the tokens of each text, at least `shingle` of them.
        shingle: tokens in a shingle, at least 1.
        num_perm: hash values in a signature.
        seed: of the permutations.

    Yields:
        Arrays (texts, num_perm), in the order of the texts.

    Raises:
        ValueError: for a text that is too short to have a shingle, or a `shingle` below 1.
    """
    if shingle < 1:
        raise ValueError(f"shingle must be at least 1, got {shingle}")
    scheme = MinHash(num_perm=num_perm, seed=seed, scheme="affine32", hashfunc=_as_is)
    factors, offsets = (np.ascontiguousarray(part) for part in scheme.permutations)
    hashes = _TokenHashes()
    texts = iter(token_lists)
    while batch := list(islice(texts, _BATCH)):
        flat = array("Q")
        starts = np.zeros(len(batch) + 1, dtype=np.int64)
        for place, tokens in enumerate(batch):
            if len(tokens) < shingle:
                raise ValueError(f"a text of {len(tokens)} tokens has no shingle of {shingle}")
            flat.extend(map(hashes.__getitem__, tokens))
            starts[place + 1] = len(flat)
        matrix = np.empty((len(batch), num_perm), dtype=np.uint32)
        _sign(np.frombuffer(flat, dtype=np.uint64), starts, shingle, factors, offsets, matrix)
        yield matrix


def _as_is(value: int) -> int:
    """Take an integer that is already a hash for its own hash."""
    return value


class _TokenHashes(dict[str, int]):
    """64-bit hashes of tokens, remembered; it forgets all when a corpus has very many."""

    def __missing__(self, token: str) -> int:
        if len(self) >= _KNOWN_TOKENS:
            self.clear()
        digest = hashlib.blake2b(token.encode(), digest_size=8).digest()
        value = self[token] = int.from_bytes(digest, "little")
        return value


@numba.njit(cache=True, nogil=True)
def shingle_hash(tokens: NDArray[np.uint64], start: int, shingle: int) -> np.uint32:
    """Return the 32-bit hash of the shingle that begins at token `start`."""
    mixed = np.uint64(0)
    for place in range(start, start + shingle):
        mixed = mixed * _MULTIPLIER + tokens[place]
        mixed ^= mixed >> _SHIFT
    return np.uint32((mixed * _MIXER) >> _SHIFT)


@numba.njit(cache=True, nogil=True)
def _sign(
    tokens: NDArray[np.uint64],
    starts: NDArray[np.int64],
    shingle: int,
    factors: NDArray[np.uint32],
    offsets: NDArray[np.uint32],
    matrix: NDArray[np.uint32],
) -> None:
    """Write the least permuted hash of each text under each permutation into `matrix`."""
    for text in range(len(starts) - 1):
        least = matrix[text]
        least[:] = _EMPTY
        for start in range(starts[text], starts[text + 1] - shingle + 1):
            value = shingle_hash(tokens, start, shingle)
            # the finalizer of MurmurHash3
            value ^= value >> np.uint32(16)
            value = np.uint32(value * np.uint32(0x85EBCA6B))
            value ^= value >> np.uint32(13)
            value = np.uint32(value * np.uint32(0xC2B2AE35))
            value ^= value >> np.uint32(16)
            for place in range(len(factors)):
                permuted = np.uint32(factors[place] * value + offsets[place])
                least[place] = min(least[place], permuted)


def band_keys(
    signature_matrix: NDArray[np.uint32],
    threshold: float,
    blocks: NDArray[np.uint64] | None = None,
) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each band of each signature.

    Args:
        signature_matrix: array (texts, num_perm).
        threshold: the similarity of interest, in (0, 1]; it decides the bands (`banding`).
        blocks: one number a text; texts of different blocks get different keys.

    Returns:
        Array (texts, bands).
    """
    count, num_perm = signature_matrix.shape
    bands, rows = banding(threshold, num_perm)
    start = np.zeros(count, dtype=np.uint64) if blocks is None else blocks * _MULTIPLIER
    start ^= start >> _SHIFT
    keys = np.repeat(start[:, None], bands, axis=1)
    for row in range(rows):
        keys ^= signature_matrix[:, row : bands * rows : rows]
        keys *= _MULTIPLIER
        keys ^= keys >> _SHIFT
    return keys


def buckets(keys: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return, for each text, the buckets that it shares with another text.

    A bucket holds the texts with the same key in the same band. Memory is that of the keys,
    however many texts a bucket holds: pairs are not listed.

    Args:
        keys: array (texts, bands), as `band_keys` returns it.

    Returns:
        (starts, numbers): the buckets of text i are `numbers[starts[i]:starts[i + 1]]`.
    """
    count, bands = keys.shape
    shared = np.full((count, bands), -1, dtype=np.int32)
    used = 0
    for band in range(bands):
        order = np.argsort(keys[:, band])
        ordered = keys[order, band]
        same = ordered[1:] == ordered[:-1]
        member = np.zeros(count, dtype=bool)
        member[1:] |= same
        member[:-1] |= same
        first = np.ones(count, dtype=bool)
        first[1:] = ~same
        number = np.cumsum(first & member, dtype=np.int32)
        shared[order[member], band] = number[member] + (used - 1)
        used += int((first & member).sum())
    found = shared >= 0
    starts = np.concatenate([[0], np.cumsum(found.sum(axis=1))]).astype(np.int64)
    return starts, shared[found]
