"""How the pages look and work: templates, styles and scripts, with the hashes that allow them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from saber_services.report.discreet import discreet
from saber_services.report.examples import cut
from saber_services.report.names import page_of
from saber_services.report.typesetting import Typesetter, printable

FOLDER = Path(__file__).parent
NOTHING = "–"


@dataclass(frozen=True)
class Look:
    """The style and the script of a page, and their hashes for its content policy."""

    style: Markup
    script: Markup
    style_hash: str
    script_hash: str


def look_of(styles: tuple[str, ...], scripts: tuple[str, ...]) -> Look:
    """Return the look of pages.

    Args:
        styles: names of style sheets, without their suffix.
        scripts: names of scripts; none for a page without any.
    """
    style, script = (
        "".join(
            (FOLDER / "static" / f"{name}.{suffix}").read_text(encoding="utf-8") for name in names
        )
        for names, suffix in ((styles, "css"), (scripts, "js"))
    )
    # files of this package, not texts of a table
    return Look(Markup(style), Markup(script), _hash(style), _hash(script))  # noqa: S704


def _hash(text: str) -> str:
    """Return a text's hash as a content policy names it."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def environment(typesetter: Typesetter, beginning: Callable[[str], Markup]) -> Environment:
    """Return the templates.

    Args:
        typesetter: sets the texts of problems.
        beginning: returns a line with the beginning of a problem, linked where it has a page.
    """
    # The templates are HTML in spite of their suffix, so escaping is not left to the name.
    made = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "percent": _percent,
        "count": _count,
        "two": lambda value: _decimals(value, 2),
        "three": lambda value: _decimals(value, 3),
        "four": lambda value: _decimals(value, 4),
        "page": lambda identity, kind: page_of(kind, identity),
        "typeset": typesetter,
        "line": lambda text: typesetter.short(text, len(text) + 1),
        "beginning": beginning,
        "cut": cut,
        "discreet": discreet,
    }
    return made


def _printable(value: Any) -> Any:
    """Return a text with control characters replaced, and anything else as it is."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return printable(value)


def _percent(share: float, decimals: int = 1) -> str:
    """Return a share in [0, 1] as a percentage without its sign."""
    return f"{100 * share:.{decimals}f}"


def _count(number: int) -> str:
    """Return a whole number with commas between thousands."""
    return f"{number:,}"


def _decimals(value: float | None, decimals: int) -> str:
    """Return a number, or a dash where there is none."""
    return NOTHING if value is None or value != value else f"{value:.{decimals}f}"
