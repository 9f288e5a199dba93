"""The same definitions under Dagster's executors: the same tables, fresh for the next build."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from saber_assets.executors import executor_of
from saber_resources.errors import SetupError
from saber_resources.settings import load_settings, preview_settings, save_settings
from saber_services.builder import build, open_board
from saber_services.instance import prepare_environment

on_linux = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="reads /proc")
BLOCK = re.compile(r"[0-9]+\.block")
STAGE = ("relevance_thresholds", "benchmark_queries")


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


def below(pid):
    """Return the processes below one, with their command lines, parents first."""
    found = []
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, listed.read_text().split()):
                found += [(child, Path(f"/proc/{child}/cmdline").read_bytes()), *below(child)]
    return found


def step_process(pid):
    """Return a process that runs a step: one of Dagster's multiprocess executor."""
    return next((one for one, command in below(pid) if b"spawn_main" in command), None)


def block_process(pid):
    """Return a process that makes blocks for a step."""
    step = step_process(pid)
    return None if step is None else step_process(step)


def ray_job(pid):
    """Return a process that runs a step as a Ray job of this test's cluster."""
    command = b"\0api\0execute_step"
    return next((one for one, line in below(os.getpid()) if command in line), None)


def materialize(root, overrides, victim, variables=None):
    """Make those tables as Dagster does, and kill one process as soon as it has made more
    blocks; return the exit status. A victim 0 is nobody."""
    settings = save_settings(root, None, overrides)
    environment = {**os.environ, **prepare_environment(settings.workdir), **(variables or {})}
    command = [sys.executable, "-m", "dagster", "asset", "materialize"]
    command += ["-m", "saber_assets.definitions", "--select", ",".join(STAGE)]
    before, killed = times(settings), None
    with (root / "log").open("w") as log:
        run = subprocess.Popen(
            command, cwd=Path(__file__).parents[2], env=environment, stdout=log, stderr=log
        )
        while run.poll() is None:
            time.sleep(0.01)
            now = times(settings)
            if killed is None and len(now) > len(before) + 2:
                killed = victim(run.pid)
                if killed is not None:
                    if killed:
                        os.kill(killed, signal.SIGKILL)
                    assert {**now, **before} == now  # earlier blocks were not made again
    assert killed is not None
    return run.returncode


def times(settings):
    found = {}
    for folder, _, names in os.walk(settings.workdir.blocks):  # it may vanish meanwhile
        for file in (Path(folder, name) for name in names if BLOCK.fullmatch(name)):
            with contextlib.suppress(FileNotFoundError):
                found[file] = file.stat().st_mtime_ns
    return found


def made_as_before(root, built):
    """Check tables and states, and return the messages of the last run."""
    for name in STAGE:
        file = f"tables/{name}.parquet"
        assert pl.read_parquet(root / file).equals(pl.read_parquet(built / file))
    settings = load_settings(root)
    assert not settings.workdir.blocks.exists()
    with open_board(settings) as board:
        states = [state for state in board.survey().states if state.name in STAGE]
        assert [state.status for state in states] == ["fresh"] * len(STAGE)
        latest = board.instance.get_run_records(limit=1)[0].dagster_run
        return [entry.message for entry in board.instance.all_logs(latest.run_id)]


@pytest.fixture
def unmade(built, tmp_path):
    """A copy without two tables, one made from the other."""
    root = tmp_path / "work"
    shutil.copytree(built, root)
    for name in STAGE:
        (root / "tables" / f"{name}.parquet").unlink()
    return root


@pytest.mark.slow
@on_linux
def test_multiprocess_with_a_step_killed_and_then_a_worker(built, unmade):
    chosen = {"dagster": {"executor": "multiprocess"}, "candidates": {"blocks": 100}}
    assert materialize(unmade, chosen, step_process) != 0
    assert times(load_settings(unmade))
    chosen["candidates"]["runner"] = "processes"
    assert materialize(unmade, chosen, block_process) == 0, (unmade / "log").read_text()[-3000:]
    messages = made_as_before(unmade, built)
    assert any("Launching subprocess for" in message for message in messages)


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
@on_linux
@pytest.mark.skipif(importlib.util.find_spec("dagster_ray") is None, reason="needs the extra `ray`")
def test_ray_with_a_step_killed(built, unmade, monkeypatch):
    import ray

    # jobs of a cluster call `dagster`, and find it where the cluster was started
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ray.init(num_cpus=2, include_dashboard=True, dashboard_host="127.0.0.1", dashboard_port=port)
    variables = {"RAY_ADDRESS": f"http://127.0.0.1:{port}"}
    chosen = {"dagster": {"executor": "ray"}, "candidates": {"blocks": 100}}
    try:
        assert materialize(unmade, chosen, ray_job, variables) != 0
        assert times(load_settings(unmade))
        again = materialize(unmade, chosen, lambda pid: 0, variables)
    finally:
        ray.shutdown()
    assert again == 0, (unmade / "log").read_text()[-3000:]
    messages = made_as_before(unmade, built)
    assert any("in Ray job" in message for message in messages)
