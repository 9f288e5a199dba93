"""`saber retrievers`: which retrievers there are, and what they lack."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from saber_assets.retrieval.registry import BUILTIN, registry
from saber_resources.settings import load_settings
from saber_services.cli.options import json_option, workdir_option


@click.command("retrievers")
@workdir_option
@json_option
def command(workdir: Path, as_json: bool) -> None:
    """List the retrievers: those on the board, those that could be, and what they lack."""
    settings = load_settings(workdir)
    on_board = registry(settings.profile.retrieval.retrievers, settings.workdir.own_retrievers)
    entries = {**BUILTIN, **on_board}
    rows = [
        {
            "name": entry.name,
            "family": entry.family,
            "type_code": entry.type_code,
            "on_board": entry.name in on_board,
            "lacks": entry.missing(),
            "description": entry.description,
        }
        for entry in entries.values()
    ]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    table = Table(header_style="bold")
    for column in ("retriever", "family", "type", "on the board", "can run here", "description"):
        table.add_column(column)
    for row in rows:
        table.add_row(
            escape(str(row["name"])),
            str(row["family"]),
            str(row["type_code"]),
            "yes" if row["on_board"] else "",
            "yes" if row["lacks"] is None else escape(str(row["lacks"])),
            escape(str(row["description"])),
        )
    Console(highlight=False).print(table)
