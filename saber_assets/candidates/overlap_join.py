"""Threshold join of the summaries: how many tokens one problem shares with all, 64 at a time.

The overlap counts of a word's 64 problems stand in bit planes: plane p holds bit p of each. A
frequent token adds its bitmap by binary addition, three tokens at once; a rare one adds 1 to the
problems of its list. Jaccard >= cut is the same as overlap >= `least_overlap` of the two token
counts, an integer found by the very division of the definition, so that no rounding of its own
can move a pair across the threshold.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from saber_assets.candidates.features import IntArray
from saber_assets.candidates.overlap_index import STRETCH, OverlapIndex, Words

RowArray = NDArray[np.int64]


@njit(nogil=True, cache=True)
def least_overlap(sizes: IntArray, empty_jaccard: float, cut: float) -> IntArray:
    """Return the smallest overlap of two problems with which Jaccard reaches a cut.

    Args:
        sizes: (c,) the token counts.
        empty_jaccard: similarity of two problems without tokens.
        cut: the similarity to reach.

    Returns:
        (c, c); the smaller of the two token counts plus 1 where no overlap suffices.
    """
    least = np.empty((sizes.shape[0], sizes.shape[0]), dtype=np.int32)
    for mine in range(sizes.shape[0]):
        for other in range(sizes.shape[0]):
            most, total = min(sizes[mine], sizes[other]), sizes[mine] + sizes[other]
            if total == 0:
                least[mine, other] = 0 if empty_jaccard >= cut else 1
                continue
            low, high = 0, most + 1
            while low < high:  # Jaccard grows with the overlap
                middle = (low + high) // 2
                if middle / (total - middle) >= cut:
                    high = middle
                else:
                    low = middle + 1
            least[mine, other] = low
    return least


@njit(nogil=True, cache=True)
def _sum_three(x: Words, y: Words, z: Words, ones: Words, twos: Words) -> None:
    for word in range(ones.shape[0]):
        either = x[word] ^ y[word]
        ones[word] = either ^ z[word]
        twos[word] = (x[word] & y[word]) | (either & z[word])


@njit(nogil=True, cache=True)
def _add_half(plane: Words, carry: Words) -> None:
    for word in range(plane.shape[0]):
        both = plane[word] & carry[word]
        plane[word] ^= carry[word]
        carry[word] = both


@njit(nogil=True, cache=True)
def _add_full(plane: Words, more: Words, carry: Words) -> None:
    for word in range(plane.shape[0]):
        either = plane[word] ^ more[word]
        both = (plane[word] & more[word]) | (either & carry[word])
        plane[word] = either ^ carry[word]
        carry[word] = both


@njit(nogil=True, cache=True)
def _add_frequent(
    bitmaps: Words, numbers: IntArray, first_frequent: int, planes: Words, spare: Words
) -> None:
    """Add the bitmaps (frequent + 1, STRETCH) of frequent tokens, three at a time."""
    ones, twos = spare[0], spare[1]
    nothing, count = bitmaps.shape[0] - 1, numbers.shape[0]
    for begin in range(0, count, 3):
        second = numbers[begin + 1] - first_frequent if begin + 1 < count else nothing
        third = numbers[begin + 2] - first_frequent if begin + 2 < count else nothing
        first = numbers[begin] - first_frequent
        _sum_three(bitmaps[first], bitmaps[second], bitmaps[third], ones, twos)
        _add_half(planes[0], ones)
        if planes.shape[0] > 1:
            _add_full(planes[1], twos, ones)
        level, reached = 2, 4
        while level < planes.shape[0] and reached <= begin + 3:
            _add_half(planes[level], ones)
            level, reached = level + 1, 2 * reached


@njit(nogil=True, cache=True)
def _add_rare(
    index: OverlapIndex, tokens: IntArray, first: int, last: int, planes: Words, cursor: RowArray
) -> None:
    """Add 1 at the places of rare tokens between two words; `cursor` goes on with the stretch."""
    for position in range(tokens.shape[0]):
        token = tokens[position]
        at, end = cursor[position], index.list_start[token + 1]
        while at < end and index.places[at] < last * 64:
            word = (index.places[at] >> 6) - first
            carry = np.uint64(1) << np.uint64(index.places[at] & 63)
            level = 0
            while carry != 0 and level < planes.shape[0]:
                both = planes[level, word] & carry
                planes[level, word] ^= carry
                carry = both
                level += 1
            at += 1
        cursor[position] = at


@njit(nogil=True, cache=True)
def _reach(planes: Words, least: int, begin: int, end: int, out: Words) -> None:
    """Write which problems of the words begin..end of the planes share `least` tokens or more."""
    ones = ~np.uint64(0)
    reached = out[begin:end]
    reached[:] = ones if least < (1 << planes.shape[0]) else np.uint64(0)
    for level in range(planes.shape[0]):
        plane = planes[level, begin:end]
        if (least >> level) & 1:
            for word in range(end - begin):
                reached[word] &= plane[word]
        else:
            for word in range(end - begin):
                reached[word] |= plane[word]


@njit(nogil=True, cache=True)
def _bits(words: Words) -> np.int64:
    """Count the bits that are set."""
    total = np.uint64(0)
    for position in range(words.shape[0]):
        word = words[position]
        word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
        word = (word & np.uint64(0x3333333333333333)) + (
            (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
        )
        word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
        total += (word * np.uint64(0x0101010101010101)) >> np.uint64(56)
    return np.int64(total)


@njit(nogil=True, cache=True)
def _count_overlaps(
    index: OverlapIndex,
    least: IntArray,
    mine: int,
    first: int,
    last: int,
    planes: Words,
    spare: Words,
    counts: IntArray,
) -> None:
    """Add to counts (c, overlaps) the places of the words first..last, by their overlap."""
    for other in range(index.sizes.shape[0]):
        begin, end = max(index.class_start[other], first), min(index.class_start[other + 1], last)
        if begin >= end:
            continue
        most = min(index.sizes[mine], index.sizes[other])
        for overlap in range(max(least[mine, other], 1), most + 1):
            _reach(planes, overlap, begin - first, end - first, spare[0])
            found = _bits(spare[0, begin - first : end - first])
            if found == 0:
                break
            counts[other, overlap] += found
            if overlap > max(least[mine, other], 1):
                counts[other, overlap - 1] -= found


@njit(nogil=True, cache=True)
def _mark_near(
    index: OverlapIndex,
    least: IntArray,
    mine: int,
    first: int,
    last: int,
    planes: Words,
    near: Words,
) -> None:
    """Write into near (last - first,) which places of the words first..last reach `least`."""
    near[max(0, index.class_start[-1] - first) :] = 0  # no class is there
    for other in range(index.sizes.shape[0]):
        begin, end = max(index.class_start[other], first), min(index.class_start[other + 1], last)
        if begin >= end:
            continue
        needed = least[mine, other]
        if needed <= 0:
            near[begin - first : end - first] = index.occupied[begin:end]
        elif needed > min(index.sizes[mine], index.sizes[other]):
            near[begin - first : end - first] = 0
        else:
            _reach(planes, needed, begin - first, end - first, near)


@njit(nogil=True, cache=True)
def overlap_block(
    index: OverlapIndex,
    rows: RowArray,
    least: IntArray,
    blocked: tuple[RowArray, IntArray],
    near: Words,
    counts: IntArray,
) -> None:
    """Join a block of query rows with all problems.

    Args:
        index: of the corpus.
        rows: r query rows.
        least: (c, c) the overlap that matters, from `least_overlap`.
        blocked: (start, rows) the problems that are no candidates of each, see `pairs.Blocked`.
        near: (r, W) receives the places that reach it; (0, 0) where not wanted.
        counts: (r, c, overlaps) receives the pairs by the class of the other and their overlap,
            from `least` up; (0, 0, 0) where not wanted. `overlaps` is more than the largest
            token count.
    """
    counts[:] = 0
    words = index.occupied.shape[0]
    planes = np.empty((64, STRETCH), dtype=np.uint64)
    spare = np.empty((2, STRETCH), dtype=np.uint64)
    begins = np.zeros(rows.shape[0] + 1, dtype=np.int64)
    for position in range(rows.shape[0]):
        row = rows[position]
        begins[position + 1] = (
            begins[position] + index.token_start[row + 1] - index.token_start[row]
        )
    cursors = np.empty(begins[-1], dtype=np.int64)
    for position in range(rows.shape[0]):
        start = index.token_start[rows[position]]
        for place in range(begins[position + 1] - begins[position]):
            cursors[begins[position] + place] = index.list_start[index.tokens[start + place]]
    for first in range(0, words, STRETCH):
        last = first + STRETCH
        for position in range(rows.shape[0]):
            row = rows[position]
            tokens = index.tokens[index.token_start[row] : index.token_start[row + 1]]
            rare = np.searchsorted(tokens, index.first_frequent)
            levels = 1
            while (tokens.shape[0] >> levels) > 0:
                levels += 1
            active = planes[:levels]
            active[:] = 0
            bitmaps = index.bitmaps[first // STRETCH]
            _add_frequent(bitmaps, tokens[rare:], index.first_frequent, active, spare)
            _add_rare(index, tokens[:rare], first, last, active, cursors[begins[position] :])
            mine = index.class_of[row]
            if near.shape[0] > 0:
                _mark_near(index, least, mine, first, last, active, near[position, first:last])
            if counts.shape[0] > 0:
                _count_overlaps(index, least, mine, first, last, active, spare, counts[position])
    if counts.shape[0] > 0:
        _count_strangers(index, least, rows, counts)
    _leave_out(index, rows, least, blocked, near, counts)


@njit(nogil=True, cache=True)
def _count_strangers(
    index: OverlapIndex, least: IntArray, rows: RowArray, counts: IntArray
) -> None:
    """Count the pairs without a common token, where those matter."""
    members = np.zeros(index.sizes.shape[0], dtype=np.int32)
    for other in index.class_of:
        members[other] += 1
    for position in range(rows.shape[0]):
        for other in range(members.shape[0]):
            if least[index.class_of[rows[position]], other] <= 0:
                counts[position, other, 0] = members[other] - counts[position, other, 1:].sum()


@njit(nogil=True, cache=True)
def _overlap(index: OverlapIndex, row: int, other: int) -> int:
    """Return how many tokens two problems share."""
    left, left_end = index.token_start[row], index.token_start[row + 1]
    right, right_end = index.token_start[other], index.token_start[other + 1]
    shared = 0
    while left < left_end and right < right_end:
        mine, theirs = index.tokens[left], index.tokens[right]
        shared += mine == theirs
        left += mine <= theirs
        right += theirs <= mine
    return shared


@njit(nogil=True, cache=True)
def _leave_out(
    index: OverlapIndex,
    rows: RowArray,
    least: IntArray,
    blocked: tuple[RowArray, IntArray],
    near: Words,
    counts: IntArray,
) -> None:
    start, barred = blocked
    for position in range(rows.shape[0]):
        row = rows[position]
        for other in barred[start[row] : start[row + 1]]:
            if near.shape[0] > 0:
                place = index.place_of[other]
                near[position, place >> 6] &= ~(np.uint64(1) << np.uint64(place & 63))
            if counts.shape[0] > 0:
                shared = _overlap(index, row, other)
                if shared >= least[index.class_of[row], index.class_of[other]]:
                    counts[position, index.class_of[other], shared] -= 1


@njit(nogil=True, cache=True)
def jaccard_table(sizes: IntArray, empty_jaccard: float) -> NDArray[np.float64]:
    """Return the Jaccard similarity of each (token count, token count, overlap): (c, c, o)."""
    most = sizes.max() if sizes.shape[0] > 0 else 0
    table = np.zeros((sizes.shape[0], sizes.shape[0], most + 1))
    for mine in range(sizes.shape[0]):
        for other in range(sizes.shape[0]):
            total = sizes[mine] + sizes[other]
            if total == 0:
                table[mine, other, 0] = empty_jaccard
            for shared in range(1, min(sizes[mine], sizes[other]) + 1):
                table[mine, other, shared] = shared / (total - shared)
    return table
