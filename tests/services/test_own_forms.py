"""Own retrievers of every form, from the command to the row."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import polars as pl
import pytest

from saber_assets.retrieval.own import own_endpoint
from saber_assets.retrieval.own.own_list import read_own
from saber_resources.warehouse import read_table
from saber_services.builder import build
from saber_services.cli.main import main


@pytest.fixture
def saber(workdir, capsys):
    """Run a verb on the workdir; return its exit status, standard output and standard error."""

    def run(*arguments):
        status = 0
        try:
            main([*map(str, arguments), "--workdir", str(workdir)])
        except SystemExit as end:
            status = int(end.code or 0)
        told = capsys.readouterr()
        return status, told.out, " ".join(told.err.split())

    return run


def rows(workdir, name):
    board = read_table(workdir / "tables", "leaderboard").filter(pl.col("domain") == "all")
    found = board.filter(pl.col("retriever") == name).select("setting", "mean", "failed")
    return {setting: (mean, failed) for setting, mean, failed in found.rows()}


def write_run(workdir, path, name="bm25", setting="statement-full", half=False):
    """Write the scores of a retriever as a TREC run; with `half`, only those above the median."""
    scores = read_table(workdir / "tables", "retriever_scores").filter(
        (pl.col("retriever") == name) & (pl.col("setting") == setting)
    )
    if half:
        scores = scores.filter(pl.col("score") > pl.col("score").median())
    lines = [
        f"{query} Q0 {document} 0 {score!r} {name}\n"
        for query, document, score in scores.select("query_id", "candidate_id", "score").rows()
    ]
    path.write_text("".join(lines))
    return path


def test_precomputed_scores_give_the_row_of_what_made_them(workdir, settings, saber, tmp_path):
    run = write_run(workdir, tmp_path / "run.trec")
    status, out, err = saber("evaluate", run, "--name", "copied")
    assert (status, "copied" in out) == (0, True)
    assert "rank below" not in err
    mean = rows(workdir, "bm25")["statement-full"]
    assert rows(workdir, "copied") == {"statement-full": mean}, "other settings lack it"

    full = write_run(workdir, tmp_path / "full.trec", setting="full-full", half=True)
    status, out, err = saber("evaluate", full, "--name", "copied", "--setting", "full-full")
    assert status == 0
    assert "are not in the run for full-full and rank below all others" in err
    assert set(rows(workdir, "copied")) == {"statement-full", "full-full"}
    assert build(settings).made == []

    run.unlink()
    assert "can't be read" in build(settings).skipped["copied"]
    assert "statement-full" in rows(workdir, "copied"), "the row keeps its last scores"
    assert saber("evaluate", "--remove", "copied")[0] == 0
    assert rows(workdir, "copied") == {}
    assert read_own(settings.workdir.own_retrievers) == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--name", "mine", "--version", "1"), "--version is for an endpoint"),
        ((), "has no name yet: give one with --name"),
        (("--name", "mine"), "line 1: the benchmark has no query 'nobody'"),
    ],
)
def test_files_that_are_refused_are_not_remembered(settings, saber, tmp_path, arguments, sentence):
    run = tmp_path / "run.trec"
    run.write_text("nobody Q0 nothing 1 1.0 t\n")
    status, _, err = saber("evaluate", run, *arguments)
    assert status == 2
    assert sentence in err
    assert read_own(settings.workdir.own_retrievers) == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{query} Q0 {one} 1 1.0 t\n{query} Q0 {one} 2 0.5 t\n", "occurs a second time"),
        ("{query} Q0 {one} 1 nan t\n", "not a finite number"),
        ("", "holds no scores"),
    ],
)
def test_a_faulty_file_is_refused_before_it_is_remembered(
    settings, saber, tmp_path, text, sentence
):
    pools = read_table(settings.workdir.tables, "candidate_pools")
    query, one = pools.select("query_id", "candidate_id").row(0)
    run = tmp_path / "run.trec"
    run.write_text(text.format(query=query, one=one))
    status, _, err = saber("evaluate", run, "--name", "faulty")
    assert status == 2
    assert sentence in err
    assert read_own(settings.workdir.own_retrievers) == []


class Answers(BaseHTTPRequestHandler):
    def do_GET(self):
        self.reply({"version": "7"})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.reply({"scores": [len(text) for text in body["documents"]]})

    def reply(self, content):
        data = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def test_an_endpoint_and_what_stays_when_it_has_gone(workdir, settings, saber, monkeypatch):
    monkeypatch.setattr(own_endpoint, "VERSION_AGE", 0.0)
    server = HTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}/score"
    status, _, _ = saber("evaluate", url, "--name", "served")
    server.shutdown()
    server.server_close()
    assert status == 0
    before = rows(workdir, "served")
    assert {failed for _, failed in before.values()} == {0}
    outcome = build(settings)
    assert "doesn't answer" in outcome.skipped["served"]
    assert outcome.made == []
    assert rows(workdir, "served") == before


def test_one_that_cannot_be_made_stops_no_other(workdir, settings, saber, tmp_path):
    body = "    def score(self, query, documents):\n        return [1.0] * len(documents)\n"
    broken = tmp_path / "broken.py"
    broken.write_text(
        f"class Broken:\n    def __init__(self):\n        raise RuntimeError('no GPU')\n{body}"
    )
    (workdir / "retrievers").mkdir()
    (workdir / "retrievers" / "dropped.py").write_text(f"class Dropped:\n{body}")
    status, out, err = saber("evaluate", f"{broken}:Broken")
    assert status == 2
    assert "'broken' is remembered but has no scores" in err
    assert "RuntimeError: no GPU" in err
    assert "dropped" in out, "the plug-in got its row"
    assert set(rows(workdir, "dropped")) == {"statement-full", "full-full", "statement-statement"}
