"""Files and folders that are either the old ones or the new ones, never half of each."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on success it takes the place of `path`."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with _naming(path):
            yield temporary
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 text file atomically."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """Yield a new folder beside `path`; on success it takes the place of `path`.

    A process that is killed leaves the old folder or the new one under that name, and at most an
    unfinished one beside it, which the next such replacement removes. Where the system can't
    exchange two folders at once (others than Linux), the old one is moved aside for a moment.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    temporary.mkdir()
    try:
        with _naming(path):
            yield temporary
            for file in temporary.rglob("*"):
                _sync(file)
            _sync(temporary)
            _take_place(temporary, path)
            _sync(path.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Let the error of a full disk name the path, where it names none: writing to an open file."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT) and error.filename is None:
            error.filename = str(path)
        raise


def _take_place(new: Path, old: Path) -> None:
    """Give `new` the name of `old`; what `old` was has the name of `new` then, or is gone."""
    if not old.exists():
        new.replace(old)
    elif not _exchange(new, old):
        aside = old.with_name(f".{old.name}.{os.getpid()}.old")
        old.replace(aside)
        new.replace(old)
        shutil.rmtree(aside, ignore_errors=True)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step; return whether the system could."""
    if not sys.platform.startswith("linux"):
        return False
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    done: int = rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _BOTH)
    return done == 0


_HERE = -100
"""AT_FDCWD: paths are as they stand."""
_BOTH = 2
"""RENAME_EXCHANGE."""


def _remove_leftovers(path: Path) -> None:
    """Remove what killed processes left beside a folder, or give it its name back."""
    for found in path.parent.glob(f".{_escaped(path.name)}.*"):
        match = re.fullmatch(rf"\.{re.escape(path.name)}\.(\d+)\.(new|old)", found.name)
        if match is None or _is_alive(int(match[1])):
            continue
        if match[2] == "old" and not path.exists():
            found.replace(path)
        else:
            shutil.rmtree(found, ignore_errors=True)


def _escaped(name: str) -> str:
    return re.sub(r"([*?[])", r"[\1]", name)


def _is_alive(process: int) -> bool:
    if process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
