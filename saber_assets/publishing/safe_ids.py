"""Ids for formats whose fields end at a blank: percent-encoded, and back."""

from __future__ import annotations

import string
from collections.abc import Iterable
from urllib.parse import quote, unquote

_KEPT = string.punctuation.replace("%", "")
"""Besides letters and digits; a percent sign begins an encoded byte."""


def safe(identifier: str) -> str:
    """Return an id of printable ASCII characters without blanks; equal only for equal ids.

    Raises:
        ValueError: for an empty id, which no format can hold.
    """
    if not identifier:
        raise ValueError("an id can't be empty")
    return quote(identifier, safe=_KEPT, errors="surrogatepass")


def restore(identifier: str) -> str:
    """Return the id that `safe` was given."""
    return unquote(identifier, errors="surrogatepass")


def changed(identifiers: Iterable[str]) -> int:
    """Return how many ids `safe` writes in another way."""
    return sum(safe(identifier) != identifier for identifier in identifiers)
