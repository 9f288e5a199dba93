"""All pairs at once: equal to the tests of one pair, to scipy, and fast in bounded memory."""

import json
import tracemalloc
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.evaluation.paired_tests import (
    SCHEMA,
    cannot_be_told_apart,
    letters,
    paired_tests,
)
from saber_assets.evaluation.significance import adjust, randomisation

CASE = json.loads((Path(__file__).parents[1] / "golden" / "05_significance.json").read_text())


def systems(count=5, queries=60, seed=1, step=0.02):
    rng = np.random.default_rng(seed)
    hard = rng.uniform(0.2, 0.8, queries)
    return {
        f"s{s}": np.clip(hard - step * s + rng.normal(0, 0.08, queries), 0, 1) for s in range(count)
    }


@pytest.mark.parametrize("queries", [12, 60])
def test_equals_the_randomisation_test_of_one_pair(queries):
    values = systems(queries=queries)
    found = paired_tests(values, 3000, seed=4)
    assert found.height == 10
    assert dict(found.schema) == SCHEMA
    for first, second, difference, p in found.select(
        "first", "second", "difference", "p_randomisation"
    ).iter_rows():
        d = values[first] - values[second]
        assert difference == pytest.approx(d.mean())
        assert difference >= 0
        assert p == pytest.approx(randomisation(d, 3000, seed=4), abs=1e-12)
    for test in ("bootstrap", "randomisation"):
        assert np.allclose(found[f"adjusted_{test}"], adjust(found[f"p_{test}"].to_numpy()))


def test_the_bootstrap_by_the_book():
    values = systems(2, 40, step=0.01)
    row = paired_tests(values, 20_000, seed=0).row(0, named=True)
    d = values[row["first"]] - values[row["second"]]
    rng = np.random.default_rng(99)
    drawn = d[rng.integers(0, d.size, (20_000, d.size))].mean(axis=1)
    p = (np.abs(drawn - d.mean()) >= d.mean()).mean()
    assert row["p_bootstrap"] == pytest.approx(p, abs=0.02)
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert row["low"] == pytest.approx(low, abs=0.002)
    assert row["high"] == pytest.approx(high, abs=0.002)
    assert row["p_bootstrap"] == pytest.approx(row["p_randomisation"], abs=0.03)


def test_identical_systems_and_ones_that_differ_on_one_query():
    rng = np.random.default_rng(0)
    a = rng.uniform(0, 1, 500)
    b = a.copy()
    b[7] -= 1e-3
    found = paired_tests({"a": a, "a2": a.copy(), "b": b}, 2000)
    rows = {(r["first"], r["second"]): r for r in found.iter_rows(named=True)}
    assert rows["a", "a2"]["p_randomisation"] == 1
    assert rows["a", "a2"]["p_bootstrap"] == 1
    # every pattern of signs ties with what was seen, whatever the rounding of the sums
    assert rows["a", "b"]["p_randomisation"] == 1


def test_under_the_null_hypothesis_p_is_even():
    rng = np.random.default_rng(3)
    found = np.array([
        paired_tests(
            {"a": rng.normal(0.5, 0.1, 50), "b": rng.normal(0.5, 0.1, 50)}, 400, seed=i
        ).select("p_randomisation", "p_bootstrap").row(0)
        for i in range(400)
    ])  # fmt: skip
    for column in found.T:
        assert abs((column <= 0.1).mean() - 0.1) < 0.05
        assert abs(column.mean() - 0.5) < 0.06


def test_groups_follow_the_rule():
    means = {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.6, "e": 0.1}
    p = {("a", "b"): 0.5, ("b", "c"): 0.5, ("a", "c"): 0.01, ("b", "d"): 0.2, ("c", "d"): 0.3}
    rows = [(x, y, p.get((x, y), 0.001)) for x in means for y in means if means[x] > means[y]]
    tests = pl.DataFrame(rows, schema=["first", "second", "adjusted_randomisation"], orient="row")
    groups = cannot_be_told_apart(means, tests)
    assert [group.members for group in groups] == [("a", "b"), ("b", "c", "d"), ("e",)]
    assert letters(groups) == {"a": "a", "b": "ab", "c": "b", "d": "b", "e": "c"}


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 9), st.integers(0, 1000))
def test_groups_cover_every_system_and_hold_no_significant_pair(count, seed):
    values = systems(count, 30, seed, step=0.015)
    tests = paired_tests(values, 300, seed)
    means = {name: float(one.mean()) for name, one in values.items()}
    groups = cannot_be_told_apart(means, tests)
    assert {name for group in groups for name in group.members} == set(values)
    apart = {
        frozenset(row[:2])
        for row in tests.select("first", "second", "adjusted_randomisation").iter_rows()
        if row[2] <= 0.05
    }
    for group in groups:
        assert not any(frozenset((x, y)) in apart for x in group.members for y in group.members)


def test_the_order_of_the_systems_does_not_matter():
    values = systems(4)
    again = dict(reversed(values.items()))
    assert paired_tests(values, 500).equals(paired_tests(again, 500))


def test_refusals():
    with pytest.raises(ValueError, match="same two or more"):
        paired_tests({"a": [1.0, 2.0], "b": [1.0]})
    with pytest.raises(ValueError, match="finite"):
        paired_tests({"a": [1.0, np.nan], "b": [1.0, 2.0]})
    assert paired_tests({"a": [0.1, 0.2]}).is_empty()
    assert paired_tests({}).is_empty()


def test_full_size_in_bounded_memory():
    values = systems(49, 1000, step=0.005)
    tracemalloc.start()
    found = paired_tests(values, 10_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.height == 49 * 48 // 2
    assert peak < 400e6


def test_the_family_of_all_pairs_against_the_oracle():
    expected = CASE["expected"]
    golden = {
        frozenset(pair["pair"]): (pair, holm)
        for pair, holm in zip(expected["pairs"], expected["adjusted_p_fisher"]["holm"], strict=True)
    }
    found = paired_tests(CASE["input"]["scores"], 20_000, seed=2)
    assert found.height == len(golden)
    for row in found.iter_rows(named=True):
        pair, holm = golden[frozenset((row["first"], row["second"]))]
        assert row["difference"] == pytest.approx(abs(pair["mean_diff"]), abs=1e-9)
        drawn = np.sqrt(pair["p_fisher_100k"] / 20_000)
        tolerance = 4 * (pair["fisher_mc_sd"] + drawn)
        assert abs(row["p_randomisation"] - pair["p_fisher_100k"]) < tolerance
        assert abs(row["adjusted_randomisation"] - holm) < len(golden) * tolerance
        assert row["p_bootstrap"] == pytest.approx(pair["p_fisher_100k"], abs=0.05)
