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

from saber_resources.errors import SetupError
from saber_resources.profiles.faults import fault_of_profile
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
        raise fault_of_profile(
            name, error, Profile.model_fields, list(Source.model_fields)
        ) from error


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
