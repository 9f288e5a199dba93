"""Blocks on processes of this machine, each with its own copy of the indexes.

Workers end when the pipe to the process that started them closes: at the end, on an error, and
also where that process is killed. When one of them is killed, the unfinished blocks are made by new
ones.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from multiprocessing.connection import Connection

import numpy as np
import polars as pl
from numpy.typing import NDArray

from saber_resources.cores import available_cores
from saber_resources.errors import SetupError

Rows = NDArray[np.int64]
Kernel = Callable[[Rows, Callable[[int], None] | None], pl.DataFrame]

TRIES = 3
"""Times in succession that workers may be killed before a block is finished."""
_PREPARED: list[Kernel] = []
"""The kernel of this worker."""


def run_in_processes(
    fingerprint: str,
    prepare: Callable[[int], Kernel],
    blocks: Mapping[int, Rows],
    progress: Callable[[int], None],
) -> Iterator[tuple[int, pl.DataFrame]]:
    """Make blocks on as many processes as there are cores; see `saber_resources.blocks.Workers`.

    Raises:
        SetupError: when workers are killed `TRIES` times and finish nothing.
    """
    due, lost = dict(blocks), 0
    while due:
        try:
            for number, frame in _round(prepare, due):
                progress(len(due.pop(number)))
                lost = 0
                yield number, frame
        except BrokenProcessPool as error:
            lost += 1
            if lost == TRIES:
                raise SetupError(
                    f"worker processes ended {lost} times before they finished a block",
                    "they may lack memory: set candidates.runner to threads, which share it, or "
                    "a larger candidates.blocks",
                ) from error


def _round(
    prepare: Callable[[int], Kernel], blocks: Mapping[int, Rows]
) -> Iterator[tuple[int, pl.DataFrame]]:
    """Make blocks until all are done or a worker is killed."""
    context = get_context("spawn")
    workers = min(available_cores(), len(blocks))
    threads = max(1, available_cores() // workers)
    reader, writer = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(
        workers, mp_context=context, initializer=_begin, initargs=(reader, prepare, threads)
    )
    try:
        numbers = {pool.submit(_make, rows): number for number, rows in blocks.items()}
        for future in as_completed(numbers):
            yield numbers[future], future.result()
    finally:
        writer.close()
        pool.shutdown(cancel_futures=True)
        reader.close()


def _begin(reader: Connection, prepare: Callable[[int], Kernel], threads: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends workers without a word
    threading.Thread(target=_end_with, args=(reader,), daemon=True).start()
    _PREPARED[:] = [prepare(threads)]


def _end_with(reader: Connection) -> None:
    """End this process when the other end of the pipe is closed."""
    reader.poll(None)
    os._exit(0)


def _make(rows: Rows) -> pl.DataFrame:
    return _PREPARED[0](rows, None)
