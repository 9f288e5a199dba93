"""SHA-256 checksums of a folder's files, as `sha256sum` writes and checks them."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

SUMS_FILE = "SHA256SUMS"
_LINE = re.compile(r"([0-9a-fA-F]{64}) [ *](?:\./)?(.+)")


def write_sums(folder: Path) -> Path:
    """Write the checksums of all files in a folder into its `SHA256SUMS`; return that file."""
    lines = [f"{_digest(path)}  {path.relative_to(folder).as_posix()}\n" for path in _files(folder)]
    target = folder / SUMS_FILE
    target.write_text("".join(lines), encoding="utf-8")
    return target


def wrong_files(folder: Path) -> list[str]:
    """Return the files that differ from their checksum, or are gone; none without `SHA256SUMS`.

    Files that it doesn't name, such as what a download leaves beside a release, are left alone.
    """
    sums = folder / SUMS_FILE
    if not sums.is_file():
        return []
    lines = map(_LINE.match, sums.read_text(encoding="utf-8", errors="replace").splitlines())
    stated = {line[2]: line[1].lower() for line in lines if line}
    found = {path.relative_to(folder).as_posix(): path for path in _files(folder)}
    return sorted(
        name
        for name, digest in stated.items()
        if name not in found or digest != _digest(found[name])
    )


def _files(folder: Path) -> list[Path]:
    below = folder.rglob("*")
    return sorted(path for path in below if path.is_file() and path != folder / SUMS_FILE)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
