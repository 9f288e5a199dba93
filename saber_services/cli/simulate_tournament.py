"""`saber simulate-tournament`: how well tournaments rank when the judge is known."""

from __future__ import annotations

import json
from pathlib import Path

import click
import polars as pl
from rich import box
from rich.console import Console
from rich.table import Table

from saber_assets.errors import InputError
from saber_assets.tournament.simulation import (
    ROUNDS,
    SCHEDULES,
    Scenario,
    World,
    simulate,
    summarise,
)
from saber_services.cli.options import error_console, json_option, read_integers
from saber_services.display import terminal_bar

BAR = 20
USUAL_ROUNDS = 20


@click.command(
    "simulate-tournament",
    epilog="""\b
Examples:
  saber simulate-tournament
  saber simulate-tournament --bias 1 --plot inversions.png
  saber simulate-tournament --candidates 60 --rounds 5,10,20 --noise 2 --json
""",
)
@click.option("--candidates", default=150, show_default=True, type=click.IntRange(min=2))
@click.option(
    "--rounds",
    show_default=",".join(str(number) for number in ROUNDS),
    help="After which rounds to rank.",
)
@click.option("--repetitions", default=20, show_default=True, type=click.IntRange(min=1))
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0))
@click.option(
    "--spread",
    default=2.4,
    show_default=True,
    type=click.FloatRange(min=0, min_open=True),
    help="Standard deviation of the candidates' strengths.",
)
@click.option(
    "--noise",
    default=1.0,
    show_default=True,
    type=click.FloatRange(min=0, min_open=True),
    help="Of the judge: strengths are divided by it.",
)
@click.option(
    "--bias",
    default=0.5,
    show_default=True,
    help="Log odds that the one shown first gains, in the biased tournaments; 0 for none.",
)
@click.option(
    "--plot", type=click.Path(path_type=Path), metavar="FILE.png", help="Also draw the curves."
)
@json_option
def command(
    candidates: int,
    rounds: str | None,
    repetitions: int,
    seed: int,
    spread: float,
    noise: float,
    bias: float,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Play Swiss, random and exhaustive tournaments with a judge whose strengths are known.

    An inversion is a pair that is ordered differently from the exhaustive ranking: that of every
    pair judged once by the same judge without position bias. Needs no workdir.
    """
    numbers = _rounds(rounds, candidates)
    scenarios = [Scenario()]
    if bias:
        scenarios += [Scenario(bias, "random"), Scenario(bias, "id")]
    world = World(candidates, spread, noise)
    with terminal_bar(error_console(), "playing", repetitions) as advance:
        results = simulate(world, scenarios, numbers, repetitions, seed, advance)
    cells = summarise(results)
    if plot is not None:
        _draw(cells, plot)
    if as_json:
        click.echo(json.dumps({"results": cells.to_dicts()}, indent=2))
        return
    _print(cells, candidates)
    if plot is not None:
        click.echo(f"plot  {plot}")


def _rounds(given: str | None, candidates: int) -> list[int]:
    if given is None:
        return [number for number in ROUNDS if number < candidates] or [candidates - 1]
    numbers = read_integers("--rounds", given, least=1)
    if numbers[-1] > candidates - 1:
        raise InputError(
            f"{candidates} candidates can't play {numbers[-1]} rounds without a rematch",
            f"give --rounds of at most {candidates - 1}",
        )
    return numbers


def _draw(cells: pl.DataFrame, plot: Path) -> None:
    from saber_services.simulation_plot import simulation_plot  # matplotlib is slow to load

    try:
        plot.write_bytes(simulation_plot(cells))
    except OSError as error:
        raise InputError(
            f"{plot} can't be written ({error.strerror})", "name another file"
        ) from error


def _print(cells: pl.DataFrame, candidates: int) -> None:
    console = Console(highlight=False)
    pairs = candidates * (candidates - 1) // 2
    fair = cells.filter((pl.col("bias") == 0) & ~pl.col("position_term"))
    console.print(
        f"Inversions against the exhaustive ranking of {candidates} candidates "
        f"({pairs:,} pairs), mean ± sd of {cells['repetitions'][0]} repetitions"
    )
    console.print(_curves(fair))
    played = sorted(number for number in fair["rounds"].unique().to_list() if number)
    number = max((value for value in played if value <= USUAL_ROUNDS), default=played[0])
    if (cells["bias"] != 0).any():
        console.print(f"With position bias, after {number} rounds:")
        console.print(_biases(cells.filter(pl.col("rounds").is_in([0, number]))))


def _curves(fair: pl.DataFrame) -> Table:
    table = Table(header_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
    table.add_column("rounds", justify="right")
    for schedule in ("swiss", "random"):
        table.add_column(schedule, justify="right", no_wrap=True)
        table.add_column("", no_wrap=True)
    most = float(fair["inversions_mean"].max() or 0) or 1.0  # type: ignore[arg-type]
    for number in sorted(value for value in fair["rounds"].unique().to_list() if value):
        row = [str(number)]
        for schedule in ("swiss", "random"):
            cell = _cell(fair, schedule, number)
            row += [_measured(cell), "█" * round(BAR * cell["inversions_mean"] / most)]
        table.add_row(*row)
    return table


def _biases(cells: pl.DataFrame) -> Table:
    table = Table(header_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
    for name in ("bias", "order shown", "position term"):
        table.add_column(name)
    table.add_column("first wins", justify="right")
    for schedule in SCHEDULES:
        table.add_column(schedule, justify="right", no_wrap=True)
    keys = cells.select("bias", "order", "position_term").unique(maintain_order=True)
    for bias, order, term in keys.iter_rows():
        rows = cells.filter(
            (pl.col("bias") == bias)
            & (pl.col("order") == order)
            & (pl.col("position_term") == term)
        )
        found = [_cell(rows, schedule) for schedule in SCHEDULES]
        table.add_row(
            f"{bias:g}",
            order,
            "fitted" if term else "no",
            f"{found[0]['first_share']:.1%}",
            *(_measured(cell) for cell in found),
        )
    return table


def _cell(cells: pl.DataFrame, schedule: str, number: int | None = None) -> dict[str, float]:
    rows = cells.filter(pl.col("schedule") == schedule)
    return (rows if number is None else rows.filter(pl.col("rounds") == number)).row(0, named=True)


def _measured(cell: dict[str, float]) -> str:
    mean, sd = cell["inversions_mean"], cell["inversions_sd"]
    return f"{mean:,.0f}" if sd is None else f"{mean:,.0f} ± {sd:,.0f}"
