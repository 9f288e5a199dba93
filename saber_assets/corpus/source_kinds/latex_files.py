r"""The files of a LaTeX collection: a folder, one file, or an archive that is read in place.

A name in `\input` reaches files of the collection and nothing else: absolute paths, `..` beyond
the folder, links that lead out of it and pipes are refused.
"""

from __future__ import annotations

import posixpath
import re
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from saber_assets.errors import InputError

LATEX_SUFFIXES = (".tex", ".ltx", ".latex")
ARCHIVE_SUFFIXES = (".tar.gz", ".tgz", ".tar", ".tar.bz2", ".tar.xz")
LARGEST_FILE = 64 * 2**20
"""Bytes of one file; larger ones are reported and not read."""
LARGEST_ARCHIVE_TEXT = 512 * 2**20
"""Bytes of LaTeX in one archive, all files together."""
LARGEST_ARCHIVE = 8 * 2**30
"""Bytes of an archive after decompression, whatever is in it."""

_LOOKED_THROUGH = 256 * 2**20
_TEXT_SUFFIXES = (*LATEX_SUFFIXES, ".sty", ".cls", ".def", ".inc", ".txt", ".sol", ".ans", ".bbl")
_INPUTENC = re.compile(rb"\\usepackage\[([a-z0-9]+)\]\{inputenc\}")
_ENCODINGS = {
    "latin1": "latin-1",
    "ansinew": "cp1252",
    "cp1252": "cp1252",
    "latin2": "iso8859-2",
    "cp1250": "cp1250",
    "latin9": "iso8859-15",
    "cp1251": "cp1251",
    "koi8-r": "koi8-r",
    "applemac": "mac-roman",
    "utf16": "utf-16",
}


class OutsideError(ValueError):
    """A name that leads out of the collection."""


class Tree(Protocol):
    """The files of one collection by their names below its top, with `/`."""

    prefix: str
    """What is put before names in ids and locations: the archive's name, or ""."""

    def names(self) -> list[str]:
        """Return the names of the LaTeX files, sorted."""
        ...

    def size(self, name: str) -> int | None:
        """Return a file's bytes, or None where there is no such file."""
        ...

    def read(self, name: str) -> bytes:
        """Return a file's content.

        Raises:
            OSError: where it can't be read.
        """
        ...


def inner_name(name: str) -> str:
    """Return a name below the top, normalised.

    Raises:
        OutsideError: for a name that leads out.
    """
    if name.startswith(("/", "~", "|")) or "\\" in name or "\0" in name or ":" in name[:3]:
        raise OutsideError(name)
    name = posixpath.normpath(name)
    if name == ".." or name.startswith("../"):
        raise OutsideError(name)
    return name


class FolderTree:
    """Files in a folder; with `only`, of which that one file is the start."""

    def __init__(self, folder: Path, only: str | None = None) -> None:
        self.prefix = ""
        self._folder = folder
        self._top = folder.resolve()
        self._only = only

    def names(self) -> list[str]:
        """Return the names of the LaTeX files, sorted; hidden folders and files are left out."""
        if self._only is not None:
            return [self._only]
        found = []
        for path in self._folder.rglob("*"):
            if path.suffix.lower() not in LATEX_SUFFIXES:
                continue
            name = path.relative_to(self._folder).as_posix()
            if name.startswith(".") or "/." in name or self.size(name) is None:
                continue
            found.append(name)
        return sorted(found)

    def size(self, name: str) -> int | None:
        """Return a file's bytes; None for a link that leads out, and what is no plain file."""
        path = self._path(name)
        try:
            return path.stat().st_size if path.is_file() else None
        except OSError:
            return None

    def read(self, name: str) -> bytes:
        """Return a file's content."""
        return self._path(name).read_bytes()

    def _path(self, name: str) -> Path:
        path = self._folder / name
        if name != self._only and not path.resolve().is_relative_to(self._top):
            raise OutsideError(name)
        return path


class ArchiveTree:
    """The text files of a tar archive, held in memory; nothing is written to disk."""

    def __init__(self, path: Path) -> None:
        self.prefix = path.name + "/"
        self._files: dict[str, bytes] = {}
        total = 0
        try:
            with tarfile.open(path, "r|*") as archive:
                for member in archive:
                    if member.offset_data + member.size > LARGEST_ARCHIVE:
                        raise _too_large(path, LARGEST_ARCHIVE)
                    name = _plain_name(member)
                    if name is None:
                        continue
                    total += member.size
                    if total > LARGEST_ARCHIVE_TEXT:
                        raise _too_large(path, LARGEST_ARCHIVE_TEXT)
                    content = archive.extractfile(member)
                    self._files[name] = content.read() if content else b""
        except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
            raise InputError(
                f"{path} is not a sound tar archive ({error})", "pack it anew"
            ) from error

    def names(self) -> list[str]:
        """Return the names of the LaTeX files, sorted; hidden ones are left out."""
        return sorted(
            name
            for name in self._files
            if name.lower().endswith(LATEX_SUFFIXES)
            and not name.startswith(".")
            and "/." not in name
        )

    def size(self, name: str) -> int | None:
        """Return a file's bytes, or None where there is no such file."""
        return len(self._files[name]) if name in self._files else None

    def read(self, name: str) -> bytes:
        """Return a file's content."""
        return self._files[name]


def archive_beginnings(path: Path, length: int, most: int) -> Iterator[bytes]:
    """Yield the first bytes of the first LaTeX files of an archive.

    Raises:
        OSError, ValueError: for a broken archive.
    """
    try:
        with tarfile.open(path, "r|*") as archive:
            for member in archive:
                name = _plain_name(member)
                if member.offset_data > _LOOKED_THROUGH:
                    return
                if name is None or not name.lower().endswith(LATEX_SUFFIXES):
                    continue
                content = archive.extractfile(member)
                if content is None:
                    continue
                yield content.read(length)
                most -= 1
                if most == 0:
                    return
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise ValueError(str(error)) from error


def _plain_name(member: tarfile.TarInfo) -> str | None:
    """Return the name of a plain text file; None for links, devices, hostile names, the rest."""
    if not member.isreg() or not member.name.lower().endswith(_TEXT_SUFFIXES):
        return None
    if member.size > LARGEST_FILE:
        return None
    try:
        return inner_name(member.name)
    except OutsideError:
        return None


def _too_large(path: Path, limit: int) -> InputError:
    return InputError(
        f"{path} holds more than {limit // 2**20} MiB", "unpack it and name the folder instead"
    )


def is_archive(path: Path) -> bool:
    """Tell from its name whether a file is an archive that can be read in place."""
    return path.name.lower().endswith(ARCHIVE_SUFFIXES)


def tree_of(path: Path) -> Tree:
    """Return the files of a folder, an archive, or one file (with the folder it stands in).

    Raises:
        InputError: where there is nothing, or nothing that can be LaTeX.
    """
    if path.is_dir():
        return FolderTree(path)
    if not path.is_file():
        raise InputError(f"{path} does not exist", "check the path")
    if is_archive(path):
        return ArchiveTree(path)
    if path.suffix.lower() not in LATEX_SUFFIXES:
        raise InputError(
            f"{path} is no LaTeX file",
            f"give a folder, or a file that ends in one of "
            f"{', '.join((*LATEX_SUFFIXES, *ARCHIVE_SUFFIXES))}",
        )
    return FolderTree(path.parent, path.name)


def decode(data: bytes) -> tuple[str, str | None]:
    r"""Return the text of a file with `\n` as line end, and what had to be assumed, or None.

    UTF-8 (and UTF-16 with its mark) first, then what `inputenc` declares, then Latin-1.

    Raises:
        ValueError: for a file with zero bytes, which is no text.
    """
    assumed = None
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = data.decode("utf-16", errors="replace")
    elif b"\0" in data:
        raise ValueError("it holds zero bytes")
    else:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            declared = _INPUTENC.search(data[:65536])
            name = declared[1].decode() if declared else ""
            encoding = _ENCODINGS.get(name, "latin-1")
            assumed = f"not UTF-8, read as {encoding}"
            text = data.decode(encoding, errors="replace")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text, assumed
