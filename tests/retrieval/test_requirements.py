"""What a system lacks is told thing by thing, and what lacks nothing can be made."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from saber_assets.errors import InputError
from saber_assets.retrieval import machine as machine_module
from saber_assets.retrieval.builtin import BUILTIN
from saber_assets.retrieval.drivers.driver import Surroundings
from saber_assets.retrieval.field import system_entry
from saber_assets.retrieval.machine import Machine, this_machine
from saber_assets.retrieval.own.own_class import check_name
from saber_assets.retrieval.registry import no_chat, registry
from saber_assets.retrieval.requirements import gpu_gib, lacking
from saber_assets.retrieval.systems import load_systems, shipped_systems
from saber_resources.profiles import load_profile
from saber_services.cli.retrievers import command
from saber_services.retriever_list import select

SYSTEMS = shipped_systems()


def machine(tmp_path: Path, *, gpu: float = 0, packages=("torch", "transformers"), **variables):
    return Machine(gpu, lambda name: name in packages, variables, tmp_path / "hub")


def around(tmp_path: Path) -> Surroundings:
    return Surroundings(machine(tmp_path), SYSTEMS, tmp_path, no_chat)


def put_weights(tmp_path: Path, model: str) -> Path:
    folder = tmp_path / "hub" / f"models--{model.replace('/', '--')}" / "snapshots" / "abc"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text("{}", encoding="utf-8")
    (folder / "model.safetensors").write_bytes(b"")
    return folder


def kinds(name: str, here: Machine, systems=SYSTEMS) -> list[str]:
    return [need.kind for need in lacking(systems[name], systems, here)]


def test_each_thing_that_is_missing_is_told(tmp_path: Path) -> None:
    nothing = machine(tmp_path, packages=())
    assert kinds("qwen3-embedding-8b", nothing) == ["packages", "weights", "GPU"]
    assert kinds("qwen3-embedding-0.6b", nothing) == ["packages", "weights"]
    assert kinds("diver-4b", nothing) == ["packages", "contract", "weights", "GPU"]
    assert kinds("reasonir-8b", nothing) == ["packages", "weights", "GPU", "consent"]
    assert kinds("gemini-001", nothing) == ["key"]
    assert kinds("gemini-001", machine(tmp_path, GEMINI_API_KEY="k")) == []
    assert kinds("bm25", nothing) == []
    assert kinds("rank1-7b", nothing) == ["endpoint"]


def test_weights_and_memory_that_are_there_are_not_asked_for(tmp_path: Path) -> None:
    assert kinds("qwen3-embedding-8b", machine(tmp_path, gpu=80)) == ["weights"]
    put_weights(tmp_path, "Qwen/Qwen3-Embedding-8B")
    assert kinds("qwen3-embedding-8b", machine(tmp_path, gpu=80)) == []
    assert kinds("qwen3-embedding-8b", machine(tmp_path, gpu=12)) == ["GPU"]
    (need,) = lacking(SYSTEMS["qwen3-embedding-8b"], SYSTEMS, machine(tmp_path, gpu=12))
    there = "the largest here has 12), or its endpoint as served in systems.toml"
    assert need.sentence == f"a GPU with 18 GiB ({there}"


def test_half_a_download_is_none(tmp_path: Path) -> None:
    folder = put_weights(tmp_path, "BAAI/bge-m3")
    assert kinds("bge-m3", machine(tmp_path)) == []
    (folder / "model.safetensors").unlink()
    assert kinds("bge-m3", machine(tmp_path)) == ["weights"]


def test_the_stated_revision_is_preferred_then_main(tmp_path: Path) -> None:
    here, model = machine(tmp_path), "a/b"
    put_weights(tmp_path, model)
    snapshots = tmp_path / "hub" / "models--a--b" / "snapshots"
    for name in ("main1", "zzz"):
        (snapshots / "abc").rename(snapshots / name)
        put_weights(tmp_path, model)
    assert here.folder_of(model, None) == snapshots / "zzz"
    refs = snapshots.parent / "refs"
    refs.mkdir()
    (refs / "main").write_text("main1\n", encoding="utf-8")
    assert here.folder_of(model, None) == snapshots / "main1"
    assert here.folder_of(model, None, "abc") == snapshots / "abc"
    assert here.folder_of(model, None, "never") == snapshots / "main1"
    assert here.folder_of(model, str(tmp_path)) is None


def test_a_gated_model_asks_for_its_licence(tmp_path: Path) -> None:
    def sentence(**variables: str) -> str:
        here = machine(tmp_path, **variables)
        needs = lacking(SYSTEMS["gemma-300m"], SYSTEMS, here)
        return next(need.sentence for need in needs if need.kind == "weights")

    assert "accept the licence at https://huggingface.co/google/embeddinggemma-300m" in sentence()
    assert "set HF_TOKEN" in sentence()
    assert "HF_TOKEN" not in sentence(HF_TOKEN="t")


@pytest.mark.parametrize("name", ["qwen3-reranker-0.6b", "gte-colbert", "splade-code-0.6b", "bm25"])
def test_an_endpoint_that_nothing_would_ask_is_refused(tmp_path: Path, name: str) -> None:
    system = SYSTEMS[name].model_copy(update={"served": "http://127.0.0.1:1/v1"})
    needs = [need for need in lacking(system, SYSTEMS, machine(tmp_path)) if need.kind == "driver"]
    assert [need.sentence for need in needs] == [
        f"a driver for {system.family} behind an endpoint: remove served from systems.toml, which "
        "has no effect"
    ]


@pytest.mark.parametrize("name", ["qwen3-embedding-8b", "rank1-7b", "gemini-001"])
def test_an_endpoint_that_is_asked_is_not_refused(tmp_path: Path, name: str) -> None:
    system = SYSTEMS[name].model_copy(update={"served": "http://127.0.0.1:1/v1"})
    assert "driver" not in [need.kind for need in lacking(system, SYSTEMS, machine(tmp_path))]


def test_a_rewriter_needs_what_is_behind_it(tmp_path: Path) -> None:
    needs = lacking(SYSTEMS["inf-x-retriever"], SYSTEMS, machine(tmp_path))
    told = " ".join(need.sentence for need in needs)
    assert "infly/inf-retriever-v1-pro" in told
    assert gpu_gib(SYSTEMS["reasonembed-qwen3-8b-rewrite"], SYSTEMS) == gpu_gib(
        SYSTEMS["reasonembed-qwen3-8b"], SYSTEMS
    )


def test_remote_code_runs_only_with_leave(tmp_path: Path) -> None:
    file = tmp_path / "systems.toml"
    file.write_text("[splade-code-0-6b]\n".replace("-0-6b", "-8b") + "accepted_code = true\n")
    systems = load_systems(file)
    assert "consent" in kinds("splade-code-8b", machine(tmp_path))
    assert "consent" not in kinds("splade-code-8b", machine(tmp_path), systems)
    assert not any(system.accepted_code for system in SYSTEMS.values())


def test_the_memory_asked_for_holds_the_weights() -> None:
    for system in SYSTEMS.values():
        needed, weights = gpu_gib(system, SYSTEMS), system.weights_gib()
        if needed is not None and weights is not None:
            assert needed > weights


def test_an_entry_tells_all_that_it_lacks(tmp_path: Path) -> None:
    entry = system_entry(SYSTEMS["rader-7b"], around(tmp_path))
    assert (entry.family, entry.type_code) == ("dense", "RB")
    told = entry.missing()
    assert told is not None
    assert told.startswith("Retriever rader-7b lacks ")
    assert told.count(";") == 1
    with pytest.raises(InputError, match="rader-7b can't be used"):
        entry.make()


def test_the_version_follows_what_decides_scores(tmp_path: Path) -> None:
    def version(**changes: object) -> str:
        system = SYSTEMS["bge-m3"].model_copy(update=changes)
        return system_entry(system, around(tmp_path)).version

    assert version() == version(caveats=("Something.",), weights="/elsewhere", licence=None)
    assert len({version(), version(window=512), version(pooling="mean"), version(eos="x")}) == 4


def test_systems_join_the_board_by_name_and_the_default_board_stays(tmp_path: Path) -> None:
    own = tmp_path / "retrievers.json"
    assert list(registry(["bert", "bm25", "rader-3b"], own)) == ["bm25", "bert", "rader-3b"]
    with pytest.raises(InputError, match="no retriever 'bertt'"):
        registry(["bertt"], own)
    (tmp_path / "systems.toml").write_text("[bert]\nwindow = 0\n", encoding="utf-8")
    with pytest.raises(InputError, match="'bert' of .*systems.toml is wrong"):
        registry(["bert"], own)
    assert list(registry(["bm25"], own)) == ["bm25"]
    assert set(load_profile("default").retrieval.retrievers) <= set(BUILTIN)
    with pytest.raises(InputError, match="name of a system"):
        check_name("rader-3b")


def test_the_probe_survives_a_broken_nvidia_smi(tmp_path: Path, monkeypatch) -> None:
    program = tmp_path / "nvidia-smi"
    for script, expected in (
        ("echo 24576; echo 81920", 80.0),
        ("echo N/A", 0.0),
        ("exit 9", 0.0),
    ):
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
        machine_module._gpu_gib.cache_clear()
        assert this_machine().gpu_gib == expected
    machine_module._gpu_gib.cache_clear()


def run(tmp_path: Path, *arguments: str):
    done = CliRunner().invoke(command, ["--workdir", str(tmp_path / "wd"), *arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.output


def test_the_verb_lists_all(tmp_path: Path) -> None:
    rows = json.loads(run(tmp_path, "--json"))
    names = [row["name"] for row in rows]
    assert len(names) == len(set(names))
    assert set(names) == set(BUILTIN) | set(SYSTEMS)
    assert names[: len(BUILTIN)] == list(BUILTIN)
    assert all((row["lacks"] is None) == (not row["needs"]) for row in rows)
    bm25 = next(row for row in rows if row["name"] == "bm25")
    assert bm25["lacks"] is None
    assert bm25["title"] == "BM25"
    assert not (tmp_path / "wd").exists()


def test_the_verb_filters(tmp_path: Path) -> None:
    def names(*arguments: str) -> set[str]:
        return {row["name"] for row in json.loads(run(tmp_path, "--json", *arguments))}

    assert names("--family", "late-interaction") == {"gte-colbert", "reason-colbert"}
    assert names("--type", "RL") == {"reason-colbert"}
    assert "qwen3-embedding-0.6b" in names("--largest", "0.6b")
    assert "qwen3-embedding-4b" not in names("--largest", "0.6B")
    assert names("--licence", "cc-by-nc-sa") == {"splade-code-8b", "splade-code-0.6b"}
    assert "bm25" in names("--runnable")
    assert "rank1-32b" not in names("--runnable")
    for bad in (("--family", "x"), ("--type", "X"), ("--largest", "big")):
        with pytest.raises(InputError):
            run(tmp_path, *bad)
    assert select([], licence="mit") == []


def test_the_verb_tells_all_about_one(tmp_path: Path) -> None:
    card = run(tmp_path, "gte-7b")
    assert "licence: Apache-2.0" in card
    assert "a GPU with " in card
    told = json.loads(run(tmp_path, "rader-7b", "--json"))
    assert told["eos"] == "<|im_end|>"
    assert "can run here" in run(tmp_path, "jaccard")
    assert "lacks weights" in run(tmp_path) or "weights" in run(tmp_path)
    with pytest.raises(InputError, match="no retriever 'nobody'"):
        run(tmp_path, "nobody")
