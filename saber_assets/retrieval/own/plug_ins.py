"""Own retrievers that need no command: Python files in a folder, and installed packages.

Every class with a method `score` in a file WORKDIR/retrievers/*.py is on the board. A package adds
retrievers by entry points of the group `saber.retrievers`, which go on the board by name:

    [project.entry-points."saber.retrievers"]
    mine = "mypackage.retrievers:Mine"
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, NoReturn

from saber_assets.errors import InputError
from saber_assets.retrieval.entry import NAME, Entry, package_version, version_of
from saber_assets.retrieval.own.own_class import class_entry, load_file, name_of
from saber_assets.retrieval.own.run_file import digest_of
from saber_assets.retrieval.reasons import reason_of

FOLDER = "retrievers"
GROUP = "saber.retrievers"


def plug_ins(folder: Path, taken: Collection[str]) -> dict[str, Entry]:
    """Return the retrievers of a folder's files, by name.

    A file or class that can't be used is there as well, under the file's name, and says why. Files
    whose names begin with `_` or `.` are passed over; those without such a class help others.

    Args:
        folder: need not exist.
        taken: names that are other retrievers' already.
    """
    found: dict[str, Entry] = {}
    for path in sorted(folder.glob("*.py")):
        if path.name.startswith(("_", ".")):
            continue
        try:
            classes = _classes(path)
        except InputError as error:
            entry = broken_entry(_file_name(path), f"Plug-in {path.name}", error)
            found.setdefault(entry.name, entry)
            continue
        for one, digest in classes:
            entry = _entry(path, one, digest, {*taken, *found})
            found.setdefault(entry.name, entry)
    return found


def _classes(path: Path) -> list[tuple[type[Any], str]]:
    loaded = load_file(path)
    return [
        (value, loaded.digest)
        for name, value in vars(loaded.module).items()
        if isinstance(value, type)
        and value.__module__ == loaded.module.__name__
        and not name.startswith("_")
        and callable(getattr(value, "score", None))
        and not inspect.isabstract(value)
    ]


def _entry(path: Path, found: type[Any], digest: str, taken: Collection[str]) -> Entry:
    reference = f"{path}:{found.__name__}"
    try:
        if name_of(found) in taken:
            raise InputError(
                f"the name '{name_of(found)}' of {reference} is another retriever's",
                "give the class another attribute `name`",
            )
        return class_entry(found, reference, {"file": digest})
    except InputError as error:
        return broken_entry(_file_name(path), f"Class {found.__name__} of {path.name}", error)


def _file_name(path: Path) -> str:
    """Return a name for a file that gives none: its own, in the signs that names have."""
    name = re.sub(r"[^a-z0-9._-]", "-", path.name.lower()).lstrip("._-")[:64]
    return name if NAME.fullmatch(name) else "plug-in.py"


def broken_entry(name: str, what: str, error: InputError, version_known: bool = True) -> Entry:
    """Return an entry that can't be used and says why.

    Args:
        name: of the retriever.
        what: begins its description.
        error: why.
        version_known: False where it may be well but isn't there, so that its last scores count.
    """
    fault = f"Retriever {name}: {error}."
    return Entry(
        name=name,
        family="own",
        type_code="",
        description=f"{what}, which can't be used.",
        version=version_of({"fault": str(error)}),
        factory=_unmade,
        fault=fault,
        version_known=version_known,
    )


def _unmade() -> NoReturn:
    raise AssertionError("an entry with a fault is never made")


def entry_point_names() -> list[str]:
    """Return the names of the retrievers that installed packages offer, sorted."""
    return sorted({point.name for point in _installed()})


def entry_point_entry(point_name: str, name: str | None = None) -> Entry:
    """Return the retriever that an installed package offers.

    Args:
        point_name: of the entry point.
        name: on the board; by default that of the entry point.

    Raises:
        InputError: when no package or more than one has it, or it can't be loaded or used.
    """
    points = [point for point in _installed() if point.name == point_name]
    if not points:
        there = ", ".join(entry_point_names()) or "none"
        raise InputError(
            f"no installed package offers a retriever '{point_name}'",
            f"those of the group {GROUP!r} are: {there}",
        )
    if len(points) > 1:
        both = " and ".join(origin_of(point) for point in points)
        raise InputError(f"{both} both offer it", "uninstall one of them")
    point = points[0]
    try:
        found = point.load()
    except (Exception, SystemExit) as error:
        raise InputError(
            f"{origin_of(point)} can't be loaded, {reason_of(error)}",
            "mend or uninstall the package",
        ) from error
    if not isinstance(found, type):
        raise InputError(f"{origin_of(point)} is no class", "let it name a class")
    decides = {"package": _package(point)}
    file = getattr(inspect.getmodule(found), "__file__", None)
    if file is not None and Path(file).is_file():
        decides["file"] = digest_of(Path(file))
    return class_entry(found, origin_of(point), decides, name or point_name)


def _package(point: EntryPoint) -> str:
    return f"{point.dist.name} {package_version(point.dist.name)}" if point.dist else ""


@cache
def _installed() -> tuple[EntryPoint, ...]:
    """Return the entry points of all packages; looking takes a tenth of a second."""
    found = {(point.name, point.value): point for point in entry_points(group=GROUP)}
    return tuple(found[key] for key in sorted(found))


def origin_of(point: EntryPoint) -> str:
    """Return words for an entry point and its package."""
    package = f" of the package {point.dist.name}" if point.dist is not None else ""
    return f"the entry point '{point.name} = {point.value}'{package}"
