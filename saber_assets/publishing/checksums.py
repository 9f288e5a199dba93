"""SHA-256 checksums of a folder's files, as `sha256sum` writes and checks them."""

from __future__ import annotations

import hashlib
from pathlib import Path

SUMS_FILE = "SHA256SUMS"


def write_sums(folder: Path) -> Path:
    """Write the checksums of all files in a folder into its `SHA256SUMS`; return that file."""
    lines = [f"{_digest(path)}  {path.relative_to(folder).as_posix()}\n" for path in _files(folder)]
    target = folder / SUMS_FILE
    target.write_text("".join(lines), encoding="utf-8")
    return target


def wrong_files(folder: Path) -> list[str]:
    """Return the files that differ from their checksum, are gone, or have none.

    Raises:
        FileNotFoundError: where the folder has no `SHA256SUMS`.
    """
    stated = {}
    for line in (folder / SUMS_FILE).read_text(encoding="utf-8").splitlines():
        digest, _, name = line.partition("  ")
        stated[name] = digest
    found = {path.relative_to(folder).as_posix(): path for path in _files(folder)}
    return sorted(
        name
        for name in {*stated, *found}
        if name not in found or stated.get(name) != _digest(found[name])
    )


def _files(folder: Path) -> list[Path]:
    below = folder.rglob("*")
    return sorted(path for path in below if path.is_file() and path != folder / SUMS_FILE)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
