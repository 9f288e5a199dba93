"""The corpus stage as Dagster sees it, and its passes: definitions, schemas, blocks, streams."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import dagster as dg
import numpy as np
import polars as pl
import pytest

from saber_assets import definitions
from saber_assets.content_hash import content_hash
from saber_assets.corpus.checks import tables as contracts
from saber_assets.corpus.problem_rows import (
    CleaningPass,
    Facts,
    number_occurrences,
    record_part,
)
from saber_assets.corpus.source_tables import source_table
from saber_assets.corpus.tables import RAW_PROBLEMS
from saber_assets.definitions import build_definitions
from saber_assets.streamed import frames_of, stream
from saber_assets.table import Column, Table, TableError
from saber_resources.block_processes import run_in_processes
from saber_resources.blocks import BlockFiles, run_on_threads
from saber_resources.settings import save_settings

NUMBERS = Table("numbers", "Numbers.", {"n": Column(pl.Int64, "a number")}, ("n",))


def sources(folder: Path) -> list[dict]:
    """One source of every kind; none of their files is looked at before a build."""
    paths = [str(folder)]
    return [
        {"name": "forum", "kind": "aops", "paths": paths},
        {"name": "booklets", "kind": "documents", "paths": paths},
        {"name": "scans", "kind": "documents", "paths": paths, "options": {"ocr_command": ["no"]}},
        {"name": "numina", "kind": "numinamath", "options": {"hub": "AI-MO/NuminaMath-1.5"}},
        {"name": "school", "kind": "gsm8k", "paths": paths},
        {"name": "mine", "kind": "records", "paths": paths},
        {"name": "far", "kind": "huggingface", "options": {"dataset": "a/b"}},
        {"name": "book", "kind": "latex", "paths": paths, "licence": "GFDL-1.3-or-later"},
    ]


@pytest.fixture(scope="module", params=["rules", "llm"])
def configured(request, tmp_path_factory):
    root = tmp_path_factory.mktemp(request.param) / "work"
    corpus = {"sources": sources(root / "nowhere"), "annotator": request.param}
    return save_settings(root, "default", {"corpus": corpus})


def test_definitions_load_with_every_kind(configured, monkeypatch):
    monkeypatch.setenv("SABER_WORKDIR", str(configured.workdir.root))
    for name in ("OPENAI_API_KEY", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    loaded = definitions.defs()
    loaded = loaded if isinstance(loaded, dg.Definitions) else loaded()
    dg.Definitions.validate_loadable(loaded)


def test_the_graph_has_each_source(configured):
    graph = build_definitions(configured).resolve_asset_graph()
    names = {key.to_user_string() for key in graph.get_all_asset_keys()}
    for source in configured.profile.corpus.sources:
        table = graph.get(dg.AssetKey(f"source_{source.name}"))
        assert {key.to_user_string() for key in table.parent_keys} == {f"files_of_{source.name}"}
        assert source.kind in table.kinds and table.group_name == "corpus"
    assert {"thread_problems", "document_problems", "documents_for_review"} <= names
    raw = {key.to_user_string() for key in graph.get(dg.AssetKey("raw_problems")).parent_keys}
    assert raw == {
        "corpus_files",
        "document_problems",
        "thread_problems",
        *(f"source_{name}" for name in ("numina", "school", "mine", "far", "book")),
    }
    by_model = configured.profile.corpus.annotator == "llm"
    for name in ("thread_problems", "document_problems"):
        assert ("ai" in graph.get(dg.AssetKey(name)).kinds) == by_model


def test_each_table_shows_its_schema(configured):
    graph = build_definitions(configured).resolve_asset_graph()
    for table in contracts(configured):
        node = graph.get(dg.AssetKey(table.name))
        schema = node.metadata["dagster/column_schema"]
        assert [column.name for column in schema.columns] == list(table.columns)
        assert all(column.description for column in schema.columns), table.name
    for shape in ("records", "threads", "documents"):
        table = source_table("any", shape)
        assert table.conform(table.empty()).is_empty()


def test_without_sources_the_graph_has_no_place_for_them(tmp_path):
    settings = save_settings(tmp_path / "w", "sample", {})
    names = {
        key.to_user_string()
        for key in build_definitions(settings).resolve_asset_graph().get_all_asset_keys()
    }
    assert not {name for name in names if name.startswith(("source_", "files_of_"))}
    assert not {"thread_problems", "document_problems", "document_reviews"} & names


# --- streams and blocks -----------------------------------------------------------------------


def test_a_stream_is_the_table_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr("saber_assets.streamed.ROWS", 7)
    rows = [{"n": number} for number in range(40)]
    made = stream(NUMBERS, frames_of(NUMBERS, rows), tmp_path)
    whole = pl.DataFrame(rows)
    assert made.frame.lazy().collect().equals(whole)
    assert (made.height, made.version) == (40, content_hash(NUMBERS.conform(whole)))
    with pytest.raises(TableError, match="n"):
        stream(NUMBERS, frames_of(NUMBERS, [*rows, {"n": 0}]), tmp_path)


def cleaning_pass(folder: Path, records: int) -> CleaningPass:
    """Records of two sources, each with something to clean."""
    folder.mkdir(exist_ok=True)
    frame = pl.DataFrame(
        {
            "source_id": [str(number) for number in range(records)],
            "location": [f"row {number}" for number in range(records)],
            "problem": [f"Find  $\\dfrac{{1}}{{{number}}}$ ." for number in range(records)],
            "solutions": [[f"We  get [b]{number}[/b] from it."] for number in range(records)],
        }
    )
    parts = [
        record_part(half.lazy(), folder / f"{name}.parquet", name)[0]
        for name, half in (("a", frame[: records // 3]), ("b", frame[records // 3 :]))
    ]
    return CleaningPass(tuple(parts), True, {"a": Facts("MIT"), "b": Facts(None, False)})


def test_processes_clean_as_threads_do(tmp_path):
    passes = cleaning_pass(tmp_path / "parts", 60)
    frames = []
    for number, (workers, blocks) in enumerate(((run_on_threads, 1), (run_in_processes, 4))):
        runner = BlockFiles(tmp_path / str(number), workers, blocks)
        frames.append(pl.concat(runner.run("key", passes, np.arange(60), None)))
    assert frames[0].equals(frames[1])
    raw = RAW_PROBLEMS.conform(
        number_occurrences(
            frames[0].with_columns(pl.col("licence").fill_null("LicenseRef-unknown"))
        )
    )
    assert raw["source_id"].to_list() == [str(number) for number in range(60)]
    assert raw.filter(source="a").height == 20 and raw["steps"].list.len().min() > 0


KILLED = """
import sys, time
from pathlib import Path
import numpy as np
sys.path.insert(0, {tests!r})
from saber_resources.blocks import BlockFiles, run_on_threads
import test_corpus_assets as own

class Slow:
    def __init__(self, inner):
        self.inner = inner

    def __call__(self, threads):
        def kernel(rows, progress):
            time.sleep(0.2)
            return self.inner.clean(rows, progress)
        return kernel

folder = Path({folder!r})
passes = own.cleaning_pass(folder / "parts", 60)
runner = BlockFiles(folder / "blocks", run_on_threads, 20)
list(runner.run("key", Slow(passes), np.arange(60), None))
"""


def test_a_killed_cleaning_goes_on_where_it_was(tmp_path):
    text = KILLED.format(tests=str(Path(__file__).parent), folder=str(tmp_path))
    process = subprocess.Popen([sys.executable, "-c", text], cwd=Path(__file__).parents[2])
    files = tmp_path / "blocks" / "key-20"
    deadline = time.monotonic() + 60
    while len(list(files.glob("*.block"))) < 3:
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    finished = {file: file.stat().st_mtime_ns for file in files.glob("*.block")}
    assert 3 <= len(finished) < 20

    passes = cleaning_pass(tmp_path / "parts", 60)
    made = []

    def counted(fingerprint, prepare, blocks, progress):
        made.extend(blocks)
        return run_on_threads(fingerprint, prepare, blocks, progress)

    again = BlockFiles(tmp_path / "blocks", counted, 20).run("key", passes, np.arange(60), None)
    undisturbed = passes.clean(np.arange(60))
    assert pl.concat(again).equals(undisturbed)
    assert len(made) == 20 - len(finished)
    assert all(file.stat().st_mtime_ns == before for file, before in finished.items())
