"""Options of a source: what a kind knows, checked once, with the nearest name for a slip."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from saber_assets.errors import InputError


def check_known(kind: str, options: Mapping[str, Any], known: Iterable[str]) -> None:
    """Refuse an option that a kind of source does not know.

    Raises:
        InputError: naming the option, the nearest one that is known, and all of them.
    """
    names = sorted(known)
    for name in options:
        if name not in names:
            near = difflib.get_close_matches(str(name), names, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            listed = f"known are {', '.join(names)}" if names else "it has none"
            raise InputError(f"the kind {kind!r} has no option {str(name)!a}", hint + listed)


def flag(kind: str, options: Mapping[str, Any], name: str, default: bool) -> bool:
    """Return an option that is true or false."""
    value = options.get(name, default)
    if not isinstance(value, bool):
        raise _wrong(kind, name, value, "true or false")
    return value


def text(kind: str, options: Mapping[str, Any], name: str) -> str | None:
    """Return an option that is a text, or None where it isn't set."""
    value = options.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip():
        raise _wrong(kind, name, value, "a string")
    return value.strip()


def texts(
    kind: str, options: Mapping[str, Any], name: str, default: tuple[str, ...]
) -> tuple[str, ...]:
    """Return an option that is a list of texts."""
    value = options.get(name, default)
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise _wrong(kind, name, value, "a list of strings")
    return tuple(value)


def one_of(
    kind: str, options: Mapping[str, Any], name: str, values: tuple[str, ...], default: str
) -> str:
    """Return an option that is one of a few words."""
    value = options.get(name, default)
    if value not in values:
        raise _wrong(kind, name, value, f"one of {', '.join(values)}")
    return str(value)


def mapping(
    kind: str, options: Mapping[str, Any], name: str, keys: tuple[str, ...]
) -> dict[str, str]:
    """Return an option that maps some of the keys to texts, as `{problem = "question"}`."""
    value = options.get(name, {})
    if not isinstance(value, Mapping):
        raise _wrong(kind, name, value, 'a table, as {problem = "question"}')
    for key, column in value.items():
        if key not in keys:
            raise InputError(
                f"the option {name!r} of the kind {kind!r} maps {str(key)!a}",
                f"it can map {', '.join(keys)}",
            )
        if not isinstance(column, str) or not column:
            raise _wrong(kind, f"{name}.{key}", column, "the name of a column")
    return dict(value)


def _wrong(kind: str, name: str, value: object, wanted: str) -> InputError:
    return InputError(
        f"the option {name!r} of the kind {kind!r} is {value!a:.80}", f"give {wanted}"
    )
