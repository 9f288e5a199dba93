"""File names of pages, from ids that may hold anything."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

READABLE = 40
_OTHERS = re.compile(r"[^a-z0-9]+")


@lru_cache(200_000)
def page_of(kind: str, identity: str) -> str:
    """Return the path of a page inside the site.

    The readable part is for people; the hash alone keeps two ids apart, also where letter case
    doesn't count in file names.

    Args:
        kind: folder: `q`, `p` or `r`.
        identity: id of a query or a problem, or a retriever's name.
    """
    words = _OTHERS.sub("-", identity.lower())[:READABLE].strip("-")
    mark = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{kind}/{words}{'-' * bool(words)}{mark}.html"
