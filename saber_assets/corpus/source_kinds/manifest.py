"""Reads a folder's `sources.toml`: which sources lie in it, said by a person.

[[sources]]
name = "imo"                 # decides the priority; lower case, digits and _
kind = "documents"           # optional: found out where it is left out
path = "imo"                 # file or folder below this one; or paths = ["a", "b"]
licence = "CC-BY-4.0"        # SPDX; optional, as the rest
language = "en"
for_training = true
options = {}
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from saber_assets.errors import InputError

FILE_NAME = "sources.toml"

NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")
_LANGUAGE = re.compile("[a-z]{2}")
_TABLE = re.compile(r"^[ \t]*\[\[[ \t]*sources[ \t]*\]\]", re.MULTILINE)
_KEYS = ("name", "kind", "path", "paths", "licence", "language", "for_training", "options")
_TYPES: Mapping[str, tuple[type, str]] = {
    "name": (str, "a string"),
    "kind": (str, "a string"),
    "path": (str, "a string"),
    "paths": (list, "a list of strings"),
    "licence": (str, "an SPDX identifier"),
    "language": (str, 'an ISO 639-1 code, as "en"'),
    "for_training": (bool, "true or false"),
    "options": (dict, "a table"),
}


@dataclass(frozen=True, slots=True)
class Declared:
    """One table of a `sources.toml`; `kind` is None where it names none."""

    name: str
    kind: str | None
    paths: tuple[Path, ...]
    licence: str | None = None
    language: str | None = None
    for_training: bool | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    where: str = ""


def read_manifest(path: Path) -> list[Declared]:
    """Return what a `sources.toml` declares, in its order.

    Raises:
        InputError: for what is no TOML, an unknown key, a wrong or missing value, a name used
            twice; names the file, and the line or the source.
    """
    text = _text_of(path)
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{path} is not valid TOML ({error})", "correct that line") from error
    for key in document:
        if key != "sources":
            raise InputError(
                f"{path} has the key {key!r}", "it holds nothing but tables [[sources]]"
            )
    tables = document.get("sources")
    if not isinstance(tables, list) or not tables:
        raise InputError(
            f"{path} declares no source", 'write a table [[sources]] with name = "..." for each'
        )
    lines = [text.count("\n", 0, match.start()) + 1 for match in _TABLE.finditer(text)]
    found: dict[str, Declared] = {}
    for at, table in enumerate(tables):
        where = (
            f"{path} line {lines[at]}" if len(lines) == len(tables) else f"{path} source {at + 1}"
        )
        declared = _declared(where, path.parent, table)
        where = declared.where
        if declared.name in found:
            raise InputError(
                f"{where}: the name {declared.name!r} is used twice, first in "
                f"{found[declared.name].where}",
                "give each source its own name",
            )
        found[declared.name] = declared
    return list(found.values())


def _text_of(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        raise InputError(f"{path} can't be read ({error.strerror})", "check the file") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8", "save it in UTF-8") from error


def _declared(where: str, folder: Path, table: object) -> Declared:
    if not isinstance(table, dict):
        raise InputError(f"{where} is no table", "write [[sources]] and the keys below it")
    if isinstance(table.get("name"), str):
        where = f"{where} (source {table['name']!r})"
    for key, value in table.items():
        _check(where, key, value)
    if "name" not in table:
        raise InputError(f"{where} has no name", 'add name = "..."')
    if not NAME.fullmatch(table["name"]):
        raise InputError(
            f"{where}: the name {table['name']!a} can't be used",
            "begin it with a lower-case letter; up to 41 letters, digits and _",
        )
    if "path" in table and "paths" in table:
        raise InputError(f"{where} has both path and paths", "leave one of them out")
    paths = [table["path"]] if "path" in table else table.get("paths", [])
    if not all(isinstance(item, str) and item for item in paths):
        raise InputError(f"{where}: paths is no list of strings", 'write paths = ["a", "b"]')
    return Declared(
        name=table["name"],
        kind=table.get("kind"),
        paths=tuple(_existing(where, folder, item) for item in paths),
        licence=table.get("licence"),
        language=table.get("language"),
        for_training=table.get("for_training"),
        options=table.get("options", {}),
        where=where,
    )


def _check(where: str, key: str, value: object) -> None:
    if key not in _KEYS:
        near = difflib.get_close_matches(key, _KEYS, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise InputError(f"{where} has the unknown key {key!a}", f"{hint}known: {', '.join(_KEYS)}")
    wanted, words = _TYPES[key]
    if not isinstance(value, wanted) or (wanted is str and not str(value).strip()):
        raise InputError(f"{where}: {key} is {value!a:.60}", f"give {words}")
    if key == "language" and not _LANGUAGE.fullmatch(str(value)):
        raise InputError(f"{where}: language is {value!a:.60}", f"give {words}")


def _existing(where: str, folder: Path, name: str) -> Path:
    path = folder / name
    try:
        there = path.exists()
    except (OSError, ValueError):
        there = False
    if not there:
        raise InputError(f"{where}: the path {name!a} does not exist", f"paths are below {folder}")
    return path
