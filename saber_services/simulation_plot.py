"""The plot of simulated tournaments: inversions against rounds."""

from __future__ import annotations

import io

import polars as pl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

COLOURS = {"swiss": "#3b6ea5", "random": "#c8553d"}
STYLES = {"random": "--", "id": ":"}
"""Line styles by the order shown, of a judge with position bias."""


def simulation_plot(cells: pl.DataFrame) -> bytes:
    """Return a PNG: a judge without position bias on the left, with it on the right.

    Args:
        cells: from `simulation.summarise`; the right half is left out where no judge is biased.
    """
    biased = cells.filter(pl.col("bias") != 0)
    panels = 1 if biased.is_empty() else 2
    figure = Figure(figsize=(5.5 * panels, 4.0), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, panels, sharey=True, squeeze=False)[0]
    fair = cells.filter((pl.col("bias") == 0) & ~pl.col("position_term"))
    for schedule, colour in COLOURS.items():
        _line(axes[0], fair.filter(pl.col("schedule") == schedule), schedule, colour, "-")
    _finish(axes[0], "No position bias")
    axes[0].set_ylabel("inversions against the exhaustive ranking")
    if panels > 1:
        _biased_panel(axes[1], biased)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=120)
    return buffer.getvalue()


def _biased_panel(axes: Axes, biased: pl.DataFrame) -> None:
    for order, style in STYLES.items():
        for term, colour in ((False, COLOURS["random"]), (True, COLOURS["swiss"])):
            rows = biased.filter(
                (pl.col("order") == order)
                & (pl.col("position_term") == term)
                & (pl.col("schedule") == "swiss")
            )
            label = f"order {order}, {'with' if term else 'without'} position term"
            _line(axes, rows, label, colour, style)
    _finish(axes, f"Swiss, first shown gains {biased['bias'][0]:g} log odds")


def _line(axes: Axes, rows: pl.DataFrame, label: str, colour: str, style: str) -> None:
    rows = rows.sort("rounds")
    spread = rows["inversions_sd"].fill_null(0.0)
    axes.errorbar(
        rows["rounds"].to_list(),
        rows["inversions_mean"].to_list(),
        yerr=spread.to_list(),
        label=label,
        color=colour,
        linestyle=style,
        marker=".",
        capsize=2,
    )


def _finish(axes: Axes, title: str) -> None:
    axes.set_title(title, fontsize=10)
    axes.set_xlabel("rounds")
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
