"""The same definitions under Dagster's executors: the same tables, fresh for the next build."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from saber_assets.executors import executor_of
from saber_resources.errors import SetupError
from saber_resources.settings import load_settings, preview_settings, save_settings
from saber_services.builder import build, open_board
from saber_services.instance import prepare_environment

STAGE = ("relevance_thresholds", "benchmark_queries", "candidate_pools")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    root = tmp_path_factory.mktemp("built") / "work"
    overrides = {
        "selection": {"queries": 6},
        "tournament": {"rounds": 2},
        "retrieval": {"retrievers": ["random"]},
    }
    build(save_settings(root, "sample", overrides))
    return root


def materialize(root, executor, variables=None):
    """Make the candidates stage as Dagster does, and return what it made."""
    made = {name: pl.read_parquet(root / "tables" / f"{name}.parquet") for name in STAGE}
    for name in STAGE:
        (root / "tables" / f"{name}.parquet").unlink()
    settings = save_settings(
        root,
        None,
        {
            "dagster": {"executor": executor},
            "candidates": {"blocks": 3, "runner": "threads"},
        },
    )
    environment = {**os.environ, **prepare_environment(settings.workdir), **(variables or {})}
    command = [
        "-m",
        "dagster",
        "asset",
        "materialize",
        "-m",
        "saber_assets.definitions",
        "--select",
    ]
    run = subprocess.run(
        [sys.executable, *command, ",".join(STAGE)],
        cwd=Path(__file__).parents[2],
        env=environment,
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    for name, frame in made.items():
        assert pl.read_parquet(root / "tables" / f"{name}.parquet").equals(frame)
    with open_board(load_settings(root)) as board:
        states = [state for state in board.survey().states if state.name in STAGE]
        assert [state.status for state in states] == ["fresh"] * 3
        latest = board.instance.get_run_records(limit=1)[0].dagster_run
        events = board.instance.all_logs(latest.run_id)
        return {entry.message for entry in events}, settings


@pytest.mark.slow
def test_multiprocess(built, tmp_path):
    root = tmp_path / "work"
    shutil.copytree(built, root)
    messages, settings = materialize(root, "multiprocess")
    assert any("Launching subprocess for" in message for message in messages)
    assert not settings.workdir.blocks.exists()


def test_a_choice_of_runner_or_executor_makes_nothing_stale(built):
    overrides = {
        "candidates": {"runner": "processes", "blocks": 9},
        "dagster": {"executor": "multiprocess"},
    }
    settings = preview_settings(built, None, overrides)
    with open_board(settings) as board:
        assert {state.status for state in board.survey().states} == {"fresh"}


def test_the_default_is_in_process(built):
    assert executor_of(load_settings(built)) is dg.in_process_executor


@pytest.mark.skipif(importlib.util.find_spec("dagster_ray") is not None, reason="it is installed")
def test_without_dagster_ray_it_is_told_how_to_get_it(built):
    with pytest.raises(SetupError, match="pip install"):
        executor_of(preview_settings(built, None, {"dagster": {"executor": "ray"}}))


@pytest.mark.ray
@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("dagster_ray") is None, reason="needs the extra `ray`")
def test_ray(built, tmp_path, monkeypatch):
    import ray

    # jobs of a cluster call `dagster`, and find it where the cluster was started
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    root = tmp_path / "work"
    shutil.copytree(built, root)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ray.init(num_cpus=2, include_dashboard=True, dashboard_host="127.0.0.1", dashboard_port=port)
    try:
        messages, _ = materialize(root, "ray", {"RAY_ADDRESS": f"http://127.0.0.1:{port}"})
    finally:
        ray.shutdown()
    assert any("in Ray job" in message for message in messages)
