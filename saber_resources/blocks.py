"""Blocks of long passes: kept in files as they are finished, and not made again.

Whoever runs the blocks returns frames to this process, which alone writes: a killed worker costs
the block that it had in hand, a killed build the blocks that weren't finished, and workers on other
machines need no folder in common. A file begins with a hash of what follows and of its name: one
that was damaged, or isn't the block that its name says, is made again.
"""

from __future__ import annotations

import hashlib
import io
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from saber_resources.atomic import replacing
from saber_resources.block_processes import run_in_processes
from saber_resources.block_ray import run_on_ray
from saber_resources.cores import available_cores
from saber_resources.errors import SetupError
from saber_resources.settings import Settings

Rows = NDArray[np.int64]
Progress = Callable[[int], None]
Kernel = Callable[[Rows, Progress | None], pl.DataFrame]
Prepare = Callable[[int], Kernel]

ROWS_OF_A_BLOCK = 20_000
"""Where the profile doesn't say how many blocks."""
RECORDS_OF_A_BLOCK = 2_000
"""Likewise, where the work on each row is some milliseconds of Python."""
DIGEST = 16
"""Bytes of the hash that a file begins with."""


class Workers(Protocol):
    """Makes blocks, in any order."""

    def __call__(
        self, fingerprint: str, prepare: Prepare, blocks: Mapping[int, Rows], progress: Progress
    ) -> Iterator[tuple[int, pl.DataFrame]]:
        """Make blocks of query rows.

        Args:
            fingerprint: names what `prepare` was made from.
            prepare: builds the indexes and returns a kernel on so many threads.
            blocks: rows of each block, by number.
            progress: called with the number of newly finished rows.

        Yields:
            Number and frame of each block, as it is finished.
        """
        ...


def run_on_threads(
    fingerprint: str, prepare: Prepare, blocks: Mapping[int, Rows], progress: Progress
) -> Iterator[tuple[int, pl.DataFrame]]:
    """Make one block after the other on all cores of this process; see `Workers`."""
    kernel = prepare(available_cores())
    for number, rows in blocks.items():
        yield number, kernel(rows, progress)


WORKERS: Mapping[str, Workers] = {
    "threads": run_on_threads,
    "processes": run_in_processes,
    "ray": run_on_ray,
}


@dataclass(frozen=True)
class BlockFiles:
    """Runs passes in blocks and keeps their files until all is done.

    Attributes:
        folder: of the files.
        workers: make the blocks.
        blocks: how many; None for one for each `ROWS_OF_A_BLOCK` rows.
    """

    folder: Path
    workers: Workers
    blocks: int | None = None

    def place(self, name: str) -> Path:
        """Return a file beside the blocks, for what a pass reads; it is removed with them."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / name

    def run(
        self, fingerprint: str, prepare: Prepare, rows: Rows, progress: Progress | None
    ) -> Iterator[pl.DataFrame]:
        """Split rows into blocks, make those that have no file yet, and yield all in order.

        Args:
            fingerprint: names what all blocks together are made from.
            prepare: builds the indexes and returns a kernel on so many threads.
            rows: query rows.
            progress: called with the number of rows that were finished, now or earlier.
        """
        advance = progress or _ignore
        count = self.blocks or -(-len(rows) // ROWS_OF_A_BLOCK)
        parts = np.array_split(rows, max(1, min(count, len(rows))))
        folder = self.folder / f"{fingerprint}-{len(parts)}"
        files = [folder / f"{number}.block" for number in range(len(parts))]
        folder.mkdir(parents=True, exist_ok=True)
        due = {number: parts[number] for number, file in enumerate(files) if _kept(file) is None}
        advance(len(rows) - sum(map(len, due.values())))
        if due:
            for number, frame in self.workers(fingerprint, prepare, due, advance):
                _keep(files[number], frame)
        for file in files:
            content = _kept(file)
            if content is None:
                raise SetupError(
                    f"{file} was changed or removed during the build",
                    "run it again: what is intact is used",
                )
            yield pl.read_parquet(io.BytesIO(content))


@contextmanager
def block_files(settings: Settings, asset: str) -> Iterator[BlockFiles]:
    """Yield the runner of an asset's passes, as the profile wants it.

    What it kept is removed at the end, but not after an error: the next build goes on from there.
    """
    chosen = settings.profile.candidates
    with _folder(settings, asset) as folder:
        yield BlockFiles(folder, WORKERS[chosen.runner], chosen.blocks)


@contextmanager
def record_blocks(settings: Settings, asset: str, rows: int) -> Iterator[BlockFiles]:
    """Likewise for a pass that runs Python on each row of files on this machine.

    Threads don't help there: from two blocks on, it takes processes.

    Args:
        settings: the workdir and its profile.
        asset: names the folder of the blocks.
        rows: of all blocks together.
    """
    blocks = -(-rows // RECORDS_OF_A_BLOCK)
    with _folder(settings, asset) as folder:
        yield BlockFiles(folder, WORKERS["processes" if blocks > 1 else "threads"], blocks)


@contextmanager
def _folder(settings: Settings, asset: str) -> Iterator[Path]:
    folder = settings.workdir.blocks / asset
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):  # not empty, or gone
        settings.workdir.blocks.rmdir()


def _keep(file: Path, frame: pl.DataFrame) -> None:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    content = buffer.getvalue()
    with replacing(file) as temporary:
        temporary.write_bytes(_digest(file, content) + content)


def _kept(file: Path) -> bytes | None:
    """Return the Parquet bytes of a block, or None where there is no file, or not the right one."""
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        return None
    content = data[DIGEST:]
    return content if data[:DIGEST] == _digest(file, content) else None


def _digest(file: Path, content: bytes) -> bytes:
    name = f"{file.parent.name}/{file.name}".encode()
    return hashlib.blake2b(name + b"\0" + content, digest_size=DIGEST).digest()


def _ignore(rows: int) -> None:
    pass
