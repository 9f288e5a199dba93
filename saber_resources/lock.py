"""Who may work in a workdir at a time; a lock ends with its process, even when it is killed.

A build holds the workdir alone. Runs that Dagster starts join it: any number of them at once, but
none beside a build. Of those that run a model, one at a time has the machine.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from saber_resources.errors import SetupError
from saber_resources.settings import writing

FILE = ".lock"
MODELS_FILE = ".models.lock"
SCORING_FOLDER = ".scoring"
POLL_SECONDS = 0.2
PATIENCE = 1.0
"""Seconds for which a build tries: whoever looks at the lock has it for a moment."""
SHORT_POLL_SECONDS = 0.02

_held: set[Path] = set()
"""Workdirs that this process holds alone: the runs of a build are part of it."""


@contextmanager
def hold(root: Path) -> Iterator[None]:
    """Hold the workdir alone.

    Raises:
        SetupError: when another process holds it, or the folder can't be written.
    """
    with _opened(root, FILE) as file:
        if not _gets(file, fcntl.LOCK_EX, PATIENCE):
            file.seek(0)
            holder = file.read().strip()
            whose = f"another build (process {holder})" if holder else "runs that Dagster started"
            raise SetupError(
                f"the workdir {root} is in use by {whose}",
                "wait until it ends, or choose another one with --workdir",
            )
        _sign(file, str(os.getpid()))
        _held.add(root)
        try:
            yield
        finally:
            _held.discard(root)
            _sign(file, "")


@contextmanager
def join(root: Path) -> Iterator[None]:
    """Work in the workdir beside others that join it; wait while a build holds it alone.

    Within a build of this process nothing is waited for.
    """
    if root in _held:
        yield
        return
    with _opened(root, FILE) as file:
        _wait_for(file, fcntl.LOCK_SH)
        _sign(file, "")
        yield


@contextmanager
def hold_models(root: Path, wait: bool = True) -> Iterator[None]:
    """Be the only one that runs a model in this workdir.

    Args:
        root: of the workdir.
        wait: whether to wait until it is so.

    Raises:
        SetupError: when another process runs one and isn't waited for.
    """
    with _opened(root, MODELS_FILE) as file:
        if wait:
            _wait_for(file, fcntl.LOCK_EX)
        elif not _gets(file, fcntl.LOCK_EX, PATIENCE):
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise SetupError(
                f"a retriever runs in the workdir {root} already (process {holder}), and two at a "
                "time would disturb each other",
                "run this again when that has ended",
            )
        _sign(file, str(os.getpid()))
        try:
            yield
        finally:
            _sign(file, "")


@contextmanager
def hold_scoring(root: Path, retriever: str) -> Iterator[None]:
    """Be the only one that scores with a retriever in this workdir; wait until it is so."""
    with _opened(root / SCORING_FOLDER, f"{retriever}.lock") as file:
        _wait_for(file, fcntl.LOCK_EX)
        yield


def is_held(root: Path) -> bool:
    """Tell whether a build holds the workdir alone."""
    if not (root / FILE).is_file():
        return False
    with _opened(root, FILE) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@contextmanager
def _opened(root: Path, name: str) -> Iterator[TextIO]:
    with writing(root):
        root.mkdir(parents=True, exist_ok=True)
        file = (root / name).open("a+", encoding="utf-8")
    with file:
        yield file


def _wait_for(file: TextIO, kind: int) -> None:
    """Wait for a lock; in steps, so that a signal ends it."""
    while True:
        try:
            fcntl.flock(file, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(POLL_SECONDS)
        else:
            return


def _gets(file: TextIO, kind: int, seconds: float) -> bool:
    """Try for some seconds to get a lock, and tell whether it was got."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(file, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(SHORT_POLL_SECONDS)
        else:
            return True


def _sign(file: TextIO, text: str) -> None:
    file.truncate(0)
    file.write(text)
    file.flush()
