"""`saber retrievers`: which retrievers there are, and what they lack."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from saber_resources.settings import load_settings
from saber_services.cli.options import json_option, workdir_option
from saber_services.retriever_list import Row, retriever_rows, select, tell


@click.command("retrievers")
@click.argument("name", required=False)
@workdir_option
@click.option("--family", help="Only this family, such as bi-encoder.")
@click.option("--type", "type_code", help="Only this type code, such as RB.")
@click.option("--licence", help="Only licences that begin so, such as cc-by.")
@click.option("--largest", metavar="SIZE", help="At most so many parameters, such as 8B.")
@click.option("--runnable", is_flag=True, help="Only what can run here.")
@json_option
def command(
    name: str | None,
    workdir: Path,
    family: str | None,
    type_code: str | None,
    licence: str | None,
    largest: str | None,
    runnable: bool,
    as_json: bool,
) -> None:
    """List the retrievers: those on the board, those that could be, and what they lack.

    Built-in ones come first, then the systems of the published tables; any of them goes on the
    board by its name in retrieval.retrievers. With a NAME, tell all about that one.
    """
    filters = {"family": family, "type_code": type_code, "licence": licence, "largest": largest}
    given = {key: value for key, value in filters.items() if value is not None}
    if name is not None and (given or runnable):
        raise click.UsageError("give either a NAME, or options that choose among all")
    settings = load_settings(workdir)
    rows = retriever_rows(settings)
    if name is not None:
        told = tell(name, rows, settings)
        click.echo(json.dumps(told, indent=2) if as_json else _card(told))
        return
    fitting = select(rows, family=family, type_code=type_code, licence=licence, largest=largest)
    rows = select(fitting, runnable=runnable)
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    if not rows:
        click.echo(_none_of(len(fitting), list(given)))
        return
    Console(highlight=False).print(_table(rows))
    click.echo("saber retrievers NAME tells what one lacks, and how to get it.")


def _none_of(fitting: int, given: list[str]) -> str:
    """Say that a list is empty, and how many there would be that can't run here."""
    if not fitting:
        return "none fits what you ask for"
    have = "have that licence" if given == ["licence"] else "fit what you ask for"
    return f"none can run here; {fitting} {have}, without --runnable they are listed"


def _table(rows: list[Row]) -> Table:
    table = Table(header_style="bold", box=None, padding=(0, 1), pad_edge=False)
    table.add_column("retriever", no_wrap=True)
    for column in ("family", "type", "size", "licence", "board"):
        table.add_column(column, overflow="fold")
    table.add_column("can run here", overflow="fold")
    for row in rows:
        table.add_row(
            escape(str(row["name"])),
            str(row["family"]),
            str(row["type_code"]),
            str(row["size"] or ""),
            escape(str(row["licence"] or "")),
            "yes" if row["on_board"] else "",
            _in_short(row),
        )
    return table


def _in_short(row: Row) -> str:
    """Return "yes", or the kinds of things that a retriever lacks."""
    if row["lacks"] is None:
        return "yes"
    kinds = dict.fromkeys(need["kind"] for need in row["needs"])
    if "GPU" in kinds and row["gpu_gib"]:
        kinds = {f"GPU {row['gpu_gib']:.0f} GiB" if kind == "GPU" else kind: None for kind in kinds}
    return "lacks " + ", ".join(kinds)


def _card(told: Row) -> str:
    lines = [f"{told['name']}: {told['description']}"]
    for key, value in told.items():
        if key in ("name", "description", "needs", "lacks") or value in (None, [], "", False):
            continue
        shown = json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else value
        if key == "parameters" and key in told["unconfirmed"]:
            shown += " (from the name)"
        if isinstance(value, list):
            lines += [f"  {key}:", *(f"    {item}" for item in value)]
        else:
            lines.append(f"  {key}: {shown}" if "\n" not in shown else f"  {key}: {value!r}")
    needs = [need["sentence"] for need in told["needs"]]
    lines += ["  lacks:", *(f"    {need}" for need in needs)] if needs else ["  can run here"]
    return "\n".join(lines)
