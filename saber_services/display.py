"""What the terminal shows: progress bars on standard error, plain tables, short counts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from saber_resources.progress import Advance

SPEED_WINDOW_SECONDS = 30.0


def plain_table(*names: str, left: int | None = None) -> Table:
    """Return a table with these columns, the first `left` (None: all) flush left."""
    table = Table(header_style="bold", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for number, name in enumerate(names):
        table.add_column(name, justify="left" if left is None or number < left else "right")
    return table


class RateColumn(ProgressColumn):
    """Finished items a second."""

    def render(self, task: Task) -> Text:
        """Return the rate, or nothing while it isn't known."""
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.1f}/s", style="dim")


def shortened(count: float) -> str:
    """Return a count with three or four digits and k, M or G: 7163210 is 7.16 M."""
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e4, " k")):
        if count >= size:
            scaled = count / (1e3 if unit == " k" else size)
            return f"{scaled:.3g}{unit}" if scaled < 1000 else f"{scaled:,.0f}{unit}"
    return f"{count:,.0f}"


@contextmanager
def terminal_bar(console: Console, label: str, total: int) -> Iterator[Advance]:
    """Show one bar; it disappears when the work is done."""
    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
        speed_estimate_period=SPEED_WINDOW_SECONDS,
    )
    with bar:
        task = bar.add_task(label, total=total)
        yield lambda count: bar.advance(task, count)
