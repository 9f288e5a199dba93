"""Sources found in a folder: each file is in one, or skipped with a reason."""

from __future__ import annotations

import json
import os
import re

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.corpus.source_kinds import detect
from saber_assets.corpus.source_kinds.detect import FoundSource, find_sources
from saber_assets.corpus.source_kinds.registry import kind, kinds
from saber_assets.errors import InputError

OWN = json.dumps({"id": "a", "problem": "p", "solution": "s"})
GSM = json.dumps({"question": "q", "answer": "#### 1"})


def put(folder, name, text=""):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


class Markdown:
    """Stands for the kinds that read whole documents."""

    shape = "documents"

    def __init__(self, name, suffix, mark):
        self.name, self.suffix, self.mark = name, suffix, mark

    def recognises(self, path):
        return path.suffix in self.suffix and self.mark in path.read_text(errors="replace")


@pytest.fixture
def books(monkeypatch):
    fakes = {
        "latex": Markdown("latex", (".tex",), "problem"),
        "documents": Markdown("documents", (".tex", ".md"), ""),
    }
    monkeypatch.setattr(detect, "kinds", lambda: {**kinds(), **fakes})
    monkeypatch.setattr(detect, "kind", lambda name: fakes.get(name) or kind(name))


def names(sources):
    return [(source.name, source.kind) for source in sources]


def test_a_mixed_folder(tmp_path):
    put(tmp_path, "hs/a.jsonl", OWN)
    put(tmp_path, "hs/deep/b.csv", "id,problem,solution\n1,2,3\n")
    put(tmp_path, "Word Problems.jsonl", GSM)
    put(tmp_path, "2020/x.jsonl", OWN)
    put(tmp_path, "2020/y.jsonl", GSM)
    put(tmp_path, ".git/config", "x")
    put(tmp_path, "README.md", "# x")
    put(tmp_path, "hs/notes.xyz", "x")
    put(tmp_path, "empty.jsonl")
    put(tmp_path, "other.jsonl", '{"text": 1}')
    put(tmp_path, "bad.jsonl", b"\xff\xfe")
    row = {
        "problem": "p",
        "solution": "s",
        "source": "olympiads",
        "question_type": "MCQ",
        "synthetic": True,
    }
    (tmp_path / "numina").mkdir()
    pl.DataFrame([row]).write_parquet(tmp_path / "numina" / "train.parquet")
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "dead.jsonl").symlink_to(tmp_path / "nowhere")
    (tmp_path / "hs" / "loop").symlink_to(tmp_path)
    (tmp_path / "again.jsonl").symlink_to(tmp_path / "hs" / "a.jsonl")
    sources, skipped = find_sources(tmp_path)
    assert names(sources) == [
        ("hs", "records"),
        ("numina", "numinamath"),
        ("s_2020_gsm8k", "gsm8k"),
        ("s_2020_records", "records"),
        ("word_problems", "gsm8k"),
    ]
    by_name = {source.name: source for source in sources}
    assert by_name["numina"].paths == (tmp_path / "numina",)
    assert by_name["hs"].paths == (tmp_path / "hs/a.jsonl", tmp_path / "hs/deep/b.csv")
    reasons = {str(one.path.relative_to(tmp_path)): one.reason for one in skipped}
    assert list(reasons) == sorted(reasons)
    assert reasons == {
        ".git": "hidden",
        "README.md": "tells about the folder, and holds no problems",
        "again.jsonl": "a link to what is read anyway",
        "bad.jsonl": "its beginning can't be read as what its name says",
        "dead.jsonl": "a link that leads nowhere",
        "empty.jsonl": "empty",
        "hs/loop": "a link to what is read anyway",
        "hs/notes.xyz": "no kind of source recognises it",
        "other.jsonl": "no kind of source has the columns 'text'",
        "pipe.jsonl": "neither a file nor a folder",
    }


def test_links_out_of_the_folder_are_followed_once(tmp_path):
    put(tmp_path, "far/a.jsonl", OWN)
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "one").symlink_to(tmp_path / "far")
    (tmp_path / "here" / "two").symlink_to(tmp_path / "far")
    sources, skipped = find_sources(tmp_path / "here")
    assert names(sources) == [("one", "records")]
    assert [one.path.name for one in skipped] == ["two"]


def test_documents_of_a_folder_are_one_source(tmp_path, books):
    put(tmp_path, "book/ch1.tex", "problem")
    put(tmp_path, "book/ch/ch2.tex", "problem")
    put(tmp_path, "book/preface.tex", "hello")
    put(tmp_path, "book/fig.png", "x")
    put(tmp_path, "book/appendix.md", "x")
    put(tmp_path, "course/ch1.tex", "problem")
    put(tmp_path, "course/macros.tex", "hello")
    put(tmp_path, "scans/2019.tex", "hello")
    put(tmp_path, "scans/2020.md", "hello")
    put(tmp_path, "a.md", "x")
    put(tmp_path, "b.md", "x")
    put(tmp_path, "README.md", "x")
    sources, skipped = find_sources(tmp_path)
    assert {(source.kind, source.paths) for source in sources} == {
        ("documents", (tmp_path / "a.md", tmp_path / "b.md")),
        ("latex", (tmp_path / "book/ch/ch2.tex", tmp_path / "book/ch1.tex")),
        ("documents", (tmp_path / "book/appendix.md",)),
        ("latex", (tmp_path / "course",)),
        ("documents", (tmp_path / "scans",)),
    }
    assert {source.name for source in sources} >= {"book_latex", "book_documents", "course"}
    assert {one.path.name: one.reason[:27] for one in skipped} == {
        "README.md": "tells about the folder, and",
        "fig.png": "no kind of source recognise",
        "preface.tex": "holds no problems of its ow",
    }


def test_a_pure_folder_of_documents_goes_as_a_folder(tmp_path, books):
    put(tmp_path, "imo/2019/de.md", "# Aufgabe")
    put(tmp_path, "imo/2020/de.md", "# Aufgabe")
    put(tmp_path, "imo/fig.png", "x")
    put(tmp_path, "imo/README.md", "# also read")
    (source,), skipped = find_sources(tmp_path)
    assert source == FoundSource("imo", "documents", (tmp_path / "imo",))
    assert [one.path.name for one in skipped] == ["fig.png"]


def test_names_are_made_unique(tmp_path):
    for name in ("a.jsonl", "a.csv", "Ä.jsonl", "A b.jsonl", "a-b.jsonl", "x" * 60 + ".jsonl"):
        put(tmp_path, name, OWN if name.endswith("l") else "id,problem,solution\n1,2,3\n")
    sources, skipped = find_sources(tmp_path)
    found = [source.name for source in sources]
    assert len(set(found)) == len(found) == 6 and not skipped
    assert {"a", "a_2", "a_b", "a_b_2", "source"} <= set(found)
    assert all(re.fullmatch("[a-z][a-z0-9_]{0,40}", name) for name in found)


def test_a_manifest_is_the_law(tmp_path):
    put(tmp_path, "one/a.jsonl", OWN)
    put(tmp_path, "one/b.xyz", "x")
    put(tmp_path, "two.jsonl", OWN)
    put(tmp_path, "three.jsonl", OWN)
    put(
        tmp_path,
        "sources.toml",
        """
[[sources]]
name = "first"
kind = "records"
path = "./one"
licence = "CC-BY-4.0"
language = "en"
for_training = false
options = {repeats = "refuse"}

[[sources]]
name = "second"
paths = ["two.jsonl"]

[[sources]]
name = "far"
kind = "huggingface"
options.dataset = "openai/gsm8k"
""",
    )
    sources, skipped = find_sources(tmp_path)
    assert sources == [
        FoundSource(
            "first", "records", (tmp_path / "one",), {"repeats": "refuse"}, "CC-BY-4.0", "en", False
        ),
        FoundSource("second", "records", (tmp_path / "two.jsonl",)),
        FoundSource("far", "huggingface", (), {"dataset": "openai/gsm8k"}),
    ]
    assert {one.path.name: one.reason for one in skipped} == {
        "b.xyz": "in the folder of 'first', but its kind 'records' doesn't recognise it",
        "sources.toml": "says what the sources are",
        "three.jsonl": "no source of sources.toml names it",
    }


S = '[[sources]]\nname = "a"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\ny = ]\n", r"not valid TOML \(.*line 2"),
        ("", "declares no source"),
        ("sources = 3", "declares no source"),
        ("sources = [3]", "source 1 is no table"),
        (S + "[extra]", "has the key 'extra'"),
        (
            S + 'kinds = "records"',
            r"line 1 \(source 'a'\) has the unknown key 'kinds': did you mean kind",
        ),
        ("\n\n[[sources]]\nkind = 'records'", "sources.toml line 3 has no name"),
        ("[[sources]]\nname = 3", "line 1: name is 3: give a string"),
        ('[[sources]]\nname = "A b"', "the name 'A b' can't be used"),
        (S + 'path = "x.jsonl"\n' + S, r"line 4 \(source 'a'\): the name 'a' is used twice"),
        (S + 'path = "none"', "the path 'none' does not exist"),
        (S + 'path = "a\\u0000b"', "does not exist"),
        (S + 'path = "x.jsonl"\npaths = []', "has both path and paths"),
        (S + "paths = [1]", "paths is no list of strings"),
        (S + 'path = "x.jsonl"\nkind = "record"', r"source 'a'\): .*no kind of source 'record'"),
        (S + 'kind = "records"', "names no path"),
        (S + 'path = "x.jsonl"\nfor_training = "no"', "for_training is 'no': give true or false"),
        (S + 'path = "x.jsonl"\nlanguage = "english"', "language is 'english'"),
        (S + 'path = "sub"', "hold no file of a known kind: say which with kind"),
        (S + 'path = "."', "files of the kinds gsm8k, records"),
        (b"\xff", "not UTF-8"),
    ],
)
def test_faults_of_a_manifest_are_named(tmp_path, text, message):
    put(tmp_path, "x.jsonl", OWN)
    put(tmp_path, "y.jsonl", GSM)
    put(tmp_path, "sub/z.xyz", "x")
    put(tmp_path, "sources.toml", text)
    with pytest.raises(InputError, match=message):
        find_sources(tmp_path)


def test_what_is_no_folder(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        find_sources(tmp_path / "none")
    with pytest.raises(InputError, match="is no folder"):
        find_sources(put(tmp_path, "x", "y"))
    (tmp_path / "bare").mkdir()
    assert find_sources(tmp_path / "bare") == ([], [])


contents = st.sampled_from([OWN, GSM, "", "x", '{"a": 1}', "id,problem,solution\n1,2,3\n"])
file_names = st.sampled_from(["a.jsonl", "b.jsonl", "c.csv", "d.txt", ".e", "README"])
folders = st.sampled_from(["", "one/", "one/deep/", "two/", ".dark/"])


@settings(max_examples=40, deadline=None)
@given(files=st.dictionaries(st.tuples(folders, file_names), contents, max_size=10))
def test_every_file_is_in_a_source_or_skipped(files, tmp_path_factory):
    root = tmp_path_factory.mktemp("f")
    for (folder, name), text in files.items():
        put(root, folder + name, text)
    sources, skipped = find_sources(root)
    again = find_sources(root)
    assert again == (sources, skipped)
    left_out = [one.path for one in skipped]
    held = 0
    for folder, name in files:
        path = root / (folder + name)
        holders = [s for s in sources if any(path == p or p in path.parents for p in s.paths)]
        out = any(path == p or p in path.parents for p in left_out)
        assert out or len(holders) == 1
        held += not out
    read = [item for s in sources for item in kind(s.kind).read(s.paths, s.options)]
    assert len(read) == held  # one item a file
