"""Blocks of long passes: kept in files as they are finished, and not made again.

Whoever runs the blocks returns frames to this process, which alone writes: a killed worker costs
the block that it had in hand, a killed build the blocks that weren't finished, and workers on other
machines need no folder in common.
"""

from __future__ import annotations

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
from saber_resources.settings import Settings
from saber_resources.warehouse import is_table_file

Rows = NDArray[np.int64]
Progress = Callable[[int], None]
Kernel = Callable[[Rows, Progress | None], pl.DataFrame]
Prepare = Callable[[int], Kernel]

ROWS_OF_A_BLOCK = 20_000
"""Where the profile doesn't say how many blocks."""
RECORDS_OF_A_BLOCK = 2_000
"""Likewise, where the work on each row is some milliseconds of Python."""


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
        files = [folder / f"{number}.parquet" for number in range(len(parts))]
        folder.mkdir(parents=True, exist_ok=True)
        due = {
            number: parts[number] for number, file in enumerate(files) if not is_table_file(file)
        }
        advance(len(rows) - sum(map(len, due.values())))
        if due:
            for number, frame in self.workers(fingerprint, prepare, due, advance):
                with replacing(files[number]) as temporary:
                    frame.write_parquet(temporary)
        for file in files:
            yield pl.read_parquet(file, hive_partitioning=False, glob=False)


@contextmanager
def block_files(settings: Settings, asset: str) -> Iterator[BlockFiles]:
    """Yield the runner of an asset's passes, as the profile wants it.

    What it kept is removed at the end, but not after an error: the next build goes on from there.
    """
    chosen = settings.profile.candidates
    with _kept(settings, asset) as folder:
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
    with _kept(settings, asset) as folder:
        yield BlockFiles(folder, WORKERS["processes" if blocks > 1 else "threads"], blocks)


@contextmanager
def _kept(settings: Settings, asset: str) -> Iterator[Path]:
    folder = settings.workdir.blocks / asset
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):  # not empty, or gone
        settings.workdir.blocks.rmdir()


def _ignore(rows: int) -> None:
    pass
