"""Kind "records": the three formats streamed, each fault with its place, nothing lost."""

from __future__ import annotations

import csv
import gzip
import json
import os
import tracemalloc
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.corpus.readers import problem_id_of, read_problems
from saber_assets.corpus.source_kinds import table_rows
from saber_assets.corpus.source_kinds.own_records import KIND
from saber_assets.errors import InputError

REAL = Path(__file__).parents[3].parent / "shared" / "data" / "problems" / "real_18k.jsonl.gz"
ROW = {"id": "a", "problem": "Find $x$.", "solution": "x = 3"}


def lines(*rows):
    return "\n".join(json.dumps(row) for row in rows).encode()


def put(tmp_path, data, name="p.jsonl"):
    path = tmp_path / name
    path.write_bytes(data)
    return path


def read(*paths, **options):
    return list(KIND.read(paths, options))


@pytest.mark.skipif(not REAL.exists(), reason="the shared data is not here")
def test_every_real_record_comes_in():
    records = read(REAL)
    assert len(records) == 22_278
    assert len({(r.origin, r.source_id) for r in records}) == 22_278
    assert sum("#" in r.location or "for the 2nd time" in r.location for r in records) == 50
    assert sum(not r.solutions for r in records) == 4_987
    assert {r.origin for r in records} >= {"gsm8k", "champ", "levin_discrete"}
    assert records[0].answer == "72" and records[0].metadata["level"] == "grade-school"
    with gzip.open(REAL) as stream:
        for line, record in zip(stream, records, strict=True):
            row = json.loads(line)
            assert (record.problem, record.origin) == (row["problem"], row["source"])
            assert record.solutions == ((row["solution"],) if row["solution"].strip() else ())


@pytest.mark.skipif(not REAL.exists(), reason="the shared data is not here")
def test_ids_with_two_contents_are_refused_on_demand():
    with pytest.raises(
        InputError, match=r"'levin_discrete' is used twice, in .* 21373 and .*21527"
    ):
        read(REAL, repeats="equal")


def test_all_fields_and_oddities(tmp_path):
    text = "\u2028 a\x85b \u00e9 <b<c$ $5 and $7"
    data = (
        b"\xef\xbb\xbf"
        + json.dumps({**ROW, "id": 7, "problem": text, "level": 3}, ensure_ascii=False).encode()
        + b"\r\n\r\n"
        + lines(
            {
                **ROW,
                "source": " imo ",
                "solutions": ["x = 3", "other", " "],
                "answer": 42,
                "license": "CC-BY-4.0",
                "language": "DE",
                "hard": True,
                "tags": ["a"],
            }
        )
    )
    one, two = read(put(tmp_path, data))
    assert (one.source_id, one.location) == ("7", "p.jsonl line 1")
    assert one.problem == text and one.origin == "" and one.metadata == {"level": "3"}
    assert two.solutions == ("x = 3", "other")
    assert (two.answer, two.licence, two.language) == ("42", "CC-BY-4.0", "de")
    assert two.origin == "imo" and two.metadata == {"hard": "true", "source": "imo"}
    assert two.location == "p.jsonl line 3" and two.fault is None


def test_all_formats_give_the_same_records(tmp_path):
    rows = [
        {"id": str(i), "problem": f'Say "{i}",\r\nor \u2028é', "solution": "yes\rno", "source": "s"}
        for i in range(3)
    ]
    pl.DataFrame(rows).write_parquet(tmp_path / "p.parquet")
    with (tmp_path / "p.csv").open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    put(tmp_path, lines(*rows))
    put(tmp_path, gzip.compress(lines(*rows)), "p.jsonl.gz")
    put(tmp_path, gzip.compress((tmp_path / "p.csv").read_bytes()), "p.csv.gz")
    names = ["p.jsonl", "p.jsonl.gz", "p.csv", "p.csv.gz", "p.parquet"]
    expected = [(r["id"], r["problem"], (r["solution"],), "s") for r in rows]
    for name in names:
        got = read(tmp_path / name)
        assert [(r.source_id, r.problem, r.solutions, r.origin) for r in got] == expected, name
    assert KIND.count((tmp_path / "p.parquet",), {}) == 3
    assert KIND.count((tmp_path / "p.csv",), {}) is None


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@settings(max_examples=40, deadline=None)
@given(rows=st.lists(st.tuples(texts, texts), min_size=1, max_size=6))
def test_texts_come_through_each_format_untouched(rows, tmp_path_factory):
    folder = tmp_path_factory.mktemp("r")
    table = [{"id": f"i{n}", "problem": p, "solution": s} for n, (p, s) in enumerate(rows)]
    put(folder, lines(*table))
    raw = "\r\n".join(json.dumps(row, ensure_ascii=False) for row in table)
    put(folder, raw.encode(), "raw.jsonl")
    pl.DataFrame(table).write_parquet(folder / "p.parquet")
    for name in ("p.jsonl", "raw.jsonl", "p.parquet"):
        got = read(folder / name)
        assert [(r.problem, r.solutions) for r in got] == [
            (p, (s,) if s.strip() else ()) for p, s in rows
        ]
    if not any("\0" in p + s for p, s in rows):
        with (folder / "p.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(table[0]))
            writer.writeheader()
            writer.writerows(table)
        assert [r.problem for r in read(folder / "p.csv")] == [p for p, _ in rows]
    # the whole-file reader gives the same contents
    assert read_problems(folder / "p.jsonl")["problem_id"].to_list() == [
        problem_id_of(r.problem, r.solutions[0] if r.solutions else "")
        for r in read(folder / "p.jsonl")
    ]


@settings(max_examples=60, deadline=None)
@given(
    data=st.binary(max_size=200)
    | st.text(max_size=80).map(lambda text: text.encode(errors="surrogatepass"))
)
def test_any_bytes_are_read_or_refused(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("b")
    for name in ("p.jsonl", "p.csv", "p.parquet", "p.jsonl.gz"):
        path = put(folder, data, name)
        KIND.recognises(path)
        try:
            read(path)
        except InputError as error:
            assert str(path) in str(error)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "p.jsonl is empty"),
        (b"\n \n", "holds no record"),
        (lines(ROW) + b"\n{bad", "line 2 is not valid JSON"),
        (lines(ROW) + b"\n[1]", "line 2 holds a list instead of an object"),
        (lines(ROW) + b"\nnull", "line 2 holds null"),
        (b"[" * 100_000, "line 1 can't be read as JSON"),
        (lines({"id": 1, "problem": "x", "text": "y"}), r"no 'solution' among its keys \('id', "),
        (lines({"problem": "x", "solution": "y"}), "no 'id' among its keys"),
        (lines({**ROW, "problem": 3}), "line 1: 'problem' is a number, not text"),
        (b'{"id":"a","problem":NaN,"solution":"y"}', "'problem' is a number, not text"),
        (lines({**ROW, "id": 1.5}), "line 1: the id is a number"),
        (lines({**ROW, "id": True}), "the id is true or false"),
        (lines({**ROW, "id": " "}), "line 1 has no id"),
        (lines(ROW, {"problem": "x", "solution": "y"}), "line 2 has no id"),
        (lines({**ROW, "solutions": [1]}), r"'solutions\[0\]' is a number, not text"),
        (lines({**ROW, "solutions": {}}), "'solutions' is an object, not a list of texts"),
        (lines(ROW) + b"\n\xff", "not UTF-8: byte 0xff at offset 57, line 2"),
        (lines(ROW).decode().encode("utf-16"), "not UTF-8: byte 0xff at offset 0, line 1"),
        (
            b'{"id":"a","problem":"\\ud800x","solution":"y"}',
            r"lone surrogate \\ud800 at character 1",
        ),
        (b'{"id":"\\ud800","problem":"x","solution":"y"}', r"lone surrogate \\ud800"),
        (b'{"id":' + b"9" * 5000 + b',"problem":"x","solution":"y"}', "can't be read as JSON"),
    ],
)
def test_jsonl_faults_are_named(tmp_path, data, message):
    with pytest.raises(InputError, match=message):
        read(put(tmp_path, data))


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("p.csv", b"id;problem;solution\n1;2;3\n", "no 'id' and no 'problem' and no 'solution'"),
        ("p.csv", b"id,problem,solution\n1,a\n", "line 2 has 2 fields and the header has 3"),
        ("p.csv", b'id,problem,solution\n1,"a,b\n', "line 2 is not valid CSV"),
        ("p.csv", b"id,id,problem,solution\n1,1,a,b\n", "the column 'id' twice"),
        ("p.csv", b"id,problem,solution\n", "holds no record"),
        ("p.csv", b"id,problem,solution\n\xe9,a,b\n", "not UTF-8: byte 0xe9 at offset 20, line 2"),
        ("p.csv", b"id,problem,solution\n,a,b\n", "line 2 has no id"),
        ("p.csv", b"id,problem,solution\n1,a\0,b\n", "zero byte"),
        ("p.csv", b'id,problem,solutions\n1,a,"[1, 2"\n', "'solutions' is a string, not a list"),
        ("p.parquet", b"PAR1 nonsense", "not a sound Parquet file"),
        ("p.jsonl.gz", b"\x1f\x8bnonsense", "not a sound gzip file"),
        ("p.jsonl.gz", gzip.compress(lines(ROW) * 50)[:-12], "not a sound gzip file"),
        ("p.txt", b"x", "suffix that is not known"),
    ],
)
def test_other_faults_are_named(tmp_path, name, data, message):
    with pytest.raises(InputError, match=message):
        read(put(tmp_path, data, name))


def test_parquet_types(tmp_path):
    path = tmp_path / "p.parquet"
    pl.DataFrame({"id": [1], "problem": [2.5], "solution": ["x"]}).write_parquet(path)
    with pytest.raises(InputError, match="row 1: 'problem' is a number, not text"):
        read(path)
    pl.DataFrame(
        {
            "id": [1, 2],
            "problem": ["x", None],
            "solutions": [["a", "b"], None],
            "answer": [[1], None],
        }
    ).with_columns(pl.col("problem").cast(pl.Categorical)).write_parquet(path)
    one, two = read(path)
    assert one.solutions == ("a", "b") and one.answer == "[1]"
    assert (two.source_id, two.problem, two.solutions, two.answer) == ("2", "", (), None)


def test_columns_of_other_names(tmp_path):
    path = put(tmp_path, lines({"nr": 5, "text": "x", "proof": "y"}))
    columns = {"id": "nr", "problem": "text", "solution": "proof"}
    (record,) = read(path, columns=columns)
    assert (record.source_id, record.problem, record.solutions) == ("5", "x", ("y",))
    with pytest.raises(InputError, match=r"no 'nope' among its keys"):
        read(path, columns={**columns, "problem": "nope"})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"repeat": "refuse"}, "no option 'repeat': did you mean 'repeats'"),
        ({"repeats": "drop"}, "is 'drop': give one of number, equal, refuse"),
        ({"columns": {"text": "x"}}, "maps 'text'"),
        ({"columns": {"problem": 1}}, "'columns.problem'"),
        ({"columns": "x"}, "give a table"),
    ],
)
def test_wrong_options_are_named(tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        read(put(tmp_path, lines(ROW)), **options)


def test_repeated_ids(tmp_path):
    other = {**ROW, "problem": "Find $y$."}
    path = put(tmp_path, lines(ROW, {**ROW, "problem": "Find  $x$. "}, {**ROW, "source": "s"}, ROW))
    records = read(path, repeats="equal")
    assert [r.source_id for r in records] == ["a", "a#2", "a", "a#3"]
    assert records[1].location == "p.jsonl line 2 (the id 'a' for the 2nd time)"
    assert records == read(path)
    with pytest.raises(
        InputError, match=r"'a' is used twice, in p.jsonl line 1 and p.jsonl line 2"
    ):
        read(path, repeats="refuse")
    clash = put(tmp_path, lines(ROW, {**ROW, "id": "a#2"}, other), "q.jsonl")
    assert [r.source_id for r in read(clash)] == ["a", "a#2", "a#3"]
    with pytest.raises(InputError, match="used twice, in q.jsonl line 1 and q.jsonl line 3"):
        read(clash, repeats="equal")
    with pytest.raises(InputError, match="used twice, in p.jsonl line 1 and q.jsonl line 3"):
        read(path, clash, repeats="equal")


def test_folders_are_walked_in_order(tmp_path):
    (tmp_path / "b").mkdir()
    put(tmp_path, lines({**ROW, "id": "3"}), "z.jsonl")
    put(tmp_path / "b", lines({**ROW, "id": "1"}), "x.jsonl")
    put(tmp_path / "b", lines({**ROW, "id": "2"}), "y.ndjson")
    put(tmp_path, b"nothing", "notes.txt")
    put(tmp_path, b"nothing", ".hidden.jsonl")
    (tmp_path / "b" / "loop").symlink_to(tmp_path)
    records = read(tmp_path)
    assert [r.location for r in records] == [
        "b/x.jsonl line 1",
        "b/y.ndjson line 1",
        "z.jsonl line 1",
    ]
    with pytest.raises(InputError, match="named twice"):
        read(tmp_path, tmp_path / "z.jsonl")


def test_what_is_no_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "f.jsonl").mkdir()
    for path, message in [
        (tmp_path / "pipe.jsonl", "neither a file nor a folder"),
        (tmp_path / "f.jsonl", "holds no file that ends in one of"),
        (tmp_path / "none.jsonl", "does not exist"),
        (Path("a\0b.jsonl"), "can't be read"),
        (tmp_path / ("n" * 300 + ".jsonl"), "can't be read"),
        (Path(os.fsdecode(b"\xff.jsonl")), "not UTF-8"),
    ]:
        assert not KIND.recognises(path)
        with pytest.raises(InputError, match=message):
            read(path)
    with pytest.raises(InputError, match="names no path"):
        read()


def test_an_unreadable_file_is_named(tmp_path, monkeypatch):
    path = put(tmp_path, lines(ROW))

    def refuse(*_args, **_options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match=r"p.jsonl can't be read \(Permission denied\)"):
        read(path)
    assert not KIND.recognises(path)


def test_a_line_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(table_rows, "LONGEST_LINE", 1 << 20)
    good = lines(ROW) + b"\n"
    for name in ("p.jsonl", "p.jsonl.gz"):
        data = good + b'{"id": "' + b"x" * (1 << 22)
        path = put(tmp_path, gzip.compress(data) if name.endswith("gz") else data, name)
        with pytest.raises(InputError, match="line 2 is longer than 1 MiB"):
            read(path)
    path = put(tmp_path, b'id,problem,solution\n1,a,"' + b"x\n" * (1 << 20), "p.csv")
    with pytest.raises(InputError, match="line 2 is not valid CSV"):
        read(path)


def test_a_large_file_is_streamed(tmp_path):
    with (tmp_path / "p.jsonl").open("w") as file:
        for number in range(4000):
            file.write(
                json.dumps({**ROW, "id": number, "problem": f"{number} " + "x" * 4000}) + "\n"
            )
    tracemalloc.start()
    count = sum(1 for _ in KIND.read((tmp_path / "p.jsonl",), {}))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 4000
    assert peak < 3 << 20  # of 16 MB


def test_what_is_recognised(tmp_path):
    huge = b'{"problem": "' + b"x" * (2 << 20) + b'", "id": 1, "solution": "y"}'
    yes = {
        "a.jsonl": lines(ROW),
        "b.csv": b"\xef\xbb\xbfid,problem,solution\n",
        "c.jsonl": lines({"id": 1, "problem": "x"}, ROW),
        "d.jsonl": b"\xef\xbb\xbf" + lines(ROW),
        "e.jsonl": lines({"id": 1, "problem": "x", "solutions": []}),
    }
    no = {
        "f.jsonl": lines({"question": "x", "answer": "y"}),
        "g.jsonl": b"\xff\xfe",
        "h.txt": lines(ROW),
        "i.parquet": b"PAR1",
        "j.jsonl.gz": lines(ROW),
        "k.jsonl": b"",
        "l.jsonl": b"[" * 100_000,
        "m.jsonl": huge,  # its keys are beyond the beginning
    }
    assert all(KIND.recognises(put(tmp_path, data, name)) for name, data in yes.items())
    assert not any(KIND.recognises(put(tmp_path, data, name)) for name, data in no.items())
