"""Percentile intervals: right size, right place, same for any company."""

import json
from pathlib import Path

import numpy as np
import pytest

from saber_assets.evaluation.bootstrap import interval, intervals, resample_counts

GOLDEN = Path(__file__).parents[1] / "golden"
CASE = json.loads((GOLDEN / "05_bootstrap_ci.json").read_text())
TRUE_SIZE = CASE["expected"]["resampling_with_the_true_group_size"]
VALUES = np.array(CASE["input"]["ndcg"])


@pytest.mark.parametrize("domain", list(TRUE_SIZE))
@pytest.mark.parametrize("seed", [0, 7])
def test_each_domain_at_its_own_size(domain, seed):
    members = [domain == "total" or domain in names for names in CASE["input"]["domains"]]
    values = VALUES[members]
    golden = TRUE_SIZE[domain]
    assert len(values) == golden["n"]
    assert values.mean() == pytest.approx(golden["mean"], abs=1e-8)
    low, high = interval(values, 1000, seed)
    for end, name in ((low, "low"), (high, "high")):
        smallest, largest = golden[f"{name}_range_over_60_runs_of_1000"]
        assert smallest - 5e-4 <= end <= largest + 5e-4


def test_systems_share_resamples_and_are_alone_what_they_are_together():
    both = np.stack([VALUES[:200], 1 - VALUES[:200]])
    low, high = intervals(both, 500, 3)
    assert interval(both[0], 500, 3) == pytest.approx((low[0], high[0]), abs=1e-14)
    assert (low[1], high[1]) == pytest.approx((1 - high[0], 1 - low[0]), abs=1e-12)
    again = intervals(both, 500, 3)
    assert np.array_equal(again, (low, high))
    assert not np.array_equal(intervals(both, 500, 4), (low, high))


def test_counts():
    counts = resample_counts(37, 200, 1)
    assert (counts.sum(axis=1) == 37).all() and (counts >= 0).all()
    assert counts.mean() == 1.0


def test_levels_nest_and_one_query_has_no_spread():
    wide, narrow = interval(VALUES, level=0.99), interval(VALUES, level=0.5)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]
    assert interval([0.25]) == (0.25, 0.25)


def test_misuse():
    for values in ([], [0.1, float("nan")]):
        with pytest.raises(ValueError):
            interval(values)
    with pytest.raises(ValueError, match="level"):
        interval([0.1], level=1.0)


OFFICIAL = CASE["expected"]["official [mean of resampled means, low, high]"]["official X=10000"]


@pytest.mark.parametrize("domain", list(OFFICIAL))
def test_published_widths_are_ours_but_for_the_size_they_were_drawn_at(domain):
    """The released code draws each domain at a size of its own, not the domain's."""
    members = [domain == "total" or domain in names for names in CASE["input"]["domains"]]
    low, high = interval(VALUES[members], 10_000, seed=1)
    _, official_low, official_high = OFFICIAL[domain]
    ratio = CASE["expected"]["official_width_over_correct_width"][domain]
    assert (high - low) * ratio == pytest.approx(official_high - official_low, rel=0.05)
