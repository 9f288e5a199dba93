"""The list of a person's own retrievers: a JSON file of names and references.

It reads [{"name": "mine", "reference": "/path/to/file.py:Mine"}, ...] and is replaced atomically.
An item may also have the keys of `Own`; a name occurs again only for the runs of other settings.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from saber_assets.errors import InputError
from saber_assets.retrieval.key_names import check_key_name
from saber_assets.retrieval.own.own_class import check_name
from saber_assets.retrieval.own.own_reference import absolute
from saber_assets.retrieval.tables import SETTINGS
from saber_assets.text_file import write_text

LONGEST_TIMEOUT = 86_400.0
"""Seconds."""


@dataclass(frozen=True)
class Own:
    """An own retriever: its name in the registry, and where it is.

    Attributes:
        name: on the board.
        reference: a class, an entry point, the address of an endpoint, or a file of scores.
        setting: of a file of scores.
        version: that the person stated; "" for none.
        key_variable: NAME of the variable that holds an endpoint's key; "" for none.
        timeout: of an endpoint, in seconds; 0 for the usual one.

    Raises:
        InputError: for what can't be a variable's name, which isn't repeated, or a timeout.
    """

    name: str
    reference: str
    setting: str = ""
    version: str = ""
    key_variable: str = ""
    timeout: float = 0.0

    def __post_init__(self) -> None:
        if self.key_variable:
            check_key_name(self.key_variable)
        if not 0 <= self.timeout <= LONGEST_TIMEOUT:
            raise InputError(
                f"the timeout isn't from 0 to {LONGEST_TIMEOUT:,.0f} seconds", "give another one"
            )


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
    except RecursionError as error:
        raise InputError(f"{path} can't be read (it is nested too deeply)", mend) from error
    except (OSError, ValueError) as error:  # such as a number of 5,000 digits
        raise InputError(f"{path} can't be read ({error})", mend) from error
    if not isinstance(content, list):
        raise InputError(f"{path} is not a list", mend)
    found: list[Own] = []
    for number, item in enumerate(content, 1):
        try:
            own = _own(item)
            check_name(own.name)
        except InputError as error:
            raise InputError(f"item {number} of {path}: {error.what}", mend) from error
        if any(_clash(own, other) for other in found):
            raise InputError(f"the name '{own.name}' occurs twice in {path}", mend)
        found.append(own)
    return found


def _own(item: object) -> Own:
    fault = InputError("it lacks a name or a reference, or has a bad value", "mend it")
    if not isinstance(item, dict):
        raise fault
    known = {field.name for field in fields(Own)}
    values = {key: value for key, value in item.items() if key in known}
    if not {"name", "reference"} <= values.keys():
        raise fault
    timeout = values.pop("timeout", 0.0)
    if not all(isinstance(value, str) for value in values.values()):
        raise fault
    if not isinstance(timeout, int | float) or values.get("setting", "") not in ("", *SETTINGS):
        raise fault
    return Own(**values, timeout=timeout)


def _clash(own: Own, other: Own) -> bool:
    if own.name != other.name:
        return False
    return not own.setting or not other.setting or own.setting == other.setting


def add_own(path: Path, own: Own) -> None:
    """Add an own retriever to the list; a relative file path is made absolute.

    Adding what is there already changes nothing. Nothing is loaded here.

    Raises:
        InputError: when the name is bad or taken, the reference malformed, or the list unreadable.
    """
    check_name(own.name)
    wanted = Own(**{**asdict(own), "reference": absolute(own.reference)})
    known = read_own(path)
    if wanted in known:
        return
    for other in known:
        if _clash(wanted, other):
            raise InputError(
                f"the name '{own.name}' is taken by {other.reference}",
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
        names = ", ".join(dict.fromkeys(own.name for own in known))
        there = f"name one of {names}" if names else "the workdir has none, so leave it out"
        raise InputError(f"there is no own retriever '{name}'", there)
    _write(path, left)


def _write(path: Path, items: Sequence[Own]) -> None:
    told = [{key: value for key, value in asdict(item).items() if value} for item in items]
    write_text(path, json.dumps(told, indent=2, ensure_ascii=False) + "\n")
