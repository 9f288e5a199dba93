"""The frontier by its definition, ties, and classes."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.evaluation.pareto import (
    BI_ENCODERS,
    JOINT,
    class_of,
    frontiers,
    is_on_frontier,
    left_out,
)

POINTS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12)


@settings(max_examples=100, deadline=None)
@given(POINTS)
def test_by_definition(points):
    good, slow = ([p[i] for p in points] for i in (0, 1))
    expected = [
        not any(g >= a and s <= b and (g > a or s < b) for g, s in points) for a, b in points
    ]
    assert is_on_frontier(good, slow).tolist() == expected


def test_classes():
    assert [class_of(code) for code in ("B", "RTWB", "RL", "SL", "RTWC", "", "X")] == [
        BI_ENCODERS, BI_ENCODERS, JOINT, JOINT, JOINT, None, None,
    ]  # fmt: skip


def test_two_frontiers_and_what_is_left_out():
    systems = pl.DataFrame(
        {
            "retriever": ["twin2", "twin", "slow", "cross", "late", "unknown", "untimed"],
            "type_code": ["B", "SB", "B", "C", "L", None, "B"],
            "quality": [0.5, 0.5, 0.5, 0.4, 0.3, 0.9, 0.9],
            "latency": [1.0, 1.0, 2.0, 3.0, 4.0, 0.1, None],
        }
    )
    found = frontiers(systems)
    assert found.rows() == [
        ("twin", BI_ENCODERS, 0.5, 1.0, True),
        ("twin2", BI_ENCODERS, 0.5, 1.0, True),
        ("slow", BI_ENCODERS, 0.5, 2.0, False),
        ("cross", JOINT, 0.4, 3.0, True),
        ("late", JOINT, 0.3, 4.0, False),
    ]
    assert list(left_out(systems)) == ["unknown", "untimed"]
    assert frontiers(systems.clear()).is_empty()


def test_refusals():
    with pytest.raises(ValueError, match="finite"):
        is_on_frontier([np.nan], [1.0])
    with pytest.raises(ValueError, match="negative"):
        is_on_frontier([1.0], [-1.0])
    with pytest.raises(ValueError, match="one length"):
        is_on_frontier([1.0], [1.0, 2.0])
