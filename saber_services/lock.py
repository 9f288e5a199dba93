"""One build at a time in a workdir; the lock ends with its process, even when it is killed."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from saber_resources.errors import SetupError
from saber_resources.settings import writing


@contextmanager
def hold(root: Path) -> Iterator[None]:
    """Hold the workdir.

    Raises:
        SetupError: when another process holds it, or the folder can't be written.
    """
    path = root / ".lock"
    with writing(root):
        root.mkdir(parents=True, exist_ok=True)
        file = path.open("a+", encoding="utf-8")
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise SetupError(
                f"the workdir {root} is in use by another build (process {holder})",
                "wait until it ends, or choose another one with --workdir",
            ) from error
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
