"""Instructions against none."""

import numpy as np
import polars as pl
import pytest

from saber_assets.evaluation.bootstrap import interval
from saber_assets.evaluation.instruction_effect import (
    INSTRUCTIONS,
    differences,
    instruction_effect,
)


def test_the_three_instructions_differ():
    assert list(INSTRUCTIONS) == ["i1", "i2", "i3"]
    assert len(set(INSTRUCTIONS.values())) == 3
    assert "mathematics" not in INSTRUCTIONS["i3"]


def test_differences_from_means():
    means = pl.DataFrame(
        [
            ("a", "none", 0.5),
            ("a", "i1", 0.6),
            ("b", "none", 0.7),
            ("b", "i2", 0.7),
            ("c", "i1", 1),
        ],
        schema={"retriever": pl.String, "instruction": pl.String, "mean": pl.Float64},
        orient="row",
    )
    found = differences(means)
    assert found["retriever"].to_list() == ["b", "a"]
    assert found["best"].to_list() == ["none", "i1"]
    assert found["i1"].to_list() == [None, pytest.approx(0.1)]


def test_paired_intervals():
    rng = np.random.default_rng(0)
    base = rng.uniform(0, 0.8, 40)
    gain = rng.normal(0.05, 0.02, 40)
    rows = [
        ("m", name, f"q{q:02d}", float(v), False)
        for name, values in (("none", base), ("i1", base + gain))
        for q, v in enumerate(values)
    ] + [("alone", "i1", "q00", 0.5, False), ("plain", "none", "q00", 0.5, False)]
    measures = pl.DataFrame(
        rows, schema=["retriever", "instruction", "query_id", "value", "failed"], orient="row"
    )
    found = instruction_effect(measures, seed=3)
    assert found["retriever"].to_list() == ["m"]
    row = found.row(0, named=True)
    assert row["difference"] == pytest.approx(gain.mean())
    assert row["mean"] == pytest.approx((base + gain).mean())
    assert (row["low"], row["high"]) == pytest.approx(interval(gain, 1000, 3))
    # paired: far narrower than the spread of the queries
    assert row["high"] - row["low"] < 0.02
    assert instruction_effect(measures.clear()).is_empty()
