"""The position effect and its interval."""

import math

import polars as pl
import pytest
from scipy.stats import binomtest

from saber_assets.tournament.position import position_effect, wilson


def test_a_judge_that_always_answers_one_is_seen():
    effect = position_effect(pl.DataFrame({"winner": [1] * 200 + [None, 0]}))
    assert (effect.first_wins, effect.verdicts, effect.share) == (200, 200, 1.0)
    assert effect.low > 0.97 and effect.high == 1.0


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (3, 10), (10, 10), (480, 1000)])
def test_wilson_interval(successes, trials):
    expected = binomtest(successes, trials).proportion_ci(method="wilson")
    assert wilson(successes, trials) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_no_verdicts():
    effect = position_effect(pl.DataFrame({"winner": [None]}, schema={"winner": pl.Int8}))
    assert math.isnan(effect.share) and (effect.low, effect.high) == (0.0, 1.0)
