"""What is wrong with a profile, as one sentence out of what pydantic found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from saber_resources.errors import SetupError

SHOWN = 60
"""Characters of a refused value that an error shows."""

RULES = {
    "int_": "a whole number",
    "float_": "a number",
    "bool_": "true or false",
    "string_": "a text",
    "path_": "a path",
    "too_short": "a list of at least {min_length}",
    "tuple_": 'a list, such as ["a", "b"]',
    "dict_": "a table, such as {{a = 1}}",
    "greater_than_equal": "at least {ge}",
    "greater_than": "greater than {gt}",
    "less_than_equal": "at most {le}",
    "less_than": "less than {lt}",
}
"""What pydantic's kinds of errors ask for, by the start of their names."""


def fault_of_profile(
    name: str,
    error: ValidationError,
    sections: Mapping[str, FieldInfo],
    source_keys: Sequence[str],
) -> SetupError:
    """Return the first fault that pydantic found as one sentence.

    Args:
        name: of the profile.
        error: what pydantic raised.
        sections: of a profile.
        source_keys: keys of a table `[[corpus.sources]]`.
    """
    first = error.errors()[0]
    places = [str(part) for part in first["loc"]]
    key = ".".join(places)
    if places[:2] == ["corpus", "sources"]:
        return _fault_of_source(first, places[2:], source_keys)
    if first["type"] == "missing":
        return SetupError(
            f"profile '{name}' lacks '{key}'",
            'add it, or take the rest from another profile with the line base = "default"',
        )
    if first["type"] == "extra_forbidden" and places[0] not in sections:
        return SetupError(
            f"there is no section '{places[0]}' in a profile", f"use one of {', '.join(sections)}"
        )
    if first["type"] == "extra_forbidden":
        keys = sections[places[0]].annotation.model_fields  # type: ignore[union-attr]
        return SetupError(
            f"there is no setting '{key}'",
            f"use one of {', '.join(f'{places[0]}.{known}' for known in keys)}",
        )
    given = repr(first["input"])
    given = given if len(given) <= SHOWN else f"{given[: SHOWN - 1]}…"
    if len(places) == 1:
        return SetupError(
            f"'{key}' can't be {given}", f"write a section [{key}] with one key = value a line"
        )
    return SetupError(
        f"'{key}' can't be {given}, it should be {_rule(first)}",
        f"set it with --set {'.'.join(places[:2])}=VALUE, or in saber.toml",
    )


def _fault_of_source(first: ErrorDetails, places: Sequence[str], keys: Sequence[str]) -> SetupError:
    """Return what is wrong with a table `[[corpus.sources]]`; its number is the first place."""
    if not places:
        what = first["msg"].removeprefix("Value error, ")
        if first["type"] == "value_error":
            return SetupError(what, "give each source a name of its own")
        return SetupError(
            "'corpus.sources' is no list of tables", "write [[corpus.sources]] above each source"
        )
    number, key = int(places[0]) + 1, ".".join(places[1:])
    where = f"source {number} of [[corpus.sources]]"
    if not key:
        return SetupError(f"{where} is no table", "write name, kind and paths, one a line")
    if first["type"] == "missing":
        return SetupError(f"{where} has no '{key}'", f"add {key} = ...")
    if first["type"] == "extra_forbidden":
        return SetupError(f"{where} has the unknown key {key!r}", f"use one of {', '.join(keys)}")
    given = repr(first["input"])
    given = given if len(given) <= SHOWN else f"{given[: SHOWN - 1]}…"
    mends = {
        "name": "begin it with a lower-case letter; up to 41 lower-case letters, digits and _",
        "language": "write an ISO 639-1 code, such as en",
    }
    return SetupError(
        f"{where}: '{key}' can't be {given}", mends.get(key, f"it should be {_rule(first)}")
    )


def _rule(first: ErrorDetails) -> str:
    """Return what pydantic asks of a value, in plain words."""
    for kind, words in RULES.items():
        if first["type"].startswith(kind):
            return words.format(**first.get("ctx", {}))
    return first["msg"].removeprefix("Input should be ")
