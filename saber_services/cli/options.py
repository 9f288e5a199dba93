"""Options that several verbs share, and how `--set` is read."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console

from saber_resources.errors import SetupError
from saber_resources.settings import DEFAULT_WORKDIR, WORKDIR_VARIABLE

Function = TypeVar("Function", bound=Callable[..., Any])

workdir_option = click.option(
    "--workdir",
    type=click.Path(path_type=Path),
    default=DEFAULT_WORKDIR,
    envvar=WORKDIR_VARIABLE,
    show_default=True,
    help=f"Where the benchmark lies; also from {WORKDIR_VARIABLE}.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")


def error_console() -> Console:
    """Return the console for progress and notes: standard error."""
    return Console(stderr=True, highlight=False)


def read_overrides(pairs: tuple[str, ...]) -> dict[str, Any]:
    """Return `--set section.key=value` options as nested values; values are written as in TOML."""
    found: dict[str, Any] = {}
    for pair in pairs:
        key, separator, text = pair.partition("=")
        section, dot, name = key.strip().partition(".")
        if not separator or not dot or not name:
            raise SetupError(
                f"--set {pair} is not of the form section.key=value",
                "write it like --set tournament.rounds=10",
            )
        found.setdefault(section, {})[name] = _value(text.strip())
    return found


def read_integers(option: str, text: str, least: int) -> list[int]:
    """Return a comma-separated list of integers, ascending and without repeats."""
    try:
        found = sorted({int(part) for part in text.split(",")})
    except ValueError:
        found = []
    if not found or found[0] < least:
        raise SetupError(
            f"{option} {text} is no list of integers from {least} on",
            f"write it like {option} 10,20,30",
        )
    return found


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
