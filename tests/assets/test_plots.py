"""Plots: the same bytes each time, names that cover nothing, and points that all have a name."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Annotation, Text

from saber_assets import plots

NAMES = [f"retriever-{number:02d}" for number in range(49)]
VALUES = np.linspace(0.3, 0.8, 49).round(3).tolist()
GENERATOR = np.random.default_rng(3)
CLOUD = GENERATOR.uniform(0, 1, (49, 2))
SQUARE = GENERATOR.uniform(0, 1, (49, 49))

FIGURES = {
    "bars": lambda: plots.bars(NAMES, VALUES, "title", "label"),
    "dots": lambda: plots.dots(NAMES, {"a": VALUES, "b": VALUES[::-1]}, "title", "label"),
    "intervals": lambda: plots.intervals(NAMES, VALUES, VALUES, VALUES, "title", "label", 0.5),
    "lines": lambda: plots.lines({"one": ([1, 2], [0, 1]), "two": ([1, 2], [1, 0])}, "t", "x", "y"),
    "scatter": lambda: plots.scatter(*CLOUD.T, NAMES, "title", "x", "y", diagonal=True),
    "squares": lambda: plots.squares(NAMES, SQUARE, "title", "p"),
    "frontier": lambda: plots.frontier(
        {"class": [(x, y, name, True) for (x, y), name in zip(CLOUD, NAMES, strict=True)]},
        "title",
        "x",
        "y",
    ),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_plot_is_the_same_bytes_each_time(name: str) -> None:
    first, second = FIGURES[name](), FIGURES[name]()
    assert plots.svg(first) == plots.svg(second)
    assert plots.png(first).startswith(b"\x89PNG")
    assert b"<svg" in plots.svg(first)


@pytest.mark.parametrize("name", FIGURES)
def test_no_letter_is_cut_off(name: str) -> None:
    figure = FIGURES[name]()
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer, whole = canvas.get_renderer(), figure.bbox
    for text in figure.findobj(Text):
        if text.get_text() and text.get_visible() and not _is_hidden(text, figure):
            box = Text.get_window_extent(text, renderer)
            assert box.x0 >= whole.x0 - 1 and box.x1 <= whole.x1 + 1, text.get_text()
            assert box.y0 >= whole.y0 - 1 and box.y1 <= whole.y1 + 1, text.get_text()


def test_names_of_points_cover_neither_each_other_nor_points() -> None:
    figure = FIGURES["scatter"]()
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    axes = figure.axes[0]
    labels = axes.findobj(Annotation)
    assert len(labels) >= 45  # of 49 points thrown at random
    boxes = [Text.get_window_extent(label, canvas.get_renderer()) for label in labels]
    for place, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[place + 1 :])
        for x, y in axes.transData.transform(CLOUD):
            assert not box.contains(x, y)


def test_series_differ_in_more_than_colour() -> None:
    axes = FIGURES["lines"]().axes[0]
    styles = [(line.get_linestyle(), line.get_marker()) for line in axes.get_lines()]
    assert len(set(styles)) == len(styles) == 2


def _is_hidden(text: Text, figure: object) -> bool:
    """Tell whether a tick's label lies outside the limits, where it is not drawn."""
    for axes in figure.axes:  # type: ignore[attr-defined]
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                if text in (tick.label1, tick.label2):
                    return not low <= tick.get_loc() <= high
    return False
