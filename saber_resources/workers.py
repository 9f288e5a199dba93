"""Language-model servers of our own: started, watched, restarted, and always stopped."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from saber_resources.errors import SetupError

HOST = "127.0.0.1"
PORT = "{port}"
"""Stands for the port in a command."""
SUPERVISOR = Path(__file__).with_name("supervisor.py")
GRACE = 3.0
"""Seconds that a server gets to end by itself."""
PORTS = 200
"""Ports tried above the first one."""
PROBE_TIMEOUT = 5.0
POLL = 0.1
LONGEST_PAUSE = 30.0
STEADY = 600.0
"""Seconds after which a worker's earlier deaths are forgotten."""
TELL_EVERY = 15.0
"""Seconds between two lines about workers that aren't ready yet."""
TAIL_LINES = 8
TAIL_BYTES = 8192

_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True)
class Launch:
    """How one worker is started.

    Attributes:
        command: `{port}` in an argument stands for the worker's port.
        environment: laid over our own; an empty value removes a variable.
    """

    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass
class _Worker:
    """One server, and what became of it."""

    name: str
    launch: Launch
    log: Path
    port: int
    process: subprocess.Popen[bytes] | None = None
    pipe: int = -1
    started: float = 0.0
    healthy: bool = False
    deaths: int = 0
    resume_at: float = 0.0
    given_up: bool = False

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    @property
    def dead(self) -> bool:
        return self.process is None or self.process.poll() is not None


class Workers:
    """Servers on this machine that speak the OpenAI-compatible API; a context manager.

    Entering starts all of them and waits until each answers; leaving stops them. A supervisor
    process sits above each one and ends it also when we are killed.

    Args:
        launches: one a worker.
        logs: folder; worker N writes to `worker-N.log`, which a new start empties.
        port: the first port; one that is in use is passed over.
        start_timeout: seconds within which a worker must answer.
        restarts: how often a worker that died is started again before it is given up; a worker
            that stayed up for ten minutes begins anew.
        announce: is told what happens, line by line.
    """

    def __init__(
        self,
        launches: Sequence[Launch],
        logs: Path,
        port: int = 8100,
        start_timeout: float = 1800.0,
        restarts: int = 3,
        announce: Callable[[str], None] = lambda line: None,
    ) -> None:
        if not launches:
            raise ValueError("there must be at least one worker")
        self._launches = tuple(launches)
        self._logs = logs
        self._port = port
        self._start_timeout = start_timeout
        self._restarts = restarts
        self._announce = announce
        self._workers: list[_Worker] = []
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._watcher: threading.Thread | None = None

    @property
    def urls(self) -> tuple[str, ...]:
        """Base addresses of the API, one a worker; a restart keeps them."""
        return tuple(f"{worker.url}/v1" for worker in self._workers)

    @property
    def process_ids(self) -> tuple[int, ...]:
        """Process ids of the supervisors, each also the id of its process group."""
        return tuple(worker.process.pid for worker in self._workers if worker.process is not None)

    def __enter__(self) -> Workers:
        """Start all workers and wait until each one answers.

        Raises:
            SetupError: when one ends or isn't ready in time, with the end of its log.
        """
        self._logs.mkdir(parents=True, exist_ok=True)
        atexit.register(self.stop)
        try:
            ports: set[int] = set()
            for number, launch in enumerate(self._launches):
                port = free_port(self._port, ports)
                ports.add(port)
                name = f"worker-{number}"
                worker = _Worker(name, launch, self._logs / f"{name}.log", port)
                worker.log.write_bytes(b"")
                self._workers.append(worker)
                self._start(worker)
            self._wait()
        except BaseException:
            self.stop()
            raise
        self._watcher = threading.Thread(target=self._watch, name="workers", daemon=True)
        self._watcher.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop all workers."""
        self.stop()

    def stop(self) -> None:
        """End every worker; harmless when called again."""
        self._ending.set()
        if self._watcher is not None and self._watcher is not threading.current_thread():
            self._watcher.join()
            self._watcher = None
        with self._lock:
            for worker in self._workers:
                _release(worker)
            for worker in self._workers:
                _bury(worker)
        atexit.unregister(self.stop)

    def recover(self, timeout: float | None = None) -> bool:
        """Wait until some worker answers.

        Args:
            timeout: seconds; None for the time that a start may take.

        Returns:
            False when all were given up, or none answered in time.
        """
        until = time.monotonic() + (self._start_timeout if timeout is None else timeout)
        while time.monotonic() < until and not self._ending.is_set():
            if any(not worker.dead and answers(worker.url) for worker in self._workers):
                return True
            if all(worker.given_up for worker in self._workers):
                return False
            time.sleep(POLL)
        return False

    def _start(self, worker: _Worker) -> None:
        environment = dict(os.environ)
        for name, value in worker.launch.environment.items():
            environment[name] = value
            if not value:
                del environment[name]
        command = [part.replace(PORT, str(worker.port)) for part in worker.launch.command]
        reader, worker.pipe = os.pipe()
        try:
            with worker.log.open("ab") as log:
                worker.process = subprocess.Popen(  # noqa: S603 -- the person's own configuration
                    [sys.executable, "-I", str(SUPERVISOR), str(os.getpid()), str(GRACE), *command],
                    stdin=reader,
                    stdout=log,
                    stderr=log,
                    env=environment,
                    start_new_session=True,
                )
        finally:
            os.close(reader)
        worker.started, worker.healthy = time.monotonic(), False

    def _wait(self) -> None:
        """Wait until every worker answers."""
        count = len(self._workers)
        many = "worker" if count == 1 else "workers"
        self._announce(f"starting {count} {many}, logs in {self._logs}")
        waiting = list(self._workers)
        told = time.monotonic()
        while waiting:
            for worker in list(waiting):
                if self._ready(worker):
                    waiting.remove(worker)
                    seconds = time.monotonic() - worker.started
                    self._announce(f"{worker.name} is ready at {worker.url} ({seconds:.0f} s)")
            if waiting and time.monotonic() - told > TELL_EVERY:
                told = time.monotonic()
                names = ", ".join(worker.name for worker in waiting)
                self._announce(
                    f"waiting for {names} ({told - waiting[0].started:.0f} s, "
                    f"{self._start_timeout:g} s at most)"
                )
            time.sleep(POLL if waiting else 0)

    def _ready(self, worker: _Worker) -> bool:
        if worker.dead:
            raise SetupError(
                f"{worker.name} ended before it was ready; its log ends: {tail(worker.log)}",
                f"read {worker.log}, then correct [workers] in saber.toml",
            )
        worker.healthy = answers(worker.url)
        if not worker.healthy and time.monotonic() - worker.started > self._start_timeout:
            raise SetupError(
                f"{worker.name} was not ready within {self._start_timeout:g} s; its log ends: "
                f"{tail(worker.log)}",
                f"read {worker.log}, or raise workers.start_timeout_seconds",
            )
        return worker.healthy

    def _watch(self) -> None:
        while not self._ending.wait(POLL):
            with self._lock:
                for worker in self._workers:
                    if not worker.given_up and not self._ending.is_set():
                        self._look_at(worker)

    def _look_at(self, worker: _Worker) -> None:
        """Start a worker again that died, or that doesn't answer in time after a restart."""
        now = time.monotonic()
        if worker.process is None:
            if now >= worker.resume_at:
                self._start(worker)
            return
        if not worker.dead:
            age = now - worker.started
            if worker.healthy:
                worker.deaths = 0 if age > STEADY else worker.deaths
                return
            worker.healthy = answers(worker.url, timeout=1.0)
            if worker.healthy:
                self._announce(f"{worker.name} is ready again ({age:.0f} s)")
            if worker.healthy or age <= self._start_timeout:
                return
        _release(worker)
        _bury(worker)
        worker.healthy = False
        worker.deaths += 1
        if worker.deaths > self._restarts:
            worker.given_up = True
            self._announce(
                f"{worker.name} died {worker.deaths} times and is given up: {worker.log}"
            )
            return
        pause = min(0.5 * 2 ** (worker.deaths - 1), LONGEST_PAUSE)
        worker.resume_at = now + pause
        self._announce(
            f"{worker.name} died; restart {worker.deaths} of {self._restarts} at most: {worker.log}"
        )


def free_port(first: int, taken: set[int]) -> int:
    """Return the first port from `first` on that nothing listens at.

    Args:
        first: where to begin.
        taken: ports that are spoken for.

    Raises:
        SetupError: when none of 200 is free.
    """
    for port in range(first, min(first + PORTS, 65536)):
        if port in taken:
            continue
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):
                probe.bind((HOST, port))
                return port
    raise SetupError(
        f"no port is free between {first} and {first + PORTS - 1}", "set another workers.port"
    )


def answers(url: str, timeout: float = PROBE_TIMEOUT) -> bool:
    """Tell whether a server is ready: by /health, or by /v1/models where it has no /health."""
    for path in ("/health", "/v1/models"):
        try:
            with _OPENER.open(url + path, timeout=timeout) as response:
                return bool(response.status == 200)
        except urllib.error.HTTPError as error:
            if error.code not in (404, 405):
                return False
        except (OSError, ValueError):
            return False
    return False


def tail(log: Path) -> str:
    """Return the last lines of a log as one line."""
    with log.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - TAIL_BYTES))
        lines = file.read().decode("utf-8", "replace").splitlines()
    kept = [line.strip() for line in lines if line.strip()][-TAIL_LINES:]
    return " | ".join(kept) or "(nothing was written)"


def _release(worker: _Worker) -> None:
    """Close our end of the pipe: the supervisor then ends its group."""
    if worker.pipe >= 0:
        os.close(worker.pipe)
        worker.pipe = -1


def _bury(worker: _Worker) -> None:
    """Wait for the supervisor; whatever is left of its group is killed."""
    process = worker.process
    if process is None:
        return
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GRACE + 2)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    worker.process = None
