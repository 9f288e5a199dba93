"""Which name a person may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str:
    """Return words, to be put behind a sentence, that tell the nearest known name; "" for none."""
    found = get_close_matches(name, list(known), n=1)
    return f"; the nearest is '{found[0]}'" if found else ""
