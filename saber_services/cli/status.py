"""`saber status`: what is fresh, stale or missing."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from saber_resources.settings import load_settings
from saber_services.builder import open_board, require_workdir
from saber_services.cli.options import json_option, workdir_option
from saber_services.staleness import AssetState

COLOURS = {"fresh": "green", "stale": "yellow", "missing": "red"}


@click.command(
    "status",
    epilog="""\b
Examples:
  saber status
  saber status --workdir out --json | jq '.[] | select(.status != "fresh")'
""",
)
@workdir_option
@json_option
def command(workdir: Path, as_json: bool) -> None:
    """List each asset: fresh or imported, stale with the reason, or missing. Changes nothing."""
    settings = load_settings(workdir)
    require_workdir(settings)
    with open_board(settings) as board:
        states = board.survey().states
    if as_json:
        click.echo(json.dumps([asdict(state) for state in states], indent=2))
        return
    table = Table(header_style="bold")
    for name in ("asset", "status", "rows", "made", "why"):
        table.add_column(name, justify="right" if name == "rows" else "left")
    for state in states:
        table.add_row(*_cells(state))
    Console(highlight=False).print(table)


def _cells(state: AssetState) -> list[str]:
    name = state.name if state.partition is None else f"{state.name}\\[{state.partition}]"
    made = (
        "" if state.made_at is None else f"{datetime.fromtimestamp(state.made_at):%Y-%m-%d %H:%M}"
    )
    colour = COLOURS[state.status]
    rows = "" if state.rows is None else f"{state.rows:,}"
    kept = state.status == "fresh" and state.origin is not None
    status = "imported" if kept else state.status
    why = f"from {state.origin}" if kept else "; ".join(state.reasons)
    return [name, f"[{colour}]{status}[/{colour}]", rows, made, escape(why)]
