"""Kind "numinamath": the marks of the dataset become faults, and nothing is lost."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.corpus.source_kinds.numinamath import COLUMNS, KIND
from saber_assets.corpus.source_kinds.protocol import READER_FAULTS
from saber_assets.errors import InputError

ROW = {
    "problem": "Find $x$.",
    "solution": "x = 3",
    "answer": "3",
    "problem_type": "Algebra",
    "question_type": "math-word-problem",
    "problem_is_valid": "Yes",
    "solution_is_valid": "Yes",
    "source": "olympiads",
    "synthetic": False,
}
SCHEMA = dict.fromkeys(COLUMNS, pl.String) | {"synthetic": pl.Boolean}


def put(folder, rows, name="train-00000-of-00002.parquet", schema=SCHEMA, **options):
    folder.mkdir(exist_ok=True)
    pl.DataFrame(rows, schema=schema).write_parquet(folder / name, **options)
    return folder / name


def read(*paths, **options):
    return list(KIND.read(paths, options))


def test_columns_are_those_of_the_dataset():
    assert tuple(ROW) == COLUMNS


@pytest.mark.parametrize(
    ("change", "fault", "option"),
    [
        ({}, None, {}),
        ({"source": "aops_forum"}, "other_split", {"splits": []}),
        ({"source": None}, "other_split", {"splits": []}),
        ({"source": "olympiads_ref"}, "other_split", {"splits": ["olympiads_ref"]}),
        ({"synthetic": True}, "synthetic", {"keep_synthetic": True}),
        ({"synthetic": None}, None, {}),
        ({"question_type": "MCQ"}, "multiple_choice", {"keep_multiple_choice": True}),
        ({"question_type": "proof", "answer": "proof"}, None, {}),
        ({"question_type": None}, None, {}),
        ({"problem_is_valid": "Incomplete"}, "marked_invalid", {"keep_invalid": True}),
        ({"solution_is_valid": "Problem not solved"}, "marked_invalid", {"keep_invalid": True}),
        ({"solution_is_valid": None}, "marked_invalid", {"keep_invalid": True}),
        (
            {"source": "cn_k12", "synthetic": True},
            "other_split",
            {"splits": [], "keep_synthetic": True},
        ),
    ],
)
def test_marks_become_faults(tmp_path, change, fault, option):
    path = put(tmp_path, [{**ROW, **change}])
    (record,) = read(path)
    assert record.fault == fault
    assert fault is None or fault in READER_FAULTS
    (record,) = read(path, **option)
    assert record.fault is None
    assert record.problem == "Find $x$." and record.solutions == ("x = 3",)


def test_a_record(tmp_path):
    rows = [
        ROW,
        {**ROW, "answer": "notfound", "source": "aops_forum", "problem_is_valid": "Incomplete"},
    ]
    put(tmp_path / "d", rows, row_group_size=1)
    put(tmp_path / "d", [{**ROW, "solution": None, "answer": None}], "train-00001-of-00002.parquet")
    one, two, three = read(tmp_path / "d", splits=[])
    assert one.source_id == "train-00000-of-00002:0"
    assert one.location == "train-00000-of-00002.parquet row 1"
    assert (one.answer, one.origin, one.fault) == ("3", "olympiads", None)
    assert one.metadata == {"problem_type": "Algebra", "question_type": "math-word-problem"}
    assert two.answer is None and two.fault == "marked_invalid"
    assert two.metadata["answer"] == "notfound" and two.metadata["for_training"] == "false"
    assert two.metadata["problem_is_valid"] == "Incomplete"
    assert three.source_id == "train-00001-of-00002:0"
    assert (three.solutions, three.answer) == ((), None)
    assert KIND.count((tmp_path / "d",), {}) == 3
    assert KIND.recognises(tmp_path / "d" / "train-00000-of-00002.parquet")


def test_missing_columns_mark_nothing(tmp_path):
    plain = {"problem": "x", "solution": "y"}
    path = put(tmp_path, [plain], "p.parquet", schema=None)
    (record,) = read(path)
    assert record.fault is None and record.answer is None and record.origin == ""
    assert not KIND.recognises(path)
    with pytest.raises(InputError, match=r"no column 'source', so that the option splits"):
        read(path, splits=["olympiads"])
    assert len(read(path, splits=[])) == 1
    with pytest.raises(InputError, match=r"no 'solution' among its columns \('problem', 'text'\)"):
        read(put(tmp_path, [{"problem": "x", "text": "y"}], "q.parquet", schema=None))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"problem": 5}, r"n.parquet row 1: 'problem' is a number, not text"),
        ({"synthetic": 2.5}, "'synthetic' is a number, not true or false"),
        ({"synthetic": "perhaps"}, "'synthetic' is a string, not true or false"),
        ({"question_type": 1}, "'question_type' is a number, not text"),
        ({"source": ["a"]}, "'source' is a list, not text"),
        ({"problem_is_valid": 1}, "'problem_is_valid' is a number, not text"),
    ],
)
def test_wrong_types_are_named(tmp_path, change, message):
    path = put(tmp_path, [{**ROW, **change}], "n.parquet", schema=None)
    with pytest.raises(InputError, match=message):
        read(path)


def test_derived_copies_with_other_types_are_understood(tmp_path):
    path = put(
        tmp_path,
        [{**ROW, "synthetic": "true"}, {**ROW, "synthetic": "False"}],
        "n.parquet",
        schema=None,
    )
    assert [record.fault for record in read(path)] == ["synthetic", None]
    path = put(tmp_path, [{**ROW, "problem_is_valid": False}], "m.parquet", schema=None)
    assert read(path)[0].fault == "marked_invalid"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": 3}, None),
        ({"splits": "olympiads"}, "give a list of strings"),
        ({"keep_synthetics": True}, "did you mean 'keep_synthetic'"),
        ({"keep_invalid": "yes"}, "give true or false"),
    ],
)
def test_wrong_options_are_named(tmp_path, options, message):
    path = put(tmp_path, [ROW])
    if message is None:
        assert read(path, **options)  # of the hub only, and not looked at
        return
    with pytest.raises(InputError, match=message):
        read(path, **options)


marks = st.fixed_dictionaries(
    {
        "source": st.sampled_from(["olympiads", "cn_k12", None]),
        "synthetic": st.sampled_from([True, False, None]),
        "question_type": st.sampled_from(["MCQ", "proof", "math-word-problem", None]),
        "problem_is_valid": st.sampled_from(["Yes", "Incomplete", None]),
        "solution_is_valid": st.sampled_from(["Yes", "Problem not solved", None]),
        "problem": st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    }
)


@settings(max_examples=30, deadline=None)
@given(rows=st.lists(marks, min_size=1, max_size=8))
def test_rows_in_are_records_out(rows, tmp_path_factory):
    path = put(tmp_path_factory.mktemp("n"), [{**ROW, **row} for row in rows], row_group_size=2)
    records = read(path)
    assert [record.problem for record in records] == [row["problem"] for row in rows]
    assert len({record.source_id for record in records}) == len(rows)
    for row, record in zip(rows, records, strict=True):
        good = (
            row["source"] == "olympiads"
            and row["synthetic"] is not True
            and row["question_type"] != "MCQ"
            and row["problem_is_valid"] == row["solution_is_valid"] == "Yes"
        )
        assert (record.fault is None) == good
