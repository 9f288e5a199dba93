"""Retrievers that need no command: files of a folder, and entry points of packages."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from saber_assets.errors import InputError
from saber_assets.retrieval.own import plug_ins as module
from saber_assets.retrieval.own.own_list import Own, add_own
from saber_assets.retrieval.own.own_reference import form_of
from saber_assets.retrieval.own.plug_ins import entry_point_entry, plug_ins
from saber_assets.retrieval.registry import registry

GOOD = (
    "class {name}:\n    def score(self, query, documents):\n        return [0.5] * len(documents)\n"
)


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "retrievers"
    made.mkdir()
    return made


def test_every_class_with_score_is_on_the_board(folder, capsys):
    (folder / "two.py").write_text(
        "print('loading')\nfrom helper import Base\n"
        + GOOD.format(name="One")
        + GOOD.format(name="Two")
        + "    name = 'second'\n\nclass _Hidden(One):\n    pass\n\nclass Words:\n    pass\n"
    )
    (folder / "helper.py").write_text(GOOD.format(name="Base") + "    name = 'base'\n")
    (folder / "_draft.py").write_text("raise RuntimeError\n")
    (folder / "notes.txt").write_text("no Python")
    entries = registry(["bm25"], folder.with_name("retrievers.json"))
    assert list(entries) == ["bm25", "base", "one", "second"]
    assert entries["one"].make().score("q", ["a", "b"]) == [0.5, 0.5]
    assert capsys.readouterr().out == "", "what a plug-in prints doesn't spoil the output"
    before = entries["one"].version
    (folder / "two.py").write_text(GOOD.format(name="One") + "\n# edited\n")
    after = registry(["bm25"], folder.with_name("retrievers.json"))
    assert list(after) == ["bm25", "base", "one"]
    assert after["one"].version != before


def test_a_broken_one_is_told_and_stops_nobody(folder):
    (folder / "Broken Name.py").write_text("class A(\n")
    (folder / "argument.py").write_text(
        "class Needs:\n    def __init__(self, x):\n        pass\n"
        "    def score(self, q, d):\n        return []\n"
    )
    (folder / "bm25.py").write_text(GOOD.format(name="Bm25"))
    (folder / "good.py").write_text(GOOD.format(name="Good"))
    (folder / "zz.py").write_text(GOOD.format(name="Good"))
    entries = plug_ins(folder, {"bm25"})
    assert list(entries) == ["broken-name.py", "argument.py", "bm25.py", "good", "zz.py"]
    faults = {name: entry.missing() for name, entry in entries.items()}
    assert faults["good"] is None
    assert "line 1, SyntaxError" in str(faults["broken-name.py"])
    assert "can't be made without arguments" in str(faults["argument.py"])
    assert "another retriever's" in str(faults["bm25.py"])
    assert "another retriever's" in str(faults["zz.py"])
    assert plug_ins(folder / "nowhere", set()) == {}


class Packaged:
    def score(self, query, documents):
        return [1.0] * len(documents)


NOT_A_CLASS = 3


@pytest.fixture
def installed(monkeypatch):
    here = __name__

    def install(*pairs):
        points = tuple(EntryPoint(name, value, module.GROUP) for name, value in pairs)
        monkeypatch.setattr(module, "_installed", lambda: points)

    import sys

    monkeypatch.setitem(sys.modules, "packaged_retrievers", sys.modules[here])
    return install


def test_entry_points_go_on_the_board_by_name(installed, tmp_path):
    installed(("packaged", "packaged_retrievers:Packaged"))
    path = tmp_path / "retrievers.json"
    assert list(registry(["bm25"], path)) == ["bm25"]
    entries = registry(["bm25", "packaged"], path)
    assert entries["packaged"].make().score("q", ["a"]) == [1.0]
    add_own(path, Own("mine", "packaged"))
    assert registry([], path)["mine"].version == entries["packaged"].version
    with pytest.raises(InputError, match=r"known ones are: bm25, .*packaged, and the systems"):
        registry(["pakaged"], path)


def test_broken_packages_are_told_and_stop_nobody(installed, tmp_path):
    installed(
        ("gone", "not_there_at_all:X"),
        ("number", "packaged_retrievers:NOT_A_CLASS"),
        ("good", "packaged_retrievers:Packaged"),
        ("twice", "packaged_retrievers:Packaged"),
        ("twice", "packaged_retrievers:Other"),
    )
    entries = registry(["gone", "number", "good", "twice"], tmp_path / "retrievers.json")
    assert entries["good"].missing() is None
    assert "can't be loaded, ModuleNotFoundError" in str(entries["gone"].missing())
    assert "is no class" in str(entries["number"].missing())
    assert "both offer it" in str(entries["twice"].missing())
    with pytest.raises(InputError, match="those of the group 'saber.retrievers' are: gone, good"):
        entry_point_entry("god")


@pytest.mark.parametrize(
    ("reference", "form"),
    [
        ("a.py:B", "class"),
        ("a.b:C", "class"),
        ("HTTP://host/x", "endpoint"),
        ("runs/mine.TREC", "scores"),
        ("my-entry.point", "entry point"),
        ("entry-point:x", "entry point"),
    ],
)
def test_forms(reference, form):
    assert form_of(reference) == form


def test_a_reference_that_is_nothing():
    with pytest.raises(InputError, match="names no retriever"):
        form_of("what is this?")
