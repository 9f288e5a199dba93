"""What a person can get wrong with sources: one clear sentence, its status, no traceback."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from saber_resources.settings import save_settings
from saber_services.builder import build
from saber_services.cli.main import main

FIXTURES = Path(__file__).parents[1] / "corpus" / "fixtures"
THREAD = {
    "topic_id": 1,
    "topic_title": "Sums",
    "posts": [
        {
            "post_number": 1,
            "username": "a",
            "post_time": 1262304600,
            "post_canonical": "Find the number $x$ with $x+1=2$.",
        }
    ],
}
RECORD = {
    "id": "a",
    "problem": "Find the number $x$ with $x + 1 = 2$.",
    "solution": "Subtract one from both sides to get $x = 1$, which does solve the equation.",
}


@pytest.fixture
def told(capsys):
    """Run a command that must fail; return its status and its one sentence."""

    def told(*arguments: object) -> tuple[int, str]:
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err + printed.out
        sentences = [line for line in printed.err.splitlines() if line.startswith("saber: ")]
        assert len(sentences) == 1, printed.err
        return int(stop.value.code or 0), sentences[0].removeprefix("saber: ")

    return told


@pytest.fixture
def forum(tmp_path) -> Path:
    folder = tmp_path / "forum"
    folder.mkdir()
    (folder / "threads.jsonl").write_text(json.dumps(THREAD) + "\n")
    return folder


def settings_with(root: Path, *sources: dict) -> None:
    root.mkdir(exist_ok=True)
    lines = ['profile = "default"']
    for source in sources:
        lines.append("[[corpus.sources]]")
        lines += [f"{key} = {json.dumps(value)}" for key, value in source.items()]
    (root / "saber.toml").write_text("\n".join(lines).replace("{}", "{ }"))


SOURCES = {
    "unknown kind": ({"kind": "aopss"}, "no kind of source 'aopss'", "did you mean aops"),
    "no kind": ({"kind": None}, "source 1 of [[corpus.sources]] has no 'kind'", "add kind"),
    "unknown key": ({"path": "x"}, "has the unknown key 'path'", "use one of name, kind, paths"),
    "hostile name": ({"name": "../x"}, "'name' can't be '../x'", "begin it with a lower-case"),
    "quoting name": ({"name": "a'; --"}, "'name' can't be", "begin it with a lower-case"),
    "long name": ({"name": "a" * 42}, "'name' can't be", "up to 41"),
    "language": ({"language": "english"}, "'language' can't be 'english'", "such as en"),
    "training": ({"for_training": "maybe"}, "'for_training' can't be 'maybe'", "true or false"),
    "licence": ({"licence": "my own"}, "the licence 'my own' is not known", "LicenseRef-"),
    "no path": ({"paths": []}, "the source 'forum' names no path", "add paths"),
    "gone": ({"paths": ["/nowhere/at/all"]}, "/nowhere/at/all does not exist", "saber.toml"),
}


@pytest.mark.parametrize("case", SOURCES)
def test_wrong_sources_in_settings(told, forum, tmp_path, case):
    change, what, mend = SOURCES[case]
    source = {"name": "forum", "kind": "aops", "paths": [str(forum)], **change}
    settings_with(
        tmp_path / "w", {key: value for key, value in source.items() if value is not None}
    )
    for verb in (("status",), ("corpus", "build"), ("plan",)):
        status, sentence = told(*verb, "--workdir", tmp_path / "w")
        assert status == 2 and what in sentence and mend in sentence
    assert not (tmp_path / "w" / "tables").exists()


def test_two_sources_of_one_name(told, forum, tmp_path):
    source = {"name": "forum", "kind": "aops", "paths": [str(forum)]}
    settings_with(tmp_path / "w", source, source)
    status, sentence = told("corpus", "build", "--workdir", tmp_path / "w")
    assert (status, sentence) == (
        2,
        "two sources have the name 'forum': give each source a name of its own",
    )


def test_an_unknown_option_and_a_wrong_kind_of_file(told, forum, tmp_path):
    source = {"name": "forum", "kind": "aops", "paths": [str(forum)]}
    with_option = {"corpus": {"sources": [{**source, "options": {"nosuch": 1}}]}}
    save_settings(tmp_path / "w", "default", with_option)
    status, sentence = told("corpus", "build", "--workdir", tmp_path / "w")
    assert status == 2 and "the kind 'aops' has no option 'nosuch'" in sentence
    settings_with(tmp_path / "v", {**source, "kind": "documents"})
    status, sentence = told("corpus", "build", "--workdir", tmp_path / "v")
    assert status == 2 and "holds no file that ends in one of" in sentence


def test_folders_in_which_nothing_can_be_read(told, tmp_path):
    status, sentence = told(
        "corpus", "build", "--corpus", tmp_path / "no", "--workdir", tmp_path / "w"
    )
    assert status == 2 and "no does not exist" in sentence
    (tmp_path / "empty").mkdir()
    (tmp_path / "bytes").mkdir()
    (tmp_path / "bytes" / "a.jsonl").write_bytes(bytes(range(256)))
    (tmp_path / "bytes" / "notes.txt").write_text("hello")
    for verb in ("build", "sources"):
        option = "--corpus" if verb == "build" else "--in"
        work = tmp_path / "w"
        status, sentence = told("corpus", verb, option, tmp_path / "empty", "--workdir", work)
        assert status == 2 and "empty is empty" in sentence
        status, sentence = told("corpus", verb, option, tmp_path / "bytes", "--workdir", work)
        assert status == 2 and "nothing in the folder" in sentence and "and 1 more" in sentence
        assert not work.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_files_that_may_not_be_read(told, forum, tmp_path):
    (forum / "threads.jsonl").chmod(0)
    status, sentence = told("corpus", "build", "--corpus", forum, "--workdir", tmp_path / "w")
    assert status == 2 and "can't be read (Permission denied)" in sentence


MANIFESTS = {
    "no toml": ("[[sources]\n", "is not valid TOML"),
    "no source": ("", "declares no source"),
    "unknown kind": ('[[sources]]\nname="a"\nkind="nope"\npath="t.jsonl"\n', "no kind of source"),
    "gone": ('[[sources]]\nname="a"\nkind="aops"\npath="gone"\n', "'gone' does not exist"),
    "licence": (
        '[[sources]]\nname="a"\nkind="aops"\npath="t.jsonl"\nlicence="odd"\n',
        "the licence 'odd' is not known",
    ),
    "training": (
        '[[sources]]\nname="a"\nkind="aops"\npath="t.jsonl"\nfor_training=1\n',
        "for_training is 1",
    ),
    "twice": (
        '[[sources]]\nname="a"\npath="t.jsonl"\n[[sources]]\nname="a"\npath="t.jsonl"\n',
        "used twice",
    ),
}


@pytest.mark.parametrize("case", MANIFESTS)
def test_faults_in_a_manifest(told, tmp_path, case):
    text, what = MANIFESTS[case]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "t.jsonl").write_text(json.dumps(THREAD) + "\n")
    (tmp_path / "in" / "sources.toml").write_text(text)
    status, sentence = told(
        "corpus", "build", "--corpus", tmp_path / "in", "--workdir", tmp_path / "w"
    )
    assert status == 2 and what in sentence


@pytest.fixture(scope="module")
def small_corpus(tmp_path_factory) -> Path:
    """A corpus of own records in two sources, and a document that waits for a person."""
    folder = tmp_path_factory.mktemp("small")
    rows = [RECORD, {**RECORD, "source": "other", "problem": "Find $x$ with $x + 3 = 7$."}]
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    shutil.copy(FIXTURES / "documents" / "count_mismatch.md", folder)
    (folder / "scan.pdf").write_bytes(b"%PDF-1.4 nothing")
    documents = [str(folder / "count_mismatch.md"), str(folder / "scan.pdf")]
    source = {"name": "contest", "kind": "documents", "paths": documents}
    corpus = {"files": [str(folder / "a.jsonl")], "sources": [source]}
    build(save_settings(folder / "work", "default", {"corpus": corpus}), groups={"corpus"})
    return folder / "work"


def test_wrong_ids_and_exports(told, small_corpus, tmp_path):
    for arguments, what in (
        (("explain", "nobody"), "no record has the id 'nobody'"),
        (("explain", "a"), "other:a"),
        (("export", tmp_path / "x.txt"), "has a suffix that is not known"),
        (("export", tmp_path / "no" / "x.csv"), "no does not exist"),
    ):
        status, sentence = told("corpus", *arguments, "--workdir", small_corpus)
        assert status == 2 and what in sentence, sentence
    for verb in (("funnel",), ("explain", "a"), ("export", tmp_path / "x.csv")):
        status, sentence = told("corpus", *verb, "--workdir", tmp_path / "unbuilt")
        assert status == 2 and "make it first with `saber build`" in sentence


def test_a_scan_without_ocr_is_dropped_with_the_reason(small_corpus, capsys):
    main(["corpus", "explain", "contest:scan", "--workdir", str(small_corpus), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert (told["fate"], told["reason"]) == ("dropped", "no_text_layer")


def test_a_source_that_vanished(told, forum, tmp_path):
    build_arguments = ("corpus", "build", "--workdir", tmp_path / "w")
    main([str(part) for part in (*build_arguments, "--corpus", forum)])
    shutil.rmtree(forum)
    for verb in (build_arguments, ("status", "--workdir", tmp_path / "w")):
        status, sentence = told(*verb)
        assert status == 2 and f"path of the source 'threads' {forum}" in sentence
        assert "does not exist" in sentence


def test_a_corpus_of_nothing_usable(told, forum, tmp_path, capsys):
    main(["corpus", "build", "--corpus", str(forum), "--workdir", str(tmp_path / "w"), "--json"])
    rows = json.loads(capsys.readouterr().out)
    assert [row["records"] for row in rows if row["stage"] == "kept"] == [0]
    status, sentence = told("build", "--workdir", tmp_path / "w")
    assert status == 2 and "none of the 1 records that were read can be used" in sentence


def test_files_and_folders_together(forum, tmp_path, capsys):
    (tmp_path / "own.jsonl").write_text(json.dumps(RECORD) + "\n")
    shutil.copytree(forum, tmp_path / "more" / "threads")
    given = ["--corpus", tmp_path / "own.jsonl", "--corpus", forum, "--corpus", tmp_path / "more"]
    main(["corpus", "build", *map(str, given), "--workdir", str(tmp_path / "w"), "--json"])
    read = {
        row["source"]: row["records"]
        for row in json.loads(capsys.readouterr().out)
        if row["stage"] == "read"
    }
    assert read == {"own": 1, "threads": 1, "threads_2": 1}


def test_a_huge_thread(tmp_path, capsys):
    comments = [
        {"post_number": n, "username": "b", "post_time": n, "post_canonical": "word " * 2000}
        for n in range(2, 300)
    ]
    huge = {**THREAD, "posts": [*THREAD["posts"], *comments]}
    (tmp_path / "t.jsonl").write_text(json.dumps(huge) + "\n")
    work = str(tmp_path / "w")
    main(["corpus", "build", "--corpus", str(tmp_path / "t.jsonl"), "--workdir", work, "--json"])
    rows = json.loads(capsys.readouterr().out)
    assert [row["reason"] for row in rows if row["stage"] == "dropped"] == [
        "no_substantive_solution"
    ]
