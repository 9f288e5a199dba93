"""Plots as PNG bytes, for the user interface and the report page."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

COLOUR = "#3b6ea5"
ACCENT = "#c8553d"


def histogram(
    values: ArrayLike, title: str, label: str, marks: Mapping[str, float] | None = None
) -> bytes:
    """Return a histogram; `marks` are named vertical lines, such as a threshold."""
    figure = _figure(title)
    axes = figure.axes[0]
    axes.hist(np.asarray(values, dtype=float), bins=40, color=COLOUR)
    _finish(figure, label, "count", marks)
    return _png(figure)


def weighted_histogram(
    edges: ArrayLike,
    counts: ArrayLike,
    title: str,
    label: str,
    marks: Mapping[str, float] | None = None,
) -> bytes:
    """Return a histogram of counts that were taken elsewhere, on a logarithmic scale."""
    figure = _figure(title)
    axes = figure.axes[0]
    axes.stairs(np.asarray(counts, dtype=float), np.asarray(edges), fill=True, color=COLOUR)
    axes.set_yscale("symlog")
    _finish(figure, label, "pairs", marks)
    return _png(figure)


def lines(
    series: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    title: str,
    xlabel: str,
    ylabel: str,
) -> bytes:
    """Return one line for each named pair of x and y values."""
    figure = _figure(title)
    axes = figure.axes[0]
    for name, (xs, ys) in series.items():
        axes.plot(xs, ys, marker=".", label=name)
    axes.legend(frameon=False, fontsize=8)
    _finish(figure, xlabel, ylabel, None)
    return _png(figure)


def heat_map(
    xs: ArrayLike,
    ys: ArrayLike,
    values: ArrayLike,
    title: str,
    labels: tuple[str, str, str],
    mark: tuple[float, float],
) -> bytes:
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
    return _png(figure)


def bars(names: Sequence[str], values: Sequence[float], title: str, label: str) -> bytes:
    """Return horizontal bars, the first name on top."""
    figure = _figure(title, height=max(2.2, 0.32 * len(names) + 1))
    axes = figure.axes[0]
    axes.barh(list(names)[::-1], list(values)[::-1], color=COLOUR)
    _finish(figure, label, "", None)
    return _png(figure)


def intervals(
    names: Sequence[str],
    means: Sequence[float],
    lows: Sequence[float],
    highs: Sequence[float],
    title: str,
    label: str,
) -> bytes:
    """Return points with horizontal intervals, the first name on top."""
    figure = _figure(title, height=max(2.2, 0.32 * len(names) + 1))
    axes = figure.axes[0]
    rows = np.arange(len(names))[::-1]
    errors = np.array([np.subtract(means, lows), np.subtract(highs, means)]).clip(min=0)
    axes.errorbar(means, rows, xerr=errors, fmt="o", color=COLOUR, ecolor="#9db8d3", capsize=3)
    axes.set_yticks(rows, list(names))
    _finish(figure, label, "", None)
    return _png(figure)


def frontier(
    groups: Mapping[str, Sequence[tuple[Any, float, str, bool]]],
    title: str,
    xlabel: str,
    ylabel: str,
    *,
    logarithmic: bool = False,
) -> bytes:
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
        axes.scatter([p[0] for p in off], [p[1] for p in off], color="#b9bec6", marker=marker, s=18)
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
    return _png(figure)


def scatter(
    xs: Sequence[float],
    ys: Sequence[float],
    labels: Sequence[str],
    title: str,
    xlabel: str,
    ylabel: str,
) -> bytes:
    """Return named points."""
    figure = _figure(title, height=4.2)
    axes = figure.axes[0]
    axes.scatter(xs, ys, color=COLOUR, s=18)
    for x, y, label in zip(xs, ys, labels, strict=True):
        axes.annotate(label, (x, y), xytext=(4, 3), textcoords="offset points", fontsize=6.5)
    _finish(figure, xlabel, ylabel, None)
    return _png(figure)


def squares(names: Sequence[str], values: ArrayLike, title: str, label: str) -> bytes:
    """Return a square map of values in [0, 1] (n, n) between names; NaN stays white."""
    size = max(3.0, 0.22 * len(names) + 1.6)
    figure = _figure(title, height=size)
    axes = figure.axes[0]
    image = axes.imshow(np.asarray(values, dtype=float), cmap="Blues_r", vmin=0.0, vmax=1.0)
    figure.colorbar(image, label=label)
    axes.set_xticks(range(len(names)), list(names), rotation=90)
    axes.set_yticks(range(len(names)), list(names))
    axes.tick_params(labelsize=6.5)
    return _png(figure)


def shown(png: bytes) -> dg.MarkdownMetadataValue:
    """Return a plot as metadata that the user interface displays."""
    return dg.MetadataValue.md(f"![plot]({data_uri(png)})")


def data_uri(png: bytes) -> str:
    """Return a plot as an address that a page can embed."""
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"


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


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=100)
    return buffer.getvalue()
