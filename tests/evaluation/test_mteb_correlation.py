"""Correlation with another benchmark's scores."""

import math

import pytest

from saber_assets.evaluation.mteb_correlation import correlate, without_largest_gaps

BOARD = {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.6, "mine": 0.5}
OTHER = {"a": 60.0, "b": 55.0, "c": 70.0, "d": 50.0, "elsewhere": 99.0}


def test_what_is_compared_and_what_is_not():
    found = correlate(BOARD, OTHER)
    assert found.comparison.systems == 4
    assert found.comparison.inversions == 2
    assert found.missing == ("mine",)
    assert found.unknown == ("elsewhere",)
    assert (found.gaps[0].retriever, found.gaps[0].gap) == ("c", 2)
    rest = correlate(BOARD, OTHER, ["c", "nobody"])
    assert rest.excluded == ("c",)
    assert rest.comparison.spearman == pytest.approx(1)


def test_dropping_the_largest_gaps():
    assert without_largest_gaps(BOARD, OTHER, 1) == (["c"], pytest.approx(1))
    dropped, correlation = without_largest_gaps(BOARD, OTHER, 9)
    assert len(dropped) == 4
    assert math.isnan(correlation)
