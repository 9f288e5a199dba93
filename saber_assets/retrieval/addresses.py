"""Addresses of endpoints as a person writes them: checked before anything is sent."""

from __future__ import annotations

from urllib.parse import urlsplit

EXAMPLE = "http://127.0.0.1:8000/v1"


def address_fault(url: str) -> str:
    """Return what is wrong with the address of an endpoint, "" where nothing is.

    A login, a query or a fragment is refused: addresses are kept in files and shown, and paths are
    put behind them. The sentence repeats nothing of the address, which may hold a password.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port
        host = (parts.hostname or "").encode("idna")
    except ValueError:
        host = b""
    if not host or not url.isprintable() or " " in url or parts.scheme not in ("http", "https"):
        return f"it is no address such as {EXAMPLE}"
    if "@" in parts.netloc:
        return "the address holds a name or a password; name the key's variable as key_variable"
    if "?" in url or "#" in url:
        return "the address holds a query or a fragment, which can't be kept; leave it out"
    return ""
