"""Who may work in a workdir at a time."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
import time
from functools import partial

import pytest

from saber_resources.errors import SetupError
from saber_resources.lock import FILE, hold, hold_models, hold_scoring, is_held, join

HOLDER = """\
import sys, time
from pathlib import Path
from saber_resources.lock import {how}
more = ["retriever"] if {how}.__name__ == "hold_scoring" else []
with {how}(Path(sys.argv[1]), *more):
    print("here", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def elsewhere(tmp_path):
    """Start a process that holds or joins the workdir until it is killed."""
    started = []

    def start(how):
        process = subprocess.Popen(
            [sys.executable, "-c", HOLDER.format(how=how), str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        started.append(process)
        assert process.stdout.readline() == b"here\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def test_a_build_refuses_to_start_beside_runs_of_dagster(tmp_path, elsewhere):
    process = elsewhere("join")
    assert not is_held(tmp_path)
    with join(tmp_path):
        pass
    with pytest.raises(SetupError, match="in use by runs that Dagster started"), hold(tmp_path):
        pass
    process.kill()
    process.wait()
    with hold(tmp_path):
        assert is_held(tmp_path)
        with join(tmp_path):
            pass
    assert not is_held(tmp_path)


def test_whoever_looks_at_the_lock_makes_no_build_fail(tmp_path):
    with hold(tmp_path):
        pass
    assert (tmp_path / FILE).read_text() == "", "nobody is named who is gone"
    looks = threading.Event()

    def look():
        with (tmp_path / FILE).open() as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            looks.set()
            time.sleep(0.2)

    looker = threading.Thread(target=look)
    looker.start()
    assert looks.wait(20)
    with hold(tmp_path):
        assert is_held(tmp_path)
    looker.join()


@pytest.mark.parametrize(
    ("there", "here"),
    [
        ("hold", join),
        ("hold_models", hold_models),
        ("hold_scoring", partial(hold_scoring, retriever="retriever")),
    ],
)
def test_others_wait_and_a_killed_process_frees_them(tmp_path, elsewhere, there, here):
    process = elsewhere(there)
    entered = threading.Event()

    def enter():
        with here(tmp_path):
            entered.set()

    thread = threading.Thread(target=enter)
    thread.start()
    assert not entered.wait(0.5)
    process.kill()
    assert entered.wait(20)
    thread.join()


def test_a_build_names_its_process(tmp_path, elsewhere):
    process = elsewhere("hold")
    whose = rf"another build \(process {process.pid}\)"
    with pytest.raises(SetupError, match=whose), hold(tmp_path):
        pass
