"""Finds the sources that lie in a folder, and says of each other file why it is in none."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from saber_assets.corpus.source_kinds.manifest import FILE_NAME, Declared, read_manifest
from saber_assets.corpus.source_kinds.protocol import SourceKind
from saber_assets.corpus.source_kinds.registry import BrokenKind, kind, kinds
from saber_assets.corpus.source_kinds.source_files import Skipped, stem_of, walk
from saber_assets.corpus.source_kinds.table_rows import SUFFIXES, columns_of
from saber_assets.errors import InputError

_BY_FOLDER = ("latex", "documents")
"""Kinds whose files belong together, and are known by their paths below the source's folder."""

_ABOUT = re.compile(
    r"(readme|licen[cs]e|copying|notice|changelog|contributing|citation|authors)\b[^/]*",
    re.IGNORECASE,
)
_LATEX = (".tex", ".ltx", ".latex")

_PART = "holds no problems of its own; read where files of its LaTeX source include it"

_LONGEST_NAME = 36  # leaves room for a number within the 41 characters of a name


@dataclass(frozen=True, slots=True)
class FoundSource:
    """A source: what a table of the settings says of one, with absolute or given paths.

    Attributes:
        name: lower case, digits and `_`; unique in the folder.
        kind: a name that `registry.kind` knows.
        paths: files, or folders that the kind walks.
        options: of the kind.
        licence: SPDX identifier, or None for that of the kind.
        language: ISO 639-1, or None.
        for_training: or None for what the kind says.
    """

    name: str
    kind: str
    paths: tuple[Path, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    licence: str | None = None
    language: str | None = None
    for_training: bool | None = None


def find_sources(folder: Path) -> tuple[list[FoundSource], list[Skipped]]:
    """Find the sources in a folder.

    A `sources.toml` in it decides alone. Without one, each file goes to the first kind that
    recognises it; files of one kind in one folder on the first level are one source, named after
    that folder, and each file beside these folders is a source named after it. LaTeX and
    Markdown files beside them are one source, named after the folder itself.

    Args:
        folder: where to look; it is walked in sorted order, links to folders once.

    Returns:
        The sources, by name (those of a `sources.toml` in its order), and each file that is in
        none of them with the reason, by path. Hidden folders stand there as one.

    Raises:
        InputError: for a folder that isn't there, a fault in `sources.toml`, a kind that it names
            and that is not known, or a folder that it names without a kind and in which files of
            several kinds lie, or none.
    """
    folder = Path(folder)
    if not os.path.isdir(folder):  # noqa: PTH112  (Path.is_dir raises for a name that is too long)
        what = "is no folder" if os.path.lexists(folder) else "does not exist"
        raise InputError(f"{folder} {what}", "name the folder in which the sources lie")
    manifest = folder / FILE_NAME
    if os.path.lexists(manifest):
        return _declared_sources(folder, read_manifest(manifest))
    return _recognised_sources(folder)


def _declared_sources(
    folder: Path, declared: list[Declared]
) -> tuple[list[FoundSource], list[Skipped]]:
    sources = [_declared_source(one) for one in declared]
    readers = [(source, kind(source.kind)) for source in sources]
    skipped = []
    for entry in walk(folder):
        path = entry.path if isinstance(entry, Skipped) else entry
        if path == folder / FILE_NAME:
            skipped.append(Skipped(path, "says what the sources are"))
        elif (reason := _why_undeclared(entry, path, readers)) is not None:
            skipped.append(Skipped(path, reason))
    return sources, _sorted(skipped)


def _declared_source(declared: Declared) -> FoundSource:
    name = declared.kind or _only_kind(declared)
    try:
        kind(name)
    except InputError as error:
        raise InputError(f"{declared.where}: {error.what}", error.mend) from error
    if not declared.paths and name != "huggingface" and "hub" not in declared.options:
        raise InputError(f"{declared.where} names no path", 'add path = "..."')
    return FoundSource(
        declared.name,
        name,
        declared.paths,
        declared.options,
        declared.licence,
        declared.language,
        declared.for_training,
    )


def _only_kind(declared: Declared) -> str:
    known = kinds()
    files = (
        entry
        for path in declared.paths
        for entry in (walk(path) if path.is_dir() else (path,))
        if isinstance(entry, Path)
    )
    found = {name for path in files if (name := _recognise(path, known)) is not None}
    if len(found) == 1:
        return found.pop()
    what = f"files of the kinds {', '.join(sorted(found))}" if found else "no file of a known kind"
    raise InputError(f"{declared.where}: its paths hold {what}", 'say which with kind = "..."')


def _why_undeclared(
    entry: Path | Skipped, path: Path, readers: Iterable[tuple[FoundSource, SourceKind]]
) -> str | None:
    place = Path(os.path.normpath(path))
    around = None
    for source, reader in readers:
        for given in (Path(os.path.normpath(given)) for given in source.paths):
            if place == given:
                return None
            if isinstance(entry, Path) and place.is_relative_to(given):
                if _recognises(reader, path):
                    return None
                around = source
    if isinstance(entry, Skipped):
        return entry.reason
    if around is None:
        return f"no source of {FILE_NAME} names it"
    return f"in the folder of {around.name!r}, but its kind {around.kind!r} doesn't recognise it"


def source_of_file(path: Path) -> FoundSource | None:
    """Return a file as a source, or None where it is a plain problem file, or nothing known."""
    name = _recognise(path, kinds())
    if name is None or name == "records":
        return None
    return _with_names([FoundSource(stem_of(path.name), name, (path,))])[0]


@dataclass(slots=True)
class _Group:
    """What lies in one folder on the first level, or, with an empty name, beside them."""

    files: dict[str, list[Path]] = field(default_factory=dict)
    others: list[Path] = field(default_factory=list)


def _recognised_sources(folder: Path) -> tuple[list[FoundSource], list[Skipped]]:
    known = kinds()
    groups: dict[str, _Group] = {}
    skipped = []
    for entry in walk(folder):
        if isinstance(entry, Skipped):
            skipped.append(entry)
            continue
        parts = entry.relative_to(folder).parts
        group = groups.setdefault(parts[0] if len(parts) > 1 else "", _Group())
        name = None if _ABOUT.fullmatch(entry.name) else _recognise(entry, known)
        if name is None:
            group.others.append(entry)
        else:
            group.files.setdefault(name, []).append(entry)
    found: list[FoundSource] = []
    for top in sorted(groups):
        group = groups[top]
        made = _loose(folder, group) if top == "" else _in_folder(folder / top, group, known)
        found += made
        latex_folder = any(s.kind == "latex" and s.paths == (folder / top,) for s in made)
        for path in group.others:
            if latex_folder and path.suffix.lower() in _LATEX:
                continue  # read with the folder
            part = path.suffix.lower() in _LATEX and "latex" in group.files
            skipped.append(Skipped(path, _PART if part else _why_not(path, known)))
    return _with_names(found), _sorted(skipped)


def _loose(folder: Path, group: _Group) -> list[FoundSource]:
    found = []
    for name, paths in sorted(group.files.items()):
        if name in _BY_FOLDER:
            found.append(FoundSource(folder.resolve().name, name, tuple(paths)))
        else:
            found += [FoundSource(stem_of(path.name), name, (path,)) for path in paths]
    return found


def _in_folder(folder: Path, group: _Group, known: Mapping[str, SourceKind]) -> list[FoundSource]:
    _gather_texts(group, known)
    texts = [name for name in _BY_FOLDER if name in group.files]
    found = []
    for name, paths in sorted(group.files.items()):
        several = "" if len(group.files) == 1 else f"_{name}"
        whole = texts == [name] if name in _BY_FOLDER else not several and not group.others
        found.append(FoundSource(folder.name + several, name, (folder,) if whole else tuple(paths)))
    return found


def _gather_texts(group: _Group, known: Mapping[str, SourceKind]) -> None:
    """Keep the text files of a folder together.

    Beside LaTeX collections, other LaTeX files are their macros and chapters without problems,
    and no documents. A folder of documents takes what it recognises, such as a README.
    """
    documents = group.files.get("documents", [])
    if "latex" in group.files:
        parts = [path for path in documents if path.suffix.lower() in _LATEX]
        group.others = sorted((*group.others, *parts))
        documents = [path for path in documents if path not in set(parts)]
    elif documents:
        joining = [path for path in group.others if _recognises(known["documents"], path)]
        group.others = [path for path in group.others if path not in set(joining)]
        documents = sorted((*documents, *joining))
    group.files["documents"] = documents
    group.files = {name: paths for name, paths in group.files.items() if paths}


def _recognise(path: Path, known: Mapping[str, SourceKind]) -> str | None:
    return next((name for name, one in known.items() if _recognises(one, path)), None)


def _recognises(one: SourceKind, path: Path) -> bool:
    try:
        return bool(one.recognises(path))
    except Exception:  # noqa: BLE001  (a kind of another package may break its promise)
        return False


def _why_not(path: Path, known: Mapping[str, SourceKind]) -> str:
    if _ABOUT.fullmatch(path.name):
        return "tells about the folder, and holds no problems"
    try:
        with path.open("rb") as file:
            if not file.read(1):
                return "empty"
    except OSError as error:
        return f"can't be read ({error.strerror})"
    broken = "".join(f"; {one.fault.what}" for one in known.values() if isinstance(one, BrokenKind))
    if path.name.lower().endswith(SUFFIXES):
        columns = sorted(columns_of(path))
        if not columns:
            return f"its beginning can't be read as what its name says{broken}"
        listed = ", ".join(repr(name)[:40] for name in columns[:12])
        return f"no kind of source has the columns {listed}{broken}"
    return f"no kind of source recognises it{broken}"


def _with_names(found: list[FoundSource]) -> list[FoundSource]:
    """Make the names such as the settings allow, and unique."""
    named: dict[str, FoundSource] = {}
    for source in sorted(found, key=lambda source: (source.name, source.kind, source.paths)):
        slug = re.sub(r"[^a-z0-9]+", "_", source.name.lower()).strip("_") or "source"
        slug = (slug if slug[0].isalpha() else f"s_{slug}")[:_LONGEST_NAME].rstrip("_")
        name, number = slug, 1
        while name in named:
            number += 1
            name = f"{slug}_{number}"
        named[name] = FoundSource(name, source.kind, source.paths)
    return [named[name] for name in sorted(named)]


def _sorted(skipped: Iterable[Skipped]) -> list[Skipped]:
    return sorted(skipped, key=lambda one: str(one.path))
