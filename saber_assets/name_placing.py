"""Names beside the points of a plot, none on top of another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text
from matplotlib.transforms import Bbox

SIZE = 6.5
DISTANCES = (6.0, 12.0, 22.0, 34.0, 48.0)
"""Points (1/72 inch) between a point and its name, as they are tried."""
DIRECTIONS = 16
CLOSE = DISTANCES[1]
"""From farther off, a line leads to the name."""


def place_names(axes: Axes, points: Sequence[tuple[float, float]], names: Sequence[str]) -> None:
    """Write each point's name near it, where it covers neither point nor name.

    Points are named from the right to the left, each at the first free place of some directions
    and growing distances. A name that has room nowhere is left out.

    Args:
        axes: whose points are drawn, with limits that stay.
        points: x and y of each.
        names: one each.

    Raises:
        ValueError: for axes that are on no figure.
    """
    figure = axes.get_figure(root=True)
    if figure is None:
        raise ValueError("the axes are on no figure")
    canvas = FigureCanvasAgg(figure)  # type: ignore[no-untyped-call]
    canvas.draw()  # type: ignore[no-untyped-call]  # the layout is known from here on
    places = axes.transData.transform(np.asarray(points, dtype=float).reshape(-1, 2))
    taken = [Bbox.from_bounds(x - 3, y - 3, 6, 6) for x, y in places]
    scale = figure.dpi / 72
    for number in sorted(range(len(names)), key=lambda one: (-places[one][0], places[one][1])):
        _place(axes, canvas, points[number], names[number], taken, scale)


def _place(
    axes: Axes,
    canvas: FigureCanvasAgg,
    point: tuple[float, float],
    name: str,
    taken: list[Bbox],
    scale: float,
) -> None:
    """Write one name at the first free place, and add what it covers to `taken`."""
    label = axes.annotate(
        name, point, textcoords="offset points", xytext=(0, 0), fontsize=SIZE, va="center",
        arrowprops={"arrowstyle": "-", "color": "#b9bec6", "linewidth": 0.5, "shrinkB": 2},
    )  # fmt: skip
    box = Text.get_window_extent(label, canvas.get_renderer())  # of the letters, without the line
    width, height = box.width, box.height
    x, y = axes.transData.transform(point)
    inside = axes.get_window_extent()
    for distance in DISTANCES:
        for step in range(DIRECTIONS):
            angle = 2 * np.pi * step / DIRECTIONS
            right, up = distance * np.cos(angle), distance * np.sin(angle)
            left = x + right * scale - (0 if np.cos(angle) >= 0 else width)
            box = Bbox.from_bounds(left, y + up * scale - height / 2, width, height)
            free = inside.containsx(box.x0) and inside.containsx(box.x1)
            free &= inside.containsy(box.y0) and inside.containsy(box.y1)
            if free and not any(box.overlaps(other) for other in taken):
                label.set_position((right, up))
                label.set_horizontalalignment("left" if np.cos(angle) >= 0 else "right")
                if distance <= CLOSE and label.arrow_patch is not None:
                    label.arrow_patch.set_visible(False)
                taken.append(box)
                return
    label.remove()
