"""Texts for a site that anybody may read: without places on the machine that made it."""

from __future__ import annotations

import re

ENDPOINT = "an HTTP endpoint"
_URL = re.compile(r"https?://[^\s<>\"'(),;]*[^\s<>\"'(),;.:!?]")
_PATH = re.compile(
    r"(?<![\w.~/:\\])(?:~|[A-Za-z]:)?[/\\](?:[^\s/\\:\"'<>]+[/\\])+(?=[^\s/\\:\"'<>])"
)


def discreet(text: str) -> str:
    """Return a text with file names in the place of whole paths, and no addresses."""
    return _PATH.sub("", _URL.sub(ENDPOINT, text))
