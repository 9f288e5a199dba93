"""Ties: half a win for each side, from the judge's answer to the rating."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from saber_assets.annotation.annotator import Failure, Verdict
from saber_assets.tournament.bradley_terry import rate
from saber_assets.tournament.journal import Journal, verdict_key
from saber_assets.tournament.position import position_effect
from saber_assets.tournament.swiss import Standings
from saber_assets.tournament.tables import PAIRWISE_JUDGMENTS
from saber_assets.tournament.tournament import recall, run_tournaments

POOLS = {"q": [f"c{number}" for number in range(8)]}


def strength(name: str) -> int:
    return int(name[1:]) // 2


def judge(pairings):
    """Neighbours c0 and c1, c2 and c3, ... are equally good; c7 makes the judge fall silent."""
    outcomes = []
    for pairing in pairings:
        first, second = strength(pairing.first_id), strength(pairing.second_id)
        if "c7" in pairing and first != second:
            outcomes.append(Failure("silent"))
        elif first == second:
            outcomes.append(Verdict(0, 0.5))
        else:
            winner = 1 if first > second else 2
            outcomes.append(Verdict(winner, 0.5 + abs(first - second) / 8))
    return outcomes


def run(**options):
    return run_tournaments(POOLS, judge, rounds=7, seed=5, judge_name="fixed", **options)


def test_half_a_win_for_both_and_nothing_for_a_failure():
    standings = Standings("q", ["a", "b", "c", "d", "e", "f"])
    standings.record(np.array([[0, 1], [2, 3], [4, 5]], dtype=np.int32), [0, 1, None])
    assert standings.wins.tolist() == [0.5, 0.5, 1, 0, 0, 0]
    assert standings.met[4, 5]


def test_half_wins_decide_who_meets_whom():
    standings = Standings("q", ["a", "b", "c", "d"])
    standings.wins[:] = [0, 0.5, 1, 1.5]
    pairs = {frozenset(pair) for pair in standings.pair(2, seed=1).tolist()}
    assert pairs == {frozenset((0, 1)), frozenset((2, 3))}


def test_ties_and_confidence_are_in_the_frame_and_survive_a_rerun(tmp_path):
    judgments, failures = run()
    assert PAIRWISE_JUDGMENTS.faults(judgments) == []
    ties = judgments.filter(pl.col("winner") == 0)
    assert 1 <= ties.height <= 4 and (ties["confidence"] == 0.5).all()
    assert judgments["winner"].null_count() == failures.height > 0
    assert judgments.filter(pl.col("winner").is_null())["confidence"].null_count() == (
        failures.height
    )
    with Journal(tmp_path / "j") as journal:
        known, record = journal.bind("fixed", "p", {"q": "q"})
        run(known=known, record=record, chunk=3)
    with Journal(tmp_path / "j") as journal:
        known, _ = journal.bind("fixed", "p", {"q": "q"})
        again, _ = run_tournaments(POOLS, None, rounds=7, seed=5, judge_name="fixed", known=known)
    assert_frame_equal(again, judgments)
    recalled, _ = run(known=recall(judgments))
    assert_frame_equal(recalled, judgments)


def test_the_journal_keeps_ties_and_confidence(tmp_path):
    keys = [verdict_key("j", "p", "q", "a", f"b{number}") for number in range(4)]
    outcomes = [0, Verdict(2, 0.75), Verdict(0, 0.5), Failure("x")]
    with Journal(tmp_path / "j") as journal:
        journal.append(list(zip(keys, outcomes, strict=True)))
    with Journal(tmp_path / "j") as journal:
        assert [journal.get(key) for key in keys] == outcomes


@pytest.mark.parametrize("confidence", [0.4, 1.1, float("nan")])
def test_a_confidence_out_of_range_is_refused(confidence):
    with pytest.raises(ValueError, match="confidence"):
        run_tournaments(
            POOLS, lambda pairings: [Verdict(1, confidence) for _ in pairings], rounds=1,
            seed=1, judge_name="x",
        )  # fmt: skip


def test_ties_pull_ratings_together_and_are_neither_wins_nor_position_evidence():
    pools = pl.DataFrame({"query_id": ["q"] * 3, "candidate_id": ["a", "b", "c"]})
    rows = [("a", "b", 0), ("a", "c", 1), ("c", "b", 2)]
    judgments = pl.DataFrame(
        [("q", *row) for row in rows],
        schema=["query_id", "first_id", "second_id", "winner"],
        orient="row",
    )
    ratings = rate(judgments, pools)
    assert ratings["rating"].to_list() == pytest.approx([5, 5, 0])
    assert ratings["wins"].to_list() == [1, 1, 0]
    assert ratings["losses"].to_list() == [0, 0, 2]
    effect = position_effect(judgments)
    assert (effect.first_wins, effect.verdicts) == (1, 2)
