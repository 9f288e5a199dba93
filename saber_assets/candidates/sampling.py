"""The pools: K candidates of each category, uniformly without replacement, for each query.

Bottom-K sampling: every (query, candidate) pair has a 64-bit priority, a mix of a keyed hash of
(seed, query_id) and a hash of the candidate's id; the K members of a category with the lowest
priorities are its sample. Every subset of K members is equally likely over seeds, and the sample
of a query depends on its seed, its id and its members only: neither on blocks, threads and the
order of the corpus, nor on the other queries.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import polars as pl
from numba import njit
from numpy.typing import NDArray

from saber_assets.candidates.blocks import BlockRunner, Kernel, run_pass
from saber_assets.candidates.features import Features, FloatArray, IntArray
from saber_assets.candidates.pairs import (
    Blocked,
    Progress,
    RowArray,
    blocked_pairs,
    over_blocks,
    similarity_rows,
)
from saber_assets.candidates.precision import Precision, as_stored, cutoff
from saber_assets.candidates.selection import keyed_number
from saber_assets.candidates.tables import CANDIDATE_POOLS, CATEGORIES
from saber_assets.errors import InputError

Keys = NDArray[np.uint64]
POOL_COLUMNS = (
    "query_id", "candidate_id", "category", "topic_similarity", "summary_similarity",
)  # fmt: skip


class _Samples(NamedTuple):
    """Samples of a block of queries; entries beyond `found` mean nothing.

    Attributes:
        found: (rows, 3) members of each category, more than K perhaps.
        rows: (rows, 3, K) sampled rows, by priority.
        topic: (rows, 3, K) topic similarities.
        summary: (rows, 3, K) summary similarities.
    """

    found: NDArray[np.int64]
    rows: IntArray
    topic: FloatArray
    summary: FloatArray


@njit(nogil=True, cache=True)
def _mixed(key: np.uint64) -> np.uint64:
    """Return the finaliser of splitmix64: a bijection in which each bit depends on all."""
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))


@njit(nogil=True, cache=True)
def _sample_row(
    set_of: IntArray,
    topic: FloatArray,
    summary: FloatArray,
    cuts: tuple[float, float],
    query_key: np.uint64,
    keys: Keys,
    sample: IntArray,
    found: NDArray[np.int64],
) -> None:
    """Write the sample (3, K) of one query, by priority, and the sizes (3,) of its categories."""
    category = np.empty(summary.shape[0], dtype=np.int8)
    for other in range(summary.shape[0]):
        near_topic = topic[set_of[other]] >= cuts[0]
        near_summary = summary[other] >= cuts[1]
        category[other] = -1
        if summary[other] >= 0.0 and (near_topic or near_summary):
            category[other] = 2 if near_topic and near_summary else 0 if near_topic else 1
    for wanted in range(3):
        members = np.flatnonzero(category == wanted)
        priorities = np.empty(members.shape[0], dtype=np.uint64)
        for i in range(members.shape[0]):
            priorities[i] = _mixed(_mixed(keys[members[i]] ^ query_key))
        order = np.argsort(priorities)
        found[wanted] = members.shape[0]
        for i in range(min(sample.shape[1], members.shape[0])):
            sample[wanted, i] = members[order[i]]


def _sample_block(
    features: Features,
    blocked: Blocked,
    rows: RowArray,
    seed: int,
    keys: Keys,
    cuts: tuple[float, float],
    k: int,
) -> _Samples:
    set_of = features.arrays.set_of
    shape = (len(rows), 3, k)
    samples = _Samples(
        found=np.zeros(shape[:2], dtype=np.int64),
        rows=np.zeros(shape, dtype=np.int32),
        topic=np.zeros(shape),
        summary=np.zeros(shape),
    )
    query_keys = _keys(seed, "query", [features.problem_ids[row] for row in rows])
    for position, near in enumerate(similarity_rows(features, blocked, rows)):
        sample = samples.rows[position]
        _sample_row(
            set_of,
            near.topic,
            near.summary,
            cuts,
            query_keys[position],
            keys,
            sample,
            samples.found[position],
        )
        samples.topic[position] = near.topic[set_of[sample]]
        samples.summary[position] = near.summary[sample]
    return samples


@dataclass(frozen=True)
class PoolPass:
    """Draws the pools of query rows.

    Attributes:
        features: the packed corpus.
        blocked: pairs that are never candidates of each other.
        cuts: topic and summary similarity to reach.
        k: candidates of each category.
        seed: of the sampling.
        precision: of the similarities that are returned.
    """

    VERSION: ClassVar[int] = 1
    features: Features
    blocked: Blocked
    cuts: tuple[float, float]
    k: int
    seed: int
    precision: Precision

    def prepare(self, threads: int) -> Kernel:
        """Return a kernel that makes the rows of CANDIDATE_POOLS, but for constant columns."""
        keys = _keys(0, "candidate", self.features.problem_ids)

        def kernel(rows: RowArray) -> _Samples:
            return _sample_block(
                self.features, self.blocked, rows, self.seed, keys, self.cuts, self.k
            )

        def draw(rows: RowArray, progress: Progress | None) -> pl.DataFrame:
            parts = [CANDIDATE_POOLS.empty().select(POOL_COLUMNS)]
            for members, samples in over_blocks(rows, kernel, workers=threads, progress=progress):
                _refuse_short(self.features, members, samples.found, self.k)
                parts.append(_frame(self.features, members, samples, self.precision))
            return pl.concat(parts, how="vertical_relaxed")

        return draw


def sample_pools(
    features: Features,
    query_ids: Sequence[str],
    k: int,
    taus: tuple[float, float],
    seed: int,
    excluded: Iterable[tuple[str, str]] = (),
    precision: Precision = "float64",
    *,
    workers: int | None = None,
    runner: BlockRunner | None = None,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Draw the candidate pools.

    Args:
        features: the packed corpus of n problems.
        query_ids: distinct ids of the queries.
        k: K, candidates of each category.
        taus: thresholds of topic and summary similarity, in [0, 1].
        seed: of the sampling.
        excluded: pairs of problem ids (listed duplicates) that are never candidates of each
            other; ids that are not in the corpus are ignored.
        precision: where similarities and thresholds are compared; in "float16" the similarities
            are also returned rounded to float16.
        workers: threads; None for all cores that this process may use.
        runner: makes the pass in blocks, on workers of its own.
        progress: called with the number of finished queries.

    Returns:
        CANDIDATE_POOLS: 3 K rows a query, by query_id, category (topic-only, summary-only,
        both) and candidate_id.

    Raises:
        InputError: when a query has fewer than K candidates in a category.
        ValueError: for `k` below 1, unknown or repeated queries, or thresholds out of range.

    Source: SPEC section 2, "Selection".
    """
    if k < 1:
        raise ValueError(f"k is at least 1, got {k}")
    if len(set(query_ids)) != len(query_ids):
        raise ValueError("query ids are repeated")
    cuts = cutoff(taus[0], precision), cutoff(taus[1], precision)
    blocked = blocked_pairs(features, excluded)
    work = PoolPass(features, blocked, cuts, k, seed, precision)
    rows = features.rows_of(query_ids)
    drawn = pl.concat(run_pass(work, rows, runner, workers=workers, progress=progress))
    constants = {"tau_topic": taus[0], "tau_summary": taus[1], "seed": seed}
    pools = drawn.with_columns(pl.lit(value).alias(n) for n, value in constants.items())
    order = pl.col("category").replace_strict(list(CATEGORIES), list(range(3)))
    return CANDIDATE_POOLS.conform(pools.sort("query_id", order, "candidate_id"))


def _keys(seed: int, purpose: str, names: Sequence[str]) -> Keys:
    return np.array([keyed_number(seed, purpose, name) for name in names], dtype=np.uint64)


def _refuse_short(features: Features, rows: RowArray, found: NDArray[np.int64], k: int) -> None:
    short = np.flatnonzero(found.min(axis=1) < k)
    if short.size == 0:
        return
    counts = ", ".join(
        f"{count} {name}" for name, count in zip(CATEGORIES, found[short[0]], strict=True)
    )
    raise InputError(
        f"query {features.problem_ids[rows[short[0]]]} has too few candidates for K = {k} "
        f"({counts})",
        "choose queries that are eligible at these thresholds, or a smaller K",
    )


def _frame(
    features: Features, rows: RowArray, samples: _Samples, precision: Precision
) -> pl.DataFrame:
    k = samples.rows.shape[2]
    ids = np.array(features.problem_ids, dtype=object)
    return pl.DataFrame(
        {
            "query_id": pl.Series(np.repeat(ids[rows], 3 * k).tolist(), dtype=pl.String),
            "candidate_id": pl.Series(ids[samples.rows.ravel()].tolist(), dtype=pl.String),
            "category": np.tile(np.repeat(np.array(CATEGORIES), k), len(rows)).tolist(),
            "topic_similarity": as_stored(samples.topic.ravel(), precision),
            "summary_similarity": as_stored(samples.summary.ravel(), precision),
        }
    )
