"""The board keeps itself current: the real daemon, a file dropped into the workdir, and the row."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from saber_assets.run_tags import KEY_TAG
from saber_resources.settings import load_settings, save_settings
from saber_resources.warehouse import read_table
from saber_services.builder import build, open_board
from saber_services.instance import open_instance, prepare_environment

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="reads /proc"),
]

PATIENCE = 400
STEP_SECONDS = 1.0
LENGTH = """\
class Mine:
    name = "dropped"

    def score(self, query, documents):
        return [{sign}float(len(text)) for text in documents]
"""
FAILING = """\
class Failing:
    name = "failing"
    family = "lexical"

    def __init__(self):
        raise RuntimeError("out of luck")

    def score(self, query, documents):
        return []
"""


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    root = tmp_path_factory.mktemp("kept") / "work"
    overrides = {
        "selection": {"queries": 5},
        "tournament": {"rounds": 2},
        "retrieval": {"retrievers": ["random", "ratings"]},
        "evaluation": {"resamples": 50},
        "dagster": {"sensor_seconds": 3},
    }
    build(save_settings(root, "sample", overrides))
    return root


@pytest.fixture
def daemon(workdir):
    """Run the daemon alone, as a process group of its own; it must be gone afterwards."""
    settings = load_settings(workdir)
    environment = {**os.environ, **prepare_environment(settings.workdir)}
    command = [sys.executable, "-m", "dagster._daemon", "run", "-m", "saber_assets.definitions"]
    with (workdir / "daemon.log").open("w") as log:
        process = subprocess.Popen(
            command,
            cwd=Path(__file__).parents[2],
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            stop(process)
    assert not members(process.pid), "processes are left"


def stop(process):
    process.send_signal(signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(30)
    deadline = time.monotonic() + 20
    while members(process.pid) and time.monotonic() < deadline:
        time.sleep(0.2)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(10)


def members(group):
    """Return the processes of a group that are alive."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError, ValueError):
            fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            if int(fields[2]) == group and fields[0] != "Z":
                found.append(int(folder.name))
    return found


def wait(what, daemon, workdir):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        found = what()
        if found:
            return found
        if daemon.poll() is not None:
            break
        time.sleep(STEP_SECONDS)
    log = (workdir / "daemon.log").read_text(encoding="utf-8")
    raise AssertionError(f"waited in vain; the daemon wrote:\n{log[-6000:]}")


def row_of(workdir, name):
    board = read_table(workdir / "tables", "leaderboard")
    rows = board.filter((pl.col("retriever") == name) & (pl.col("domain") == "all"))
    return rows.filter(setting="statement-full")["mean"].to_list()


def cursor_of(instance, sensor):
    for state in instance.all_instigator_state():
        if state.instigator_name == sensor and state.instigator_data is not None:
            return json.loads(state.instigator_data.cursor or "{}")
    return {}


def test_a_dropped_file_is_scored_ranked_and_scored_again(workdir, daemon):
    settings = load_settings(workdir)
    folder = workdir / "retrievers"
    folder.mkdir()
    (folder / "mine.py").write_text(LENGTH.format(sign=""))
    (folder / "failing.py").write_text(FAILING)
    first = wait(lambda: row_of(workdir, "dropped"), daemon, workdir)

    with open_instance(settings.workdir) as instance:

        def failed():
            runs = instance.get_runs(dg.RunsFilter(tags={"dagster/partition": "failing"}))
            return [run for run in runs if run.status == dg.DagsterRunStatus.FAILURE]

        wait(failed, daemon, workdir)
        wait(lambda: "failing" in cursor_of(instance, "new_retrievers"), daemon, workdir)

        (folder / "mine.py").write_text(LENGTH.format(sign="-"))
        wait(lambda: row_of(workdir, "dropped") not in ([], first), daemon, workdir)
        runs = instance.get_runs(dg.RunsFilter(tags={"dagster/partition": "dropped"}))
        assert len({run.tags[KEY_TAG] for run in runs}) == len(runs) == 2, "once each version"
        assert {run.status for run in runs} == {dg.DagsterRunStatus.SUCCESS}

        assert len(failed()) == 1
        every = instance.get_runs(dg.RunsFilter(tags={"dagster/partition": "failing"}))
        assert len(every) == 1, "a failure waits before it is repeated"
        noted = cursor_of(instance, "new_retrievers")
        assert noted["failing"]["tries"] == 1
        assert "dropped" not in noted

    (folder / "failing.py").unlink()
    with open_instance(settings.workdir) as instance:
        wait(
            lambda: (
                set(instance.get_dynamic_partitions("retrievers"))
                == {"random", "ratings", "dropped"}
            ),
            daemon,
            workdir,
        )
    with open_board(settings) as board:
        stale = {state.name for state in board.survey().states if state.status != "fresh"}
    assert not stale, "what the daemon made is fresh for the next build"
