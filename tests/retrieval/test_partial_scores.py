"""A scoring that was broken off goes on where it was, to the same scores."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.errors import UnavailableError
from saber_assets.retrieval.partial_scores import PartialScores
from saber_assets.retrieval.scoring import score_pools

IDS = [f"p{number}" for number in range(6)]
CORPUS = pl.DataFrame(
    {
        "problem_id": IDS,
        "problem": [f"problem {n}" for n in IDS],
        "solution": [f"s {n}" for n in IDS],
    }
)
POOLS = pl.DataFrame(
    [(query, candidate) for query in IDS[:4] for candidate in IDS if candidate != query],
    schema=["query_id", "candidate_id"],
    orient="row",
)


class Model:
    """Gives numbers that have no short decimals, and breaks off after some queries."""

    def __init__(self, lasts=10**9, width=1):
        self.asked = 0
        self.lasts = lasts
        self.queries_in_flight = width

    def score(self, query, documents):
        if self.asked >= self.lasts:
            raise UnavailableError("the machine is off", "turn it on")
        self.asked += 1
        if "p2" in query:
            raise RuntimeError("not this one")
        return [len(text) / 3 + sum(map(ord, text + query)) / 7 for text in documents]


def scored(model, kept=None):
    return score_pools("model", "v", model, POOLS, CORPUS, kept=kept)


@pytest.mark.parametrize("width", [1, 3])
def test_what_is_finished_is_not_asked_for_again_and_the_result_is_the_same(tmp_path, width):
    whole = scored(Model())
    path = tmp_path / "partial" / "model.jsonl"
    first = Model(lasts=5)
    with PartialScores(path, "k") as kept, pytest.raises(UnavailableError):
        scored(first, kept)
    second = Model(width=width)
    with PartialScores(path, "k") as kept:
        found = scored(second, kept)
    assert [frame.equals(other) for frame, other in zip(found, whole, strict=True)] == [True, True]
    assert second.asked == 3 * 4 - 4, "the failed query of the first five was asked again"
    third = Model()
    with PartialScores(path, "k") as kept:
        scored(third, kept)
        kept.remove()
    assert third.asked == 3, "what failed"
    assert not path.exists()


def test_another_version_or_benchmark_begins_anew(tmp_path):
    with PartialScores(tmp_path / "a", "k") as kept:
        kept.put("s", "q", np.array([1.0]))
    other = PartialScores(tmp_path / "a", "l")
    assert other.get("s", "q") is None
    with other:
        other.put("s", "r", np.array([2.0]))
    assert PartialScores(tmp_path / "a", "k").get("s", "q") is None
    assert PartialScores(tmp_path / "a", "l").get("s", "r") == [2.0]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.floats(allow_nan=False, allow_infinity=False)), max_size=4),
    st.integers(0, 60),
)
def test_numbers_come_back_to_the_last_bit_and_a_torn_end_costs_its_own_lines(
    tmp_path_factory, rows, lost
):
    path = tmp_path_factory.mktemp("torn") / "a"
    with PartialScores(path, "k") as kept:
        for number, row in enumerate(rows):
            kept.put("s", str(number), np.array(row, dtype=np.float64))
    if rows:
        data = path.read_bytes()
        path.write_bytes(data[: max(0, len(data) - lost)])
    with PartialScores(path, "k") as again:
        intact = [number for number in range(len(rows)) if again.get("s", str(number)) is not None]
        assert intact == list(range(len(intact)))
        assert lost or len(intact) == len(rows)
        for number in intact:
            assert again.get("s", str(number)).tobytes() == np.array(rows[number], float).tobytes()
        again.put("s", "new", np.array([0.1]))
    last = PartialScores(path, "k")
    assert last.get("s", "new") == [0.1]
    assert all(last.get("s", str(number)) is not None for number in intact)
