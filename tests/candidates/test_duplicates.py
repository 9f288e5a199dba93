"""The list of known duplicates: what it may say, and which mistakes are named."""

from __future__ import annotations

import csv
import gzip
import json

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.candidates.duplicates import read_listed
from saber_assets.candidates.tables import LISTED_DUPLICATES
from saber_assets.errors import InputError

CORPUS = pl.DataFrame(
    {"problem_id": ["p1", "p2", "p3", "p4"], "source_id": ["1", "2", "3", "3"]},
)
DROPPED = pl.DataFrame(
    {
        "problem_id": ["p1", "p8", "p9"],  # a second copy of p1; a near-duplicate of p2; no problem
        "source_id": ["1b", "8", "9"],
        "kept_problem_id": ["p1", "p2", None],
    }
)


def listed(path):
    return read_listed(path, CORPUS, DROPPED)


def written(tmp_path, text, name="d.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def pairs(path):
    found = listed(path).pairs
    assert LISTED_DUPLICATES.faults(found) == []
    return found.rows()


ROWS = [("p2", "p1"), ("2", "3x"), ("8", "p3"), ("1", "1b"), ("9", "1"), ("p1", "2"), ("p4", "p4")]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "ndjson.gz", "parquet"])
def test_ids_of_both_kinds_in_every_format(tmp_path, kind):
    path = tmp_path / f"d.{kind}"
    objects = [{"note": "x", "first": one, "second": two} for one, two in ROWS]
    lines = "".join(f"{json.dumps(row)}\n\n" for row in objects).encode()
    if kind == "csv":
        path.write_text("\ufeffnote,second,first\n" + "".join(f"x,{b},{a}\n" for a, b in ROWS))
    elif kind == "parquet":
        pl.DataFrame(objects).write_parquet(path)
    else:
        path.write_bytes(gzip.compress(lines) if kind.endswith("gz") else lines)
    found = listed(path)
    # p8 was dropped for p2; a pair of one problem, or with one that was no problem, says nothing
    assert found.pairs.rows() == [("p1", "p2"), ("p2", "p3")]
    assert (found.lines, found.outside) == (len(ROWS), 1)


def test_numbers_are_ids_and_an_empty_list_is_one(tmp_path):
    path = written(tmp_path, '{"first": 1, "second": 2}', "d.jsonl")
    assert pairs(path) == [("p1", "p2")]
    assert pairs(written(tmp_path, "first,second\n")) == []


def test_a_long_note_beside_the_pair_is_ignored(tmp_path):
    csv.field_size_limit(131_072)  # what Python begins with
    path = written(tmp_path, f"first,second,note\n1,2,{'x' * 200_000}\n")
    assert pairs(path) == [("p1", "p2")]


def test_a_problem_id_wins_over_a_source_id(tmp_path):
    corpus = pl.DataFrame({"problem_id": ["a", "b"], "source_id": ["b", "c"]})
    path = written(tmp_path, "first,second\na,b\n")
    assert read_listed(path, corpus, DROPPED.clear()).pairs.rows() == [("a", "b")]


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("first,second\n1,2\n1,\n", "d.csv", "d.csv line 3 has no id"),
        ("first,second\n1\n", "d.csv", "line 2 has 1 fields and the header has 2"),
        ('first,second\n1,"2\n', "d.csv", "line 2 is not valid CSV"),
        ("first,second,first\n1,2,p3\n", "d.csv", "has the column 'first' twice"),
        ("a,b\n1,2\n", "d.csv", "has no 'first' and no 'second' .but 'a', 'b'.: name"),
        ("", "d.csv", "has no 'first' and no 'second' .but nothing."),
        ("first,second\n1,2\n3,1\n", "d.csv", "line 3: '3' is the source_id of several problems"),
        ("first,second\nx,y\nx,1\n", "d.csv", "lists 2 pairs, and no record .*'x' and 'y', .*2"),
        (b"first,second\n\xff,1\n", "d.csv", "not UTF-8.*line 2"),
        ('{"first": "1", "second": "2"}\n{"first": 1}\n', "d.jsonl", "line 2 has no 'second'"),
        ('\n{"first": "1", "second": true}', "d.jsonl", "line 2: the id is true or false"),
        ("[]", "d.jsonl", r'line 1 holds a list .*\{"first": ..., "second": ...\}'),
        ("{", "d.jsonl", "line 1 is not valid JSON"),
        (b"x", "d.jsonl.gz", "not a sound gzip file"),
        (b"x", "d.parquet", "not a sound Parquet file"),
        ("first,second\n", "d.txt", "suffix that is not known"),
    ],
)
def test_mistakes_are_named(tmp_path, text, name, message):
    with pytest.raises(InputError, match=message):
        listed(written(tmp_path, text, name))


def test_missing_files_folders_and_parquet_rows(tmp_path):
    with pytest.raises(InputError, match="can't be read .No such file.*selection.duplicates"):
        listed(tmp_path / "none.csv")
    (tmp_path / "f.csv").mkdir()
    for folder in (tmp_path / "f.csv", tmp_path):
        with pytest.raises(InputError, match="is a folder"):
            listed(folder)
    path = tmp_path / "d.parquet"
    pl.DataFrame({"first": ["1", "2"], "second": ["2", None]}).write_parquet(path)
    with pytest.raises(InputError, match="d.parquet row 2 has no id"):
        listed(path)
    pl.DataFrame({"first": [b"1"], "second": [b"2"]}).write_parquet(path)
    with pytest.raises(InputError, match="row 1: the id is of type bytes"):
        listed(path)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(*[st.sampled_from(["p1", "p2", "p3", "p4", "1", "2", "8"])] * 2)))
def test_neither_order_nor_direction_matters(tmp_path_factory, rows):
    tmp_path = tmp_path_factory.mktemp("d")

    def of(rows):
        return pairs(written(tmp_path, "first,second\n" + "".join(f"{a},{b}\n" for a, b in rows)))

    assert of(rows) == of([(b, a) for a, b in reversed(rows)])
