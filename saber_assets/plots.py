"""Plots of tables and analyses, as figures that become PNG or SVG.

Series are told apart by colour, marker and line, in Okabe and Ito's colours, which colour-blind
people can tell apart. Figures have a white ground of their own, for dark pages.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg
import matplotlib
import numpy as np
import polars as pl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from saber_assets.name_placing import place_names

COLOUR = "#3b6ea5"
ACCENT = "#c8553d"
FAINT = "#b9bec6"
SERIES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = "osD^vXP"
DASHES = ("-", "--", "-.", ":")
LEAST_LINE = 0.2
"""Inches a row of names takes."""
SIGNIFICANT = 0.05
FEW_POINTS = 16
"""Up to so many, points and rows have room to spare."""


def histogram(
    values: ArrayLike, title: str, label: str, marks: Mapping[str, float] | None = None
) -> Figure:
    """Return a histogram; `marks` are named vertical lines, such as a threshold."""
    figure = _figure(title)
    axes = figure.axes[0]
    axes.hist(np.asarray(values, dtype=float), bins=40, color=COLOUR)
    _finish(figure, label, "count", marks)
    return figure


def weighted_histogram(
    edges: ArrayLike,
    counts: ArrayLike,
    title: str,
    label: str,
    marks: Mapping[str, float] | None = None,
) -> Figure:
    """Return a histogram of counts that were taken elsewhere, on a logarithmic scale."""
    figure = _figure(title)
    axes = figure.axes[0]
    axes.stairs(np.asarray(counts, dtype=float), np.asarray(edges), fill=True, color=COLOUR)
    axes.set_yscale("symlog")
    _finish(figure, label, "pairs", marks)
    return figure


def lines(
    series: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    title: str,
    xlabel: str,
    ylabel: str,
) -> Figure:
    """Return one line for each named pair of x and y values."""
    figure = _figure(title)
    axes = figure.axes[0]
    for place, (name, (xs, ys)) in enumerate(series.items()):
        axes.plot(
            xs,
            ys,
            color=SERIES[place % len(SERIES)],
            linestyle=DASHES[place % len(DASHES)],
            marker=MARKERS[place % len(MARKERS)],
            markersize=4,
            markevery=max(1, len(xs) // 20),
            label=name,
        )
    if all(float(x).is_integer() for xs, _ in series.values() for x in xs):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    values = [y for _, ys in series.values() for y in ys]
    if values and min(values) == 0:
        axes.set_ylim(bottom=0, top=None if max(values) else 1)
    axes.legend(frameon=False, fontsize=8)
    _finish(figure, xlabel, ylabel, None)
    return figure


def dots(
    names: Sequence[str],
    series: Mapping[str, Sequence[float]],
    title: str,
    label: str,
    *,
    logarithmic: bool = False,
) -> Figure:
    """Return a row for each name, the first one on top, with a dot for each series.

    Args:
        names: of the rows.
        series: by name, a value for each row; NaN is left out.
        title: of the plot.
        label: of the values.
        logarithmic: whether the axis of the values is.
    """
    figure = _figure(title, height=_height(len(names)))
    axes = figure.axes[0]
    rows = np.arange(len(names))[::-1]
    axes.hlines(rows, *_span(list(series.values())), color="#e3e6ea", linewidth=1, zorder=0)
    for place, (name, values) in enumerate(series.items()):
        colour, marker = SERIES[place % len(SERIES)], MARKERS[place % len(MARKERS)]
        hollow = "none" if place % 2 else colour
        axes.scatter(values, rows, s=26, marker=marker, facecolors=hollow, edgecolors=colour,
                     linewidths=1.3, label=name)  # fmt: skip
    if logarithmic:
        axes.set_xscale("log")
    axes.set_yticks(rows, list(names))
    axes.tick_params(axis="y", labelsize=_label_size(len(names)))
    axes.margins(y=0.02 if len(names) > FEW_POINTS else 0.05)
    figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    _finish(figure, label, "", None)
    return figure


def measures_plot(means: pl.DataFrame, threshold: float, setting: str) -> Figure:
    """Return the means of each measure at one threshold, as `dots`.

    Args:
        means: BINARY_MEASURES of one setting.
        threshold: which of its thresholds.
        setting: for the title.
    """
    own = means.filter(pl.col("threshold") == threshold)
    wide = own.pivot(on="measure", index="retriever", values="mean")
    last = wide.columns[-1]
    wide = wide.sort(last, "retriever", descending=[True, False])
    series = {name: wide[name].to_list() for name in wide.columns[1:]}
    title = f"relevant from a rating of {threshold:g} on, {setting}"
    return dots(wide["retriever"].to_list(), series, title, "mean")


def heat_map(
    xs: ArrayLike,
    ys: ArrayLike,
    values: ArrayLike,
    title: str,
    labels: tuple[str, str, str],
    mark: tuple[float, float],
) -> Figure:
    """Return a map of values (len(xs), len(ys)), one equal cell each, with one cell marked.

    Args:
        xs: ascending values of the horizontal axis.
        ys: ascending values of the vertical axis.
        values: shown from 0 on.
        title: of the plot.
        labels: of the horizontal axis, the vertical axis and the values.
        mark: values of `xs` and `ys` whose cell is marked.
    """
    figure = _figure(title, height=4.6)
    axes = figure.axes[0]
    cells = np.asarray(values, dtype=float).T
    image = axes.imshow(cells, origin="lower", aspect="auto", cmap="Blues", vmin=0.0)
    figure.colorbar(image, label=labels[2])
    places = [
        int(np.argmin(np.abs(np.asarray(v) - m))) for v, m in zip((xs, ys), mark, strict=True)
    ]
    axes.scatter(*([place] for place in places), marker="x", color=ACCENT, label="chosen")
    axes.set_xticks(range(cells.shape[1]), [f"{x:.3f}" for x in np.asarray(xs)], rotation=90)
    axes.set_yticks(range(cells.shape[0]), [f"{y:.3f}" for y in np.asarray(ys)])
    axes.tick_params(labelsize=7)
    axes.legend(frameon=False, fontsize=8)
    _finish(figure, labels[0], labels[1], None)
    return figure


def bars(names: Sequence[str], values: Sequence[float], title: str, label: str) -> Figure:
    """Return horizontal bars, the first name on top."""
    figure = _figure(title, height=_height(len(names)))
    axes = figure.axes[0]
    axes.barh(list(names)[::-1], list(values)[::-1], color=COLOUR)
    axes.tick_params(axis="y", labelsize=_label_size(len(names)))
    axes.margins(y=0.01)
    _finish(figure, label, "", None)
    return figure


def intervals(
    names: Sequence[str],
    means: Sequence[float],
    lows: Sequence[float],
    highs: Sequence[float],
    title: str,
    label: str,
    mark: float | None = None,
) -> Figure:
    """Return points with horizontal intervals, the first name on top; `mark` is a vertical line."""
    figure = _figure(title, height=_height(len(names)))
    axes = figure.axes[0]
    rows = np.arange(len(names))[::-1]
    errors = np.array([np.subtract(means, lows), np.subtract(highs, means)]).clip(min=0)
    axes.errorbar(means, rows, xerr=errors, fmt="o", color=COLOUR, ecolor="#9db8d3", capsize=3)
    axes.set_yticks(rows, list(names))
    axes.tick_params(axis="y", labelsize=_label_size(len(names)))
    axes.margins(y=0.02 if len(names) > FEW_POINTS else 0.05)
    if mark is not None:
        axes.axvline(mark, color="#888888", linewidth=1, linestyle="--", zorder=0)
    _finish(figure, label, "", None)
    return figure


def frontier(
    groups: Mapping[str, Sequence[tuple[Any, float, str, bool]]],
    title: str,
    xlabel: str,
    ylabel: str,
    *,
    logarithmic: bool = False,
) -> Figure:
    """Return points, of which some lie on a line of steps, numbered and listed beside the plot.

    Args:
        groups: by name, points as x (a number or a date), y, label, and whether it is on the line.
        title: of the plot.
        xlabel: of the horizontal axis.
        ylabel: of the vertical axis.
        logarithmic: whether the horizontal axis is.
    """
    figure = _figure(title, height=4.4)
    figure.set_figwidth(9.0)
    axes = figure.axes[0]
    listed: list[tuple[str, str]] = []
    styles = ((COLOUR, "o", (-4, 4), "right"), (ACCENT, "s", (5, -9), "left"))
    for (colour, marker, offset, side), (name, points) in zip(styles, groups.items(), strict=False):
        off = [point for point in points if not point[3]]
        on = sorted(point[:3] for point in points if point[3])
        axes.scatter([p[0] for p in off], [p[1] for p in off], color=FAINT, marker=marker, s=18)
        xs, ys = [p[0] for p in on], [p[1] for p in on]
        axes.step(xs, ys, where="post", color=colour, marker=marker, markersize=5, label=name)
        for x, y, label in on:
            listed.append((f"{len(listed) + 1}  {label}", colour))
            axes.annotate(
                str(len(listed)),
                (x, y),
                xytext=offset,
                textcoords="offset points",
                ha=side,
                fontsize=7.5,
                color=colour,
            )
    for place, (text, colour) in enumerate(listed):
        at = (1.02, 1.0 - place / max(len(listed), 18))
        axes.text(*at, text, transform=axes.transAxes, fontsize=7.5, color=colour, va="top")
    if logarithmic:
        axes.set_xscale("log")
    if groups:
        axes.legend(frameon=False, fontsize=8)
    _finish(figure, xlabel, ylabel, None)
    return figure


def scatter(
    xs: Sequence[float],
    ys: Sequence[float],
    labels: Sequence[str],
    title: str,
    xlabel: str,
    ylabel: str,
    *,
    diagonal: bool = False,
) -> Figure:
    """Return named points; a name stands where it covers no other, with a line to its point.

    Args:
        xs: horizontal values.
        ys: vertical values.
        labels: a name for each point; left out where there is no room.
        title: of the plot.
        xlabel: of the horizontal axis.
        ylabel: of the vertical axis.
        diagonal: whether to draw the line on which both are equal.
    """
    figure = _figure(title, height=4.2 if len(xs) <= FEW_POINTS else 6.4)
    if len(xs) > FEW_POINTS:
        figure.set_figwidth(8.6)
    axes = figure.axes[0]
    axes.scatter(xs, ys, color=COLOUR, s=16, zorder=3)
    if diagonal:
        axes.axline((min(xs), min(xs)), slope=1, color=FAINT, linewidth=1, linestyle="--", zorder=0)
    axes.margins(0.12)
    _finish(figure, xlabel, ylabel, None)
    place_names(axes, list(zip(xs, ys, strict=True)), labels)
    return figure


def squares(names: Sequence[str], values: ArrayLike, title: str, label: str) -> Figure:
    """Return a square map of p values (n, n) between names, those up to 0.05 with a dot."""
    inner = max(1.6, 0.2 * len(names))
    name_width = 0.075 * max((len(name) for name in names), default=0)
    figure = _figure(title, height=inner + name_width + 0.6)
    figure.set_figwidth(inner + name_width + 1.4)
    axes = figure.axes[0]
    axes.spines[:].set_visible(False)
    cells = np.asarray(values, dtype=float)
    image = axes.imshow(cells, cmap="Blues_r", vmin=0.0, vmax=1.0)
    bar = figure.colorbar(image, shrink=0.9)
    bar.set_label(f"{label}\ndot: up to {SIGNIFICANT:g}", fontsize=7.5)
    bar.ax.tick_params(labelsize=7)
    rows, columns = np.nonzero(cells <= SIGNIFICANT)
    axes.scatter(columns, rows, s=5, color="white")
    axes.set_xticks(range(len(names)), list(names), rotation=90)
    axes.set_yticks(range(len(names)), list(names))
    axes.tick_params(labelsize=7, length=0)
    return figure


def shown(figure: Figure) -> dg.MarkdownMetadataValue:
    """Return a plot as metadata that the user interface displays."""
    address = f"data:image/png;base64,{base64.b64encode(png(figure)).decode()}"
    return dg.MetadataValue.md(f"![plot]({address})")


def png(figure: Figure) -> bytes:
    """Return a plot as PNG."""
    return _saved(figure, "png", {})


def svg(figure: Figure) -> bytes:
    """Return a plot as SVG, the same bytes each time; its letters are text, in DejaVu Sans."""
    return _saved(figure, "svg", {"Date": None})


def _figure(title: str, height: float = 3.0) -> Figure:
    figure = Figure(figsize=(6.4, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_title(title, fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _finish(figure: Figure, xlabel: str, ylabel: str, marks: Mapping[str, float] | None) -> None:
    axes = figure.axes[0]
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    for name, place in (marks or {}).items():
        axes.axvline(place, color=ACCENT, linestyle="--", label=f"{name} = {place:.4f}")
    if marks:
        axes.legend(frameon=False, fontsize=8)


def _height(rows: int) -> float:
    """Return inches for so many rows of names: close together where there are many."""
    return max(2.2, (0.32 if rows <= FEW_POINTS else LEAST_LINE) * rows + 1)


def _label_size(rows: int) -> float:
    return 9 if rows <= FEW_POINTS else 7.5


def _span(series: Sequence[Sequence[float]]) -> tuple[float, float]:
    values = np.array([list(one) for one in series], dtype=float)
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)


def _saved(figure: Figure, kind: str, metadata: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "saber", "svg.fonttype": "none"}):
        figure.savefig(buffer, format=kind, dpi=100, metadata=metadata)
    return buffer.getvalue()
