"""`saber build`: make everything that is missing or stale."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click
import polars as pl
from rich.markup import escape

from saber_assets.errors import InputError
from saber_assets.retrieval.tables import SETTINGS
from saber_resources.atomic import replacing
from saber_resources.errors import SetupError
from saber_resources.progress import use_display
from saber_resources.settings import SETTINGS_FILE, Settings, save_settings
from saber_resources.warehouse import read_table, table_files
from saber_services.boards import print_board
from saber_services.builder import Outcome, build
from saber_services.cli.options import (
    build_options,
    error_console,
    json_option,
    overrides_of,
    workdir_option,
)
from saber_services.display import terminal_bar
from saber_services.report_writing import INDEX, write_report


@click.command(
    "build",
    epilog="""\b
Examples:
  saber build
  saber build --corpus problems.jsonl --workdir out --profile default
  saber build --workdir out --set tournament.rounds=10 --set thresholds.k=20
""",
)
@workdir_option
@build_options
@json_option
def command(workdir: Path, as_json: bool, **wishes: Any) -> None:
    """Make everything that is missing or stale in a workdir, and print the leaderboard.

    What you set is kept in WORKDIR/saber.toml, so that the next `saber build --workdir WORKDIR`
    and the user interface use the same values.
    """
    chosen, overrides = overrides_of(workdir, **wishes)
    with settings_kept(workdir):
        settings = save_settings(workdir, chosen, overrides)
        run_build(settings, as_json)


@contextmanager
def settings_kept(workdir: Path) -> Iterator[None]:
    """Give a workdir its settings back when a person's mistake ends what was begun with new ones.

    A workdir that had none keeps the new ones: there, the same command again is what helps.
    """
    path = workdir.expanduser().resolve() / SETTINGS_FILE
    before = path.read_bytes() if path.is_file() else None
    try:
        yield
    except (InputError, SetupError):
        if before is not None and path.read_bytes() != before:
            with replacing(path) as temporary:
                temporary.write_bytes(before)
        raise


def build_stages(
    workdir: Path, profile: str | None, overrides: dict[str, Any], groups: Collection[str]
) -> Settings:
    """Build some stages, showing progress on standard error, and return the settings."""
    console = error_console()
    with settings_kept(workdir), use_display(partial(terminal_bar, console)):
        settings = save_settings(workdir, profile, overrides)
        build(settings, lambda line: console.print(f"• {escape(line)}"), groups)
    return settings


def run_build(settings: Settings, as_json: bool, highlight: str | None = None) -> None:
    """Build, write the report, and print what a person wants to see next."""
    console = error_console()
    started = time.monotonic()
    with use_display(partial(terminal_bar, console)):
        outcome = build(settings, lambda line: console.print(f"• {escape(line)}"))
        if outcome.made or not (settings.workdir.report / INDEX).is_file():
            _report(settings, outcome)
    workdir = settings.workdir
    seconds = time.monotonic() - started
    if as_json:
        click.echo(json.dumps(_as_json(settings, outcome, seconds), indent=2))
    else:
        board = read_table(workdir.tables, "leaderboard")
        print_board(board, _setting_of(board, highlight), highlight=highlight)
        _tell_rest(settings, outcome, seconds)
    if highlight in outcome.skipped:
        on_board = read_table(workdir.tables, "leaderboard")["retriever"]
        state = "shows its last scores" if highlight in on_board else "has no scores"
        raise SetupError(
            f"'{highlight}' is remembered but {state} ({outcome.skipped[highlight]})",
            f"mend it and build again, or take it off with `saber evaluate --remove {highlight}`",
        )


def _report(settings: Settings, outcome: Outcome) -> None:
    """Write the report; where that can't be, the build stands nevertheless."""
    try:
        write_report(settings)
    except (InputError, SetupError) as error:
        outcome.notes.append(f"the report isn't written: {error}")


def _setting_of(board: pl.DataFrame, retriever: str | None) -> str:
    """Return the first setting, or where a retriever isn't in that, the first of its own."""
    own = board.filter(pl.col("retriever").eq_missing(retriever))["setting"].unique().to_list()
    return next((setting for setting in SETTINGS if setting in own), SETTINGS[0])


def _as_json(settings: Settings, outcome: Outcome, seconds: float) -> Mapping[str, Any]:
    return {
        "workdir": str(settings.workdir.root),
        "made": outcome.made,
        "fresh": outcome.fresh,
        "skipped_retrievers": outcome.skipped,
        "warnings": outcome.failed_checks,
        "notes": outcome.notes,
        "seconds": round(seconds, 2),
        "leaderboard": read_table(settings.workdir.tables, "leaderboard").to_dicts(),
    }


def _tell_rest(settings: Settings, outcome: Outcome, seconds: float) -> None:
    console = error_console()
    workdir = settings.workdir
    shown = set(read_table(workdir.tables, "leaderboard")["retriever"])
    for name, reason in outcome.skipped.items():
        kept = " (its row shows its last scores)" if name in shown else ""
        told = _without_name(reason, name)
        console.print(f"[yellow]not run: {name}[/yellow]: {escape(told)}{kept}", soft_wrap=True)
    for line in _failed_retrievers(settings):
        console.print(f"[yellow]warning: {escape(line)}[/yellow]", soft_wrap=True)
    for check in outcome.failed_checks:
        console.print(f"[yellow]warning: {escape(check)}[/yellow]", soft_wrap=True)
    for note in outcome.notes:
        console.print(f"note: {escape(note)}", soft_wrap=True)
    for line in _annotators(settings):
        console.print(escape(line))
    console.print(f"{_counted(outcome)} in {seconds:.1f} s", style="dim")
    for line in (
        f"tables   {workdir.tables}",
        f"catalog  {workdir.catalog}  (saber query 'FROM leaderboard')",
        f"report   {workdir.report / INDEX}",
        f"user interface: saber ui --workdir {shlex.quote(str(workdir.root))}",
    ):
        console.print(line, soft_wrap=True, markup=False)


def _without_name(reason: str, name: str) -> str:
    """Return why a retriever wasn't run without the words that only name it again."""
    return reason.removeprefix(f"Retriever {name}: ")


def _counted(outcome: Outcome) -> str:
    """Return how much was made, and how many retrievers weren't run."""
    skipped = f", {len(outcome.skipped)} not run" if outcome.skipped else ""
    if outcome.made:
        return f"{len(outcome.made)} made{skipped}"
    return f"nothing to do{skipped or ', everything is fresh'}"


def _failed_retrievers(settings: Settings) -> list[str]:
    tables = settings.workdir.tables
    if not table_files(tables, "retriever_failures"):
        return []
    board = read_table(tables, "leaderboard").select("retriever").unique()
    failures = read_table(tables, "retriever_failures").join(board, on="retriever", how="semi")
    return [
        f"{name} gave no usable scores for {count} queries and settings ({reasons}); "
        f"each counts as 0, see saber query 'FROM retriever_failures'"
        for name, count, reasons in _told_failures(failures)
    ]


def _told_failures(failures: pl.DataFrame) -> Iterator[tuple[str, int, str]]:
    """Yield each retriever with its failures: their number, and the commonest reason with its own.

    Args:
        failures: RETRIEVER_FAILURES.
    """
    counted = failures.group_by("retriever", "reason").agg(number=pl.len())
    ranked = counted.sort("retriever", "number", "reason", descending=[False, True, False])
    for (name,), rows in ranked.group_by("retriever", maintain_order=True):
        total, number = int(rows["number"].sum()), int(rows["number"][0])
        reason = str(rows["reason"][0]).rstrip(".")
        of_all = "" if number == total else f"{number} of them: "
        yield str(name), total, f"{of_all}{reason}"


def _annotators(settings: Settings) -> list[str]:
    tables = settings.workdir.tables
    if not table_files(tables, "pairwise_judgments"):
        return []
    judges = read_table(tables, "pairwise_judgments")["judge"].unique().sort().to_list()
    if not table_files(tables, "topic_sets"):
        return [f"judged by {', '.join(judges)}"] if judges else []
    topics = read_table(tables, "topic_sets")["annotator"].unique().sort().to_list()
    return [f"annotated by {', '.join(topics)}; judged by {', '.join(judges)}"]
