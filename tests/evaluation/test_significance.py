"""Paired tests and corrections against scipy and statsmodels."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.evaluation.significance import adjust, compare, randomisation, t_test, wilcoxon

GOLDEN = Path(__file__).parents[1] / "golden"
CASE = json.loads((GOLDEN / "05_significance.json").read_text())
SCORES = {name: np.array(values) for name, values in CASE["input"]["scores"].items()}
PAIRS = CASE["expected"]["pairs"]


@pytest.mark.parametrize("golden", PAIRS, ids=lambda pair: "-".join(pair["pair"]))
def test_pairs(golden):
    a, b = golden["pair"]
    difference = SCORES[a] - SCORES[b]
    assert difference.mean() == pytest.approx(golden["mean_diff"], abs=1e-9)
    t, p = t_test(difference)
    assert t == pytest.approx(golden["t"], abs=1e-9)
    assert p == pytest.approx(golden["p_t"], abs=1e-9)
    assert wilcoxon(difference) == pytest.approx(golden["p_wilcoxon"], abs=1e-9)
    own_error = np.sqrt(golden["p_fisher_100k"] / 20_000)
    tolerance = 4 * (golden["fisher_mc_sd"] + own_error)
    assert abs(randomisation(difference, 20_000) - golden["p_fisher_100k"]) < tolerance


@pytest.mark.parametrize("correction", ["holm", "bonferroni", "fdr_bh"])
@pytest.mark.parametrize("test", ["p_t", "p_fisher"])
def test_corrections(correction, test):
    p = [pair["p_t" if test == "p_t" else "p_fisher_100k"] for pair in PAIRS]
    expected = CASE["expected"][f"adjusted_{test}"][correction]
    assert np.abs(adjust(p, correction) - expected).max() < 1e-12


def test_holm():
    for p, expected in zip(
        CASE["input"]["holm_inputs"], CASE["expected"]["holm_outputs"], strict=True
    ):
        assert np.abs(adjust(p) - expected).max() < 1e-12
    assert adjust([float("nan"), 0.01]).tolist() == [1.0, 0.02]
    assert adjust([]).size == 0
    with pytest.raises(ValueError, match="p values"):
        adjust([1.5])
    with pytest.raises(ValueError, match="correction"):
        adjust([0.5], "sidak")


def test_small_samples_are_exact():
    small = CASE["input"]["exact_small_differences"]
    expected = CASE["expected"]["exact_sign_flip_p_two_sided_of_small"]
    assert randomisation(small) == pytest.approx(expected, abs=1e-12)


def test_identical_systems():
    same = [0.0] * 20
    assert (t_test(same)[1], wilcoxon(same), randomisation(same)) == (1.0, 1.0, 1.0)


def test_compare():
    tests = compare(SCORES, resamples=500, seed=1)
    assert [[t.first, t.second] for t in tests] == [pair["pair"] for pair in PAIRS]
    assert tests == compare(dict(reversed(SCORES.items())), resamples=500, seed=1)
    assert all(t.adjusted >= t.p_randomisation for t in tests)
    with pytest.raises(ValueError, match="finite"):
        compare({"a": [0.0, float("nan")], "b": [0.0, 1.0]})


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_properties_of_corrections(p):
    holm, bonferroni, fdr = (adjust(p, c) for c in ("holm", "bonferroni", "fdr_bh"))
    assert (np.array(p) <= fdr + 1e-15).all()
    assert (fdr <= holm + 1e-12).all() and (holm <= bonferroni + 1e-15).all()
    assert (np.argsort(holm[np.argsort(p)], kind="stable") == np.arange(len(p))).all()
