"""The registry of kinds: those that ship, those of other packages, and broken ones."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from types import SimpleNamespace

import pytest

from saber_assets.corpus.source_kinds import registry
from saber_assets.corpus.source_kinds.registry import GROUP, kind, kinds
from saber_assets.errors import InputError

SHAPES = ("records", "threads", "documents")


def make_kind(name="mine", **changes):
    return SimpleNamespace(
        **{
            "name": name,
            "shape": "records",
            "description": "d",
            "licence": None,
            "for_training": False,
            "recognises": lambda path: path.suffix == ".mine",
            "count": lambda paths, options: None,
            "read": lambda paths, options: iter(()),
        }
        | changes
    )


KIND = make_kind()
OTHER = make_kind("other")
BARE = SimpleNamespace(name="bare")


@pytest.fixture
def plug(monkeypatch):
    """Install entry points, given as name and value."""

    def install(*points):
        found = [EntryPoint(name, value, GROUP) for name, value in points]
        monkeypatch.setattr(registry, "entry_points", lambda group: found if group == GROUP else [])
        registry._installed.cache_clear()

    yield install
    monkeypatch.undo()
    registry._installed.cache_clear()


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    module = SimpleNamespace(KIND=KIND, OTHER=OTHER, BARE=BARE, Mine=type("Mine", (), vars(KIND)))
    monkeypatch.setitem(sys.modules, "plug_in_of_a_test", module)


def test_those_that_ship():
    found = kinds()
    for name, one in found.items():
        if name in registry.BUILT_IN:
            assert one.name == name and one.shape in SHAPES and one.description
            assert isinstance(one.for_training, bool)
            assert kind(name) is one
    assert {"records", "numinamath", "gsm8k", "huggingface"} <= set(found)


def test_an_unknown_kind():
    with pytest.raises(InputError, match="no kind of source 'numina': did you mean numinamath"):
        kind("numina")
    with pytest.raises(InputError, match=r"'zzzz': known are aops, .*records"):
        kind("zzzz")


@pytest.mark.parametrize("value", ["plug_in_of_a_test:KIND", "plug_in_of_a_test:Mine"])
def test_a_kind_of_another_package(plug, value):
    plug(("mine", value))
    assert kind("mine").name == "mine"
    names = list(kinds())
    assert names.index("mine") < names.index("records")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "mine",
            "no_such_module_at_all:KIND",
            "mine = no_such_module_at_all:KIND.*can't be loaded",
        ),
        ("mine", "plug_in_of_a_test:NONE", "can't be loaded"),
        ("mine", "plug_in_of_a_test:OTHER", "gives a kind with another name, 'other'"),
        ("bare", "plug_in_of_a_test:BARE", "no shape and no description .*no recognises"),
    ],
)
def test_a_broken_one_hurts_only_who_uses_it(plug, tmp_path, name, value, message):
    plug((name, value))
    assert kind("records").name == "records"
    broken = kinds()[name]
    assert not broken.recognises(tmp_path)
    for use in (
        lambda: kind(name),
        lambda: broken.read((), {}),
        lambda: broken.count((), {}),
    ):
        with pytest.raises(InputError, match=message):
            use()
    assert name in broken.description


def test_two_of_one_name(plug):
    plug(("mine", "plug_in_of_a_test:KIND"), ("mine", "plug_in_of_a_test:OTHER"))
    for use in (kinds, lambda: kind("records")):
        with pytest.raises(InputError, match="both add a kind of source 'mine'"):
            use()
    plug(("records", "plug_in_of_a_test:KIND"))
    with pytest.raises(InputError, match="'records', which ships with SABER"):
        kinds()
    plug(("mine", "plug_in_of_a_test:KIND"), ("mine", "plug_in_of_a_test:KIND"))
    assert kind("mine") is KIND
