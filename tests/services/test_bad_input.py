"""Every kind of bad input: one sentence that says what, where and how to mend it; nothing lost."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from saber_assets.retrieval.builtin import BUILTIN
from saber_assets.retrieval.tables import SETTINGS as ALL_SETTINGS
from saber_assets.tournament import checks as tournament_checks
from saber_resources.lock import hold
from saber_resources.profiles import profile_names
from saber_services.builder import Outcome
from saber_services.cli import build as build_verb
from saber_services.cli import main as entry
from saber_services.cli.faults import Fault, fault_of
from saber_services.cli.main import main

CHECKOUT = Path(__file__).parents[2]
CYCLIC = CHECKOUT.parent / "shared" / "data" / "ontology" / "wikipedia_math_raw_edges.csv"
SAMPLE = CHECKOUT / "saber_assets" / "corpus" / "sample"
GOOD = {
    "id": "a",
    "problem": "Find the number $x$ with $x + 1 = 2$.",
    "solution": "Subtract one from both sides to get $x = 1$, which does solve the equation.",
}
OTHER = {**GOOD, "id": "b", "problem": "Find the number $x$ with $x + 5 = 7$."}


def lines(*rows: object) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    return int(stop.value.code or 0)


@pytest.fixture
def told(capsys):
    """Run a command that must fail; return its status and its one sentence."""

    def told(*arguments: object) -> tuple[int, str]:
        status = run(*arguments)
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err + printed.out
        sentences = [line for line in printed.err.splitlines() if line.startswith("saber: ")]
        assert len(sentences) == 1, printed.err
        assert printed.err.rstrip().endswith(sentences[0])
        assert printed.out == ""
        return status, sentences[0].removeprefix("saber: ")

    return told


@pytest.fixture(scope="module")
def kept(built, tmp_path_factory):
    """A built workdir for commands that must leave it as it is."""
    root = tmp_path_factory.mktemp("kept") / "work"
    shutil.copytree(built, root)
    return root


def content(root: Path) -> dict[str, bytes]:
    files = [root / "saber.toml", *(root / "tables").rglob("*.parquet")]
    files += [
        path for path in (root / "retrievers.json", root / "report" / "index.html") if path.exists()
    ]
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


@pytest.fixture
def refused(told, kept):
    """Run a command on the kept workdir; it must be a mistake (2) and change nothing there."""

    def refused(*arguments: object) -> str:
        before = content(kept)
        status, sentence = told(*arguments, "--workdir", kept)
        assert status == 2
        assert content(kept) == before
        return sentence

    return refused


CORPORA = {
    "unknown suffix": ("a.txt", b"x", "a.txt has a suffix that is not known", ".jsonl"),
    "empty file": ("a.jsonl", b"", "a.jsonl is empty", "at least one problem"),
    "header only": ("a.csv", b"id,problem,solution\r\n", "a.csv holds no record", "at least one"),
    "csv column": ("a.csv", b"id,problem\n1,p\n", "a.csv has no 'solution'", "rename or add"),
    "jsonl key": ("a.jsonl", lines({"id": "a", "solution": "s"}), "no 'problem'", "rename or add"),
    "not utf-8": (
        "a.jsonl",
        '{"id": "a", "problem": "é", "solution": "s"}'.encode("latin-1"),
        "byte 0xe9 at offset 24, line 1",
        "save it in UTF-8",
    ),
    "invalid json": ("a.jsonl", lines(GOOD) + b'{"id": \n', "a.jsonl line 2", "one JSON object"),
    "not an object": ("a.jsonl", lines(GOOD, [1]), "line 2 holds a list", "one JSON object"),
    "not a string": (
        "a.jsonl",
        lines(GOOD, {**OTHER, "solution": 4}),
        "line 2: 'solution' is a number",
        "as a string",
    ),
    "id twice": ("a.jsonl", lines(GOOD, {**OTHER, "id": "a"}), "id 'a'", "its own id"),
    "empty statement": ("a.jsonl", lines(GOOD, {**OTHER, "problem": " "}), "line 2", "--bad-rows"),
    "empty solution": ("a.jsonl", lines({**GOOD, "solution": ""}), "record 'a'", "--bad-rows"),
    "omitted": (
        "a.jsonl",
        lines({**GOOD, "solution": "Omitted."}),
        "record 'a' has no solution but only the remark 'Omitted.'",
        "--bad-rows set-aside",
    ),
    "surrogate": (
        "a.jsonl",
        b'{"id": "a", "problem": "x \\ud800", "solution": "s"}\n',
        "line 1 (id 'a'): 'problem' holds the lone surrogate \\ud800 at character 3",
        "replace it",
    ),
    "broken parquet": ("a.parquet", b"PAR1 and no more", "not a sound Parquet file", "anew"),
}


@pytest.mark.parametrize("kind", CORPORA)
def test_corpus(kind, refused, tmp_path):
    name, data, what, mend = CORPORA[kind]
    (tmp_path / name).write_bytes(data)
    sentence = refused("build", "--corpus", tmp_path / name)
    assert what in sentence
    assert name in sentence
    assert mend in sentence.split(what, 1)[1]


def test_corpus_that_is_not_there(refused, tmp_path):
    sentence = refused("build", "--corpus", tmp_path / "none.jsonl")
    assert sentence == f"the corpus file {tmp_path}/none.jsonl does not exist: check the path"
    sentence = refused("build", "--corpus", tmp_path)
    assert sentence == f"the folder {tmp_path} is empty: name one with files of problems"


def test_id_twice_across_files(refused, tmp_path):
    for name, row in (("one.jsonl", GOOD), ("two.jsonl", {**OTHER, "id": "a"})):
        (tmp_path / name).write_bytes(lines({**row, "source": "contest"}))
    files = ("--corpus", tmp_path / "one.jsonl", "--corpus", tmp_path / "two.jsonl")
    sentence = refused("build", *files)
    assert "id 'a' of source 'contest'" in sentence
    assert "one.jsonl line 1 and two.jsonl line 1" in sentence


def test_a_new_workdir_is_not_begun_with_a_missing_corpus(told, tmp_path):
    status, _ = told("build", "--corpus", tmp_path / "none.jsonl", "--workdir", tmp_path / "new")
    assert status == 2
    assert not (tmp_path / "new").exists()


def test_corpus_too_small(told, workdir, tmp_path):
    (tmp_path / "few.jsonl").write_bytes(
        lines(GOOD, {**OTHER, "problem": "Find the angle of the triangle $ABC$ at $A$."})
    )
    board = (workdir / "tables" / "leaderboard.parquet").read_bytes()
    toml = (workdir / "saber.toml").read_bytes()
    status, sentence = told("build", "--workdir", workdir, "--corpus", tmp_path / "few.jsonl")
    assert status == 2
    assert "too small for K = 6 and 12 queries a domain" in sentence
    assert "has at most 0 eligible" in sentence
    assert "thresholds.k" in sentence
    assert (workdir / "tables" / "leaderboard.parquet").read_bytes() == board
    assert (workdir / "saber.toml").read_bytes() == toml


ONTOLOGIES = {
    "cycle": (b"parent,child\nr,a\na,b\nb,a\n", "a -> b -> a", "remove one edge"),
    "parent": (b"id,label,parents\nr,R,\na,A,q\n", "topic 'a' names the parent 'q'", "add"),
    "roots": (b"id,label,parents\nr,R,\na,A,\n", "2 topics without a parent ('a', 'r')", "root"),
}


@pytest.mark.parametrize("kind", ONTOLOGIES)
def test_ontology(kind, refused, tmp_path):
    data, what, mend = ONTOLOGIES[kind]
    (tmp_path / "topics.csv").write_bytes(data)
    sentence = refused("build", "--ontology", tmp_path / "topics.csv")
    assert "topics.csv" in sentence
    assert what in sentence
    assert mend in sentence


def test_ontology_that_is_not_there(refused, tmp_path):
    sentence = refused("build", "--ontology", tmp_path / "none.csv")
    assert sentence == f"the ontology file {tmp_path}/none.csv does not exist: check the path"


@pytest.mark.skipif(not CYCLIC.is_file(), reason="the Wikipedia category graph is not here")
def test_real_ontology_with_cycles(refused):
    sentence = refused("build", "--ontology", CYCLIC)
    assert "8 groups of topics" in sentence
    assert "Aerodynamics -> Flight -> Aerospace -> Aerospace_engineering -> Aerodyn" in sentence


SETTINGS = {
    "no such profile": (("--profile", "nope"), "no profile 'nope'", ", ".join(profile_names())),
    "no such section": (("--set", "turnament.rounds=3"), "no section 'turnament'", "tournament"),
    "no such key": (("--set", "tournament.round=3"), "'tournament.round'", "tournament.rounds"),
    "a word": (
        ("--set", "tournament.rounds=x"),
        "'tournament.rounds' can't be 'x'",
        "a whole number",
    ),
    "too low": (("--set", "tournament.rounds=-1"), "'tournament.rounds' can't be -1", "at least 1"),
    "no value": (
        ("--set", "selection.queries="),
        "'selection.queries' can't be ''",
        "a whole number",
    ),
    "no list": (("--set", "corpus.files=5"), "'corpus.files' can't be 5", "a list, such as"),
    "no choice": (("--set", "evaluation.gain=log"), "can't be 'log'", "'exp2' or 'linear'"),
    "no section": (("--set", "rounds=3"), "--set rounds=3", "section.key=value"),
    "no equals sign": (("--set", "tournament.rounds"), "tournament.rounds", "section.key=value"),
    "profile as a section": (("--set", "profile.x=1"), "'profile' can't be", "name of one"),
    "no such retriever": (
        ("--set", 'retrieval.retrievers=["bm26"]'),
        "there is no retriever 'bm26'",
        ", ".join(BUILTIN),
    ),
    "no such annotator": (("--annotator", "oracle"), "'oracle' is not one of", "--help"),
    "no such option": (("--sett", "a.b=1"), "no such option '--sett'", "`saber build --help`"),
    "no model": (("--annotator", "llm"), "no language model is configured", "--set llm.model="),
    "no endpoint": (
        (
            *("--annotator", "llm", "--set", 'llm.model="m"', "--set", "llm.attempts=1"),
            *("--set", 'llm.endpoints=["http://127.0.0.1:9/v1"]'),
        ),
        "no language model answers at http://127.0.0.1:9/v1",
        "llm.endpoints",
    ),
}


@pytest.mark.parametrize("kind", SETTINGS)
def test_settings(kind, refused):
    arguments, what, mend = SETTINGS[kind]
    sentence = refused("build", *arguments)
    assert what in sentence
    assert mend in sentence


TOMLS = {
    "syntax": (b'profile = "sample"\n[selection\n', "is not valid TOML", "line 2"),
    "not utf-8": (b"# \xff\n", "saber.toml is not", "mend"),
    "section": (b'profile = "sample"\nselection = 3\n', "'selection' can't be 3", "[selection]"),
    "unknown": (b'profile = "sample"\n[a]\nb = 1\n', "there is no section 'a'", "corpus"),
}


@pytest.mark.parametrize("verb", ["build", "status"])
@pytest.mark.parametrize("kind", TOMLS)
def test_broken_saber_toml(kind, verb, told, tmp_path):
    data, what, mend = TOMLS[kind]
    (tmp_path / "saber.toml").write_bytes(data)
    status, sentence = told(verb, "--workdir", tmp_path)
    assert status == 2
    assert what in sentence
    assert mend in sentence
    assert (tmp_path / "saber.toml").read_bytes() == data
    assert [path.name for path in tmp_path.iterdir()] == ["saber.toml"]


def test_workdir_in_use(told, kept):
    before = content(kept)
    with hold(kept):
        status, sentence = told("build", "--workdir", kept, "--set", "evaluation.seed=9")
    assert status == 2
    assert f"is in use by another build (process {os.getpid()})" in sentence
    assert "wait until it ends" in sentence
    assert content(kept) == before


def test_workdir_that_is_no_folder(told, tmp_path):
    (tmp_path / "file").write_text("mine")
    for verb in ("build", "status", "leaderboard"):
        status, sentence = told(verb, "--workdir", tmp_path / "file")
        assert status == 2
        assert "file is a file, not a folder: choose a folder with --workdir" in sentence
    status, sentence = told("build", "--workdir", tmp_path / "file" / "below")
    assert status == 2
    assert "below can't be written (Not a directory)" in sentence
    assert (tmp_path / "file").read_text() == "mine"


def test_workdir_that_cannot_be_written(told, tmp_path, monkeypatch):
    def refuse(self, *args, **kwargs):
        raise OSError(errno.EROFS, "Read-only file system", str(self))

    monkeypatch.setattr(Path, "mkdir", refuse)
    status, sentence = told("build", "--workdir", tmp_path / "new")
    assert status == 2
    assert "new can't be written (Read-only file system): choose another one" in sentence


@pytest.mark.parametrize("name", ["why?", "50%25"])
def test_workdir_path_that_databases_cannot_hold(name, told, tmp_path):
    status, sentence = told("build", "--workdir", tmp_path / name)
    assert status == 2
    assert "in its path" in sentence
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "verb",
    [("evaluate", "x.py:X"), ("leaderboard",), ("report",), ("query", "SELECT 1"), ("status",)],
)
def test_never_built(verb, told, tmp_path):
    status, sentence = told(*verb, "--workdir", tmp_path / "new")
    assert status == 2
    assert sentence == (
        f"there is no benchmark in {tmp_path}/new: "
        f"make it first with `saber build --workdir {tmp_path}/new`"
    )
    assert not (tmp_path / "new").exists()


REFERENCES = {
    "no colon": ("{0}", "has no colon", "write path/to/file.py:ClassName"),
    "no file": ("none.py:Mine", "none.py doesn't exist", "check the path"),
    "no class": ("{0}:Missing", "'Missing' in", "check the class name"),
    "no score": ("{0}:Idle", "has no method `score`", "write `def score"),
    "does not run": ("{1}:Mine", "at line 1, ZeroDivisionError", "mend it there"),
}


@pytest.mark.parametrize("kind", REFERENCES)
def test_own_retriever(kind, refused, tmp_path):
    (tmp_path / "own.py").write_text("class Idle:\n    pass\n")
    (tmp_path / "broken.py").write_text("1 / 0\n")
    reference, what, mend = REFERENCES[kind]
    sentence = refused("evaluate", reference.format(tmp_path / "own.py", tmp_path / "broken.py"))
    assert what in sentence
    assert mend in sentence


def test_own_retriever_that_is_not_on_the_board(refused):
    assert "there is no own retriever 'mine'" in refused("evaluate", "--remove", "mine")
    assert "give either REFERENCE or --remove NAME" in refused("evaluate")


def test_own_retriever_that_fails_is_told(workdir, tmp_path, capsys):
    (tmp_path / "own.py").write_text(
        "class Mine:\n    def score(self, query, documents):\n        raise ValueError('odd')\n"
    )
    main(["evaluate", f"{tmp_path}/own.py:Mine", "--workdir", str(workdir)])
    printed = capsys.readouterr().err
    assert "warning: mine gave no usable scores for 18 queries and settings (" in printed
    assert "odd" in printed
    assert "FROM retriever_failures" in printed


QUERIES = {
    "syntax": ("SELEC 1", "syntax error", "mend the SQL"),
    "table": ("FROM nope", "nope does not exist", "SHOW TABLES"),
    "empty": ("  ", "the query is empty", "'FROM leaderboard'"),
    "insert": ("INSERT INTO leaderboard VALUES (1)", "INSERT was refused", "SELECT"),
    "copy": ("COPY (SELECT 1) TO '{0}'", "COPY was refused", "SELECT"),
    "copy inside": ("WITH t AS (COPY (SELECT 1) TO '{0}') FROM t", "Cannot access", "files can"),
    "explain copy": ("EXPLAIN ANALYZE COPY (SELECT 1) TO '{0}'", "EXPLAIN was refused", "SELECT"),
    "attach": ("ATTACH '{0}'", "ATTACH was refused", "SELECT"),
    "second statement": ("SELECT 1; DROP VIEW leaderboard", "DROP was refused", "SELECT"),
    "settings": ("SET enable_external_access = true", "SET was refused", "SELECT"),
    "file": ("FROM read_text('/etc/hostname')", "Cannot access file", "files can be neither"),
    "python": ("FROM sql", "sql does not exist", "SHOW TABLES"),
}


@pytest.mark.parametrize("kind", QUERIES)
def test_query(kind, refused, kept, tmp_path):
    sql, what, mend = QUERIES[kind]
    for target in (tmp_path / "out.csv", kept / "tables" / "evil.parquet"):
        sentence = refused("query", sql.format(target))
        assert what in sentence
        assert mend in sentence
        assert not target.exists()


def test_query_of_lists_as_csv(refused):
    sentence = refused("query", "SELECT domains FROM topic_sets", "--format", "csv")
    assert "CSV can't hold the column 'domains'" in sentence
    assert "--format json" in sentence


def test_options_with_a_choice(refused):
    assert "'full' is not one of 'statement-full'" in refused("leaderboard", "--setting", "full")
    for verb in (("leaderboard",), ("query", "FROM leaderboard")):
        sentence = refused(*verb, "--format", "xml")
        assert "'xml' is not one of 'table'" in sentence
        assert f"`saber {verb[0]} --help`" in sentence


def test_unknown_verb(told):
    assert told("bild") == (2, "no such command 'bild': see `saber --help`")


def test_report_that_cannot_be_written(told, kept, tmp_path):
    (tmp_path / "file").write_text("")
    status, sentence = told("report", "--workdir", kept, "--to", tmp_path / "file" / "r")
    assert status == 1
    assert "file" in sentence and "can't be used" in sentence


@pytest.mark.parametrize(
    ("arguments", "error", "mend"),
    [
        (("--set", "rounds=3"), "--set rounds=3 is not of the form section.key=value", "write"),
        (("--corpus", "none.jsonl"), "does not exist", "check the path"),
        (("--annotator", "x"), "'x' is not one of", "see `saber build --help`"),
    ],
)
def test_json_errors(arguments, error, mend, kept, capsys):
    status = run("build", "--json", *arguments, "--workdir", kept)
    printed = capsys.readouterr()
    found = json.loads(printed.err.splitlines()[-1])
    assert status == 2
    assert printed.out == ""
    assert sorted(found) == ["error", "mend"]
    assert error in found["error"]
    assert found["mend"].startswith(mend)


def test_traceback_on_request(monkeypatch, kept):
    monkeypatch.setenv("SABER_TRACEBACK", "1")
    with pytest.raises(ValueError, match="section.key=value"):
        main(["build", "--workdir", str(kept), "--set", "x"])


def failing(monkeypatch, table: str, error: BaseException) -> None:
    """Let the next writing of a table fail."""
    write = pl.DataFrame.write_parquet

    def write_parquet(frame, path, *args, **kwargs):
        if table in str(path):
            Path(path).write_bytes(b"PAR1 half of it")
            raise error
        return write(frame, path, *args, **kwargs)

    monkeypatch.setattr(pl.DataFrame, "write_parquet", write_parquet)


FAILURES = {
    "full": (OSError(errno.ENOSPC, "No space left on device", "/x"), 1, "the disk is full (/x "),
    "interrupted": (KeyboardInterrupt(), 130, "interrupted: run the same command again"),
    "unforeseen": (RuntimeError("odd\nthing"), 1, "failed with RuntimeError (odd thing)"),
}


def test_failures_halfway_lose_nothing(told, workdir, capsys):
    board = (workdir / "tables" / "leaderboard.parquet").read_bytes()
    for error, expected, start in FAILURES.values():
        with pytest.MonkeyPatch.context() as patch:
            failing(patch, "leaderboard", error)
            status, sentence = told("build", "--workdir", workdir, "--set", "evaluation.seed=5")
        assert status == expected
        assert sentence.startswith(start)
        assert (workdir / "tables" / "leaderboard.parquet").read_bytes() == board
    main(["build", "--workdir", str(workdir), "--json"])  # the seed was kept: no mistake it was
    made = json.loads(capsys.readouterr().out)["made"]
    assert set(made) == {"leaderboard", "paired_tests", "rating_noise"}, "what the seed decides"
    assert not list(workdir.rglob("*.tmp"))


def test_damaged_table_is_made_anew(told, workdir, capsys):
    file = workdir / "tables" / "leaderboard.parquet"
    sound = file.read_bytes()
    file.write_bytes(sound[: len(sound) // 2])
    for verb in (("leaderboard",), ("query", "FROM leaderboard")):
        status, sentence = told(*verb, "--workdir", workdir)
        assert status == 2
        assert "the table 'leaderboard'" in sentence
        assert "run `saber build` again" in sentence
    main(["build", "--workdir", str(workdir), "--json"])
    assert json.loads(capsys.readouterr().out)["made"] == ["leaderboard"]
    assert file.read_bytes() == sound


@pytest.mark.parametrize(
    ("error", "start"),
    [
        (pl.exceptions.ComputeError("parquet: No space left on device (os error 28)"), "the disk"),
        (sqlite3.OperationalError("database or disk is full"), "the disk is full: free space"),
        (OSError(errno.EROFS, "Read-only file system", "/x"), "/x can't be used (Read-only file"),
    ],
)
def test_failures_of_the_machine(error, start):
    wrapped = RuntimeError("in a step")
    wrapped.__cause__ = error
    for found in (fault_of(error), fault_of(wrapped)):
        assert found.status == 1
        assert f"{found.what}: {found.mend}".startswith(start)


def test_failed_check_is_told_each_time(told, workdir, monkeypatch):
    monkeypatch.setattr(tournament_checks, "_no_rematch", lambda judgments: (False, {"again": 3}))
    for _ in range(2):
        status, sentence = told("build", "--workdir", workdir, "--set", "tournament.seed=2")
        assert status == 1
        assert sentence.startswith("the check no_rematch of pairwise_judgments (again 3) failed")
        assert "No two candidates of a query meet twice" in sentence


def test_warnings_of_checks_and_notes_are_told(kept, monkeypatch, capsys):
    outcome = Outcome(
        failed_checks=["graph_connected of relevance_ratings (disconnected 2)"],
        notes=["benchmark_queries: scarce: all: wanted 9, selected 8"],
    )
    monkeypatch.setattr(build_verb, "build", lambda settings, announce: outcome)
    main(["build", "--workdir", str(kept)])
    told = capsys.readouterr().err
    assert f"warning: {outcome.failed_checks[0]}" in told
    assert f"note: {outcome.notes[0]}" in told
    main(["build", "--workdir", str(kept), "--json"])
    said = json.loads(capsys.readouterr().out)
    assert (said["warnings"], said["notes"]) == (outcome.failed_checks, outcome.notes)


def test_ctrl_c(tmp_path):
    command = (  # as a shell starts it: a script's background ignores interrupts
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from saber_services.cli.main import main; main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", command, "build", "--workdir", str(tmp_path / "work")],
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    first = process.stderr.readline()
    assert first.startswith("• making")
    process.send_signal(signal.SIGINT)
    out, rest = process.communicate(timeout=120)
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in rest
    assert rest.rstrip().endswith(
        "saber: interrupted: run the same command again to go on where it stopped"
    )


def test_hostile_names_and_harmless_oddities(tmp_path, capsys):
    """Quotes, brackets and the like in paths; BOM, CRLF and U+2028 in the corpus."""
    folder = tmp_path / "it's \"=[x] é 数学 #*{a} ~ $HOME;&"
    folder.mkdir()
    rows = "".join(path.read_text() for path in sorted(SAMPLE.glob("*.jsonl"))).splitlines()[::2]
    odd = json.loads(rows[0])
    odd["solution"] = odd["solution"].replace(" ", "\u2028", 1)
    rows[0] = json.dumps(odd, ensure_ascii=False)
    corpus = folder / "corp's [1].jsonl"
    corpus.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(rows).encode())
    build = (
        *("build", "--workdir", str(folder / "work"), "--corpus", str(corpus)),
        *("--set", "thresholds.k=2", "--set", "thresholds.min_queries=4"),
        *("--set", "selection.queries=4", "--set", "tournament.rounds=4"),
        *("--set", 'retrieval.retrievers=["bm25", "random"]'),
    )
    main([*build])
    printed = capsys.readouterr()
    assert f"tables   {folder}/work/tables" in printed.err
    assert "Dagster" not in printed.err  # it read its file, which turns its telemetry off
    main([*build, "--json"])
    assert json.loads(capsys.readouterr().out)["made"] == []
    main(["query", "SELECT count(*) AS n FROM raw_problems", "--workdir", str(folder / "work")])
    assert str(len(rows)) in capsys.readouterr().out
    assert run("ui", "--workdir", folder / "work") == 2
    assert "move the folder" in capsys.readouterr().err


def test_all_these_mistakes_left_the_workdir_fresh(kept, built, capsys):
    main(["build", "--workdir", str(kept), "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["made"] == []
    tables = {name: data for name, data in content(built).items() if name.startswith("tables")}
    assert {name: data for name, data in content(kept).items() if name in tables} == tables


def test_what_is_told_does_not_steer_the_terminal(capsys):
    entry._tell(Fault("a\x1b[31mb\x07", "mend\n it", 2), as_json=False)
    assert capsys.readouterr().err == "saber: a [31mb : mend it\n"


@pytest.mark.filterwarnings("error")
def test_the_board_that_is_printed_is_the_first_or_that_of_the_retriever():
    board = pl.DataFrame({"retriever": ["bm25", "mine"], "setting": list(ALL_SETTINGS[:2])})
    assert build_verb._setting_of(board, None) == ALL_SETTINGS[0]
    assert build_verb._setting_of(board, "mine") == ALL_SETTINGS[1]


def test_a_stray_file_in_the_report_spoils_no_build(workdir, capsys):
    main(["build", "--workdir", str(workdir)])
    (workdir / "report" / "mine.txt").write_text("keep me")
    capsys.readouterr()
    main(["build", "--workdir", str(workdir), "--set", "evaluation.resamples=7"])
    printed = capsys.readouterr()
    assert "the report isn't written: " in printed.err
    assert "mine.txt" in printed.err
    assert "ratings" in printed.out
    assert (workdir / "report" / "mine.txt").read_text() == "keep me"
