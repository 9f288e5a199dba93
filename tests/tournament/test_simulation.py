"""Calibration of the simulated judge, the published inversions, and the position bias."""

import base64
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.tournament import simulation
from saber_assets.tournament.simulation import (
    COLUMNS,
    Judge,
    Scenario,
    World,
    draw_judge,
    inversions,
    simulate,
    summarise,
)

GOLDEN = Path(__file__).parents[1] / "golden"
SWISS = json.loads((GOLDEN / "04_swiss_tournament.json").read_text())


@pytest.fixture(scope="module")
def biased():
    scenarios = (Scenario(), Scenario(0.5, "random"), Scenario(0.5, "id"))
    return summarise(simulate(scenarios=scenarios, rounds=(20,), repetitions=20))


def cell(cells, **values):
    return cells.filter(*(pl.col(name) == value for name, value in values.items())).row(
        0, named=True
    )


def test_calibration(biased):
    """At strengths of sd 2.4, Swiss with 20 rounds of 150 has about 700 inversions, random 970."""
    fair = biased.filter(pl.col("bias") == 0, ~pl.col("position_term"))
    swiss = cell(fair, schedule="swiss")
    random = cell(fair, schedule="random")
    assert 640 < swiss["inversions_mean"] < 760
    assert 890 < random["inversions_mean"] < 1050
    assert swiss["matches"] <= 1500 and random["matches"] == 1500
    assert cell(fair, schedule="exhaustive")["inversions_mean"] == 0


def test_a_fixed_order_costs_more_than_a_random_one_and_the_position_term_mends_it(biased):
    swiss = biased.filter(pl.col("schedule") == "swiss")
    fair = cell(swiss, bias=0.0, position_term=False)["inversions_mean"]
    drawn = cell(swiss, bias=0.5, order="random", position_term=False)["inversions_mean"]
    by_id = cell(swiss, bias=0.5, order="id", position_term=False)["inversions_mean"]
    mended = cell(swiss, bias=0.5, order="id", position_term=True)
    assert fair < drawn < by_id
    assert mended["inversions_mean"] < (drawn + by_id) / 2
    assert 0.25 < mended["position"] < 0.6
    every = cell(biased, bias=0.5, order="random", schedule="exhaustive", position_term=True)
    assert every["first_share"] == pytest.approx(0.55, abs=0.02)


def preference_judge():
    """The golden preference table as a judge."""
    bits = np.unpackbits(
        np.frombuffer(base64.b64decode(SWISS["input"]["preference_bits_base64"]), dtype=np.uint8)
    )
    low, high = np.triu_indices(150, 1)
    thresholds = np.zeros((150, 150))
    thresholds[low, high] = np.where(bits[: low.size] == 1, -1.0, 1.0)
    return Judge(np.zeros(150), thresholds, 1.0)


def test_published_inversions_on_the_golden_preference_table(monkeypatch):
    judge = preference_judge()
    monkeypatch.setattr(simulation, "draw_judge", lambda world, seed, repetition: judge)
    cells = summarise(simulate(rounds=(5, 20, 50), repetitions=6))
    golden = SWISS["expected"]["inversions_vs_full_by_rounds (10 seeds)"]
    for rounds in (5, 20, 50):
        mean = cell(cells, schedule="swiss", rounds=rounds, position_term=False)["inversions_mean"]
        assert mean == pytest.approx(golden[str(rounds)]["mean"], rel=0.15)
    random = SWISS["expected"]["inversions_random_schedule_1500_matches (10 seeds)"]["mean"]
    mean = cell(cells, schedule="random", rounds=20, position_term=False)["inversions_mean"]
    assert mean == pytest.approx(random, rel=0.15)


def test_the_judge_follows_bradley_terry_and_its_bias():
    n = 200
    low, high = (part.astype(np.int32) for part in np.triu_indices(n, 1))
    thresholds = draw_judge(World(n), 0, 0).thresholds
    for margin, noise, bias in ((0.0, 1.0, 0.0), (1.2, 1.0, 0.0), (1.2, 2.0, 0.0), (1.2, 1.0, 0.7)):
        judge = Judge(np.where(np.arange(n) < n // 2, margin, 0.0), thresholds, noise)
        across = (low < n // 2) & (high >= n // 2)  # a strong one with a weak one
        won = judge.winners(low[across], high[across], bias) == 1
        expected = 1 / (1 + np.exp(-(margin / noise + bias)))
        assert won.mean() == pytest.approx(expected, abs=0.015)


def test_the_same_question_has_the_same_answer_and_a_fair_judge_ignores_the_order():
    judge = draw_judge(World(30), 1, 2)
    low, high = (part.astype(np.int32) for part in np.triu_indices(30, 1))
    forth, back = judge.winners(low, high, 0.0), judge.winners(high, low, 0.0)
    assert (forth != back).all()  # the same candidate
    towards, away = judge.winners(low, high, 0.8), judge.winners(high, low, 0.8)
    assert (towards == away).any() and not ((towards == 2) & (away == 2)).any()


def test_results_are_seeded_and_complete():
    options = {"rounds": (2, 4), "repetitions": 2}
    world = World(candidates=9)
    seen = []
    once = simulate(world, (Scenario(0.3, "id"),), seed=5, progress=seen.append, **options)
    assert once.equals(simulate(world, (Scenario(0.3, "id"),), seed=5, **options))
    assert not once.equals(simulate(world, (Scenario(0.3, "id"),), seed=6, **options))
    assert seen == [1, 1]
    assert once.schema == COLUMNS and once.height == 2 * 2 * (1 + 2 + 2)
    # a longer simulation begins like a shorter one
    longer = simulate(world, (Scenario(0.3, "id"),), seed=5, rounds=(2, 4), repetitions=3)
    assert longer.head(once.height).equals(once)


@pytest.mark.parametrize(("n", "rounds"), [(1, (1,)), (10, (10,)), (10, (0,)), (10, ())])
def test_impossible_tournaments(n, rounds):
    with pytest.raises(ValueError, match="candidates can play"):
        simulate(World(n), rounds=rounds)


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=20))
@settings(max_examples=40, deadline=None)
def test_inversions(values):
    ratings = np.array(values)
    assert inversions(ratings, ratings) == 0
    different = len(values) * (len(values) - 1) // 2 - sum(
        one == other for k, one in enumerate(values) for other in values[:k]
    )
    assert inversions(ratings, -ratings) == different
