"""Kind "gsm8k": question and answer, with the final answer taken out and the text left alone."""

from __future__ import annotations

import json

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.corpus.source_kinds.gsm8k import KIND, final_answer
from saber_assets.errors import InputError

ANSWER = "2 + 2 = <<2+2=4>>4 for $4.\n#### 4"


def put(tmp_path, *rows, name="train.jsonl"):
    path = tmp_path / name
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


def read(*paths, **options):
    return list(KIND.read(paths, options))


def test_a_record(tmp_path):
    path = put(tmp_path, {"question": "2+2?", "answer": ANSWER, "level": "easy"})
    (record,) = read(path)
    assert (record.source_id, record.location) == ("train:0", "train.jsonl line 1")
    assert (record.problem, record.solutions, record.answer) == ("2+2?", (ANSWER,), "4")
    assert record.metadata == {"level": "easy"}
    assert KIND.recognises(path) and KIND.licence == "MIT"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (ANSWER, "4"),
        ("#### 1,000", "1,000"),
        ("x\r\n#### $5.50\r\n", "$5.50"),
        ("#### 1\nno\n####  -2  ", "-2"),
        ("a #### 4", None),
        ("#### ", None),
        ("####\n4", None),
        ("4", None),
        ("", None),
    ],
)
def test_final_answers(text, answer):
    assert final_answer(text) == answer


@settings(max_examples=40, deadline=None)
@given(steps=st.text(max_size=60), number=st.integers())
def test_the_final_answer_is_found_below_any_text(steps, number):
    assert final_answer(f"{steps}\n#### {number}") == str(number)


def test_other_formats_and_equal_names(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    table = pl.DataFrame({"question": ["q"], "answer": [ANSWER]})
    table.write_parquet(tmp_path / "a" / "train.parquet")
    table.write_csv(tmp_path / "b" / "train.csv")
    one, two = read(tmp_path)
    assert (one.source_id, two.source_id) == ("a/train:0", "b/train:0")
    assert one.problem == two.problem and one.answer == two.answer == "4"
    same = (
        tmp_path / "a" / "train.parquet",
        put(tmp_path / "b", {"question": "q", "answer": ""}, name="train.parquet.jsonl"),
    )
    assert len({record.source_id for record in read(*same)}) == 2


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"question": "q"}, r"line 1 has no 'answer' among its keys \('question'\)"),
        ({"question": 1, "answer": "a"}, "line 1: 'question' is a number, not text"),
        ({"question": "q", "answer": ["a"]}, "line 1: 'answer' is a list, not text"),
        ({"question": "q", "answer": "\ud800"}, "lone surrogate"),
    ],
)
def test_faults_are_named(tmp_path, row, message):
    with pytest.raises(InputError, match=message):
        read(put(tmp_path, row))


def test_records_of_its_own_are_not_taken(tmp_path):
    row = {"id": 1, "problem": "p", "solution": "s", "question": "q", "answer": "a"}
    assert not KIND.recognises(put(tmp_path, row))
    with pytest.raises(InputError, match="has no option 'columns': known are"):
        read(put(tmp_path, row), columns={})
