from __future__ import annotations

import polars as pl
import pytest

from saber_assets.content_hash import content_hash
from saber_assets.materialize import code_version, sample
from saber_assets.table import Column, Rule, Table, TableError

TABLE = Table(
    "things",
    "Things.",
    {
        "id": Column(pl.String, "its id"),
        "size": Column(pl.Float64, "its size"),
        "note": Column(pl.String, "a note", nullable=True),
    },
    ("id",),
    (Rule("positive", "size > 0", pl.col("size") > 0),),
)
GOOD = pl.DataFrame({"note": ["n", None], "id": ["a", "b"], "size": [1, 2]})


def test_conform_orders_and_casts():
    frame = TABLE.conform(GOOD)
    assert frame.columns == ["id", "size", "note"]
    assert frame.schema["size"] == pl.Float64


@pytest.mark.parametrize(
    ("frame", "fault"),
    [
        (GOOD.drop("size"), "missing columns"),
        (GOOD.with_columns(id=pl.lit("a")), "repeated"),
        (GOOD.with_columns(size=pl.lit(None)), "nulls in column 'size'"),
        (GOOD.with_columns(size=pl.lit(-1)), "break 'positive'"),
        (GOOD.with_columns(size=pl.lit("big")), "things: "),
    ],
)
def test_conform_refuses_what_breaks_the_contract(frame, fault):
    with pytest.raises(TableError, match=fault):
        TABLE.conform(frame)


def test_an_empty_frame_is_sound():
    assert TABLE.faults(TABLE.empty()) == []


def test_the_content_hash_reads_values_not_layout():
    long = pl.DataFrame({"a": ["x" * 40, "y" * 40, "z"], "b": [[1, 2], [], None]})
    pieces = pl.concat([long[1:2], long[:1], long[1:], long[:1]], rechunk=False)
    same = pl.concat([pieces[1:2], pieces[2:4]])
    assert same.equals(long)
    assert content_hash(same) == content_hash(long)


@pytest.mark.parametrize(
    "other",
    [
        pl.DataFrame({"a": [1, 2, 4]}),
        pl.DataFrame({"a": [2, 1, 3]}),
        pl.DataFrame({"b": [1, 2, 3]}),
        pl.DataFrame({"a": [1, 2]}),
        pl.DataFrame({"a": [1, 2, 3]}, schema={"a": pl.Int32}),
        pl.DataFrame({"a": [1.0, 2.0, 3.0000000000000004]}),
    ],
)
def test_the_content_hash_tells_frames_apart(other):
    assert content_hash(other) != content_hash(pl.DataFrame({"a": [1, 2, 3]}))


def test_the_code_version_follows_the_values_not_their_order():
    assert code_version(1, {"a": 1, "b": 2}) == code_version(1, {"b": 2, "a": 1})
    assert code_version(1, {"a": 1}) != code_version(1, {"a": 2})
    assert code_version(1, {"a": 1}) != code_version(2, {"a": 1})


def test_a_sample_is_a_table_whatever_the_texts_hold():
    shown = sample(pl.DataFrame({"text": ["a | b\n<script>" + "x" * 500]}))
    assert len(shown.splitlines()) == 3
    assert "<script>" not in shown
    assert shown.splitlines()[2].count("\\|") == 1
