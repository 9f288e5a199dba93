"""Correlations against scipy, inversions by counting, properties."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from saber_assets.correlation import pearson, spearman
from saber_assets.evaluation.order_comparison import compare_orders, shared

VECTORS = st.integers(3, 12).flatmap(
    lambda n: st.tuples(*(st.lists(st.integers(0, 6), min_size=n, max_size=n) for _ in range(2)))
)


@settings(max_examples=60, deadline=None)
@given(VECTORS)
def test_equals_scipy(vectors):
    a, b = vectors
    if len(set(a)) == 1 or len(set(b)) == 1:
        assert math.isnan(pearson(a, b))
        assert math.isnan(spearman(a, b))
        return
    assert pearson(a, b) == pytest.approx(stats.pearsonr(a, b).statistic, abs=1e-12)
    assert spearman(a, b) == pytest.approx(stats.spearmanr(a, b).statistic, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(VECTORS)
def test_inversions_are_counted_pair_by_pair(vectors):
    a, b = vectors
    found = compare_orders(a, b)
    inverted = [
        abs(a[i] - a[j])
        for i in range(len(a))
        for j in range(i)
        if (a[i] - a[j]) * (b[i] - b[j]) < 0
    ]
    assert found.inversions == len(inverted)
    assert found.widest == max(inverted, default=0)
    assert found.ties == sum(
        (a[i] == a[j]) != (b[i] == b[j]) for i in range(len(a)) for j in range(i)
    )
    assert found.pairs == len(a) * (len(a) - 1) // 2
    assert compare_orders(b, a).inversions == found.inversions


def test_a_reversed_order_inverts_every_pair():
    found = compare_orders([1, 2, 3, 4], [4, 3, 2, 1])
    assert (found.inversions, found.pairs, found.ties) == (6, 6, 0)
    assert found.spearman == pytest.approx(-1)
    assert found.widest == 3


def test_refuses_what_cannot_be_ordered():
    with pytest.raises(ValueError, match="finite"):
        compare_orders([1.0, math.nan], [1.0, 2.0])
    with pytest.raises(ValueError, match="one length"):
        compare_orders([1.0], [1.0, 2.0])
    empty = compare_orders([], [])
    assert empty.pairs == 0
    assert math.isnan(empty.pearson)


def test_shared_names():
    names, a, b = shared({"x": 1, "z": 3, "y": 2}, {"z": 30, "x": 10})
    assert names == ["x", "z"]
    assert np.array_equal(a, [1, 3])
    assert np.array_equal(b, [10, 30])
