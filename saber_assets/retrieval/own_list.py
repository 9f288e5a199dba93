"""The list of a person's own retrievers: a JSON file of names and references.

It reads [{"name": "mine", "reference": "/path/to/file.py:Mine"}, ...] and is replaced atomically.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from saber_assets.errors import InputError
from saber_assets.retrieval.own import check_name, split_reference
from saber_assets.text_file import write_text


class Own(NamedTuple):
    """An own retriever: its name in the registry, and where its class is."""

    name: str
    reference: str


def read_own(path: Path) -> list[Own]:
    """Return the own retrievers in the order in which they were added; none without a file.

    Raises:
        InputError: when the file can't be read, is malformed, or has a bad or repeated name.
    """
    mend = f'mend the list {path} or delete it; it reads [{{"name": ..., "reference": ...}}]'
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except json.JSONDecodeError as error:
        raise InputError(f"{path} is not JSON (line {error.lineno}: {error.msg})", mend) from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} can't be read ({error})", mend) from error
    if not isinstance(content, list):
        raise InputError(f"{path} is not a list", mend)
    found: list[Own] = []
    for number, item in enumerate(content, 1):
        own = _own(item)
        if own is None:
            raise InputError(f"item {number} of {path} lacks a name or a reference", mend)
        try:
            check_name(own.name)
        except InputError as error:
            raise InputError(f"item {number} of {path}: {error.what}", mend) from error
        if any(own.name == other.name for other in found):
            raise InputError(f"the name '{own.name}' occurs twice in {path}", mend)
        found.append(own)
    return found


def _own(item: object) -> Own | None:
    if not isinstance(item, dict):
        return None
    name, reference = item.get("name"), item.get("reference")
    if not isinstance(name, str) or not isinstance(reference, str):
        return None
    return Own(name, reference)


def add_own(path: Path, name: str, reference: str) -> None:
    """Add an own retriever to the list; a relative file path is made absolute.

    Adding what is there already changes nothing. The class isn't loaded here: see `load_own`.

    Raises:
        InputError: when the name is bad or taken, the reference malformed, or the list unreadable.
    """
    check_name(name)
    place, class_name = split_reference(reference)
    wanted = Own(name, f"{place}:{class_name}")
    known = read_own(path)
    for own in known:
        if own == wanted:
            return
        if own.name == name:
            raise InputError(
                f"the name '{name}' is taken by {own.reference}",
                "remove that one first, or choose another name",
            )
    _write(path, [*known, wanted])


def remove_own(path: Path, name: str) -> None:
    """Remove an own retriever from the list.

    Raises:
        InputError: when it isn't there, or the list is unreadable.
    """
    known = read_own(path)
    left = [own for own in known if own.name != name]
    if len(left) == len(known):
        names = ", ".join(own.name for own in known) or "none"
        raise InputError(f"there is no own retriever '{name}'", f"the own ones are: {names}")
    _write(path, left)


def _write(path: Path, items: Sequence[Own]) -> None:
    content = json.dumps([item._asdict() for item in items], indent=2, ensure_ascii=False)
    write_text(path, content + "\n")
