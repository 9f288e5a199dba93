"""Threshold join of the topic sets: best-match averages that reach a cut, for distinct sets.

An average reaches the cut only where one best match does, so the candidates of a set are the
sets that hold a topic whose Lin with one of its topics is at least the cut; few pairs of topics
have it. For each candidate the sum over its own topics of their best match is cheap and bounds
the average, because each other best match is at most 1; what remains is computed as
`topic_join.py` does, with the same exact sums, so the two agree to the bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from saber_assets.candidates.features import Features, FloatArray, IntArray, JoinArrays
from saber_assets.candidates.lin_blocks import LinBlocks

Offsets = NDArray[np.int64]
SLACK = 1e-9
"""What the bound grants beyond the cut: far more than the rounding of the product in it."""


class NearIndex(NamedTuple):
    """What leads from a topic set to its candidates at one cut.

    Attributes:
        cut: the similarity to reach.
        near_start: (m + 1,) offsets into `near`.
        near: for each topic, the topics whose Lin with it is at least the cut.
        holder_start: (m + 1,) offsets into `holders`.
        holders: for each topic, the distinct sets that hold it, ascending.
    """

    cut: float
    near_start: Offsets
    near: IntArray
    holder_start: Offsets
    holders: IntArray


def near_index(features: Features, cut: float) -> NearIndex:
    """Build the index for one cut in [0, 1]."""
    arrays = features.arrays
    near_start, near = _near_topics(arrays.lin, cut)
    set_of_entry = np.repeat(
        np.arange(len(arrays.set_weight), dtype=np.int32), np.diff(arrays.set_start)
    )
    counts = np.bincount(arrays.set_nodes, minlength=len(arrays.lin.row))
    return NearIndex(
        cut=float(cut),
        near_start=near_start,
        near=near,
        holder_start=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        holders=set_of_entry[np.argsort(arrays.set_nodes, kind="stable")],
    )


@njit(nogil=True, cache=True)
def _near_topics(lin: LinBlocks, cut: float) -> tuple[Offsets, IntArray]:
    topics = lin.row.shape[0]
    start = np.zeros(topics + 1, dtype=np.int64)
    for topic in range(topics):
        found = 0
        for other in range(lin.first[topic], lin.last[topic]):
            found += lin.values[lin.row[topic] + other] >= cut
        start[topic + 1] = start[topic] + found
    near = np.empty(start[topics], dtype=np.int32)
    for topic in range(topics):
        position = start[topic]
        for other in range(lin.first[topic], lin.last[topic]):
            if lin.values[lin.row[topic] + other] >= cut:
                near[position] = other
                position += 1
    return start, near


@njit(nogil=True, cache=True)
def _candidates(
    arrays: JoinArrays, index: NearIndex, topics: IntArray, seen: IntArray, mark: int, out: IntArray
) -> int:
    """Write the sets that could reach the cut, once each; return how many."""
    if index.cut <= 0.0:
        for other in range(out.shape[0]):
            out[other] = other
        return out.shape[0]
    found = 0
    for topic in topics:
        for position in range(index.near_start[topic], index.near_start[topic + 1]):
            node = index.near[position]
            for holder in range(index.holder_start[node], index.holder_start[node + 1]):
                other = index.holders[holder]
                if seen[other] != mark:
                    seen[other] = mark
                    out[found] = other
                    found += 1
    return found


@njit(nogil=True, cache=True)
def _sum_forward(lin: LinBlocks, topics: IntArray, others: IntArray) -> float:
    """Return the sum over one set's topics of their best match in the other set."""
    total = 0.0
    for topic in topics:
        first, last, row = lin.first[topic], lin.last[topic], lin.row[topic]
        top = 0.0
        for other in others:
            if first <= other < last:
                top = max(top, lin.values[row + other])
        total += top
    return total


@njit(nogil=True, cache=True)
def _set_best(lin: LinBlocks, topics: IntArray, best: FloatArray) -> None:
    """Write the best Lin of every related topic with the set; what is unrelated stays."""
    for topic in topics:
        best[lin.first[topic] : lin.last[topic]] = 0.0
    for topic in topics:
        row = lin.row[topic]
        for other in range(lin.first[topic], lin.last[topic]):
            value = lin.values[row + other]
            best[other] = value if value > best[other] else best[other]


@njit(nogil=True, cache=True)
def near_topic_sets(
    arrays: JoinArrays, index: NearIndex, topic_sets: IntArray
) -> tuple[Offsets, IntArray, FloatArray]:
    """Join distinct topic sets with all distinct topic sets.

    Args:
        arrays: the packed corpus.
        index: of the cut.
        topic_sets: numbers of the q query sets.

    Returns:
        Offsets (q + 1,), and for each query the sets whose best-match average with it is at
        least the cut, itself among them, with those averages.
    """
    start = np.zeros(topic_sets.shape[0] + 1, dtype=np.int64)
    sets, values = np.empty(1 << 14, dtype=np.int32), np.empty(1 << 14)
    seen = np.full(arrays.set_weight.shape[0], -1, dtype=np.int32)
    listed = np.empty(arrays.set_weight.shape[0], dtype=np.int32)
    best = np.zeros(arrays.lin.row.shape[0])
    written = 0
    for query in range(topic_sets.shape[0]):
        begin = arrays.set_start[topic_sets[query]]
        topics = arrays.set_nodes[begin : arrays.set_start[topic_sets[query] + 1]]
        size = topics.shape[0]
        _set_best(arrays.lin, topics, best)
        count = _candidates(arrays, index, topics, seen, query, listed)
        if written + count > sets.shape[0]:
            room = max(2 * sets.shape[0], written + count)
            more_sets, more_values = np.empty(room, dtype=np.int32), np.empty(room)
            more_sets[:written], more_values[:written] = sets[:written], values[:written]
            sets, values = more_sets, more_values
        for position in range(count):
            other = listed[position]
            first, last = arrays.set_start[other], arrays.set_start[other + 1]
            back = 0.0
            for place in range(first, last):
                back += best[arrays.set_nodes[place]]
            together = size + last - first
            if back + size < index.cut * together - SLACK:
                continue
            total = back + _sum_forward(arrays.lin, topics, arrays.set_nodes[first:last])
            value = total / together if total > 0.0 else 0.0
            if value >= index.cut:
                sets[written], values[written] = other, value
                written += 1
        for topic in topics:
            best[arrays.lin.first[topic] : arrays.lin.last[topic]] = 0.0
        start[query + 1] = written
    return start, sets[:written], values[:written]
