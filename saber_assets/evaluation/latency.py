"""Seconds a query, under one protocol for all retrievers (SPEC, section 2, 'Evaluation').

* 50 fixed queries, the same for every retriever, each with its whole pool.
* 16 in flight: threads of numerical libraries are capped at 16; a retriever that works in batches
  or asks a server has to keep to 16 itself (its attribute `in_flight` is set to it).
* Cold cache: whatever it remembers is dropped before each query (its method `forget`).
* Loading lies outside: one query is asked, untimed, before the clock runs, and what it opened stays
  open (its method `kept_open`).
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from saber_assets.evaluation.text_scores import text_scores
from saber_assets.retrieval.protocol import Retriever

QUERIES = 50
IN_FLIGHT = 16

Clock = Callable[[], float]


@dataclass(frozen=True)
class Latency:
    """Seconds a query.

    Attributes:
        queries: timed.
        mean: seconds.
        median: seconds.
        p90: 90 % of the queries took at most this, interpolated linearly.
        p99: likewise.
        longest: seconds.
    """

    queries: int
    mean: float
    median: float
    p90: float
    p99: float
    longest: float


def fixed_queries(query_ids: Sequence[str], count: int = QUERIES) -> list[str]:
    """Return the queries that are timed: always the same ones, whatever their order.

    Args:
        query_ids: of the benchmark, without repeats.
        count: at most so many.
    """

    def place(query_id: str) -> bytes:
        return hashlib.blake2b(f"latency\x1f{query_id}".encode(), digest_size=16).digest()

    return sorted(sorted(query_ids, key=place)[:count])


def time_queries(
    ask: Callable[[int], object],
    count: int,
    before: Callable[[], object] | None = None,
    clock: Clock = time.perf_counter,
    progress: Callable[[int], None] | None = None,
) -> NDArray[np.float64]:
    """Return the seconds that each query took, float64 (count,).

    Args:
        ask: is given the query's number, from 0, and timed.
        count: of queries; query 0 is asked once more, untimed, before the others.
        before: called, untimed, before each query; drops what is remembered.
        clock: seconds, never going back.
        progress: called with the number of newly finished queries.
    """
    seconds = np.zeros(count)
    if count:
        ask(0)
    for number in range(count):
        if before is not None:
            before()
        started = clock()
        ask(number)
        seconds[number] = clock() - started
        if progress is not None:
            progress(1)
    return seconds


def time_retriever(
    retriever: Retriever,
    pools: Sequence[tuple[str, Sequence[str]]],
    clock: Clock = time.perf_counter,
    progress: Callable[[int], None] | None = None,
) -> NDArray[np.float64]:
    """Return the seconds that a retriever takes for each query with its pool.

    Args:
        retriever: its attribute `in_flight` is set where it has one, its method `forget` is
            called before each query, all within the context of its method `kept_open`.
        pools: text of each query and of its documents.
        clock: seconds, never going back.
        progress: called with the number of newly finished queries.

    Raises:
        UnusableScoresError: when it fails on a query; there is no time for work not done.
    """
    if hasattr(retriever, "in_flight"):
        retriever.in_flight = IN_FLIGHT
    forget = getattr(retriever, "forget", None)
    kept_open = getattr(retriever, "kept_open", None)
    opened = kept_open() if callable(kept_open) else nullcontext()
    with opened, threadpool_limits(limits=IN_FLIGHT):
        return time_queries(
            lambda number: text_scores(retriever, *pools[number]),
            len(pools),
            forget if callable(forget) else None,
            clock,
            progress,
        )


def summarise(seconds: ArrayLike) -> Latency:
    """Return the percentiles of some seconds.

    Args:
        seconds: (n,) with n >= 1, finite and not negative.

    Raises:
        ValueError: on anything else.
    """
    taken = np.asarray(seconds, dtype=np.float64)
    if taken.ndim != 1 or taken.size == 0 or not np.isfinite(taken).all() or (taken < 0).any():
        raise ValueError("seconds must be a vector of finite numbers that aren't negative")
    median, p90, p99 = np.percentile(taken, [50, 90, 99])
    return Latency(
        queries=taken.size,
        mean=float(taken.mean()),
        median=float(median),
        p90=float(p90),
        p99=float(p99),
        longest=float(taken.max()),
    )
