"""What an analysis found, and how it is shown: terminal tables, JSON, a plot's file."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import polars as pl
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from saber_assets.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_ROWS = 60
ROOMY_COLUMNS = 6
"""Tables of more columns show three decimals instead of four."""
LARGE = 100.0
"""Numbers from here on show one decimal."""
_NAMES = ("retriever", "first", "second", "variant", "category")
"""Columns whose values are no sentences."""


@dataclass(frozen=True)
class Finding:
    """What an analysis found.

    Attributes:
        title: of the whole.
        tables: frames by caption; printed down to `MOST_ROWS` rows.
        notes: sentences that belong to the result: rules, what was left out and why.
        values: single numbers, by name.
        plot: draws it, or None where there is nothing to draw.
        hidden: frames that only JSON shows.
    """

    title: str
    tables: Mapping[str, pl.DataFrame]
    notes: tuple[str, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    plot: Callable[[], Figure] | None = None
    hidden: Mapping[str, pl.DataFrame] = field(default_factory=dict)


def show(finding: Finding, name: str, plot: Path, as_json: bool) -> None:
    """Print a finding on standard output and write its plot.

    Args:
        finding: what to show.
        name: of the analysis.
        plot: file to write, PNG or SVG by its name; its folder is made.
        as_json: one JSON object instead of tables.

    Raises:
        InputError: when the file has another ending, or can't be written.
    """
    drawn = _draw(finding, plot)
    if as_json:
        click.echo(json.dumps(as_object(finding, name, drawn), indent=2))
        return
    console = Console(highlight=False)
    console.print(finding.title, style="bold", markup=False)
    for caption, frame in finding.tables.items():
        _print_table(console, caption, frame)
    for key, value in finding.values.items():
        console.print(f"{key}: {_cell(value)}", markup=False)
    for note in finding.notes:
        console.print(note, style="dim", markup=False)
    if drawn is not None:
        console.print(f"plot  {drawn}", markup=False, soft_wrap=True)


def as_object(finding: Finding, name: str, plot: Path | None) -> dict[str, Any]:
    """Return a finding as JSON shows it; NaN becomes null."""
    frames = {**finding.tables, **finding.hidden}
    found: dict[str, Any] = {
        "analysis": name,
        "title": finding.title,
        "tables": {
            caption: [_plain(row) for row in frame.to_dicts()] for caption, frame in frames.items()
        },
        "values": _plain(dict(finding.values)),
        "notes": list(finding.notes),
        "plot": None if plot is None else str(plot),
    }
    return found


def _draw(finding: Finding, plot: Path) -> Path | None:
    if plot.suffix.lower() not in (".png", ".svg"):
        raise InputError(f"{plot} is neither a .png nor a .svg", "name such a file with --plot")
    if finding.plot is None:
        return None
    from saber_assets.plots import png, svg  # matplotlib is slow to load

    figure = finding.plot()
    try:
        plot.parent.mkdir(parents=True, exist_ok=True)
        plot.write_bytes(svg(figure) if plot.suffix.lower() == ".svg" else png(figure))
    except OSError as error:
        raise InputError(
            f"{plot} can't be written ({error.strerror})", "name another file with --plot"
        ) from error
    return plot


def _print_table(console: Console, caption: str, frame: pl.DataFrame) -> None:
    table = Table(
        title=escape(caption),
        title_justify="left",
        header_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for name, dtype in frame.schema.items():
        numeric = dtype.is_numeric()
        table.add_column(
            escape(name.replace("_", " ")),
            justify="right" if numeric else "left",
            no_wrap=numeric or name in _NAMES,
        )
    decimals = 4 if frame.width <= ROOMY_COLUMNS else 3
    for row in frame.head(MOST_ROWS).iter_rows(named=True):
        cells = (
            f"{value:g}" if name.endswith("rank") and value is not None else _cell(value, decimals)
            for name, value in row.items()
        )
        table.add_row(*(escape(cell) for cell in cells))
    console.print(table)
    if frame.height > MOST_ROWS:
        console.print(f"and {frame.height - MOST_ROWS} more rows; --json has them all", style="dim")


def _cell(value: object, decimals: int = 4) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float):
        return f"{value:.{decimals}f}" if abs(value) < LARGE else f"{value:,.1f}"
    return str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)
