"""The analyses of the board whose tables are there, as plots and tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl
from markupsafe import Markup

from saber_assets.evaluation.gain_variants import VARIANTS
from saber_assets.evaluation.paired_tests import ALPHA
from saber_assets.evaluation.pareto import CLASSES, frontiers, left_out
from saber_assets.evaluation.signal_effect import at_ranks
from saber_services.report.board import Card, WholeBoard
from saber_services.report.charts import Point, curves, scatter
from saber_services.report.source import Source
from saber_services.report.standings import CONTROL_FAMILY

LARGEST_SQUARE = 60


@dataclass(frozen=True)
class FrontierRow:
    """A retriever of the plot, under its number there."""

    number: int
    retriever: str
    class_name: str
    quality: float
    seconds: float
    on_frontier: bool


@dataclass(frozen=True)
class Frontier:
    """Quality against latency; `plot` is None where no retriever of a class was timed."""

    setting: str
    plot: Markup | None
    rows: tuple[FrontierRow, ...]
    left_out: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Square:
    """Adjusted p of every pair of a setting, in the order of the means."""

    setting: str
    names: tuple[str, ...]
    cells: tuple[tuple[float | None, ...], ...]
    pairs: int
    apart: int
    seeds: str


@dataclass(frozen=True)
class Variants:
    """Means of each retriever under some measures, with its place under each."""

    setting: str
    names: tuple[str, ...]
    rows: tuple[tuple[str, tuple[tuple[float, int], ...]], ...]


@dataclass(frozen=True)
class Signals:
    """How much of each category is among the top rated: curves, and some of their points."""

    plot: Markup
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Analyses:
    """What the page of the analyses shows; None or empty where the table isn't made."""

    frontier: Frontier | None
    squares: tuple[Square, ...]
    noise: tuple[tuple[str, tuple[dict[str, float | str], ...]], ...]
    variants: tuple[Variants, ...]
    binary: tuple[Variants, ...]
    signals: Signals | None


def read_analyses(
    source: Source,
    board: WholeBoard | None,
    cards: Mapping[str, Card],
    seconds: Mapping[str, float],
) -> Analyses:
    """Return the analyses.

    Args:
        source: the tables.
        board: the leaderboard, or None.
        cards: of its retrievers, by name.
        seconds: median seconds a query of those that were timed.
    """
    settings = [] if board is None else [one.setting for one in board.standings.boards]
    return Analyses(
        None if board is None else _frontier(board, cards, seconds),
        tuple(_squares(source, board, settings)) if board else (),
        tuple(_noise(source, settings)),
        tuple(_variants(source, settings)),
        tuple(_binary(source, board)) if board else (),
        _signals(source),
    )


def _frontier(
    board: WholeBoard, cards: Mapping[str, Card], seconds: Mapping[str, float]
) -> Frontier:
    first = board.standings.boards[0]
    rows = [row for row in first.rows if row.family != CONTROL_FAMILY]
    systems = pl.DataFrame(
        {
            "retriever": [row.retriever for row in rows],
            "type_code": [cards[row.retriever].type_code for row in rows],
            "quality": [row.mean for row in rows],
            "latency": [seconds.get(row.retriever) for row in rows],
        },
        schema={
            "retriever": pl.String,
            "type_code": pl.String,
            "quality": pl.Float64,
            "latency": pl.Float64,
        },
    )
    found = frontiers(systems)
    listed = tuple(
        FrontierRow(number, *row) for number, row in enumerate(found.iter_rows(), start=1)
    )
    plot = None
    if listed:
        points = [
            Point(
                row.seconds, row.quality, row.number, CLASSES.index(row.class_name), row.on_frontier
            )
            for row in listed
        ]
        plot = scatter(
            points,
            f"{first.measure} against median seconds a query; the numbers are those of the table",
            "median seconds a query",
            first.measure,
            is_log=all(row.seconds > 0 for row in listed),
        )
    return Frontier(first.setting, plot, listed, tuple(left_out(systems).items()))


def _squares(source: Source, board: WholeBoard, settings: list[str]) -> list[Square]:
    if not source.has("paired_tests"):
        return []
    tests = source.read(
        "paired_tests", "setting", "first", "second", "adjusted_randomisation", "seed"
    )
    found = []
    for one in dict.fromkeys(settings):
        own = tests.filter(pl.col("setting") == one)
        tested = {*own["first"], *own["second"]}
        ranked = next(b for b in board.standings.boards if b.setting == one).rows
        names = [row.retriever for row in ranked if row.retriever in tested]
        values = {
            frozenset(pair): p
            for *pair, p in own.select("first", "second", "adjusted_randomisation").iter_rows()
        }
        shown = names[:LARGEST_SQUARE]
        cells = tuple(
            tuple(values.get(frozenset((one, other))) for other in shown) for one in shown
        )
        if names:
            seeds = ", ".join(map(str, own["seed"].unique().sort()))
            apart = sum(p <= ALPHA for p in values.values())
            found.append(Square(one, tuple(shown), cells, len(values), apart, seeds))
    return found


def _noise(
    source: Source, settings: list[str]
) -> list[tuple[str, tuple[dict[str, float | str], ...]]]:
    if not source.has("rating_noise"):
        return []
    columns = ("retriever", "mean", "drawn_mean", "sd_ratings", "sd_queries", "low_queries",
               "high_queries", "low", "high")  # fmt: skip
    rows = source.read("rating_noise", "setting", *columns)
    found = []
    for one in dict.fromkeys(settings):
        own = rows.filter(pl.col("setting") == one).sort(
            "mean", "retriever", descending=[True, False]
        )
        if own.height:
            found.append((one, tuple(own.select(columns).to_dicts())))
    return found


def _variants(source: Source, settings: list[str]) -> list[Variants]:
    if not source.has("gain_variants"):
        return []
    rows = source.read("gain_variants", "setting", "retriever", "variant", "mean")
    order = {str(variant): place for place, variant in enumerate(VARIANTS)}
    names = sorted(rows["variant"].unique(), key=lambda name: (order.get(name, 99), name))
    found = (
        _placed(rows.filter(pl.col("setting") == one), one, names)
        for one in dict.fromkeys(settings)
    )
    return [one for one in found if one.rows]


def _binary(source: Source, board: WholeBoard) -> list[Variants]:
    """Return the means by measure at each threshold, behind those of the board."""
    if not source.has("binary_measures"):
        return []
    rows = source.read("binary_measures", "setting", "retriever", "measure", "threshold", "mean")
    named = rows.sort("threshold", "measure")["measure"].unique(maintain_order=True).to_list()
    found = []
    for one in board.standings.boards:
        own = rows.filter(pl.col("setting") == one.setting)
        usual = pl.DataFrame(
            [(row.retriever, one.measure, row.mean) for row in one.rows],
            schema=["retriever", "variant", "mean"],
            orient="row",
        ).filter(pl.col("retriever").is_in(own["retriever"].unique().implode()))
        measured = own.select("retriever", "mean", variant="measure").select(usual.columns)
        table = _placed(pl.concat([usual, measured]), one.setting, [one.measure, *named])
        if table.rows:
            found.append(table)
    return found


def _placed(rows: pl.DataFrame, setting: str, names: list[str]) -> Variants:
    """Return mean and place under each of the names, in the order of the first one.

    Args:
        rows: retriever, variant, mean.
        setting: of all of them.
        names: of variants; a retriever that lacks one is left out.
    """
    placed = rows.with_columns(
        place=pl.col("mean").rank("min", descending=True).over("variant").cast(pl.Int32)
    )
    cells = {
        (name, variant): (mean, place)
        for name, variant, mean, place in placed.select(
            "retriever", "variant", "mean", "place"
        ).iter_rows()
    }
    who = sorted(
        {name for name, _ in cells},
        key=lambda name: (-cells.get((name, names[0]), (0.0, 0))[0], name),
    )
    whole = tuple(
        (name, tuple(cells[name, variant] for variant in names))
        for name in who
        if all((name, variant) in cells for variant in names)
    )
    return Variants(setting, tuple(names), whole)


def _signals(source: Source) -> Signals | None:
    if not source.has("signal_effect"):
        return None
    effect = source.read(
        "signal_effect", "category", "rank", "within", "candidates", "share", "topped"
    ).sort("category", "rank")
    if effect.is_empty():
        return None
    series = [
        (str(name).replace("_", " "), part["rank"].to_list(), part["share"].to_list())
        for (name,), part in effect.group_by("category", maintain_order=True)
    ]
    table = at_ranks(effect)
    rows = tuple(
        tuple(f"{value:.3f}" if isinstance(value, float) else str(value) for value in row)
        for row in table.iter_rows()
    )
    plot = curves(series, "Share of each category among the top r", "r", "share of the category")
    return Signals(plot, tuple(name.replace("_", " ") for name in table.columns), rows)
