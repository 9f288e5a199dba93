"""Out of a workdir and into another one: the same leaderboard, and nothing is built there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
import yaml
from polars.testing import assert_frame_equal

from saber_assets.evaluation.leaderboard import measure_queries
from saber_assets.evaluation.ndcg import Ndcg
from saber_assets.publishing.checksums import SUMS_FILE, wrong_files
from saber_assets.publishing.import_tables import import_tables
from saber_assets.publishing.readers import read_release
from saber_assets.retrieval.builtin import BUILTIN
from saber_assets.retrieval.scoring import score_pools
from saber_assets.retrieval.tables import SETTINGS
from saber_resources.settings import load_settings
from saber_resources.warehouse import read_table, table_names
from saber_services.cli.main import main

RETRIEVERS = 'retrieval.retrievers=["bm25", "random", "ratings"]'
PAIRS = {
    "saber": "saber-release",
    "hf": "saber-release",
    "mteb": "mteb",
    "beir": "beir",
    "trec": "trec",
}
IMPORTED = {
    "deduped_corpus",
    "benchmark_queries",
    "candidate_pools",
    "relevance_ratings",
    "pairwise_judgments",
}


@pytest.fixture
def saber(capsys):
    """Run a verb; return its exit status, output and standard error with lines joined."""

    def run(*arguments: object) -> tuple[int, str, str]:
        try:
            main([str(argument) for argument in arguments])
            status = 0
        except SystemExit as stop:
            status = int(stop.code or 0)
        out, error = capsys.readouterr()
        return status, out, " ".join(error.split())

    return run


@pytest.fixture(scope="module")
def released(built, tmp_path_factory):
    """An export of the built workdir in each format."""
    folder = tmp_path_factory.mktemp("released")
    for kind in PAIRS:
        main(["export", "--workdir", str(built), "--format", kind, str(folder / kind)])
    return folder


def board(workdir: Path) -> pl.DataFrame:
    return read_table(workdir / "tables", "leaderboard").sort("setting", "domain", "rank")


@pytest.mark.parametrize("kind", PAIRS)
def test_every_format_gives_bm25_the_same_measures(kind, released, built) -> None:
    tables = import_tables(read_release(PAIRS[kind], released / kind), kind)
    frames = {table.name: table.conform(frame) for table, frame in tables}
    scores, failures = score_pools(
        "bm25",
        "any",
        BUILTIN["bm25"].make(),
        frames["candidate_pools"],
        frames["deduped_corpus"],
        SETTINGS if PAIRS[kind] == "saber-release" else SETTINGS[:1],
    )
    found = measure_queries(scores, failures, frames["relevance_ratings"], Ndcg())
    ours = read_table(built / "tables", "query_measures").filter(pl.col("retriever") == "bm25")
    exact = PAIRS[kind] == "saber-release"
    expected = ours if exact else ours.filter(pl.col("setting") == SETTINGS[0])
    assert_frame_equal(found, expected, abs_tol=1e-12 if exact else 2e-5)


@pytest.fixture(scope="module")
def imported_once(released, tmp_path_factory):
    root = tmp_path_factory.mktemp("imported")
    folder = root / "folder"
    shutil.copytree(released / "saber", folder)
    main(
        ["import", "saber-release", str(folder), "--workdir", str(root / "in"), "--set", RETRIEVERS]
    )
    return root


@pytest.fixture
def imported(imported_once, tmp_path):
    """A workdir into which a release was imported, which a test may change, and its folder."""
    for name in ("in", "folder"):
        shutil.copytree(imported_once / name, tmp_path / name)
    settings = tmp_path / "in" / "saber.toml"
    old, new = str(imported_once), str(tmp_path)
    settings.write_text(settings.read_text().replace(old, new))
    return tmp_path / "in", tmp_path / "folder"


def test_round_trip_gives_the_same_leaderboard(imported_once, built) -> None:
    assert_frame_equal(board(imported_once / "in"), board(built))


def states(workdir: Path, saber) -> dict[str, dict]:
    status, out, error = saber("status", "--workdir", workdir, "--json")
    assert status == 0, error
    return {f"{state['name']}/{state['partition']}": state for state in json.loads(out)}


def test_status_says_imported_and_a_build_makes_nothing(imported, saber, monkeypatch) -> None:
    workdir, folder = imported
    monkeypatch.setenv("COLUMNS", "300")
    _, out, _ = saber("status", "--workdir", workdir)
    rows = [line for line in out.splitlines() if "imported" in line]
    assert len(rows) == len(IMPORTED)
    assert all("(saber-release)" in line for line in rows)
    found = states(workdir, saber)
    assert {name for name, state in found.items() if state["origin"]} == {
        f"{name}/None" for name in IMPORTED
    }
    made = set(table_names(workdir / "tables"))
    assert made >= IMPORTED | {
        *("retriever_scores", "retriever_failures", "query_measures", "leaderboard")
    }
    assert made.isdisjoint({"raw_problems", "ontology_tree", "topic_sets", "relevance_thresholds"})
    shutil.rmtree(folder)  # what was imported stays, also without its folder
    status, out, error = saber("build", "--workdir", workdir, "--json")
    assert status == 0, error
    assert json.loads(out)["made"] == []


def test_other_verbs_work_on_an_imported_workdir(imported, saber, tmp_path) -> None:
    workdir, _ = imported
    own = tmp_path / "own.py"
    own.write_text(
        "class Longest:\n    name = 'longest'\n\n    def score(self, query, documents):\n"
        "        return [len(text) for text in documents]\n"
    )
    for arguments in (
        ("evaluate", f"{own}:Longest"),
        ("plan",),
        ("leaderboard", "--format", "csv"),
        ("report", "--to", tmp_path / "report"),
        ("query", "FROM candidate_pools LIMIT 1"),
        ("retrievers",),
        ("export", "--format", "trec", tmp_path / "again"),
    ):
        status, out, error = saber(arguments[0], "--workdir", workdir, *arguments[1:])
        assert status == 0, (arguments, error)
    assert "longest" in board(workdir)["retriever"].to_list()
    assert (tmp_path / "again" / "runs" / "longest.txt").is_file()
    assert "Imported from a released benchmark" in (tmp_path / "again" / "README.md").read_text()


def test_a_changed_folder_is_imported_anew(imported, saber) -> None:
    workdir, folder = imported
    queries = pl.read_parquet(folder / "queries.parquet")
    queries.head(3).write_parquet(folder / "queries.parquet")
    (folder / "matches.csv").unlink()
    assert all(state["status"] == "fresh" for state in states(workdir, saber).values())
    status, _, error = saber("import", "saber-release", folder, "--workdir", workdir)
    assert status == 2
    assert f"{folder}/matches.csv and 1 more isn't what {SUMS_FILE} says: download" in error
    assert all(state["status"] == "fresh" for state in states(workdir, saber).values())
    (folder / SUMS_FILE).unlink()
    status, out, error = saber("import", "saber-release", folder, "--workdir", workdir, "--json")
    assert status == 0, error
    assert set(json.loads(out)["made"]) >= IMPORTED
    assert read_table(workdir / "tables", "benchmark_queries").height == 3


def test_a_folder_that_changed_behind_its_back_is_not_taken(imported, saber) -> None:
    workdir, folder = imported
    (folder / "documents.parquet").unlink()
    (workdir / "tables" / "deduped_corpus.parquet").unlink()
    status, _, error = saber("build", "--workdir", workdir)
    assert status == 2
    assert f"the files in {folder} are not those that were imported" in error


def test_a_bad_folder_leaves_the_import_as_it_was(imported, saber, tmp_path) -> None:
    workdir, folder = imported
    before = (workdir / "saber.toml").read_text()
    bad = tmp_path / "bad"
    shutil.copytree(folder, bad)
    (bad / SUMS_FILE).unlink()
    frame = pl.read_parquet(bad / "queries.parquet")
    frame.with_columns(pl.col("relevance_scores").list.tail(1)).write_parquet(
        bad / "queries.parquet"
    )
    status, _, error = saber("import", "saber-release", bad, "--workdir", workdir)
    assert status == 2
    assert f"{bad}/queries.parquet row 1 has 18 candidates and 1 relevance_scores" in error
    assert (workdir / "saber.toml").read_text() == before
    assert all(state["status"] == "fresh" for state in states(workdir, saber).values())
    status, _, error = saber("import", "saber-release", bad, "--workdir", tmp_path / "new")
    assert status == 2
    assert "has 18 candidates and 1 relevance_scores" in error
    assert not (tmp_path / "new").exists(), "a new workdir isn't even begun"


def test_what_an_import_refuses(imported, built, released, saber, tmp_path) -> None:
    workdir, _ = imported
    status, _, error = saber("import", "saber-release", released / "saber", "--workdir", built)
    assert status == 2
    assert f"{built} holds a benchmark that was built: import into another workdir" in error
    assert load_settings(built).profile.imported.folder is None
    status, _, error = saber("import", "mteb", tmp_path / "none", "--workdir", tmp_path / "new")
    assert status == 2
    assert f"there is no folder {tmp_path}/none" in error
    assert not (tmp_path / "new").exists()
    status, _, error = saber("build", "--workdir", workdir, "--annotator", "lexical")
    assert status == 2
    assert "holds a benchmark that was imported from" in error
    status, _, error = saber("build", "--workdir", workdir, "--set", "imported.format=beir2")
    assert status == 2
    assert "'imported.format' can't be 'beir2'" in error


def test_cards_and_checksums(released, built) -> None:
    for kind in PAIRS:
        folder = released / kind
        assert wrong_files(folder) == []
        card = (folder / "README.md").read_text(encoding="utf-8")
        head = yaml.safe_load(card[3:].split("\n---", 1)[0])
        assert head["size_categories"] == ["n<1K"]
        for words in (
            "## Licences",
            "## Known limits",
            "no benchmark to cite",
            "thresholds.k",
            "| final |",
            "seed of",
            "lexical heuristic (no model)",
            "| 2 | bm25 |",
        ):
            assert words in card, (kind, words)
        assert str(built) not in card


def test_an_export_is_replaced_and_nothing_else(built, saber, tmp_path) -> None:
    target = tmp_path / "out"
    for arguments in (("--title", "First"), ("--title", "Second", "--documents", "pools")):
        status, out, error = saber(
            *("export", "--workdir", built, "--format", "saber", target, "--json"), *arguments
        )
        assert status == 0, error
        assert json.loads(out)["queries"] == 6
    assert "# Second" in (target / "README.md").read_text()
    pooled = read_table(built / "tables", "candidate_pools")["candidate_id"].n_unique()
    assert json.loads(out)["documents"] == pooled
    foreign = tmp_path / "thesis"
    foreign.mkdir()
    (foreign / "chapter.tex").write_text("mine")
    status, _, error = saber("export", "--workdir", built, "--format", "saber", foreign)
    assert status == 2
    assert f"{foreign} is there and isn't an earlier export" in error
    assert (foreign / "chapter.tex").read_text() == "mine"


def test_the_sample_is_permissively_licensed(built, saber, tmp_path) -> None:
    arguments = ("export", "--workdir", built, "--format", "hf", tmp_path / "out", "--permissive")
    status, out, error = saber(*arguments, "--json")
    assert status == 0, error
    assert json.loads(out)["queries"] == 6
    assert "0 documents are left out" in (tmp_path / "out" / "README.md").read_text()


def test_what_an_export_refuses(workdir, saber, tmp_path) -> None:
    out = tmp_path / "out"
    status, _, error = saber("export", "--workdir", tmp_path / "none", "--format", "hf", out)
    assert status == 2
    assert "there is no benchmark in" in error
    (workdir / "tables" / "relevance_ratings.parquet").unlink()
    status, _, error = saber("export", "--workdir", workdir, "--format", "hf", out)
    assert status == 2
    assert "the table 'relevance_ratings' is missing (its file is gone): run `saber build" in error
    assert not out.exists()
