"""The files of a source: walks folders in a fixed order, and says what it leaves out and why."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from saber_assets.errors import InputError


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A regular file of a source.

    Attributes:
        path: where it is.
        label: what a person knows it by: its path below the folder that was named, with `/`, or
            its name; unique among the files of a source.
    """

    path: Path
    label: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or folder that belongs to no source, and why."""

    path: Path
    reason: str


def walk(folder: Path) -> Iterator[Path | Skipped]:
    """Yield each file below a folder, depth first, names in code point order.

    Hidden files and folders, links that lead nowhere or to what is walked anyway, and what is no
    regular file come as `Skipped`; a folder that can't be opened does too. Links that lead out
    of the folder are followed, each target once.

    Raises:
        InputError: when the folder itself can't be opened.
    """
    root = _identity(folder)
    try:
        waiting = _entries(folder)
    except OSError as error:
        raise InputError(
            f"{folder} can't be opened ({error.strerror})", "check its permissions"
        ) from error
    seen = {root} if root else set()
    own: set[tuple[int, int]] | None = None
    while waiting:
        path = waiting.pop()
        if own is None and path.is_symlink():
            own = _own_entries(folder)
        reason = _reason_to_skip(path, seen, own or set())
        if reason is not None:
            yield Skipped(path, reason)
        elif path.is_dir():
            try:
                waiting.extend(_entries(path))
            except OSError as error:
                yield Skipped(path, f"can't be opened ({error.strerror})")
        else:
            yield path


def source_files(paths: Sequence[Path], suffixes: Sequence[str]) -> list[SourceFile]:
    """Return the files that a kind of source reads.

    Args:
        paths: files, taken whatever their names, and folders, whose files with one of the
            suffixes are taken.
        suffixes: in lower case, with the dot.

    Raises:
        InputError: for no path, a path that isn't there or is no regular file, a folder without
            such a file, a file that is named twice, and a name that is not UTF-8.
    """
    if not paths:
        raise InputError("the source names no path", "give it a file or a folder")
    found: list[SourceFile] = []
    labels: dict[str, int] = {}
    taken: set[Path] = set()
    for given in map(Path, paths):
        for path, label in _below(given, tuple(suffixes)):
            if path.resolve() in taken:
                raise InputError(f"{path} is named twice in the source", "name it once")
            taken.add(path.resolve())
            labels[label] = labels.get(label, 0) + 1
            mark = "" if labels[label] == 1 else f"#{labels[label]}"
            found.append(SourceFile(path, label + mark))
    return found


def stem_of(name: str) -> str:
    """Return a file name or path without its suffix, and without `.gz` before that."""
    if name.lower().endswith(".gz"):
        name = name[:-3]
    folder, slash, last = name.rpartition("/")
    return folder + slash + (Path(last).stem or last)


def check_regular(path: Path) -> None:
    """Refuse what is no file that can be opened without waiting.

    Raises:
        InputError: for a path that leads nowhere, a folder, a pipe, a device or a socket.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist", "check the path") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{path!s} can't be read ({_why(error)})", "check the path") from error
    if stat.S_ISDIR(mode):
        raise InputError(f"{path} is a folder", "name the files in it one by one")
    if not stat.S_ISREG(mode):
        raise InputError(
            f"{path} is neither a file nor a folder", "give a file, not a pipe or a device"
        )


def is_utf8_name(path: Path) -> bool:
    """Tell whether a path can be written down in UTF-8."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def _below(given: Path, suffixes: tuple[str, ...]) -> Iterator[tuple[Path, str]]:
    if not is_utf8_name(given):
        raise InputError(f"the path {str(given)!a} is not UTF-8", "rename the file")
    if not os.path.isdir(given):  # noqa: PTH112  (Path.is_dir raises for a name that is too long)
        check_regular(given)
        yield given, given.name
        return
    empty = True
    for path in walk(given):
        if isinstance(path, Path) and path.name.lower().endswith(suffixes):
            empty = False
            yield path, path.relative_to(given).as_posix()
    if empty:
        raise InputError(
            f"{given} holds no file that ends in one of {', '.join(suffixes)}",
            "name a folder with such files, or another kind of source",
        )


def _reason_to_skip(
    path: Path, seen: set[tuple[int, int]], own: set[tuple[int, int]]
) -> str | None:
    if path.name.startswith("."):
        return "hidden"
    if not is_utf8_name(path):
        return "its name is not UTF-8"
    linked = path.is_symlink()
    identity = _identity(path)
    if identity is None:
        return "a link that leads nowhere" if linked else "can't be read"
    if linked and (identity in seen or identity in own):
        return "a link to what is read anyway"
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        if identity in seen:
            return "a folder that is read already"
        seen.add(identity)
        return None
    if linked:
        seen.add(identity)
    return None if stat.S_ISREG(mode) else "neither a file nor a folder"


def _entries(folder: Path) -> list[Path]:
    return [folder / name for name in sorted(os.listdir(folder), reverse=True)]  # noqa: PTH208


def _own_entries(folder: Path) -> set[tuple[int, int]]:
    """Return what is walked without following links: a link to it would give it twice."""
    own: set[tuple[int, int]] = set()
    waiting = [folder]
    while waiting:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError:
            continue
        for entry in entries:
            if entry.name.startswith(".") or entry.is_symlink():
                continue
            identity = _identity(Path(entry.path))
            if identity is not None:
                own.add(identity)
            if entry.is_dir(follow_symlinks=False):
                waiting.append(Path(entry.path))
    return own


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
