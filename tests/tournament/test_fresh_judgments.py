"""Pairs that a judge is asked about outside a tournament."""

import polars as pl
import pytest

from saber_assets.annotation.annotator import Failure, Problem, Verdict
from saber_assets.tournament import fresh_judgments
from saber_assets.tournament.agreement import preferences_of_judgments
from saber_assets.tournament.fresh_judgments import judge_pairs

IDS = [f"c{number:02d}" for number in range(12)]
PROBLEMS = {identity: Problem(identity, identity, identity) for identity in ["q", *IDS]}
PAIRS = pl.DataFrame(
    [("q", low, high) for low in IDS for high in IDS if low < high],
    schema=["query_id", "low_id", "high_id"],
    orient="row",
)


class Alphabetical:
    """Prefers the smaller id."""

    name = "alphabetical"

    def __init__(self):
        self.batches = []

    def compare(self, comparisons):
        self.batches.append(len(comparisons))
        return [self.verdict(pair.first.statement, pair.second.statement) for pair in comparisons]

    def verdict(self, first, second):
        return 1 if first < second else 2


class Mixed(Alphabetical):
    def verdict(self, first, second):
        return {"c00": Failure("no reply"), "c01": 0, "c02": Verdict(2, 0.9)}.get(
            min(first, second), 1
        )


def test_every_pair_is_asked_once_in_an_order_that_looks_drawn(monkeypatch):
    monkeypatch.setattr(fresh_judgments, "CHUNK", 50)
    judge, done = Alphabetical(), []
    shuffled = pl.concat([PAIRS, PAIRS]).sample(fraction=1.0, shuffle=True, seed=3)
    found = judge_pairs(shuffled, PROBLEMS, judge, done.append)
    assert judge.batches == done == [50, 16]
    assert found.equals(judge_pairs(PAIRS, PROBLEMS, judge))
    assert 15 < (found["first_id"] < found["second_id"]).sum() < 51
    assert preferences_of_judgments(found)["choice"].unique().to_list() == [1]


def test_failures_ties_and_confident_verdicts():
    found = judge_pairs(PAIRS, PROBLEMS, Mixed())
    winners = {
        least: set(
            found.filter(pl.min_horizontal("first_id", "second_id") == least)["winner"].to_list()
        )
        for least in ("c00", "c01", "c02", "c03")
    }
    assert winners == {"c00": {None}, "c01": {0}, "c02": {2}, "c03": {1}}


def test_unknown_problems():
    with pytest.raises(KeyError):
        judge_pairs(PAIRS, {}, Alphabetical())
