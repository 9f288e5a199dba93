"""An index of the summary tokens in which one word of 64 bits speaks of 64 problems.

Problems are put in the order of their token counts, each count beginning at a new word; so a
range of words needs one and the same overlap to reach a Jaccard similarity. A frequent token is
a bitmap over these places; a rare one is a list of places.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from saber_assets.candidates.features import Features, IntArray, JoinArrays

Words = NDArray[np.uint64]
STRETCH = 512
"""Words that are worked on at a time: planes and popular bitmaps stay in the cache."""
RARE_SHARE = 1000
"""A token in fewer than one of this many problems is rare: its list is shorter than a bitmap."""
FEWEST_FREQUENT = 16


class OverlapIndex(NamedTuple):
    """Places, bitmaps and lists; W words in all, a multiple of `STRETCH`.

    Attributes:
        place_of: (n,) place of each problem.
        problem_at: (64 W,) problem at each place, -1 at the ends of classes.
        class_of: (n,) class of each problem: problems of one token count.
        sizes: (c,) token count of each class, ascending.
        class_start: (c + 1,) first word of each class.
        occupied: (W,) bits of the places that hold a problem.
        token_start: (n + 1,) offsets into `tokens`.
        tokens: token ids of each problem, rare ones first.
        first_frequent: tokens from here on have a bitmap.
        bitmaps: (stretches, frequent + 1, STRETCH) one a frequent token, then one without any bit.
        list_start: (v + 1,) offsets into `places`; empty for frequent tokens.
        places: places of the problems that have each rare token, ascending.
    """

    place_of: IntArray
    problem_at: IntArray
    class_of: IntArray
    sizes: IntArray
    class_start: IntArray
    occupied: Words
    token_start: NDArray[np.int64]
    tokens: IntArray
    first_frequent: int
    bitmaps: Words
    list_start: NDArray[np.int64]
    places: IntArray


def overlap_index(features: Features) -> OverlapIndex:
    """Build the index of a corpus."""
    arrays = features.arrays
    lengths = np.diff(arrays.token_start)
    sizes, class_of, members = np.unique(lengths, return_inverse=True, return_counts=True)
    class_start = np.concatenate(([0], np.cumsum((members + 63) // 64)))
    order = np.argsort(class_of, kind="stable")
    within = np.arange(len(features)) - np.repeat(np.cumsum(members) - members, members)
    place_of = np.empty(len(features), dtype=np.int32)
    place_of[order] = 64 * class_start[class_of[order]] + within
    words = -(-int(class_start[-1]) // STRETCH) * STRETCH
    problem_at = np.full(64 * words, -1, dtype=np.int32)
    problem_at[place_of] = np.arange(len(features))
    occupied = np.packbits(problem_at >= 0, bitorder="little").view(np.uint64)

    frequency = np.diff(arrays.posting_start)
    bound = max(FEWEST_FREQUENT, len(features) // RARE_SHARE)
    first_frequent = int(np.searchsorted(frequency, bound))
    list_start = arrays.posting_start.copy()
    list_start[first_frequent + 1 :] = list_start[first_frequent]
    return OverlapIndex(
        place_of=place_of,
        problem_at=problem_at,
        class_of=class_of.astype(np.int32),
        sizes=sizes.astype(np.int32),
        class_start=class_start.astype(np.int32),
        occupied=occupied,
        token_start=arrays.token_start,
        tokens=arrays.tokens,
        first_frequent=first_frequent,
        bitmaps=_bitmaps(arrays, place_of, first_frequent, words),
        list_start=list_start,
        places=_rare_places(arrays, place_of, first_frequent),
    )


@njit(cache=True)
def _bitmaps(arrays: JoinArrays, place_of: IntArray, first_frequent: int, words: int) -> Words:
    tokens = arrays.posting_start.shape[0] - 1
    bitmaps = np.zeros((words // STRETCH, tokens - first_frequent + 1, STRETCH), dtype=np.uint64)
    for token in range(first_frequent, tokens):
        for posting in range(arrays.posting_start[token], arrays.posting_start[token + 1]):
            place = place_of[arrays.postings[posting]]
            stretch, word = divmod(place >> 6, STRETCH)
            bit = np.uint64(1) << np.uint64(place & 63)
            bitmaps[stretch, token - first_frequent, word] |= bit
    return bitmaps


@njit(cache=True)
def _rare_places(arrays: JoinArrays, place_of: IntArray, first_frequent: int) -> IntArray:
    places = np.empty(arrays.posting_start[first_frequent], dtype=np.int32)
    for token in range(first_frequent):
        begin, end = arrays.posting_start[token], arrays.posting_start[token + 1]
        places[begin:end] = np.sort(place_of[arrays.postings[begin:end]])
    return places
