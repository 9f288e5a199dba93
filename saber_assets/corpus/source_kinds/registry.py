"""All kinds of source: those that ship with SABER, and those of other packages.

A package adds one by an entry point of the group `saber.sources`; its name is the kind's name,
its object an instance (or a class without arguments) that follows `protocol.SourceKind`:

    [project.entry-points."saber.sources"]
    mycollection = "mypackage.sources:KIND"
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from saber_assets.corpus.source_kinds.protocol import Shape, SourceItem, SourceKind
from saber_assets.errors import InputError

GROUP = "saber.sources"

BUILT_IN = {
    "numinamath": "numinamath",
    "gsm8k": "gsm8k",
    "aops": "aops",
    "records": "own_records",
    "huggingface": "hub",
    "latex": "latex",
    "documents": "documents",
}
"""Names of kinds, each with its module, whose constant KIND is the kind."""

_LAST = ("records", "huggingface", "latex", "documents")
"""Kinds that recognise much; those of other packages come before them."""

_ATTRIBUTES = ("name", "shape", "description", "licence", "for_training")
_METHODS = ("recognises", "count", "read")


def kinds() -> dict[str, SourceKind]:
    """Return all kinds by name, in the order in which they are asked what a file is.

    A kind of another package that can't be loaded is there too: its description says why, and
    using it raises the same as an InputError.

    Raises:
        InputError: for two kinds of one name, naming the packages.
    """
    plug_ins = _entry_points()
    built_in = _built_in()
    first = [name for name in built_in if name not in _LAST]
    last = [name for name in built_in if name in _LAST]
    return {name: _load(name, plug_ins) for name in (*first, *sorted(plug_ins), *last)}


def kind(name: str) -> SourceKind:
    """Return a kind by name.

    Raises:
        InputError: for a name that is not known, with the nearest ones; for a kind of another
            package that can't be loaded, naming its entry point; for two kinds of one name.
    """
    plug_ins = _entry_points()
    built_in = _built_in()
    if name not in built_in and name not in plug_ins:
        known = sorted((*built_in, *plug_ins))
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise InputError(
            f"there is no kind of source {name!a}", f"{hint}known are {', '.join(known)}"
        )
    found = _load(name, plug_ins)
    if isinstance(found, BrokenKind):
        raise found.fault
    return found


class BrokenKind:
    """Stands for a kind of another package that can't be loaded."""

    shape: Shape = "records"
    licence: str | None = None
    for_training = False

    def __init__(self, name: str, fault: InputError) -> None:
        self.name = name
        self.fault = fault
        self.description = str(fault)

    def recognises(self, path: Path) -> bool:
        """Return False."""
        return False

    def count(self, paths: tuple[Path, ...], options: Mapping[str, Any]) -> int | None:
        """Raise why it can't be loaded."""
        raise self.fault

    def read(self, paths: tuple[Path, ...], options: Mapping[str, Any]) -> Iterator[SourceItem]:
        """Raise why it can't be loaded."""
        raise self.fault


def _built_in() -> list[str]:
    return [name for name, module in BUILT_IN.items() if find_spec(f"{__package__}.{module}")]


def _load(name: str, plug_ins: Mapping[str, EntryPoint]) -> SourceKind:
    if name in BUILT_IN:
        module = importlib.import_module(f"{__package__}.{BUILT_IN[name]}")
        return cast(SourceKind, module.KIND)
    try:
        return _plug_in(plug_ins[name])
    except InputError as fault:
        return cast(SourceKind, BrokenKind(name, fault))


def _entry_points() -> dict[str, EntryPoint]:
    found: dict[str, EntryPoint] = {}
    for point in _installed():
        if point.name in BUILT_IN:
            raise InputError(
                f"{_origin(point)} adds a kind of source {point.name!r}, which ships with SABER",
                "rename it there, or uninstall the package",
            )
        other = found.setdefault(point.name, point)
        if other.value != point.value:
            raise InputError(
                f"{_origin(other)} and {_origin(point)} both add a kind of source {point.name!r}",
                "uninstall one of them",
            )
    return found


@cache
def _installed() -> tuple[EntryPoint, ...]:
    """Return the entry points of all packages; looking takes a tenth of a second."""
    found = entry_points(group=GROUP)
    return tuple(sorted(found, key=lambda point: (point.name, point.value)))


def _plug_in(point: EntryPoint) -> SourceKind:
    try:
        found = point.load()
        if isinstance(found, type):
            found = found()
    except Exception as error:  # whatever another's package raises
        raise InputError(
            f"{_origin(point)} can't be loaded ({type(error).__name__}: {error})",
            "mend or uninstall the package",
        ) from error
    missing = [name for name in _ATTRIBUTES if not hasattr(found, name)]
    missing += [name for name in _METHODS if not callable(getattr(found, name, None))]
    if missing:
        raise InputError(
            f"{_origin(point)} is no kind of source: it has no {' and no '.join(missing)}",
            "follow saber_assets.corpus.source_kinds.protocol.SourceKind",
        )
    if found.name != point.name:
        raise InputError(
            f"{_origin(point)} gives a kind with another name, {found.name!r}",
            "give both the same name",
        )
    return cast(SourceKind, found)


def _origin(point: EntryPoint) -> str:
    package = f" of the package {point.dist.name}" if point.dist is not None else ""
    return f"the entry point '{point.name} = {point.value}' in {GROUP!r}{package}"
