"""The report page: gathered, rendered and written as one self-contained HTML file."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from saber_resources.atomic import write_text
from saber_services.report.content import gather

FOLDER = Path(__file__).parent
TEMPLATE = "page.html.j2"

_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""Control characters that an HTML page must not contain."""


def write_report(tables: Path, target: Path, title: str) -> Path:
    """Write the report page and return its path.

    The same tables give the same bytes. Texts from the tables are hostile input: all are escaped,
    and the page's content policy runs no script but its own.

    Args:
        tables: folder of the Parquet tables; a section whose table is missing says so.
        target: the HTML file; its folder is made where it is missing.
        title: name of the benchmark.

    Raises:
        SetupError: when a table can't be read.
    """
    page = render(tables, title)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_text(target, page)
    return target


def render(tables: Path, title: str) -> str:
    """Return the report page as text; arguments as for `write_report`."""
    # The template is HTML in spite of its suffix, so escaping is not left to the name.
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = _percent
    environment.filters["count"] = _count
    script = (FOLDER / "page.js").read_text(encoding="utf-8")
    style = (FOLDER / "page.css").read_text(encoding="utf-8")
    return environment.get_template(TEMPLATE).render(
        report=gather(tables, title),
        style=Markup(style),  # noqa: S704 - files of this package
        script=Markup(script),  # noqa: S704
        script_hash=_hash(script),
    )


def _printable(value: Any) -> Any:
    """Return a text with control characters replaced, and anything else as it is."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", value)


def _hash(script: str) -> str:
    """Return a script's hash as a content policy names it."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _percent(share: float, decimals: int = 1) -> str:
    """Return a share in [0, 1] as a percentage without its sign."""
    return f"{100 * share:.{decimals}f}"


def _count(number: int) -> str:
    """Return a whole number with commas between thousands."""
    return f"{number:,}"
