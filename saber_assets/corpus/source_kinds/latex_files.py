r"""The files of a LaTeX collection: a folder, one file, or an archive that is read in place.

A name in `\input` reaches files of the collection and nothing else: absolute paths, `..` beyond
the folder, links that lead out of it and pipes are refused.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import posixpath
import re
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol, cast

from saber_assets.corpus.source_kinds.source_files import check_regular, is_utf8_name, walk
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
_BROKEN = (tarfile.TarError, OSError, EOFError, zlib.error, lzma.LZMAError)
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
    unread: list[tuple[str, str]]
    """Files that can't be read, and why."""

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
    """LaTeX files below a folder.

    Args:
        folder: the top; nothing outside it can be included.
        files: the files that are read, below it; others only where one of these includes them.
    """

    def __init__(self, folder: Path, files: Iterable[Path]) -> None:
        self.prefix = ""
        self.unread: list[tuple[str, str]] = []
        self._folder = folder
        self._top = folder.resolve()
        self._named = {path.relative_to(folder).as_posix() for path in files}

    def names(self) -> list[str]:
        """Return the names of the files that are read, sorted."""
        return sorted(self._named)

    def size(self, name: str) -> int | None:
        """Return a file's bytes; None where there is no such plain file.

        Raises:
            OutsideError: for a link that leads out of the folder.
        """
        path = self._path(name)
        try:
            return path.stat().st_size if path.is_file() else None
        except (OSError, ValueError):
            return None

    def read(self, name: str) -> bytes:
        """Return a file's content."""
        return self._path(name).read_bytes()

    def _path(self, name: str) -> Path:
        path = self._folder / name
        if name not in self._named and not path.resolve().is_relative_to(self._top):
            raise OutsideError(name)
        return path


class ArchiveTree:
    """The text files of a tar archive, held in memory; nothing is written to disk."""

    def __init__(self, path: Path, label: str | None = None) -> None:
        self.prefix = (label or path.name) + "/"
        self.unread: list[tuple[str, str]] = []
        self._files: dict[str, bytes] = {}
        total = 0
        try:
            with _members(path) as archive:
                for member in archive:
                    if member.offset_data + member.size > LARGEST_ARCHIVE:
                        raise _too_large(path, LARGEST_ARCHIVE)
                    name = _plain_name(member)
                    if name is None:
                        continue
                    if member.size > LARGEST_FILE:
                        what = f"it has more than {LARGEST_FILE // 2**20} MiB"
                        self.unread.append((name, what))
                        continue
                    total += member.size
                    if total > LARGEST_ARCHIVE_TEXT:
                        raise _too_large(path, LARGEST_ARCHIVE_TEXT)
                    content = archive.extractfile(member)
                    self._files[name] = content.read() if content else b""
        except _BROKEN as error:
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


@contextmanager
def _members(path: Path, *, to_end: bool = True) -> Iterator[tarfile.TarFile]:
    """Open an archive as a stream; at the end, read what follows the last member.

    A tar reader takes a stream that breaks off for the end of the archive; only the compressed
    stream itself tells.
    """
    with _decompressed(path) as stream:
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            yield archive
        rest = LARGEST_ARCHIVE if to_end else 0
        while rest > 0 and (block := stream.read(1 << 20)):
            rest -= len(block)


def _decompressed(path: Path) -> IO[bytes]:
    with path.open("rb") as file:
        magic = file.read(6)
    if magic.startswith(b"\x1f\x8b"):
        return cast(IO[bytes], gzip.open(path))
    if magic.startswith(b"BZh"):
        return cast(IO[bytes], bz2.open(path))
    return cast(IO[bytes], lzma.open(path)) if magic == b"\xfd7zXZ\0" else path.open("rb")


def archive_beginnings(path: Path, length: int, most: int) -> Iterator[bytes]:
    """Yield the first bytes of the first LaTeX files of an archive.

    Raises:
        ValueError: for a broken archive.
    """
    try:
        with _members(path, to_end=False) as archive:
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
    except _BROKEN as error:
        raise ValueError(str(error)) from error


def _plain_name(member: tarfile.TarInfo) -> str | None:
    """Return the name of a plain text file; None for links, devices, hostile names, the rest."""
    if not member.isreg() or not member.name.lower().endswith(_TEXT_SUFFIXES):
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


def trees(paths: Sequence[Path]) -> Iterator[Tree]:
    """Yield the collections that paths stand for: folders, archives, files together.

    A folder is one collection, and each archive in it another. Single files are one collection
    below the folder that they share.

    Raises:
        InputError: where there is nothing, or nothing that can be LaTeX.
    """
    single = [path for path in paths if not path.is_dir() and not is_archive(path)]
    for path in single:
        check_regular(path)
        if path.suffix.lower() not in LATEX_SUFFIXES:
            raise InputError(
                f"{path} is no LaTeX file",
                f"give a folder, or a file that ends in one of "
                f"{', '.join((*LATEX_SUFFIXES, *ARCHIVE_SUFFIXES))}",
            )
    for path in paths:
        if path.is_dir():
            yield from _in_folder(path)
        elif is_archive(path):
            check_regular(path)
            yield ArchiveTree(path)
        elif path == single[0]:
            folder = Path(os.path.commonpath([file.parent for file in single]))
            yield FolderTree(folder, single)


def _in_folder(folder: Path) -> Iterator[Tree]:
    files = [entry for entry in walk(folder) if isinstance(entry, Path) and is_utf8_name(entry)]
    sources = [path for path in files if path.suffix.lower() in LATEX_SUFFIXES]
    archives = [path for path in files if is_archive(path)]
    if not sources and not archives:
        raise InputError(
            f"{folder} holds no LaTeX file",
            f"give a place with files that end in one of {', '.join(LATEX_SUFFIXES)}",
        )
    if sources:
        yield FolderTree(folder, sources)
    for path in archives:
        yield ArchiveTree(path, path.relative_to(folder).as_posix())


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
