"""Datasets by name: a fake of the package `datasets` stands for the hub; no network."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from saber_assets.corpus.source_kinds import gsm8k, numinamath
from saber_assets.corpus.source_kinds.hub import KIND, hub_rows
from saber_assets.errors import InputError

ROWS = [
    {"question": "q1", "answer": "a1", "idx": 7, "topic": "Algebra"},
    {"question": "q2", "answer": "a2", "idx": 7, "topic": None},
]


@pytest.fixture
def hub(monkeypatch):
    """Put a fake package in place; returns the calls, and takes rows or an error."""
    calls = []

    def install(rows, error=None, early=None):
        def load_dataset(path, **options):
            calls.append((path, options))
            if early is not None:
                raise early

            def stream():
                yield from rows
                if error is not None:
                    raise error

            return stream()

        module = ModuleType("datasets")
        module.load_dataset = load_dataset
        monkeypatch.setitem(sys.modules, "datasets", module)
        return calls

    return install


def read(kind=KIND, paths=(), **options):
    return list(kind.read(paths, options))


def test_columns_are_mapped(hub):
    calls = hub(ROWS)
    columns = {"problem": "question", "solution": "answer", "id": "idx", "answer": "answer"}
    one, two = read(dataset="me/set", columns=columns, split="test", config="main", revision="abc")
    assert calls == [
        ("me/set", {"name": "main", "split": "test", "revision": "abc", "streaming": True})
    ]
    assert (one.source_id, two.source_id) == ("7", "7#2")
    assert one.location == "me/set row 0"
    assert two.location == "me/set row 1 (the id '7' for the 2nd time)"
    assert (one.problem, one.solutions, one.answer) == ("q1", ("a1",), "a1")
    assert one.metadata == {"topic": "Algebra"} and two.metadata == {}


def test_same_names_need_no_mapping(hub):
    hub([{"problem": "p", "solution": "s", "source": "imo", "answer": 3}])
    (record,) = read(dataset="me/set")
    assert (record.source_id, record.origin, record.answer) == ("0", "imo", "3")


def test_rows_are_streamed(hub):
    hub({"problem": str(n), "solution": "s"} for n in iter(int, 1))  # without end
    stream = KIND.read((), {"dataset": "x/y"})
    assert [next(stream).source_id for _ in range(3)] == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (ROWS, {}, r"no 'problem' and no 'solution' among its columns \('answer', 'idx'"),
        (ROWS, {"columns": {"problem": "question", "solution": "text"}}, "no 'text'"),
        ([], {}, "'x/y' holds no row"),
        ([{"problem": {"image": 1}, "solution": "s"}], {}, "x/y row 0: 'problem' is an object"),
        (ROWS, {"colums": {}}, "did you mean 'columns'"),
        (ROWS, {"split": 3}, "give a string"),
    ],
)
def test_faults_are_named(hub, rows, options, message):
    hub(rows)
    with pytest.raises(InputError, match=message):
        read(dataset="x/y", **options)


def test_a_dataset_and_no_path(hub, tmp_path):
    hub(ROWS)
    with pytest.raises(InputError, match="names no dataset"):
        read()
    with pytest.raises(InputError, match="comes from the hub and names the path"):
        read(paths=(tmp_path,), dataset="x/y")
    assert not KIND.recognises(tmp_path) and KIND.count((), {}) is None


class Offline(Exception):
    """An error that is neither an OSError nor a ValueError."""


@pytest.mark.parametrize(
    "error", [Offline("no route\nto host"), ConnectionError(), ValueError("bad split")]
)
def test_the_hub_out_of_reach(hub, error):
    hub([], early=error)
    with pytest.raises(InputError, match=r"can't be read from the hub, at its beginning .*by hand"):
        read(dataset="x/y")
    hub([{"problem": "p", "solution": "s"}], error=error)
    with pytest.raises(InputError, match="from the hub, after 1 rows"):
        read(dataset="x/y")


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(InputError, match=r"pip install datasets.*huggingface.co/datasets/x/y"):
        next(hub_rows("x/y"))
    monkeypatch.setitem(sys.modules, "datasets", ModuleType("datasets"))  # a folder of that name
    with pytest.raises(InputError, match="package datasets is missing"):
        next(hub_rows("x/y"))


def test_numinamath_from_the_hub(hub, tmp_path):
    row = {"problem": "p", "solution": "s", "source": "olympiads", "synthetic": True}
    calls = hub([row, {**row, "synthetic": False}])
    one, two = read(numinamath.KIND, hub="AI-MO/NuminaMath-1.5", revision="abc")
    assert (one.fault, two.fault) == ("synthetic", None)
    assert two.source_id == "AI-MO/NuminaMath-1.5:1" and calls[0][1]["split"] == "train"
    assert numinamath.KIND.count((), {"hub": "x"}) is None
    with pytest.raises(InputError, match="comes from the hub and names the path"):
        read(numinamath.KIND, (tmp_path,), hub="AI-MO/NuminaMath-1.5")


def test_gsm8k_from_the_hub(hub):
    calls = hub([{"question": "q", "answer": "#### 5"}])
    (record,) = read(gsm8k.KIND, hub="openai/gsm8k")
    assert record.answer == "5" and calls[0][1]["name"] == "main"
