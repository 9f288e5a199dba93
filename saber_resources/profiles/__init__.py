"""Profiles: every number that the pipeline uses, as values in TOML files.

A profile may name another one as its `base`; what it says itself wins. No code asks which profile
is active: assets read values.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from saber_resources.errors import SetupError
from saber_resources.profiles.sections import (
    Annotation,
    Candidates,
    Checks,
    Corpus,
    Dagster,
    Evaluation,
    Imported,
    Judge,
    Judging,
    Llm,
    Ontology,
    Price,
    Profile,
    Ratings,
    Retrieval,
    Section,
    Selection,
    Source,
    Thresholds,
    Tournament,
    Workers,
)

__all__ = [
    "FOLDER",
    "Annotation",
    "Candidates",
    "Checks",
    "Corpus",
    "Dagster",
    "Evaluation",
    "Imported",
    "Judge",
    "Judging",
    "Llm",
    "Ontology",
    "Price",
    "Profile",
    "Ratings",
    "Retrieval",
    "Section",
    "Selection",
    "Source",
    "Thresholds",
    "Tournament",
    "Workers",
    "load_profile",
    "merge",
    "profile_names",
    "read_toml",
]

FOLDER = Path(__file__).parent
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


def profile_names() -> list[str]:
    """Return the names of the profiles that ship with the project."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load_profile(name: str, overrides: Mapping[str, Any] | None = None) -> Profile:
    """Return a profile with overrides laid over it.

    Args:
        name: one of `profile_names()`, or the path of a TOML file.
        overrides: nested values, such as {"tournament": {"rounds": 5}}.

    Raises:
        SetupError: when the profile is unknown, unreadable, or a value is not allowed.
    """
    values = merge(_read(name, ()), overrides or {})
    try:
        return Profile.model_validate(values)
    except ValidationError as error:
        raise _fault(name, error) from error


def _fault(name: str, error: ValidationError) -> SetupError:
    """Return the first fault that pydantic found as one sentence."""
    first = error.errors()[0]
    places = [str(part) for part in first["loc"]]
    key = ".".join(places)
    if places[:2] == ["corpus", "sources"]:
        return _fault_of_source(first, places[2:])
    sections = Profile.model_fields
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


def _fault_of_source(first: ErrorDetails, places: list[str]) -> SetupError:
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
        known = ", ".join(Source.model_fields)
        return SetupError(f"{where} has the unknown key {key!r}", f"use one of {known}")
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


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` with the values of `over` laid over it, section by section."""
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        both = isinstance(value, Mapping) and isinstance(below, Mapping)
        merged[key] = merge(below, value) if both and key != "quota" else value  # type: ignore[arg-type]
    return merged


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file; SetupError with file and place where it is faulty."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SetupError(
            f"{path} can't be read ({error.strerror})", "check the path and its permissions"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SetupError(f"{path} is not valid TOML ({error})", "mend the line it names") from error


def _read(name: str, seen: tuple[str, ...]) -> dict[str, Any]:
    if name in seen:
        raise SetupError(
            f"profiles name each other as base: {' -> '.join([*seen, name])}",
            "remove one `base` line",
        )
    shipped = FOLDER / f"{name}.toml"
    path = shipped if name in profile_names() else Path(name)
    if not path.is_file():
        raise SetupError(
            f"there is no profile '{name}'",
            f"use one of {', '.join(profile_names())}, or the path of a TOML file",
        )
    values = read_toml(path)
    base = values.pop("base", None)
    return values if base is None else merge(_read(str(base), (*seen, name)), values)
