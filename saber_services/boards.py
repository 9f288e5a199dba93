"""The leaderboard as a terminal table, JSON, CSV or Markdown."""

from __future__ import annotations

import json

import click
import polars as pl
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from saber_assets.ontology.tables import DOMAINS
from saber_assets.retrieval.tables import SETTINGS
from saber_resources.errors import SetupError

BAR_CELLS = 24
ROOMY_CELLS = 110
SHORT = dict(zip(DOMAINS, ("Alg", "Geo", "NT", "Comb", "Calc"), strict=True))
FORMATS = ("table", "json", "csv", "markdown")


def select_setting(board: pl.DataFrame, setting: str) -> pl.DataFrame:
    """Return the rows of one setting, refusing one that isn't on the board."""
    rows = board.filter(pl.col("setting") == setting)
    if rows.is_empty():
        raise SetupError(
            f"the leaderboard has no setting '{setting}'", f"use one of {', '.join(SETTINGS)}"
        )
    return rows


def wide(board: pl.DataFrame) -> pl.DataFrame:
    """Return one row a retriever: overall mean with interval, then the mean in each domain."""
    overall = board.filter(pl.col("domain") == "all").sort("rank", "retriever")
    for domain in DOMAINS:
        column = board.filter(pl.col("domain") == domain).select(
            "retriever", pl.col("mean").alias(domain)
        )
        if column.height:
            overall = overall.join(column, on="retriever", how="left", maintain_order="left")
    return overall.drop("domain", "setting", "measure")


def print_board(
    board: pl.DataFrame,
    setting: str = SETTINGS[0],
    style: str = "table",
    highlight: str | None = None,
) -> None:
    """Print the board of one setting on standard output.

    Args:
        board: LEADERBOARD.
        setting: one of its settings.
        style: one of FORMATS.
        highlight: a retriever whose row stands out.
    """
    rows = select_setting(board, setting)
    if style == "json":
        click.echo(json.dumps(rows.to_dicts(), indent=2))
    elif style == "csv":
        click.echo(rows.write_csv(), nl=False)
    elif style == "markdown":
        click.echo(markdown(wide(rows)))
    else:
        _print_table(wide(rows), f"{rows['measure'][0]}, {setting}", highlight)


def markdown(rows: pl.DataFrame) -> str:
    """Return the wide board as a Markdown table."""
    domains = [domain for domain in DOMAINS if domain in rows.columns]
    lines = [
        "| # | retriever | mean | 95 % interval | " + " | ".join(domains) + " |",
        "|---:|---|---:|---|" + "---:|" * len(domains),
    ]
    for row in rows.iter_rows(named=True):
        cells = " | ".join(_mean(row[domain]) for domain in domains)
        lines.append(
            f"| {row['rank']} | {row['retriever']} | {row['mean']:.4f} "
            f"| {row['low']:.3f}–{row['high']:.3f} | {cells} |"
        )
    return "\n".join(lines)


def _print_table(rows: pl.DataFrame, title: str, highlight: str | None) -> None:
    domains = [domain for domain in DOMAINS if domain in rows.columns]
    console = Console(highlight=False)
    roomy = console.width >= ROOMY_CELLS
    table = Table(
        title=title,
        title_justify="left",
        header_style="bold",
        box=SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("retriever", no_wrap=True)
    table.add_column("mean", justify="right", no_wrap=True)
    table.add_column("95 %", no_wrap=True)
    if roomy:
        table.add_column("0" + " " * (BAR_CELLS - 2) + "1", no_wrap=True)
    for domain in domains:
        table.add_column(SHORT[domain], justify="right", no_wrap=True)
    for row in rows.iter_rows(named=True):
        cells = [
            str(row["rank"]),
            row["retriever"],
            f"{row['mean']:.4f}",
            f"{row['low']:.3f}–{row['high']:.3f}",
            *([bar(row["low"], row["mean"], row["high"])] if roomy else []),
            *(_mean(row[domain]) for domain in domains),
        ]
        table.add_row(*cells, style="bold green" if row["retriever"] == highlight else None)
    console.print(table)
    console.print(f"{rows['queries'][0]} queries", style="dim")
    failed = rows.filter(pl.col("failed") > 0)
    if failed.height:
        counts = ", ".join(
            f"{name} {count}" for name, count in failed.select("retriever", "failed").rows()
        )
        console.print(f"queries that count 0 because a retriever failed on them: {counts}")


def bar(low: float, mean: float, high: float) -> str:
    """Return an interval on the scale from 0 to 1 as text: a line with a point at the mean."""
    cells = [" "] * BAR_CELLS
    first, last = (min(BAR_CELLS - 1, int(value * BAR_CELLS)) for value in (low, high))
    cells[first : last + 1] = "─" * (last + 1 - first)
    cells[min(BAR_CELLS - 1, int(mean * BAR_CELLS))] = "●"
    return "".join(cells)


def _mean(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
