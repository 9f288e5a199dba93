"""Options that several verbs share, and how `--set` is read."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.markup import escape

from saber_resources.errors import SetupError
from saber_resources.settings import (
    DEFAULT_WORKDIR,
    SETTINGS_FILE,
    WORKDIR_VARIABLE,
    load_settings,
)

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


_BUILD_OPTIONS = (
    click.option(
        "--corpus",
        "corpus",
        multiple=True,
        type=click.Path(path_type=Path),
        help="JSONL, CSV or Parquet with columns id, problem, solution, optional source; a file of "
        "another kind of source, or a folder of such (see `saber corpus kinds`); repeatable.",
    ),
    click.option(
        "--ontology", type=click.Path(path_type=Path), help="A topic DAG: CSV or tree JSON."
    ),
    click.option("--profile", help="sample, small, default, paper, local, or a TOML file."),
    click.option(
        "--bad-rows",
        type=click.Choice(["refuse", "set-aside"]),
        help="Refuse a corpus with empty or unusable rows, or list such rows in dropped_problems.",
    ),
    click.option(
        "--annotator", type=click.Choice(["lexical", "llm"]), help="Who annotates and judges."
    ),
    click.option(
        "--set", "pairs", multiple=True, metavar="SECTION.KEY=VALUE", help="Any value of it."
    ),
)


def build_options(function: Function) -> Function:
    """Add the options that say what is built and how; hand them on to `overrides_of` by name."""
    for option in reversed(_BUILD_OPTIONS):
        function = option(function)
    return function


def overrides_of(
    workdir: Path,
    corpus: tuple[Path, ...],
    ontology: Path | None,
    profile: str | None,
    bad_rows: str | None,
    annotator: str | None,
    pairs: tuple[str, ...],
) -> tuple[str | None, dict[str, Any]]:
    """Return the profile and the nested values that the build options ask for.

    Raises:
        InputError: when a file isn't there.
    """
    # only here: Dagster, behind them, takes a second to import
    from saber_assets.sources import check_file
    from saber_services.corpus_sources import given_corpus

    overrides = read_overrides(pairs)
    if corpus:
        given = given_corpus(corpus)
        overrides.setdefault("corpus", {}).update(files=given.files, sources=given.sources)
        tell_skipped(given.skipped)
    if bad_rows:
        overrides.setdefault("corpus", {})["bad_rows"] = bad_rows.replace("-", "_")
    if ontology:
        overrides.setdefault("ontology", {})["file"] = str(ontology.expanduser().resolve())
    if annotator:
        overrides.setdefault("annotation", {})["annotator"] = annotator
        overrides.setdefault("judging", {})["annotator"] = annotator
        reader = "llm" if annotator == "llm" else "rules"
        overrides.setdefault("corpus", {})["annotator"] = reader
    if corpus or ontology or bad_rows or annotator:
        _refuse_imported(workdir)
    if ontology:
        check_file(ontology.expanduser().resolve(), "ontology file")
    return profile or _first_profile(workdir, corpus), overrides


def tell_skipped(skipped: Sequence[tuple[str, str]], most: int = 5) -> None:
    """Say on standard error which files of a folder are read by nothing."""
    console = error_console()
    for path, reason in skipped[:most]:
        console.print(
            f"[yellow]not read: {escape(path)}[/yellow]: {escape(reason)}", soft_wrap=True
        )
    if len(skipped) > most:
        console.print(
            f"[yellow]and {len(skipped) - most} more; `saber corpus sources --in FOLDER` lists "
            "all of them[/yellow]",
            soft_wrap=True,
        )


def _refuse_imported(workdir: Path) -> None:
    """Refuse to build something else where a released benchmark was imported.

    Raises:
        SetupError: when the workdir holds one.
    """
    if (workdir.expanduser() / SETTINGS_FILE).is_file():
        folder = load_settings(workdir).profile.imported.folder
        if folder is not None:
            raise SetupError(
                f"{workdir} holds a benchmark that was imported from {folder}",
                "build from a corpus in another workdir",
            )


def _first_profile(workdir: Path, corpus: tuple[Path, ...]) -> str | None:
    """A new workdir with a corpus of one's own starts from `default`, not from `sample`."""
    is_new = not (workdir.expanduser() / SETTINGS_FILE).is_file()
    return "default" if is_new and corpus else None


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
