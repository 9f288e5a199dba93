"""Workers: started, healthy late, restarted, given up, and gone with whoever started them."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from saber_resources.errors import SetupError
from saber_resources.llm_gateway import Gateway
from saber_resources.response_store import ResponseStore
from saber_resources.workers import Launch, Workers, answers, free_port

FAKE = Path(__file__).with_name("fake_worker.py")
ROOT = Path(__file__).parents[2]
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def fake(delay=0.0, name="fake", *flags, gpus=None):
    command = (sys.executable, str(FAKE), "{port}", str(delay), name, *flags)
    return Launch(command, {} if gpus is None else {"CUDA_VISIBLE_DEVICES": gpus})


def first_port():
    """A port from which on some are likely to be free; tests may run side by side."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return min(probe.getsockname()[1], 65000)


def ask(url, path="/who"):
    with OPENER.open(url.removesuffix("/v1") + path, timeout=5) as response:
        return json.load(response)


def until(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def alive(pid):
    """Whether a process runs; one that has ended and waits to be noticed doesn't."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/status")
    try:
        return "State:\tZ" not in status.read_text() if status.parent.parent.is_dir() else True
    except OSError:
        return False


def group(pid):
    """Process ids of a process group."""
    found = subprocess.run(["ps", "-A", "-o", "pid=,pgid="], capture_output=True, text=True)
    pairs = [line.split() for line in found.stdout.splitlines()]
    return [int(one) for one, of in pairs if int(of) == pid and alive(int(one))]


def test_starts_waits_until_healthy_and_stops(tmp_path):
    said = []
    workers = Workers([fake(0.7)], tmp_path / "logs", first_port(), 20, announce=said.append)
    began = time.monotonic()
    with workers:
        assert time.monotonic() - began >= 0.7
        (url,) = workers.urls
        served = ask(url)["pid"]
        (supervisor,) = workers.process_ids
        assert {served, supervisor} <= set(group(supervisor))
    assert not alive(served)
    assert not group(supervisor)
    assert (tmp_path / "logs" / "worker-0.log").read_text().startswith("fake at ")
    assert "starting 1 worker" in said[0]
    assert "worker-0 is ready" in said[1]


def test_a_server_without_health_is_asked_for_its_models(tmp_path):
    with Workers([fake(0.3, "fake", "--no-health")], tmp_path, first_port(), 20) as workers:
        assert answers(workers.urls[0].removesuffix("/v1"))


def test_what_a_worker_started_ends_with_it_even_when_stubborn(tmp_path):
    launch = fake(0, "fake", "--child", "--stubborn")
    with Workers([launch], tmp_path, first_port(), 20) as workers:
        (supervisor,) = workers.process_ids
        assert until(lambda: len(group(supervisor)) == 3)
        began = time.monotonic()
    assert time.monotonic() - began < 6
    assert not group(supervisor)
    assert "still there" in (tmp_path / "worker-0.log").read_text()


def test_a_dead_worker_is_restarted_at_its_address_a_bounded_number_of_times(tmp_path):
    said = []
    with Workers([fake()], tmp_path, first_port(), 20, restarts=2, announce=said.append) as workers:
        (url,) = workers.urls
        for _ in range(2):
            before = ask(url)["pid"]
            with pytest.raises(OSError):
                ask(url, "/die")
            assert workers.recover(10)
            assert until(lambda old=before: not alive(old) and workers.recover(5))
            assert ask(url)["pid"] != before
            assert workers.urls == (url,)
        with pytest.raises(OSError):
            ask(url, "/die")
        assert until(lambda: any("given up" in line for line in said))
        assert not workers.recover(5)
    assert sum("died; restart" in line for line in said) == 2
    log = (tmp_path / "worker-0.log").read_text()
    assert log.count("fake at ") == 3
    assert log.count("ended with status 3") == 3


def test_one_that_never_becomes_healthy_is_named_with_the_end_of_its_log(tmp_path):
    workers = Workers([fake(600, "sleepy")], tmp_path, first_port(), start_timeout=1.0)
    with pytest.raises(SetupError, match=r"worker-0 was not ready within 1 s.*sleepy at \d+"):
        workers.__enter__()
    assert not any(group(pid) for pid in workers.process_ids)


def test_one_that_ends_at_once_is_not_waited_for(tmp_path):
    launch = Launch([sys.executable, "-c", "import sys; sys.exit('no such model')"])
    began = time.monotonic()
    with (
        pytest.raises(SetupError, match="ended before it was ready.*no such model"),
        Workers([launch], tmp_path, first_port(), 60),
    ):
        pass
    assert time.monotonic() - began < 20


def test_a_command_that_does_not_exist_is_told(tmp_path):
    with (
        pytest.raises(SetupError, match="can't be started"),
        Workers([Launch(["/nowhere/python", "{port}"])], tmp_path, first_port(), 60),
    ):
        pass


def test_a_taken_port_is_passed_over(tmp_path):
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        taken = holder.getsockname()[1]
        assert free_port(taken, set()) > taken
        with Workers([fake()], tmp_path, taken, 20) as workers:
            assert workers.urls != (f"http://127.0.0.1:{taken}/v1",)
            assert ask(workers.urls[0])["pid"]


@dataclass
class Question:
    messages: list
    schema = None
    sampling = {"temperature": 0.0}
    attempt: int = 0


def test_two_workers_share_the_load_and_have_gpus_of_their_own(tmp_path):
    launches = [fake(0, "left", gpus="0,1"), fake(0, "right", gpus="2,3")]
    with Workers(launches, tmp_path, first_port(), 20) as workers:
        assert [ask(url)["gpus"] for url in workers.urls] == ["0,1", "2,3"]
        assert len(set(workers.urls)) == 2
        with ResponseStore(tmp_path / "responses.sqlite") as store:
            gateway = Gateway("fake", workers.urls, store, concurrency=4)
            asked = [Question([{"role": "user", "content": str(n)}]) for n in range(40)]
            told = Counter(reply.text for reply in gateway.complete(asked))
    assert told["left"] + told["right"] == 40
    assert min(told.values()) >= 10


PARENT = """
import signal, sys, time
from pathlib import Path
from saber_resources.workers import Launch, Workers
signal.signal(signal.SIGINT, signal.default_int_handler)  # a script's background ignores it
command = [sys.executable, sys.argv[1], "{port}", "0", "fake", "--child", "--stubborn"]
with Workers([Launch(command)] * 2, Path(sys.argv[2]), int(sys.argv[3]), 20) as workers:
    print(*workers.process_ids, flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_when_their_parent_is_killed(tmp_path, how):
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(FAKE), str(tmp_path), str(first_port())],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        groups = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(groups) == 2
        assert until(lambda: all(len(group(pid)) == 3 for pid in groups))
        parent.send_signal(how)
        assert until(lambda: not any(group(pid) for pid in groups), 5.0)
    finally:
        parent.kill()
        parent.wait()
        parent.stdout.close()


def test_a_killed_supervisor_takes_its_server_along(tmp_path):
    with Workers([fake(0, "fake", "--child")], tmp_path, first_port(), 20) as workers:
        (url,) = workers.urls
        (supervisor,) = workers.process_ids
        served = ask(url)["pid"]
        os.kill(supervisor, signal.SIGKILL)
        assert until(lambda: not alive(served))
        assert until(lambda: workers.process_ids not in ((), (supervisor,)) and workers.recover(5))
        assert ask(url)["pid"] != served
