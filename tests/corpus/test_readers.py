"""Reading problem files: the three formats, each fault with its place, and content-derived ids."""

from __future__ import annotations

import csv
import gzip
import json

import polars as pl
import pytest

from saber_assets.corpus.readers import problem_id_of, read_corpus, read_problems
from saber_assets.corpus.solution_check import is_real_solution
from saber_assets.corpus.tables import OWN_RECORDS
from saber_assets.errors import InputError

ROW = {"id": "a", "problem": "Find $x$.", "solution": "x = 3"}


def lines(*rows):
    return "\n".join(json.dumps(row) for row in rows).encode()


def put(tmp_path, data, name="p.jsonl"):
    path = tmp_path / name
    path.write_bytes(data)
    return path


def test_jsonl_with_everything_that_is_allowed(tmp_path):
    text = "\u2028 a\x85b \u00e9 <b<c$ $5 and $7"
    data = (
        b"\xef\xbb\xbf"
        + json.dumps({**ROW, "id": 7, "problem": text, "level": 3}, ensure_ascii=False).encode()
        + b"\r\n\r\n"
        + lines({**ROW, "source": "imo"})
        + b"\n"
    )
    frame = read_problems(put(tmp_path, data))
    OWN_RECORDS.conform(frame)
    assert frame["source_id"].to_list() == ["7", "a"]
    assert frame["source"].to_list() == ["p", "imo"]
    assert frame["problem"][0] == text
    assert frame["location"].to_list() == ["p.jsonl line 1", "p.jsonl line 3"]
    assert frame["fault"].null_count() == 2


def test_all_formats_give_the_same_records(tmp_path):
    rows = [
        {"id": str(i), "problem": f'Say "{i}",\nor é', "solution": "yes", "source": "s"}
        for i in range(3)
    ]
    pl.DataFrame(rows).write_parquet(tmp_path / "p.parquet")
    with (tmp_path / "p.csv").open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    paths = [
        put(tmp_path, lines(*rows)),
        put(tmp_path, lines(*rows), "p.ndjson"),
        put(tmp_path, gzip.compress(lines(*rows)), "p.jsonl.gz"),
        tmp_path / "p.csv",
        tmp_path / "p.parquet",
    ]
    frames = [read_problems(path) for path in paths]
    for frame in frames:
        assert frame.drop("location").equals(frames[0].drop("location"))
    assert frames[3]["location"].to_list() == ["p.csv line 2", "p.csv line 4", "p.csv line 6"]
    assert frames[4]["location"][0] == "p.parquet row 1"


def test_integer_ids_in_parquet(tmp_path):
    pl.DataFrame({"id": [1, 2], "problem": ["a", "b"], "solution": ["c", "d"]}).write_parquet(
        tmp_path / "q.parquet"
    )
    frame = read_problems(tmp_path / "q.parquet", default_source="named")
    assert frame["source_id"].to_list() == ["1", "2"]
    assert frame["source"].to_list() == ["named", "named"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "p.jsonl is empty"),
        (b"\n \n", "holds no record"),
        (lines(ROW) + b"\n{bad", "line 2 is not valid JSON"),
        (lines(ROW) + b"\n[1]", "line 2 holds a list instead of an object"),
        (lines(ROW) + b"\nnull", "line 2 holds null"),
        (b"[" * 100_000, "line 1 can't be read as JSON"),
        (
            lines({"id": 1, "problem": "x", "answer": "y"}),
            r"no 'solution' .*'answer', 'id', 'problem'",
        ),
        (lines({**ROW, "problem": 3}), "line 1: 'problem' is a number, not text"),
        (lines({**ROW, "id": 1.5}), "line 1: the id is a number"),
        (lines({**ROW, "id": True}), "the id is true or false"),
        (lines({**ROW, "id": " "}), "line 1 has no id"),
        (lines(ROW, {"problem": "x", "solution": "y"}), "line 2 has no id"),
        (lines(ROW, ROW), "'a' of source 'p' is used twice, in p.jsonl line 1 and p.jsonl line 2"),
        (lines(ROW) + b"\n\xff", "not UTF-8: byte 0xff at offset 57, line 2"),
        (
            b'{"id":"a","problem":"\\ud800x","solution":"y"}',
            r"lone surrogate \\ud800 at character 1",
        ),
    ],
)
def test_jsonl_faults_are_named(tmp_path, data, message):
    with pytest.raises(InputError, match=message):
        read_problems(put(tmp_path, data))


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("p.csv", b"id;problem;solution\n", r"no 'id' and no .*\('id;problem;solution'\)"),
        ("p.csv", b"id,problem,solution\n1,a\n", "line 2 has 2 fields and the header has 3"),
        ("p.csv", b'id,problem,solution\n1,"a,b\n', "line 2 is not valid CSV"),
        ("p.csv", b"id,id,problem,solution\n1,1,a,b\n", "the column 'id' twice"),
        ("p.csv", b"id,problem,solution\n", "holds no record"),
        ("p.csv", b"id,problem,solution\n\xe9,a,b\n", "not UTF-8"),
        ("p.csv", b"id,problem,solution\n,a,b\n", "line 2 has no id"),
        ("p.parquet", b"PAR1 nonsense", "not a sound Parquet file"),
        ("p.jsonl.gz", b"\x1f\x8bnonsense", "not a sound gzip file"),
        ("p.txt", b"x", "suffix that is not known"),
    ],
)
def test_other_faults_are_named(tmp_path, name, data, message):
    with pytest.raises(InputError, match=message):
        read_problems(put(tmp_path, data, name))


def test_parquet_columns_are_checked(tmp_path):
    path = tmp_path / "p.parquet"
    pl.DataFrame({"id": [1], "problem": [2.5], "solution": ["x"]}).write_parquet(path)
    with pytest.raises(InputError, match="the column 'problem' holds Float64"):
        read_problems(path)
    pl.DataFrame({"id": [1], "text": ["x"]}).write_parquet(path)
    with pytest.raises(InputError, match=r"no 'problem' and no 'solution' .*'id', 'text'"):
        read_problems(path)


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        read_problems(tmp_path / "none.jsonl")
    with pytest.raises(InputError, match="is a folder"):
        read_problems(tmp_path)


def test_content_decides_the_id(tmp_path):
    assert problem_id_of("a  b\n", "c") == problem_id_of(" a b", "c ")
    assert problem_id_of("caf\u00e9", "x") == problem_id_of("cafe\u0301", "x")
    assert problem_id_of("a", "bc") != problem_id_of("ab", "c")
    assert problem_id_of("a b", "c") != problem_id_of("a", "b c")
    first = read_problems(put(tmp_path, lines(ROW)))
    second = read_problems(put(tmp_path, lines({**ROW, "id": "zzz", "source": "other"}), "q.jsonl"))
    assert first["problem_id"].to_list() == second["problem_id"].to_list()
    assert len(first["problem_id"][0]) == 17


def test_occurrences_are_numbered_across_files(tmp_path):
    one = put(tmp_path, lines(ROW, {**ROW, "id": "b"}), "one.jsonl")
    two = put(tmp_path, lines({**ROW, "problem": "other"}, {**ROW, "id": "c"}), "two.jsonl")
    frame = read_corpus([one, two])
    OWN_RECORDS.conform(frame)
    assert frame["occurrence"].to_list() == [1, 2, 1, 3]


def test_one_id_in_two_files_of_a_source(tmp_path):
    one = put(tmp_path, lines({**ROW, "source": "s"}), "one.jsonl")
    two = put(tmp_path, lines({**ROW, "source": "s", "problem": "other"}), "two.jsonl")
    with pytest.raises(InputError, match=r"in one.jsonl line 1 and two.jsonl line 1"):
        read_corpus([one, two])
    both = read_corpus([one, two, one], "set_aside")
    assert both["source_id"].to_list() == ["a", "a#2", "a"]
    again = put(tmp_path, lines({**ROW, "source": "s"}), "again.jsonl")
    with pytest.raises(InputError, match="used twice"):
        read_corpus([one, again])
    assert read_corpus([one, again], "set_aside")["occurrence"].to_list() == [1, 2]


def test_bad_rows_are_refused_or_set_aside(tmp_path):
    rows = [
        ROW,
        {"id": "b", "problem": " \u200b\n", "solution": "x"},
        {"id": "c", "problem": "x", "solution": None},
        {"id": "d", "problem": "x"},
        {"id": "e", "problem": "x", "solution": "See above."},
    ]
    path = put(tmp_path, lines(*rows))
    with pytest.raises(InputError) as caught:
        read_corpus([path])
    assert str(caught.value) == (
        "p.jsonl line 2: the record 'b' has an empty statement (3 more rows have such faults): "
        "fill it in, remove the row, or build with --bad-rows set-aside to list such rows in "
        "dropped_problems"
    )
    frame = read_corpus([path], bad_rows="set_aside")
    assert frame["fault"].to_list() == [
        None, "empty_statement", "empty_solution", "empty_solution", "no_real_solution",
    ]  # fmt: skip
    OWN_RECORDS.conform(frame)
    with pytest.raises(ValueError, match="bad_rows"):
        read_corpus([path], "ignore")
    with pytest.raises(ValueError, match="at least one file"):
        read_corpus([])


@pytest.mark.parametrize(
    "text",
    [
        "Omitted.", "omitted", "Proof omitted.", "The proof is omitted.", "Solution: Omitted.",
        "See above.", "see below", "See the solution above.", "Refer to the textbook",
        "Proof left to the reader", "The proof is left as an exercise to the reader.",
        "Left as an exercise.", "Left to reader", "Exercise.", "Trivial.", "This is trivial!",
        "Obvious", "Clear.", "Immediate", "Straightforward.", "N/A", "TODO", "tbd", "null",
        "No solution provided.", "Solution not available", "Same as above.", "*Omitted*",
        "\\textit{Omitted.}", "$\\blacksquare$", "Proof. Omitted. \\qed", "...", "-", "?",
        "Solution:", "Proof.", "[image]", "![](a.png)", "See [ref].\n[image]",
        "\\includegraphics[width=3cm]{a.png}", "Answers will vary.", "We omit the proof.",
    ],
)  # fmt: skip
def test_remarks_are_no_solutions(text):
    assert not is_real_solution(text)


@pytest.mark.parametrize(
    "text",
    [
        "42", "x=3", "$0$", "-1", "1/2", "\\frac12", "∞", "\\emptyset", "yes", "No", "None",
        "no solution", "No solution exists.", "(b)", "A", "all real numbers", "|x|", "√2", "<",
        "Trivial for n = 1; for n > 1 use induction.", "See that 2 + 2 = 4.", "left", "undefined",
        "By the triangle inequality.", "Omitted terms sum to zero, so the limit is 1.",
        "Answer: 7", "It is clear that x = 2.", "{1, 2}", "12 cm [image]",
    ],
)  # fmt: skip
def test_short_answers_are_solutions(text):
    assert is_real_solution(text)
