"""What a system's version goes by, and what it doesn't."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from saber_assets.corpus import formulas
from saber_assets.retrieval.builtin import BUILTIN
from saber_assets.retrieval.drivers import approach_zero
from saber_assets.retrieval.drivers.driver import Surroundings
from saber_assets.retrieval.field import system_entry
from saber_assets.retrieval.machine import Machine
from saber_assets.retrieval.registry import no_chat
from saber_assets.retrieval.systems import shipped_systems

SYSTEMS = shipped_systems()


def around_of(folder: Path) -> Surroundings:
    return Surroundings(
        Machine(0, lambda name: False, {}, folder / "hub"), SYSTEMS, folder, no_chat
    )


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("qwen3-embedding-8b", {"key_variable": "KEY", "size": "9B", "type_code": "RB"}),
        ("qwen3-embedding-8b", {"parameters": 5, "served": None}),
        ("qwen3-embedding-8b", {"backends": ("vllm",)}),
    ],
)
def test_what_decides_no_score_is_in_no_version(tmp_path, name, values) -> None:
    served = {"served": "http://one/v1"}
    before = SYSTEMS[name].model_copy(update=served)
    after = before.model_copy(update={**values, **served})
    around = around_of(tmp_path)
    assert before != after
    assert system_entry(before, around).version == system_entry(after, around).version


def test_a_lexical_system_is_scored_again_when_its_built_in_retriever_changes(
    tmp_path, monkeypatch
) -> None:
    system = SYSTEMS["bm25"].model_copy(update={"name": "mine"})
    before = system_entry(system, around_of(tmp_path)).version
    monkeypatch.setitem(BUILTIN, "bm25", replace(BUILTIN["bm25"], version="another"))
    assert system_entry(system, around_of(tmp_path)).version != before


def test_formulas_decide_what_approach_zero_finds() -> None:
    assert formulas.REVISION in approach_zero.DRIVER.revision[1:]
