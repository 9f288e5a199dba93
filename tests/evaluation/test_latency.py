"""The latency protocol, with a clock that the test turns."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.evaluation.latency import (
    IN_FLIGHT,
    QUERIES,
    fixed_queries,
    summarise,
    time_queries,
    time_retriever,
)
from saber_assets.evaluation.text_scores import UnusableScoresError


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def test_only_the_asking_is_timed():
    clock, log = Clock(), []

    def ask(number):
        log.append(number)
        clock.now += 5.0 if len(log) == 1 else 1.0 + number  # the first one loads

    def forget():
        log.append("forget")
        clock.now += 50

    told = []
    seconds = time_queries(ask, 3, forget, clock, told.append)
    assert seconds.tolist() == [1, 2, 3]
    assert log == [0, "forget", 0, "forget", 1, "forget", 2]
    assert told == [1, 1, 1]
    assert time_queries(ask, 0, forget, clock).size == 0


class Remembering:
    """Takes a second for each document that it does not remember."""

    def __init__(self, clock):
        self.clock, self.known, self.in_flight = clock, set(), 1

    def score(self, query, documents):
        self.clock.now += len(set(documents) - self.known)
        self.known |= set(documents)
        return [0.0] * len(documents)

    def forget(self):
        self.known.clear()


def test_the_cache_is_cold_and_sixteen_are_in_flight():
    clock = Clock()
    retriever = Remembering(clock)
    pools = [("a", ["x", "y"]), ("b", ["x", "y", "z"]), ("c", ["x"])]
    assert time_retriever(retriever, pools, clock).tolist() == [2, 3, 1]
    assert retriever.in_flight == IN_FLIGHT == 16


def test_a_retriever_that_fails_has_no_latency():
    class Broken:
        def score(self, query, documents):
            return []

    with pytest.raises(UnusableScoresError, match="shape"):
        time_retriever(Broken(), [("a", ["x"])])


@settings(max_examples=30, deadline=None)
@given(st.permutations([f"q{i}" for i in range(60)]))
def test_the_queries_are_always_the_same(ids):
    chosen = fixed_queries(ids)
    assert len(chosen) == QUERIES == 50
    assert chosen == fixed_queries(sorted(ids))
    assert set(fixed_queries(ids, 10)) <= set(chosen)
    assert fixed_queries(ids[:3]) == sorted(ids[:3])


def test_summary():
    seconds = np.arange(1, 102)
    found = summarise(seconds)
    assert (found.queries, found.mean, found.median, found.p90, found.p99, found.longest) == (
        101, 51, 51, 91, 100, 101,
    )  # fmt: skip
    for bad in ([], [np.nan], [-1.0]):
        with pytest.raises(ValueError, match="seconds"):
            summarise(bad)
