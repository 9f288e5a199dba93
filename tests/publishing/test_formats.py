"""What is written can be read again: the same texts, pools and ratings in every format."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from saber_assets.publishing.checksums import SUMS_FILE, write_sums, wrong_files
from saber_assets.publishing.import_tables import import_tables
from saber_assets.publishing.readers import content_of, read_release, stated_scale
from saber_assets.publishing.safe_ids import changed, restore, safe
from saber_assets.publishing.tables import IMPORTED
from saber_assets.publishing.trec_folder import descending, run_lines
from saber_assets.publishing.trec_topics import topics_of
from saber_assets.publishing.writers import write_release

SETTING = "statement-full"
PAIRS = [
    ("saber", "saber-release"),
    ("hf", "saber-release"),
    ("mteb", "mteb"),
    ("beir", "beir"),
    ("trec", "trec"),
]


@pytest.mark.parametrize(("written", "read"), PAIRS)
def test_round_trip(written, read, benchmark, tmp_path) -> None:
    write_release(written, benchmark, tmp_path, SETTING)
    found = read_release(read, tmp_path)
    exact = read == "saber-release"
    rated = benchmark.rated.select("query_id", "candidate_id", "rating")
    assert_frame_equal(found.pools, rated, abs_tol=1e-12 if exact else 1e-3)
    assert dict(found.document_texts(SETTING)) == dict(benchmark.document_texts(SETTING))
    assert dict(found.query_texts(SETTING)) == dict(benchmark.query_texts(SETTING))
    assert_frame_equal(
        found.queries.select("query_id", "domains"),
        benchmark.queries.select("query_id", "domains"),
    )
    if exact:
        assert_frame_equal(
            found.documents, benchmark.documents.select("problem_id", "problem", "solution")
        )
        won = benchmark.verdicts.filter(pl.col("winner") > 0)
        assert_frame_equal(found.verdicts, won)


@pytest.mark.parametrize(("written", "read"), PAIRS)
def test_imported_tables_obey_their_contracts(written, read, benchmark, tmp_path) -> None:
    write_release(written, benchmark, tmp_path, SETTING)
    tables = import_tables(read_release(read, tmp_path), read)
    assert [table for table, _ in tables] == list(IMPORTED)
    frames = {table.name: table.conform(frame) for table, frame in tables}
    known = set(frames["deduped_corpus"]["problem_id"])
    assert set(frames["benchmark_queries"]["query_id"]) <= known  # the lone query, too
    assert set(frames["candidate_pools"]["candidate_id"]) <= known
    assert "asked alone" in known


def test_queries_without_ratings_are_left_out(benchmark, tmp_path) -> None:
    lone = benchmark.queries["query_id"][3]
    pools = benchmark.pools.with_columns(rating=pl.when(pl.col("query_id") != lone).then("rating"))
    for written, read in PAIRS:
        folder = tmp_path / written
        folder.mkdir()
        write_release(written, replace(benchmark, pools=pools), folder, SETTING)
        found = read_release(read, folder)
        assert lone not in found.pools["query_id"]
        assert found.pools["query_id"].n_unique() == benchmark.queries.height - 1


def test_the_same_benchmark_gives_the_same_bytes(benchmark, tmp_path) -> None:
    for kind, _ in PAIRS:
        hashes = []
        for place in ("one", "two"):
            folder = tmp_path / kind / place
            folder.mkdir(parents=True)
            write_release(kind, benchmark, folder, SETTING)
            hashes.append(content_of(folder))
        assert hashes[0] == hashes[1]


def test_a_matches_file_has_the_published_columns(benchmark, tmp_path) -> None:
    write_release("saber", benchmark, tmp_path, SETTING)
    matches = pl.read_csv(tmp_path / "matches.csv")
    assert matches.columns == ["target_id", "model_a", "model_b", "winner"]
    assert set(matches["winner"]) <= {1, 2}
    queries = pl.read_parquet(tmp_path / "queries.parquet")
    assert queries.columns == [
        *("id", "problem", "solution", "domains", "candidates", "relevance_scores")
    ]
    documents = pl.read_parquet(tmp_path / "documents.parquet")
    first = queries.row(0, named=True)
    pool = benchmark.rated.filter(pl.col("query_id") == first["id"])
    assert documents["id"][first["candidates"]].to_list() == pool["candidate_id"].to_list()


def test_the_manifest_tells_the_scale(benchmark, tmp_path) -> None:
    write_release("mteb", benchmark, tmp_path, SETTING)
    assert stated_scale(tmp_path) == 1000
    (tmp_path / "saber_export.json").unlink()
    assert stated_scale(tmp_path) == 0


@settings(max_examples=100)
@given(st.text(min_size=1), st.text(min_size=1))
def test_safe_ids(one: str, other: str) -> None:
    written = safe(one)
    assert written.isascii()
    assert written.isprintable()
    assert not set(written) & set(" \t\n")
    assert restore(written) == one
    assert (safe(one) == safe(other)) == (one == other)


def test_plain_ids_stay_as_they_are() -> None:
    assert changed(["2019-A1/b", "p_17:x", "abc@def"]) == 0
    assert changed(["a b", "50%"]) == 2
    with pytest.raises(ValueError, match="empty"):
        safe("")


@settings(max_examples=100)
@given(
    st.lists(
        st.one_of(
            st.floats(allow_nan=False, allow_infinity=False),
            st.sampled_from([0.0, -0.0, 1.0, 1e-45, 3.3333333]),
        ),
        min_size=1,
        max_size=40,
    )
)
def test_scores_of_runs_fall_strictly_as_float32(values: list[float]) -> None:
    ordered = np.sort(np.array(values))[::-1]
    written = np.array([f"{score:.9g}" for score in descending(ordered)]).astype(np.float32)
    assert np.isfinite(written).all()
    assert (np.diff(written.astype(np.float64)) < 0).all()


def test_a_run_is_in_our_order() -> None:
    run = pl.DataFrame(
        {"query_id": ["q"] * 3, "candidate_id": ["b", "c", "a"], "score": [0.5, 0.75, 0.5]}
    )
    assert list(run_lines(run, "x")) == [
        "q Q0 c 1 0.75 x\n",
        "q Q0 a 2 0.5 x\n",
        "q Q0 b 3 0.49999997 x\n",
    ]


def test_checksums(tmp_path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "a.txt").write_text("a")
    (tmp_path / "b.txt").write_text("b")
    write_sums(tmp_path)
    lines = (tmp_path / SUMS_FILE).read_text().splitlines()
    digest = "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d"
    assert f"{digest}  b.txt" in lines
    assert wrong_files(tmp_path) == []
    (tmp_path / "below" / "a.txt").write_text("A")
    (tmp_path / "new.txt").write_text("")
    (tmp_path / "b.txt").unlink()
    assert wrong_files(tmp_path) == ["b.txt", "below/a.txt"]
    marked = f"{digest.upper()} *./b.txt\nno checksum\n"  # as other programs write them
    (tmp_path / SUMS_FILE).write_text(marked)
    (tmp_path / "b.txt").write_text("b")
    assert wrong_files(tmp_path) == []
    (tmp_path / SUMS_FILE).unlink()
    assert wrong_files(tmp_path) == []


def test_json_lines_releases_and_candidates_by_id(tmp_path) -> None:
    documents = [{"id": n, "problem": f"p{n}", "solution": None} for n in (1, 2)]
    query = {"id": "q", "problem": "ask", "candidates": ["2", "1"], "relevance_scores": [5, 0.5]}
    for name, rows in (("documents", documents), ("queries", [query])):
        text = "\n".join(json.dumps(row) for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(text + "\n\n")
    found = read_release("saber-release", tmp_path)
    assert found.pools.rows() == [("q", "1", 0.5), ("q", "2", 5.0)]
    assert found.document_texts("full-full") == [("1", "p1"), ("2", "p2")]


def test_a_query_whose_id_another_text_has_gets_a_name_of_its_own(tmp_path) -> None:
    (tmp_path / "corpus.jsonl").write_text(
        '{"_id": "1", "title": "T", "text": "one"}\n{"_id": "2", "text": "two"}\n'
    )
    (tmp_path / "queries.jsonl").write_text(
        '{"_id": "1", "text": "what?"}\n{"_id": "2", "text": "two"}\n'
    )
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text(
        "query-id\tcorpus-id\tscore\n1\t1\t2\n1\t2\t-1\n2\t1\t1\n2\t2\t3\n"
    )
    found = read_release("beir", tmp_path)
    assert found.pools.rows() == [("2", "1", 1.0), ("query-1", "1", 2.0), ("query-1", "2", 0.0)]
    assert found.notes["candidates that are their query"] == 1
    assert found.document_texts("full-full")[0] == ("1", "T one")


def test_pools_of_a_collection(tmp_path) -> None:
    names = ("a", "b", "c")
    (tmp_path / "corpus.jsonl").write_text(
        "".join(f'{{"_id":"{n}","text":"{n}"}}\n' for n in names)
    )
    (tmp_path / "queries.jsonl").write_text('{"_id":"q","text":"?"}\n{"_id":"r","text":"!"}\n')
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\ta\t1\n")
    with pytest.raises(ValueError, match="every retriever would be perfect: give --pools corpus"):
        read_release("beir", tmp_path)
    found = read_release("beir", tmp_path, pools="corpus")
    assert found.pools.rows() == [("q", "a", 1.0), ("q", "b", 0.0), ("q", "c", 0.0)]
    assert found.notes["queries without judgments"] == 1
    assert found.notes["candidates that nobody judged"] == 2


def test_runs_widen_the_pools_of_trec_folders(tmp_path) -> None:
    (tmp_path / "documents.jsonl").write_text(
        "".join(f'{{"id":"{n}","contents":"{n}"}}\n' for n in "abcd")
    )
    (tmp_path / "topics.tsv").write_text("q\tfirst topic\n")
    (tmp_path / "qrels.txt").write_text("q 0 a 2\n")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "x.txt").write_text("q Q0 c 1 2.5 x\nq Q0 a 2 1.5 x\n")
    found = read_release("trec", tmp_path)
    assert found.pools.rows() == [("q", "a", 2.0), ("q", "c", 0.0)]


def test_mteb_folders_without_a_card(tmp_path) -> None:
    parts = {
        "corpus": pl.DataFrame({"id": [1, 2], "text": ["one", "two"]}),
        "queries": pl.DataFrame({"id": ["q"], "text": ["?"]}),
        "qrels": pl.DataFrame({"query-id": ["q"], "corpus-id": ["1"], "score": [1]}),
        "top_ranked": pl.DataFrame({"query-id": ["q"], "corpus-ids": [["1", "2"]]}),
    }
    for name, frame in parts.items():
        (tmp_path / name).mkdir()
        frame.write_parquet(tmp_path / name / "dev-00000-of-00001.parquet")
        frame.head(0).write_parquet(tmp_path / name / "test-00000-of-00001.parquet")
    found = read_release("mteb", tmp_path, split="dev")
    assert found.pools.rows() == [("q", "1", 1.0), ("q", "2", 0.0)]
    with pytest.raises(ValueError, match="no split 'train': give --split with one of dev, test"):
        read_release("mteb", tmp_path, split="train")


SUBSETS = {"de": [("q", "eins")], "en": [("q", "one"), ("r", "two")]}


@pytest.fixture
def task(tmp_path):
    """An MTEB task of two subsets whose ids are the same."""
    for subset, queries in SUBSETS.items():
        parts = {
            "corpus": {"id": ["a", "b"], "title": ["", ""], "text": [f"{subset} a", f"{subset} b"]},
            "queries": {"id": [q for q, _ in queries], "text": [text for _, text in queries]},
            "qrels": {
                "query-id": [q for q, _ in queries],
                "corpus-id": ["a" for _ in queries],
                "score": [1 for _ in queries],
            },
            "top_ranked": {
                "query-id": [q for q, _ in queries],
                "corpus-ids": [["a", "b"] for _ in queries],
            },
        }
        for name, columns in parts.items():
            (tmp_path / f"{subset}-{name}").mkdir()
            pl.DataFrame(columns).write_parquet(tmp_path / f"{subset}-{name}" / "test.parquet")
    return tmp_path


def test_one_subset_of_an_mteb_task(task) -> None:
    found = read_release("mteb", task, subset="en")
    assert found.pools.rows() == [
        ("q", "a", 1.0),
        ("q", "b", 0.0),
        ("r", "a", 1.0),
        ("r", "b", 0.0),
    ]
    assert found.documents["problem"].to_list() == ["en a", "en b"]
    assert found.queries["domains"].to_list() == [[], []]


def test_all_subsets_of_an_mteb_task_are_its_domains(task) -> None:
    found = read_release("mteb", task, subset="all")
    assert found.pools["query_id"].unique().sort().to_list() == ["de:q", "en:q", "en:r"]
    assert found.documents.height == 4
    assert dict(found.queries.select("query_id", "domains").iter_rows()) == {
        "de:q": ["de"],
        "en:q": ["en"],
        "en:r": ["en"],
    }


def test_the_subset_must_be_chosen_where_there_are_several(task, tmp_path_factory) -> None:
    with pytest.raises(ValueError, match="2 subsets: give --subset with one of de, en, or all"):
        read_release("mteb", task)
    with pytest.raises(ValueError, match="no subset 'fr': give --subset with one of de, en, or"):
        read_release("mteb", task, subset="fr")
    for path in task.glob("de-*"):
        path.rename(tmp_path_factory.mktemp("other") / path.name)
    assert read_release("mteb", task).pools.height == 4  # the only one
    for path in list(task.iterdir()):
        path.rename(task / path.name.removeprefix("en-"))
    assert read_release("mteb", task, subset="all").pools["query_id"].to_list() == list("qqrr")
    with pytest.raises(ValueError, match="leave out --subset"):
        read_release("mteb", task, subset="en")


SGML = """<top>
<num> Number: 051
<dom> Domain: International Economics
<title> Topic:  Airbus &amp; Subsidies

<desc> Description:
Document will discuss subsidies.
<narr> Narrative: none
</top>

<top>
<num> Number: 352 </num>
<title></title>
<desc> British Chunnel
impact </desc>
</top>
"""
XML = """<topics>
<topic number="7">
  <title>plain words</title><description>more of them</description>
</topic>
<topic number="8">only text &lt;</topic>
</topics>
"""


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("topics.051-352", SGML, {"51": "Airbus & Subsidies", "352": "British Chunnel impact"}),
        ("topics.xml", XML, {"7": "plain words", "8": "only text <"}),
        ("topics.tsv", "a\tone\nb\ttwo words\n", {"a": "one", "b": "two words"}),
    ],
)
def test_topics_of_trec(name, text, expected, tmp_path) -> None:
    (tmp_path / name).write_text(text)
    found = {key: asked for _, key, asked in topics_of(tmp_path / name)}
    assert found == expected


def test_a_trec_folder_as_it_is_downloaded(tmp_path) -> None:
    """Marked-up topics, qrels of any blanks and zeros, names that end in anything."""
    (tmp_path / "documents.jsonl").write_text(
        "".join(json.dumps({"id": key, "contents": key}) + "\n" for key in "abc")
    )
    (tmp_path / "topics.051-352").write_text(SGML)
    (tmp_path / "qrels.part1").write_text("051 0 a 2\n051\t0\tb\t0\n")
    (tmp_path / "qrels.part2").write_text("352   0  c   1 \r\n352 0 a -1\n")
    (tmp_path / "qrels.tar.gz").write_bytes(b"no qrels")
    (tmp_path / "domains.jsonl").write_text('{"id": "51", "domains": ["Economics"]}\n')
    found = read_release("trec", tmp_path)
    assert found.pools.rows() == [
        ("352", "a", 0.0),
        ("352", "c", 1.0),
        ("51", "a", 2.0),
        ("51", "b", 0.0),
    ]
    assert dict(found.queries.select("query_id", "domains").iter_rows()) == {
        "352": [],
        "51": ["Economics"],
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<top>\n<num> 1\n<title> one\n", "opens 1 topics and closes 0"),
        ("\n<top>\n<title> one\n</top>", "line 2: the topic has no number"),
        ("<top>\n<num> 1\n<narr> long\n</top>", "line 1: the topic has no title"),
    ],
)
def test_topics_that_are_broken(text, words, tmp_path) -> None:
    (tmp_path / "topics.txt").write_text(text)
    with pytest.raises(ValueError, match=words):
        list(topics_of(tmp_path / "topics.txt"))


def test_domains_of_an_unknown_query(task) -> None:
    (task / "en-domains.jsonl").write_text('{"query-id": "z", "domains": ["x"]}\n')
    with pytest.raises(ValueError, match="line 1 names query 'z'"):
        read_release("mteb", task, subset="en")
