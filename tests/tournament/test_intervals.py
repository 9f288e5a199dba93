"""Intervals and p values against the published table 6 and scipy."""

import csv
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from saber_assets.tournament.agreement import summary
from saber_assets.tournament.intervals import binomial_p, normal_p, wilson

GOLDEN = Path(__file__).parents[1] / "golden"
TABLE_5 = list(csv.DictReader((GOLDEN / "saber_table5.csv").open()))
TABLE_6 = list(csv.DictReader((GOLDEN / "saber_table6.csv").open()))
DERIVED = {
    entry["id"].removeprefix("wilson_"): entry["recomputed"]
    for entry in json.loads((GOLDEN / "derived_statistics_table6.json").read_text())["expected"]
}
PAIRS = 200


def points_of(agreement: str) -> float:
    """The points behind a published share: a multiple of one half, as ties score one half."""
    return round(2 * PAIRS * float(agreement)) / 2


@pytest.mark.parametrize("row", TABLE_6, ids=lambda row: row["reference"])
def test_published_table_6(row):
    got = summary(row["reference"], 0, PAIRS, points_of(row["agreement"]))
    assert round(got.low, 3) == float(row["ci_low"])
    assert round(got.high, 3) == float(row["ci_high"])
    # the published p is the normal approximation, but for the rounding of 1 - Phi
    assert got.p_normal == pytest.approx(float(row["p_value"]), rel=0.01, abs=2.0**-52)
    assert got.p_value < 1e-11


@pytest.mark.parametrize("reference", DERIVED)
def test_recomputed_table_6(reference):
    derived = DERIVED[reference]
    assert wilson(derived["k"], PAIRS) == pytest.approx(derived["wilson"], abs=1e-6)
    for successes, p in derived["p_exact_binomial_by_k"].items():
        assert binomial_p(int(successes), PAIRS) == pytest.approx(p, rel=1e-5)
    for successes, p in derived["p_normal_approximation_by_k"].items():
        assert normal_p(float(successes), PAIRS) == pytest.approx(p, rel=1e-3, abs=2.0**-53)


def test_every_share_of_table_6_but_the_confidence_judge_is_a_share_of_200_half_points():
    shares = {row["reference"]: float(row["agreement"]) for row in TABLE_6}
    odd = [
        name for name, share in shares.items() if abs(share * PAIRS - points_of(str(share))) > 1e-9
    ]
    assert odd == ["Pairwise Judge (Confidence-based)"]  # 155.5 / 200 = 0.7775, printed as 0.777


def test_table_5_agrees_with_table_6_at_rank_difference_0():
    zero = {row["method"]: float(row["delta0_pct"]) for row in TABLE_5}
    six = {row["reference"]: 100 * float(row["agreement"]) for row in TABLE_6}
    assert zero["Pairwise Judge"] == pytest.approx(six["Pairwise Judge (Original)"])
    assert zero["Majority Judge"] == pytest.approx(six["Majority Judge"])
    assert zero["Ordinal Ranking"] == pytest.approx(six["Ordinal Ranking"])
    assert summary("people", 0, 20, 15).share == zero["Inter-annotator"] / 100


@given(trials=st.integers(1, 60), quarters=st.integers(0, 240))
@settings(max_examples=60, deadline=None)
def test_half_points_never_make_p_smaller(trials, quarters):
    successes = min(quarters / 4, trials)
    p = binomial_p(successes, trials)
    for whole in {int(successes), min(int(successes) + 1, trials)}:
        if abs(whole - successes) < 1:
            assert p >= binomtest(whole, trials, 0.5).pvalue - 1e-12
    low, high = wilson(successes, trials)
    assert 0 <= low <= successes / trials <= high <= 1


def test_no_trials():
    assert (wilson(0, 0), binomial_p(0, 0), normal_p(0, 0)) == ((0.0, 1.0), 1.0, 1.0)
