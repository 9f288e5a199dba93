"""How many candidates of each category a query has: at one pair of thresholds, or at many."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numba import njit
from numpy.typing import NDArray

from saber_assets.candidates.features import Features, FloatArray, IntArray
from saber_assets.candidates.pairs import (
    Blocked,
    Progress,
    RowArray,
    blocked_pairs,
    by_topic_set,
    over_blocks,
    similarity_rows,
)
from saber_assets.candidates.precision import Precision, bin_count, bin_row, cutoff

MOST_LEVELS = 255


@njit(nogil=True, cache=True)
def _count_row(
    set_of: IntArray,
    topic: FloatArray,
    summary: FloatArray,
    cut_topic: float,
    cut_summary: float,
    counts: NDArray[np.int64],
) -> None:
    """Write the candidates of one row: topic-only, summary-only, both."""
    topics, summaries, both = 0, 0, 0
    for other in range(summary.shape[0]):
        if summary[other] < 0.0:
            continue
        near_topic = topic[set_of[other]] >= cut_topic
        near_summary = summary[other] >= cut_summary
        topics += near_topic
        summaries += near_summary
        both += near_topic and near_summary
    counts[0] = topics - both
    counts[1] = summaries - both
    counts[2] = both


def count_categories(
    features: Features,
    tau_topic: float,
    tau_summary: float,
    *,
    precision: Precision = "float64",
    excluded: Iterable[tuple[str, str]] = (),
    workers: int | None = None,
    progress: Progress | None = None,
) -> NDArray[np.int64]:
    """Count the candidates of every problem in each category.

    Args:
        features: the packed corpus of n problems.
        tau_topic: topic threshold in [0, 1]; a similarity equal to it is relevant.
        tau_summary: summary threshold in [0, 1], likewise.
        precision: compare in float64, or round similarities and thresholds to float16 first.
        excluded: pairs of problem ids that are never candidates of each other.
        workers: threads; None for all cores that this process may use.
        progress: called with the number of finished rows.

    Returns:
        (n, 3): topic-only, summary-only, both; the problem itself is not counted.

    Source: SPEC section 2, "Thresholds" and "Selection".
    """
    cut_topic, cut_summary = cutoff(tau_topic, precision), cutoff(tau_summary, precision)
    blocked = blocked_pairs(features, excluded)

    def kernel(rows: RowArray) -> NDArray[np.int64]:
        block = np.empty((len(rows), 3), dtype=np.int64)
        similarities = similarity_rows(features, blocked, rows)
        for counts, (_, topic, summary, _) in zip(block, similarities, strict=True):
            _count_row(features.arrays.set_of, topic, summary, cut_topic, cut_summary, counts)
        return block

    total = np.zeros((len(features), 3), dtype=np.int64)
    rows = by_topic_set(features, np.arange(len(features)))
    for members, found in over_blocks(rows, kernel, workers=workers, progress=progress):
        total[members] = found
    return total


@njit(nogil=True, cache=True)
def _capacity_row(
    set_of: IntArray,
    topic_level: NDArray[np.uint8],
    summary_bins: IntArray,
    summary_level: NDArray[np.uint8],
    out: IntArray,
) -> None:
    """Write for each threshold pair the smallest of the three category counts of one row."""
    levels = out.shape[0]
    near_topic = np.zeros(levels + 1, dtype=np.int32)
    near_summary = np.zeros(levels + 1, dtype=np.int32)
    near_both = np.zeros(levels + 1, dtype=np.int32)
    for other in range(summary_bins.shape[0]):
        if summary_bins[other] < 0:
            continue
        topic = topic_level[set_of[other]]
        summary = summary_level[summary_bins[other]]
        near_topic[topic] += 1
        near_summary[summary] += 1
        near_both[min(topic, summary)] += 1
    topics, summaries, both = 0, 0, 0
    for level in range(levels, 0, -1):
        topics += near_topic[level]
        summaries += near_summary[level]
        both += near_both[level]
        out[level - 1] = min(topics - both, summaries - both, both)


def _capacity_block(
    features: Features,
    blocked: Blocked,
    rows: RowArray,
    member: NDArray[np.bool_],
    levels: NDArray[np.uint8],
    steps: int,
    precision: Precision,
) -> IntArray:
    """Return (rows, domains, steps) smallest category counts; 0 where not of that domain."""
    set_of = features.arrays.set_of
    half = precision == "float16"
    capacity = np.zeros((len(rows), member.shape[1], steps), dtype=np.int32)
    topic_bins = np.empty(len(features.arrays.set_weight), dtype=np.int32)
    summary_bins = np.empty(len(features), dtype=np.int32)
    similarities = similarity_rows(features, blocked, rows)
    for out, (row, topic, summary, new_topics) in zip(capacity, similarities, strict=True):
        if new_topics:
            bin_row(topic, half, topic_bins)
        bin_row(summary, half, summary_bins)
        for domain in np.flatnonzero(member[row]):
            topic_level = levels[domain, 0][topic_bins]
            _capacity_row(set_of, topic_level, summary_bins, levels[domain, 1], out[domain])
    return capacity


def domain_capacities(
    features: Features,
    member: NDArray[np.bool_],
    threshold_bins: IntArray,
    *,
    precision: Precision,
    excluded: Iterable[tuple[str, str]] = (),
    workers: int | None = None,
    progress: Progress | None = None,
) -> list[IntArray]:
    """Return, for many threshold pairs at once, the largest K that each query could serve.

    Args:
        features: the packed corpus of n problems.
        member: (n, domains) which problem belongs to which domain.
        threshold_bins: (domains, 2, steps) bins of the thresholds of topic and summary
            similarity, not descending along the last axis.
        precision: what the bins are.
        excluded: pairs of problem ids that are never candidates of each other.
        workers: threads; None for all cores that this process may use.
        progress: called with the number of finished rows; rows without a domain are skipped.

    Returns:
        One (problems of the domain, steps) array a domain: the smallest of the three category
        counts. A query is eligible at K where its value is K or more.

    Raises:
        ValueError: for more than `MOST_LEVELS` steps.
    """
    domains, _, steps = threshold_bins.shape
    if steps > MOST_LEVELS:
        raise ValueError(f"at most {MOST_LEVELS} threshold pairs at once, got {steps}")
    every_bin = np.arange(bin_count(precision))
    levels = np.empty((domains, 2, every_bin.size), dtype=np.uint8)
    for domain in range(domains):
        for signal in range(2):
            levels[domain, signal] = np.searchsorted(
                threshold_bins[domain, signal], every_bin, side="right"
            )
    blocked = blocked_pairs(features, excluded)

    def kernel(rows: RowArray) -> IntArray:
        return _capacity_block(features, blocked, rows, member, levels, steps, precision)

    parts: list[list[IntArray]] = [[] for _ in range(domains)]
    rows = by_topic_set(features, np.flatnonzero(member.any(axis=1)))
    for members, found in over_blocks(rows, kernel, workers=workers, progress=progress):
        for domain in range(domains):
            parts[domain].append(found[member[members, domain], domain])
    empty = np.empty((0, steps), dtype=np.int32)
    return [np.concatenate([empty, *part]) for part in parts]
