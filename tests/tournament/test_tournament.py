"""The runner: batches, resuming in the middle of a round, failures."""

import hashlib

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from saber_assets.annotation.annotator import Failure
from saber_assets.tournament.journal import Journal
from saber_assets.tournament.tables import JUDGMENT_FAILURES, PAIRWISE_JUDGMENTS
from saber_assets.tournament.tournament import recall, run_tournaments

POOLS = {f"q{k}": [f"q{k}-c{i:02d}" for i in range(9 + k)] for k in range(4)}
PRINTS = {query_id: query_id for query_id in POOLS}


class Stopped(Exception):
    pass


def verdict(pairing):
    """A fixed preference; about one pair in twelve has no verdict."""
    ids = sorted([pairing.first_id, pairing.second_id])
    number = hashlib.sha256("".join(ids).encode()).digest()[0]
    if number % 12 == 0:
        return Failure(f"no verdict on {ids[0]}")
    return 1 if ids[number % 2] == pairing.first_id else 2


class CountingJudge:
    def __init__(self, stop_after=None):
        self.asked, self.batches, self.stop_after = [], [], stop_after

    def __call__(self, pairings):
        self.batches.append(list(pairings))
        if self.stop_after is not None and len(self.asked) + len(pairings) > self.stop_after:
            raise Stopped
        self.asked.extend((p.query_id, p.first_id, p.second_id) for p in pairings)
        return [verdict(pairing) for pairing in pairings]


def run(judge, **options):
    return run_tournaments(POOLS, judge, rounds=6, seed=11, judge_name="fixed", **options)


def test_frames_obey_their_contracts_and_rounds_are_whole_batches():
    judge = CountingJudge()
    finished = []
    judgments, failures = run(judge, progress=finished.append)
    assert PAIRWISE_JUDGMENTS.faults(judgments) == []
    assert JUDGMENT_FAILURES.faults(failures) == []
    assert len(judge.batches) == 6
    assert judge.batches[0] == sorted(judge.batches[0])
    assert sum(finished) == judgments.height == len(judge.asked)
    assert failures.height == judgments["winner"].null_count() > 0
    assert failures["reason"].str.starts_with("no verdict on").all()
    assert set(judgments["seed"]) == {11} and set(judgments["judge"]) == {"fixed"}


@pytest.mark.parametrize("chunk", [1, 4, 1000])
def test_chunks_and_storage_order_change_nothing(chunk):
    expected, expected_failures = run(CountingJudge())
    turned = {query_id: POOLS[query_id][::-1] for query_id in reversed(POOLS)}
    judge = CountingJudge()
    judgments, failures = run_tournaments(
        turned, judge, rounds=6, seed=11, judge_name="fixed", chunk=chunk
    )
    assert_frame_equal(judgments, expected)
    assert_frame_equal(failures, expected_failures)
    assert max(map(len, judge.batches)) <= chunk


@pytest.mark.parametrize("stop_after", [0, 3, 17, 50, 81])
def test_a_stopped_run_continues_from_its_journal(tmp_path, stop_after):
    expected, expected_failures = run(CountingJudge())
    first, second = CountingJudge(stop_after), CountingJudge()
    with Journal(tmp_path / "verdicts.jsonl") as journal:
        known, record = journal.bind("fixed", "p1", PRINTS)
        with pytest.raises(Stopped):
            run(first, known=known, record=record, chunk=3)
    with Journal(tmp_path / "verdicts.jsonl") as journal:
        known, record = journal.bind("fixed", "p1", PRINTS)
        judgments, failures = run(second, known=known, record=record, chunk=7)
        assert_frame_equal(judgments, expected)
        assert_frame_equal(failures, expected_failures)
        assert len(first.asked) + len(second.asked) == expected.height
        assert not set(first.asked) & set(second.asked)

        third = CountingJudge()
        again, _ = run(third, known=known, record=record)
        assert_frame_equal(again, expected)
        assert third.asked == []


def test_an_edited_prompt_finds_no_old_verdict(tmp_path):
    with Journal(tmp_path / "j") as journal:
        known, record = journal.bind("fixed", "p1", PRINTS)
        expected, _ = run(CountingJudge(), known=known, record=record)
        known, record = journal.bind("fixed", "p2", PRINTS)
        judge = CountingJudge()
        run(judge, known=known, record=record)
        assert len(judge.asked) == expected.height


def test_earlier_frame_is_recalled_and_failures_are_asked_again():
    expected, failures = run(CountingJudge())
    judge = CountingJudge()
    judgments, _ = run(judge, known=recall(expected))
    assert_frame_equal(judgments, expected)
    assert len(judge.asked) == failures.height


def test_bad_answers_are_refused():
    with pytest.raises(ValueError, match="answered 3"):
        run(lambda pairings: [3 for _ in pairings])
    with pytest.raises(ValueError, match="1 answers to"):
        run(lambda pairings: [1])
    _, failures = run_tournaments(
        {"q": ["a", "b"]}, lambda pairings: [None], rounds=1, seed=0, judge_name="silent"
    )
    assert failures["reason"].to_list() == ["the judge gave no verdict"]


def test_nothing_to_play():
    for pools in ({}, {"q": []}, {"q": ["only"]}):
        judgments, failures = run_tournaments(pools, CountingJudge(), seed=0, judge_name="x")
        assert judgments.schema == pl.Schema(PAIRWISE_JUDGMENTS.schema)
        assert judgments.is_empty() and failures.is_empty()
