"""What a driver is, besides what it does: its version, and which vectors it keeps."""

from __future__ import annotations

import inspect
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from saber_assets.retrieval.drivers import driver as driver_module
from saber_assets.retrieval.drivers import openai_embeddings, served_dense
from saber_assets.retrieval.drivers.driver import Surroundings
from saber_assets.retrieval.drivers.table import DRIVERS
from saber_assets.retrieval.field import system_entry
from saber_assets.retrieval.machine import Machine
from saber_assets.retrieval.registry import no_chat
from saber_assets.retrieval.systems import shipped_systems

SYSTEMS = shipped_systems()
OPENAI = SYSTEMS["text-embedding-3-small"]


def around_of(folder: Path) -> Surroundings:
    machine = Machine(0, lambda name: False, {"OPENAI_API_KEY": "k"}, folder / "hub")
    return Surroundings(machine, SYSTEMS, folder, no_chat)


def vectors(path, body):
    """Answer as an endpoint that has no tokenizer, and vectors of eight numbers."""
    if not path.endswith("/embeddings"):
        return 404, {}
    rows = [
        {"index": number, "embedding": [float(ord(text[at % len(text)])) for at in range(-4, 4)]}
        for number, text in enumerate(body["input"])
    ]
    return 200, {"data": rows, "model": body["model"]}


def test_revisions_are_not_added_up() -> None:
    assert all(isinstance(driver.revision, tuple) for driver in DRIVERS)
    assert all(isinstance(number, int) for driver in DRIVERS for number in driver.revision)
    one = replace(openai_embeddings.DRIVER, revision=(1, 0, 10))
    other = replace(openai_embeddings.DRIVER, revision=(1, 1, 0))
    assert one.version() != other.version()


def test_a_row_s_version_goes_by_that_of_its_driver(tmp_path, monkeypatch) -> None:
    before = system_entry(OPENAI, around_of(tmp_path)).version
    raised = replace(openai_embeddings.DRIVER, revision=(9, 9, 9))
    monkeypatch.setattr("saber_assets.retrieval.field.driver_of", lambda *_: raised)
    assert system_entry(OPENAI, around_of(tmp_path)).version != before


def test_kept_vectors_are_of_one_version(tmp_path, monkeypatch) -> None:
    around = around_of(tmp_path)
    driver = replace(openai_embeddings.DRIVER, revision=(1, 2), distributions=("torch",))
    monkeypatch.setattr(driver_module, "package_version", lambda name: "2.0")
    driver.kept_vectors(around, "contract", 2).put(["a"], np.ones((1, 2), np.float32))
    assert driver.kept_vectors(around, "contract", 2).get(["a"])
    assert not driver.kept_vectors(around, "other contract", 2).get(["a"])
    raised = replace(driver, revision=(1, 3))
    assert not raised.kept_vectors(around, "contract", 2).get(["a"])
    monkeypatch.setattr(driver_module, "package_version", lambda name: "2.1")
    assert not driver.kept_vectors(around, "contract", 2).get(["a"])


@pytest.mark.parametrize("module", [openai_embeddings, served_dense])
def test_another_version_of_a_driver_asks_an_endpoint_anew(
    fake_server, tmp_path, monkeypatch, module
) -> None:
    changes = {"dimension": 8, "served_model": "it", "window": 16}
    if module is served_dense:
        changes |= {"family": "bi-encoder", "pooling": "mean", "eos": "", "normalise": True}
        changes |= {"precision": "float32", "key_variable": None}
    with fake_server(vectors) as server:
        system = OPENAI.model_copy(update={**changes, "served": f"{server.url}/v1"})

        def asked() -> int:
            module.make(system, around_of(tmp_path)).score("query", ["one", "two"])
            sent = [text for body in server.bodies("/embeddings") for text in body["input"]]
            return sent.count("one")

        assert [asked(), asked()] == [1, 1]
        monkeypatch.setattr(module, "DRIVER", replace(module.DRIVER, revision=(99,)))
        assert asked() == 2


def test_no_driver_keeps_vectors_by_itself() -> None:
    for driver in DRIVERS:
        source = inspect.getsource(import_module(driver.make.__module__))
        assert "VectorCache(" not in source


def test_a_place_goes_by_the_address_and_a_version_does_not(tmp_path) -> None:
    def entry(url, name="qwen3-embedding-8b"):
        system = SYSTEMS[name].model_copy(update={"served": url})
        around = replace(around_of(tmp_path), systems={**SYSTEMS, name: system})
        behind = system.model_copy(update={"name": "behind", "served": None, "base": name})
        return system_entry(system, around), system_entry(behind, around)

    here, there, none = (entry(url) for url in ("http://one/v1", "http://two/v1", None))
    assert here[0].version == there[0].version
    for number in (0, 1):
        assert len({found[number].place for found in (here, there, none)}) == 3
        assert none[number].place == ""
