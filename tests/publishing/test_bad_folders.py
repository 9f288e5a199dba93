"""A folder that isn't as it should be costs one sentence that names file and row."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from saber_assets.errors import InputError
from saber_assets.publishing.readers import content_of, read_release

DOCUMENTS = [{"id": f"d{n}", "problem": f"p{n}", "solution": f"s{n}"} for n in range(3)]
QUERY = {"id": "q", "problem": "ask", "candidates": [0, 2], "relevance_scores": [1.0, 0.0]}


def lines(path: Path, rows: list) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def release(folder: Path, documents=DOCUMENTS, **query) -> None:
    lines(folder / "documents.jsonl", documents)
    lines(folder / "queries.jsonl", [{**QUERY, **query}])


def beir(folder: Path, qrels: str = "q\td0\t1\nq\td1\t0\n") -> None:
    lines(folder / "corpus.jsonl", [{"_id": f"d{n}", "text": f"t{n}"} for n in range(2)])
    lines(folder / "queries.jsonl", [{"_id": "q", "text": "ask"}])
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + qrels)


def refused(kind: str, folder: Path, *words: str, **options) -> None:
    with pytest.raises(InputError) as caught:
        read_release(kind, folder, **options)
    sentence = " ".join(str(caught.value).split())
    for word in words:
        assert word in sentence, sentence
    assert caught.value.mend


def test_good_ones_first(tmp_path) -> None:
    release(tmp_path / "release")
    (tmp_path / "beir").mkdir()
    beir(tmp_path / "beir")
    assert read_release("saber-release", tmp_path / "release").pools.height == 2
    assert read_release("beir", tmp_path / "beir").pools.height == 2


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"candidates": [0, 3]}, "candidate 3 is no row of the 3 documents"),
        ({"candidates": [0, -1]}, "candidate -1 is no row"),
        ({"candidates": [0, True]}, "candidate True is no document"),
        ({"candidates": [0, "d9"]}, "candidate 'd9' is no document"),
        ({"candidates": [0, 0]}, "has candidate 0 twice"),
        ({"candidates": [0]}, "has 1 candidates and 2 relevance_scores"),
        ({"candidates": 7}, "'candidates' is not a list"),
        ({"candidates": None}, "has no 'candidates'"),
        ({"relevance_scores": [1.0, 5.5]}, "5.5 of candidate 2 is not in [0, 5]"),
        ({"relevance_scores": [-0.5, 1]}, "-0.5 of candidate 1 is not in [0, 5]"),
        ({"relevance_scores": [1.0, "x"]}, "score 2: 'score' is 'x', no finite number"),
        ({"relevance_scores": [1.0, None]}, "score 2 has no 'score'"),
        ({"problem": " "}, "(id 'q') has no text"),
        ({"problem": 5}, "'problem' is not a text"),
        ({"id": ""}, "'id' is no id"),
        ({"id": None}, "has no 'id' or '_id'"),
        ({"domains": "Algebra"}, "'domains' is not a list"),
    ],
)
def test_rows_of_a_release(query, words, tmp_path) -> None:
    release(tmp_path, **query)
    refused("saber-release", tmp_path, f"{tmp_path}/queries.jsonl line 1", words)


def test_documents_of_a_release(tmp_path) -> None:
    release(tmp_path, documents=[*DOCUMENTS, DOCUMENTS[0]])
    refused("saber-release", tmp_path, "documents.jsonl line 4 has the id 'd0' again")


def test_no_folder_no_parts_and_broken_files(tmp_path) -> None:
    refused("mteb", tmp_path / "none", f"there is no folder {tmp_path}/none")
    refused("saber-release", tmp_path, f"{tmp_path} has no documents or corpus")
    (tmp_path / "documents.parquet").write_bytes(b"PAR1 and no more")
    refused("saber-release", tmp_path, "documents.parquet is not a sound Parquet file")
    (tmp_path / "documents.parquet").unlink()
    (tmp_path / "documents.jsonl").write_text('{"id": 1, "problem": "a"}\n{"id": 2, oh}\n')
    refused("saber-release", tmp_path, "documents.jsonl line 2 is not valid JSON")
    (tmp_path / "documents.jsonl").write_text("[1]\n")
    refused("saber-release", tmp_path, "documents.jsonl line 1 is not a JSON object")
    (tmp_path / "documents.jsonl").write_bytes(b'{"id": 1,\n"problem": "\xff"}')
    refused("saber-release", tmp_path, "documents.jsonl line 2 is not UTF-8")
    (tmp_path / "documents.jsonl").unlink()
    (tmp_path / "documents.jsonl.gz").write_bytes(b"no gzip")
    refused("saber-release", tmp_path, "documents.jsonl.gz can't be read")
    with pytest.raises(InputError, match="there is no folder"):
        content_of(tmp_path / "none")


@pytest.mark.parametrize(
    ("match", "words"),
    [
        ("q,d0,d1,1", "'d0' and 'd1' are not both candidates of query 'q'"),
        ("r,d0,d2,1", "are not both candidates of query 'r'"),
        ("q,d0,d2,0", "the winner is '0'"),
        ("q,d0,d2", "has 3 fields and the header has 4"),
    ],
)
def test_matches(match, words, tmp_path) -> None:
    release(tmp_path)
    (tmp_path / "matches.csv").write_text(f"target_id,model_a,model_b,winner\n{match}\n")
    refused("saber-release", tmp_path, f"{tmp_path}/matches.csv line 2", words)


@pytest.mark.parametrize(
    ("qrels", "words"),
    [
        ("q\td0\t1\nq\td0\t2\n", "line 3 judges document 'd0' for query 'q', as does"),
        ("q\td9\t1\n", "line 2 names document 'd9', which the folder has no text of"),
        ("z\td0\t1\n", "line 2 names query 'z'"),
        ("q\td0\tgood\n", "line 2: 'score' is 'good', no finite number"),
        ("q\td0\tnan\n", "line 2: 'score' is 'nan', no finite number"),
        ("q\td0\t1\t0\n", "line 2 has 4 fields and the header has 3"),
        ("q\td0\t31000\n", "line 2: the relevance 31000 is above 5: give --gain-scale S"),
    ],
)
def test_qrels(qrels, words, tmp_path) -> None:
    beir(tmp_path, qrels)
    refused("beir", tmp_path, f"{tmp_path}/qrels/test.tsv", words)


def test_a_scale_that_is_too_small_and_empty_qrels(tmp_path) -> None:
    beir(tmp_path, "q\td0\t31000\nq\td1\t0\n")
    refused("beir", tmp_path, "31000 is above 5: check --gain-scale 10", gain_scale=10)
    assert read_release("beir", tmp_path, gain_scale=1000).pools["rating"].to_list() == [5.0, 0.0]
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n")
    refused("beir", tmp_path, "judges no document for any query")


def test_trec_lines(tmp_path) -> None:
    lines(tmp_path / "documents.jsonl", [{"id": "d", "contents": "t"}])
    (tmp_path / "topics.tsv").write_text("q no tab\n")
    (tmp_path / "qrels.txt").write_text("q 0 d\n")
    refused("trec", tmp_path, f"{tmp_path}/topics.tsv line 1 has no tab")
    (tmp_path / "topics.tsv").write_text("q\ttab\n")
    refused("trec", tmp_path, f"{tmp_path}/qrels.txt line 1 has 3 fields instead of 4")
    (tmp_path / "qrels.txt").write_text("q 0 d 1\n")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "x.run").write_text("q Q0 e 1 0.5 x\n")
    refused("trec", tmp_path, f"{tmp_path}/runs/x.run line 1 names document 'e'")


def test_the_wrong_format_is_told_by_its_rows(tmp_path) -> None:
    release(tmp_path)
    refused("mteb", tmp_path, "documents.jsonl line 1 has no 'text' (it has id, problem, solution)")


def test_cards(tmp_path) -> None:
    release(tmp_path)
    card = tmp_path / "README.md"
    card.write_text("---\nconfigs: [oh\n---\n")
    refused("saber-release", tmp_path, f"the head of {card} is no sound data card")
    head = "---\nconfigs:\n- config_name: documents\n  data_files: {path}\n---\n"
    card.write_text(head.replace("{path}", "gone/*.parquet"))
    refused("saber-release", tmp_path, "names gone/*.parquet for 'documents', which isn't there")
    card.write_text(head.replace("{path}", "../secret.jsonl"))
    refused("saber-release", tmp_path, "names ../secret.jsonl, which is outside its folder")
    card.write_text("# A folder without a head\n")
    assert read_release("saber-release", tmp_path).pools.height == 2


@pytest.mark.parametrize("text", ["{", "[]", '{"format": "x", "more": 1}'])
def test_broken_manifests(text, tmp_path) -> None:
    release(tmp_path)
    (tmp_path / "saber_export.json").write_text(text)
    refused("saber-release", tmp_path, "saber_export.json is broken")


def test_a_newer_layout(tmp_path) -> None:
    release(tmp_path)
    (tmp_path / "saber_export.json").write_text('{"format": "saber", "layout": 2}')
    refused("saber-release", tmp_path, "has layout 2, and this version reads 1")


def test_parquet_of_another_kind(tmp_path) -> None:
    release(tmp_path)
    (tmp_path / "queries.jsonl").unlink()
    frame = pl.DataFrame([{**QUERY, "relevance_scores": [1.0, float("nan")]}])
    frame.write_parquet(tmp_path / "queries.parquet")
    refused("saber-release", tmp_path, f"{tmp_path}/queries.parquet row 1, score 2", "nan")
