"""Whether a statement needs a figure that its text doesn't show."""

from __future__ import annotations

import re

_FIGURE = re.compile(
    r"\b(?:figures?|fig\.|diagrams?|pictures?|pictured|shown|drawing|illustrat\w+|sketched)"
    r"|\b(?:graph|table|chart|image|map|grid|number line)s? (?:\w+ ){0,4}"
    r"(?:below|above|right|left|given|here|represents?|shows?)\b"
    r"|\b(?:below|above|following|given|this) (?:\w+ ){0,2}(?:graph|table|chart|image|map|grid)s?\b"
    r"|\[(?:image|img|figure|graph|asy)|!\[|<img|\\includegraphics|\\begin\{(?:asy|tikz|pspic|pict)",
    re.IGNORECASE,
)

_HINTS = (
    "fig", "diagram", "picture", "shown", "drawing", "illustrat", "sketched", "graph", "table",
    "chart", "image", "map", "grid", "number line", "[i", "[f", "[g", "[a", "![", "<img",
    "\\begin{", "\\includegr",
)  # fmt: skip
"""One of these stands in whatever `_FIGURE` finds; looking for them is quick."""


def refers_to_figure(statement: str) -> bool:
    """Tell whether a statement points at a figure, diagram, graph, table or image, or holds one."""
    lower = statement.lower()
    return any(hint in lower for hint in _HINTS) and _FIGURE.search(statement) is not None
