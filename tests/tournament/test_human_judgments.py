"""Reading people's judgments: every spelling of a choice, and every mistake told at once."""

import polars as pl
import pytest

from saber_assets.errors import InputError
from saber_assets.tournament.human_judgments import ANONYMOUS, read_human_judgments

POOLS = pl.DataFrame(
    {"query_id": ["q", "q", "q", "r", "r"], "candidate_id": ["a1", "b1", "c1", "a1", "d1"]}
)
PROBLEMS = pl.DataFrame(
    {
        "problem_id": ["q", "r", "a1", "b1", "c1", "d1"],
        "source_id": ["imo-1", "imo-2", "7", "8", "7", "1"],
    }
)


def read(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "people.csv"
    path.write_bytes(text.encode(encoding))
    return read_human_judgments(path, POOLS, PROBLEMS)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("q,a1,b1,a,x", ("q", "a1", "b1", 1, "x")),
        ("q,a1,b1,1,x", ("q", "a1", "b1", 1, "x")),
        ("q,a1,b1,B,x", ("q", "a1", "b1", -1, "x")),
        ("q,b1,a1,2,x", ("q", "a1", "b1", 1, "x")),
        ("q,b1,a1,a1,x", ("q", "a1", "b1", 1, "x")),
        ("imo-1,b1,a1,8,x", ("q", "a1", "b1", -1, "x")),
        ("q,8,a1,b1,x", ("q", "a1", "b1", -1, "x")),
        (" q , a1 , b1 , Tie ,", ("q", "a1", "b1", 0, ANONYMOUS)),
    ],
)
def test_spellings(tmp_path, row, expected):
    found = read(tmp_path, f"query,a,b,choice,annotator\n{row}\n")
    assert found.frame.rows() == [expected]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_spreadsheets(tmp_path, separator):
    rows = [
        ["Annotator", "Query", "note", "a", "b", "Choice"],
        ["x", "q", '"two\nlines, and \u2028"', "a1", "b1", "tie"],
        ["x", "q", "", "a1", "c1", ""],
        ["", "", "", "", "", ""],
        ["y", "q", "", "a1", "b1", "a"],
    ]
    text = "\r\n".join(separator.join(row) for row in rows)
    found = read(tmp_path, text, encoding="utf-8-sig")
    assert [row[3:] for row in found.frame.rows()] == [(0, "x"), (1, "y")]
    assert found.open_rows == 1


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("zzz,a1,b1,a,x", r"row 3: unknown query 'zzz'"),
        ("q,zzz,b1,a,x", r"row 3: 'zzz' is no candidate of that query"),
        ("q,d1,b1,a,x", r"row 3: 'd1' is no candidate of that query"),  # of another query
        ("q,a1,b1,maybe,x", r"row 3: the choice 'maybe' is none of"),
        ("q,a1,b1,c1,x", r"row 3: the choice 'c1' is none of"),
        ("q,a1,a1,a,x", r"row 3: a and b are the same"),
        ("q,7,b1,a,x", r"row 3: '7' is the source_id of several problems"),
        ("q,c1,a1,b,x", r"row 3: repeats the pair of row 2 by the same annotator"),
        ("r,a1,1,1,x", r"row 3: the choice '1' may mean either"),  # a, or the id of b
    ],
)
def test_mistakes_name_the_row(tmp_path, row, told):
    text = f"query,a,b,choice,annotator\nq,a1,c1,a,x\n{row}\n"
    with pytest.raises(InputError, match=told):
        read(tmp_path, text)


def test_a_row_that_is_cut_short_is_an_open_one(tmp_path):
    assert read(tmp_path, "query,a,b,choice\nq,a1,c1,a\nq,a1\n").open_rows == 1


def test_all_mistakes_are_one_sentence(tmp_path):
    rows = "\n".join(f"q{number},a1,b1,a,x" for number in range(8))
    with pytest.raises(InputError) as error:
        read(tmp_path, f"query,a,b,choice,annotator\n{rows}\n")
    assert "8 unusable rows (row 2: unknown query 'q0';" in error.value.what
    assert "row 6: unknown query 'q4'; and 3 more)" in error.value.what
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "lacks the columns query, a, b, choice"),
        ("query,a,b\nq,a1,b1\n", "lacks the column choice"),
        ("query,a,b,choice\nq,a1,b1,\n", "has no judgment"),
    ],
)
def test_useless_files(tmp_path, text, told):
    with pytest.raises(InputError, match=told):
        read(tmp_path, text)


def test_unreadable_files(tmp_path):
    with pytest.raises(InputError, match="can't be read"):
        read_human_judgments(tmp_path / "nothing.csv", POOLS, PROBLEMS)
    with pytest.raises(InputError, match="not UTF-8"):
        read(tmp_path, "query,a,b,choice\nq,a1,b1,é\n", encoding="latin-1")
