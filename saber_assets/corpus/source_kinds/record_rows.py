"""Makes records of rows: which column holds what, ids made unique, texts checked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence, Set
from typing import Any

from saber_assets.corpus.record_files import kind_of_value, text_value
from saber_assets.errors import InputError

_LONGEST_EXTRA = 200


def text_of(where: str, name: str, value: object) -> str:
    """Return a text as it stands, "" for null.

    Raises:
        InputError: for what is no text, and for a lone surrogate, which no UTF-8 file can hold.
    """
    return well_formed(where, name, text_value(where, name, value))


def well_formed(where: str, name: str, text: str) -> str:
    """Return the text if it can be written in UTF-8.

    Raises:
        InputError: naming the lone surrogate and its place.
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{where}: {name!r} holds the lone surrogate \\u{ord(text[error.start]):04x} at "
            f"character {error.start + 1}",
            "replace it by the character that was meant",
        ) from error
    return text


def short_answer(where: str, name: str, value: object) -> str | None:
    """Return a short answer as text: a number as its digits, a list or object as JSON."""
    if value is None:
        return None
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False, default=str)
    return well_formed(where, name, value) if value.strip() else None


def solutions_of(where: str, solution: object, more: object) -> tuple[str, ...]:
    """Return the solutions, the preferred one first, blank and repeated ones left out.

    Args:
        where: the file and row, for messages.
        solution: the column `solution`.
        more: the column `solutions`: a list of texts, or that list as JSON, or null.

    Raises:
        InputError: for what is neither.
    """
    texts = [text_of(where, "solution", solution)]
    listed = _listed(more) if isinstance(more, str) else more
    if isinstance(listed, list | tuple):
        texts += [text_of(where, f"solutions[{at}]", text) for at, text in enumerate(listed)]
    elif listed is not None:
        raise InputError(
            f"{where}: 'solutions' is {kind_of_value(listed)}, not a list of texts",
            'write it as ["...", "..."]',
        )
    return tuple(dict.fromkeys(text for text in texts if text.strip()))


def _listed(text: str) -> object:
    """Return the list that a text holds as JSON; None for a blank one, else the text."""
    if not text.strip():
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def extras(values: Mapping[str, Any], used: Set[str]) -> dict[str, str]:
    """Return the other columns as text: single values of at most 200 characters.

    What is not well-formed UTF-8 is escaped; lists, objects, nulls and long texts are left out.
    """
    found = {}
    for name, value in values.items():
        if name in used or value is None or not isinstance(value, str | int | float | bool):
            continue
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if text.strip() and len(text) <= _LONGEST_EXTRA:
            found[_escaped(str(name))] = _escaped(text)
    return found


def missing_columns(
    where: str,
    missing: Sequence[str],
    found: Sequence[str],
    word: str,
    mend: str = "rename or add them, or say with the option columns which column holds what",
) -> InputError:
    """Return the error for a file without some column; `word` is "keys" or "columns"."""
    listed = ", ".join(repr(name) for name in found)
    return InputError(
        f"{where} has no {' and no '.join(repr(name) for name in missing)} among its {word} "
        f"({listed or 'none'})",
        mend,
    )


class UniqueIds:
    """Makes repeated ids unique: the second record with an id gets `#2` after it.

    Keeps a 64-bit hash of each id, not the id, so that a million of them fit in a laptop.
    """

    def __init__(self) -> None:
        self._ordinals: dict[int, int] = {}
        self._repeats: dict[int, int] = {}

    def first(self, source_id: str, origin: str = "") -> int | None:
        """Return which of all ids taken so far this one was, from 0; None where it is new."""
        return self._ordinals.get(_key(source_id, origin))

    def take(self, source_id: str, origin: str = "") -> tuple[str, str]:
        """Return a unique id, and a remark for the location ("" where the id was unique).

        Args:
            source_id: as the record has it.
            origin: ids of different origins may be equal.
        """
        if self._claim(source_id, origin):
            return source_id, ""
        key = _key(source_id, origin)
        times = self._repeats.get(key, 1)
        while True:
            times += 1
            fresh = f"{source_id}#{times}"
            if self._claim(fresh, origin):
                self._repeats[key] = times
                return fresh, f" (the id {source_id!r} for the {_ordinal(times)} time)"

    def _claim(self, source_id: str, origin: str) -> bool:
        ordinal = len(self._ordinals)
        return self._ordinals.setdefault(_key(source_id, origin), ordinal) == ordinal


def _key(source_id: str, origin: str) -> int:
    return digest_of(f"{origin}\x1f{source_id}")


def digest_of(text: str) -> int:
    """Return 64 bits of BLAKE2b, as an integer."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def _ordinal(number: int) -> str:
    last = (
        "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    )
    return f"{number}{last}"


def _escaped(text: str) -> str:
    return text.encode(errors="backslashreplace").decode()
