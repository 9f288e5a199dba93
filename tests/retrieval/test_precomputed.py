"""Files of precomputed scores: every format gives the same, and each mistake its own sentence."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.errors import InputError
from saber_assets.publishing.safe_ids import safe
from saber_assets.retrieval.own.own_list import Own
from saber_assets.retrieval.own.precomputed import PrecomputedScores, runs_entry
from saber_assets.retrieval.own.run_file import check_ids, read_run
from saber_assets.retrieval.registry import own_entry
from saber_assets.retrieval.scoring import score_pools

RUN = {"q1": {"d1": 2.5, "d3": -1.0}, "q 2": {"d2": 0.25}}
POOLS = pl.DataFrame({
    "query_id": ["q1"] * 4 + ["q 2"] * 2 + ["q3"],
    "candidate_id": ["d1", "d2", "d3", "d4", "d1", "d2", "d1"],
})  # fmt: skip
IDS = ["q1", "q 2", "q3", "d1", "d2", "d3", "d4"]
CORPUS = pl.DataFrame({"problem_id": IDS, "problem": IDS, "solution": IDS})


def rows():
    return [(q, d, s) for q, scores in RUN.items() for d, s in scores.items()]


def write(path):
    frame = pl.DataFrame(rows(), schema=["query_id", "document_id", "score"], orient="row")
    kind = path.suffix
    if kind == ".json":
        path.write_text(json.dumps(RUN))
    elif kind == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in frame.to_dicts()))
    elif kind == ".parquet":
        frame.rename({"document_id": "doc_id"}).write_parquet(path)
    elif kind in (".csv", ".tsv"):
        frame.write_csv(path, separator="," if kind == ".csv" else "\t")
    else:
        lines = [f"{safe(q)} Q0 {d} 0 {s} tag" for q, d, s in rows()]
        path.write_text("\ufeff" + "\r\n".join(lines) + "\r\n\r\n")
    return path


@pytest.mark.parametrize("kind", ["trec", "run", "json", "jsonl", "csv", "tsv", "parquet"])
def test_every_format_gives_the_same_scores(tmp_path, kind):
    path = write(tmp_path / f"mine.{kind}")
    check_ids(path, {"q1", "q 2", "q3"}, set(IDS))
    entry = own_entry([Own("mine", str(path), "full-full")])
    assert (entry.settings, entry.is_light()) == (("full-full",), True)
    scores, failures = score_pools(
        "mine", entry.version, entry.make(), POOLS, CORPUS, entry.settings
    )
    found = {(q, d): s for q, d, s in scores.select("query_id", "candidate_id", "score").rows()}
    assert found == {
        ("q1", "d1"): 2.5,
        ("q1", "d3"): -1.0,
        ("q1", "d2"): -2.0,
        ("q1", "d4"): -2.0,
        ("q 2", "d2"): 0.25,
        ("q 2", "d1"): -0.75,
    }, "what wasn't retrieved ranks below all others of its query"
    assert failures.select("query_id", "reason").rows() == [
        ("q3", "The run has no document for this query.")
    ]


def test_members_that_are_not_in_the_run_are_counted():
    run = PrecomputedScores({"full-full": {"q": {"a": 1.0, "x": 9.0}}})
    assert list(run.score_pool("q", ["a", "b", "c", "d"], "full-full")) == [1.0, 0.0, 0.0, 0.0]
    assert run.note() == (
        "3 of 4 pool members (75.0%) are not in the run for full-full and rank below all others "
        "of their query"
    )
    with pytest.raises(LookupError, match="no member of the pool"):
        run.score_pool("q", ["b"], "full-full")
    with pytest.raises(InputError, match="can't score other texts"):
        run.score("query", ["text"])
    assert PrecomputedScores({"full-full": {"q": {"a": 1.0}}}).note() == ""


@settings(max_examples=40, deadline=None)
@given(
    st.dictionaries(
        st.integers(0, 9), st.floats(-1e300, 1e300, allow_nan=False), min_size=1, max_size=8
    )
)
def test_what_was_retrieved_keeps_its_order_above_the_rest(scores):
    run = PrecomputedScores({"full-full": {"q": {str(key): s for key, s in scores.items()}}})
    found = run.score_pool("q", [str(key) for key in range(10)], "full-full")
    assert np.isfinite(found).all()
    lacking = [key for key in range(10) if key not in scores]
    assert all(found[key] == scores[key] for key in scores)
    assert len({found[key] for key in lacking}) <= 1
    assert all(found[low] < found[high] for low in lacking for high in scores)


def test_the_version_follows_the_content_and_the_settings(tmp_path):
    one, two = write(tmp_path / "one.trec"), write(tmp_path / "two.trec")
    first = runs_entry("mine", {"full-full": one})
    assert runs_entry("mine", {"full-full": two}).version == first.version
    both = runs_entry("mine", {"full-full": one, "statement-full": two})
    assert both.settings == ("statement-full", "full-full")
    assert both.version != first.version
    two.write_text("q1 Q0 d1 1 3.5 tag\n")
    assert runs_entry("mine", {"full-full": two}).version != first.version


BAD = [
    ("a.trec", "q Q0 d 1 2.5\n", "a.trec line 1 has 5 fields instead of 6"),
    ("a.trec", "q Q0 d 1 2.5 t\nq Q0 e 1 high t\n", "a.trec line 2: 'high' is no number"),
    ("a.trec", "q Q0 d 1 nan t\n", "line 1: the score of document 'd' for query 'q' is nan"),
    ("a.trec", "q Q0 d 1 1e301 t\n", "not a finite number"),
    ("a.trec", "q Q0 d 1 1 t\nr Q0 d 1 1 t\nq Q0 d 2 0 t\n", "document 'd' occurs a second"),
    ("a.trec", "\n", "a.trec holds no scores"),
    ("a.trec", b"\xff\xfe\x00", "it isn't UTF-8 text"),
    ("a.json", '{"q": {"d": 1,}}', "a.json line 1 is not JSON"),
    ("a.json", '{"q": {"d": 1, "d": 2}}', "'d' occurs twice"),
    ("a.json", '{"q": {"d": NaN}}', "query 'q': the score of document 'd'"),
    ("a.json", '{"q": {"d": true}}', "query 'q': True is no number"),
    ("a.json", '{"q": [1]}', "query 'q' has no object of scores"),
    ("a.json", "[1]", "is no JSON object"),
    ("a.jsonl", '{"query_id": "q", "score": 1}', "line 1 lacks a key"),
    ("a.jsonl", '{"query_id": "q"\n', "line 1 is not JSON"),
    ("a.csv", "query_id,score\nq,1\n", "has the columns query_id, score"),
    ("a.csv", "query_id,doc_id,score\nq,d,1\nq,,2\n", "row 3 has no id"),
    ("a.parquet", "no parquet", "can't be read"),
    ("a.json", '{"q": {"d": 1' + "0" * 350 + "}}", "query 'q': 1000"),
    ("a.json", '{"q": {"d": -1' + "0" * 6000 + "}}", "for query 'q' is -inf"),
    ("a.json", "[" * 100_000, "nested too deeply"),
    ("a.json", '{"q":' * 100_000, "nested too deeply"),
    ("a.jsonl", '{"query_id": "q", "doc_id": "d", "score": 1' + "0" * 350 + "}", "line 1: 1000"),
    ("a.jsonl", '{"query_id": 1' + "0" * 6000 + "}", "line 1 lacks a key"),
    ("a.jsonl", "[" * 100_000, "nested too deeply"),
    ("a.trec", "q Q0 " + "d" * 2_000_000 + " 1 nan t", "dd…' for query 'q' is nan"),
    ("a.trec", "q Q0 d 1 " + "x" * 2_000_000 + " t", "xx… is no number"),
    ("a.csv", "\x1b[31m" + "c" * 2_000_000 + ",score\nq,1\n", "has the columns  [31mccc"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "sentence"), BAD)
def test_mistakes_name_file_and_line(tmp_path, name, content, sentence):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as caught:
        read_run(path)
    assert sentence in str(caught.value)
    assert str(path) in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    ("line", "sentence"),
    [("q9 Q0 d1 1 1 t", "no query 'q9'"), ("q1 Q0 d9 1 1 t", "no document 'd9'")],
)
def test_unknown_ids_name_the_line(tmp_path, line, sentence):
    path = tmp_path / "mine.trec"
    path.write_text(f"q%202 Q0 d1 1 1 t\n{line}\n")
    with pytest.raises(InputError, match=f"line 2: the benchmark has {sentence}"):
        check_ids(path, {"q1", "q 2"}, set(IDS))


@pytest.mark.parametrize(
    ("query", "told"),
    [("\x1b[31mq\x1b]0;own\x07", "no query ' [31mq ]0;own '"), ("q" * 2_000_000, "qqq…'")],
)
def test_ids_neither_steer_the_terminal_nor_fill_it(tmp_path, query, told):
    path = tmp_path / "mine.trec"
    path.write_text(f"{query} Q0 d1 1 1 t\n")
    with pytest.raises(InputError) as caught:
        check_ids(path, {"q1"}, set(IDS))
    assert told in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet"])
def test_a_name_with_brackets_is_no_pattern(tmp_path, kind):
    write(tmp_path / f"run[12].{kind}")
    for other in "12":
        (tmp_path / f"run{other}.{kind}").write_text("another run")
    assert read_run(tmp_path / f"run[12].{kind}") == RUN


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="can't be read .No such file"):
        runs_entry("mine", {"full-full": tmp_path / "gone.trec"})
