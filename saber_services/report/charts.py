"""Plots as inline SVG: drawn by the server, styled by the page, told in words beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup, escape

WIDTH, HEIGHT = 640, 340
LEFT, RIGHT, TOP, BOTTOM = 52, 14, 16, 44
MARKS = ("disc", "square", "diamond", "triangle")
DASHES = ("", "7 4", "2 3", "9 3 2 3", "12 4", "4 2")


@dataclass(frozen=True)
class Point:
    """A point of a scatter plot, which has the number of its row in the table beside the plot."""

    x: float
    y: float
    number: int
    group: int
    on_line: bool


@dataclass(frozen=True)
class Scale:
    """A linear or logarithmic scale from values to pixels."""

    low: float
    high: float
    start: float
    stop: float
    is_log: bool = False

    def __call__(self, value: float) -> float:
        """Return the pixel of a value."""
        low, high, at = (math.log10(v) if self.is_log else v for v in (self.low, self.high, value))
        share = 0.5 if high == low else (at - low) / (high - low)
        return self.start + share * (self.stop - self.start)

    def ticks(self) -> list[float]:
        """Return values that are worth a tick."""
        if self.is_log:
            first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
            factors = (1.0,) if last - first > 2 else (1.0, 2.0, 5.0)
            wanted = [f * 10.0**p for p in range(first, last + 1) for f in factors]
        else:
            step = _step(self.high - self.low)
            count = math.floor(self.high / step) - math.ceil(self.low / step) + 1
            wanted = [step * (math.ceil(self.low / step) + k) for k in range(count)]
        slack = 1e-9 * max(abs(self.high), abs(self.low))
        return [v for v in wanted if self.low - slack <= v <= self.high + slack]


def _step(span: float) -> float:
    if span <= 0:
        return 1.0
    rough = span / 5
    power = 10.0 ** math.floor(math.log10(rough))
    return next(f * power for f in (1, 2, 5, 10) if f * power >= rough * 0.999)


def scatter(
    points: Sequence[Point], title: str, xlabel: str, ylabel: str, *, is_log: bool
) -> Markup:
    """Return points with their numbers, those on a group's line joined by steps."""
    xs, ys = [point.x for point in points], [point.y for point in points]
    x = Scale(*_room(xs, is_log), LEFT, WIDTH - RIGHT, is_log)
    y = Scale(*_room(ys, False), HEIGHT - BOTTOM, TOP)
    parts = [_axes(x, y, xlabel, ylabel)]
    for group in sorted({point.group for point in points}):
        line = sorted((p for p in points if p.group == group and p.on_line), key=lambda p: p.x)
        parts.append(_steps(line, x, y, group))
    for point in points:
        at = (x(point.x), y(point.y))
        parts.append(
            f'<g class="g{point.group}{"" if point.on_line else " off"}">{_mark(*at, point.group)}'
            f'<text x="{at[0] + 7:.1f}" y="{at[1] - 6:.1f}">{point.number}</text></g>'
        )
    return _svg(parts, title)


def curves(
    series: Sequence[tuple[str, Sequence[float], Sequence[float]]],
    title: str,
    xlabel: str,
    ylabel: str,
) -> Markup:
    """Return one line for each name, told apart by dashes too, with the names at the side."""
    xs = [value for _, values, _ in series for value in values]
    ys = [value for _, _, values in series for value in values]
    x = Scale(min(xs), max(xs), LEFT, WIDTH - RIGHT)
    y = Scale(min(0.0, *ys), max(ys), HEIGHT - BOTTOM, TOP)
    parts = [_axes(x, y, xlabel, ylabel)]
    for number, (name, across, up) in enumerate(series):
        path = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in zip(across, up, strict=True))
        dash = DASHES[number % len(DASHES)]
        look = f'class="curve g{number % 4}"' + (f' stroke-dasharray="{dash}"' if dash else "")
        row = TOP + 12 + 18 * number
        parts.append(
            f'<polyline {look} points="{path}"/>'
            f'<line {look} x1="{LEFT + 14}" x2="{LEFT + 46}" y1="{row}" y2="{row}"/>'
            f'<text x="{LEFT + 54}" y="{row + 4}">{escape(name)}</text>'
        )
    return _svg(parts, title)


def _room(values: Sequence[float], is_log: bool) -> tuple[float, float]:
    low, high = min(values), max(values)
    if is_log:
        return low / 1.3, high * 1.3
    margin = 0.06 * (high - low) or 0.05
    return low - margin, high + margin


def _axes(x: Scale, y: Scale, xlabel: str, ylabel: str) -> str:
    base = HEIGHT - BOTTOM
    parts = [f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{base}" y2="{base}"/>']
    parts += [
        f'<line class="tick" x1="{x(value):.1f}" x2="{x(value):.1f}" y1="{TOP}" y2="{base}"/>'
        f'<text x="{x(value):.1f}" y="{base + 16}" text-anchor="middle">{value:.4g}</text>'
        for value in x.ticks()
    ]
    parts += [
        f'<line class="tick" x1="{LEFT}" x2="{WIDTH - RIGHT}" '
        f'y1="{y(value):.1f}" y2="{y(value):.1f}"/>'
        f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.4g}</text>'
        for value in y.ticks()
    ]
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(
        f'<text x="{middle:.0f}" y="{HEIGHT - 6}" text-anchor="middle">{escape(xlabel)}</text>'
    )
    parts.append(f'<text x="{LEFT - 44}" y="{TOP - 5}">{escape(ylabel)}</text>')
    return "".join(parts)


def _steps(line: Sequence[Point], x: Scale, y: Scale, group: int) -> str:
    if len(line) < 2:
        return ""
    places = [f"{x(line[0].x):.1f},{y(line[0].y):.1f}"]
    for before, after in pairwise(line):
        places += [f"{x(after.x):.1f},{y(before.y):.1f}", f"{x(after.x):.1f},{y(after.y):.1f}"]
    dash = f' stroke-dasharray="{DASHES[group]}"' if DASHES[group] else ""
    return f'<polyline class="curve g{group}"{dash} points="{" ".join(places)}"/>'


def _mark(x: float, y: float, group: int) -> str:
    shape = MARKS[group % len(MARKS)]
    if shape == "disc":
        return f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>'
    corners = {
        "square": ((-4, -4), (4, -4), (4, 4), (-4, 4)),
        "diamond": ((0, -6), (6, 0), (0, 6), (-6, 0)),
        "triangle": ((0, -6), (5, 4), (-5, 4)),
    }[shape]
    path = " ".join(f"{x + a:.1f},{y + b:.1f}" for a, b in corners)
    return f'<polygon class="mark" points="{path}"/>'


def _svg(parts: Sequence[str], title: str) -> Markup:
    return Markup(  # noqa: S704 - numbers, and labels that are escaped above
        f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(title)}">{"".join(parts)}</svg>'
    )
