"""Passes over query rows, in blocks that a runner hands to threads, processes or machines.

A pass says what its blocks are made from (its fields) and how (its kernel); a runner decides where
they are made, keeps what is finished, and makes again what a killed worker left. Frames of blocks
are put together by row numbers or integer sums, so neither the runner nor the number of blocks can
change a result. Which pass comes next depends on what the one before found (quantiles on
histograms, thresholds on capacities), so the passes follow one another and each is split.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import ClassVar, Protocol

import numpy as np
import polars as pl

from saber_assets.candidates.features import Features
from saber_assets.candidates.pairs import Progress, RowArray, available_cores, by_topic_set

Kernel = Callable[[RowArray, Progress | None], pl.DataFrame]
"""Makes the frame of a block of query rows; reports rows as they are finished."""
Prepare = Callable[[int], Kernel]
"""Builds the indexes of a pass and returns a kernel on so many threads; it can be pickled."""


class RowPass(Protocol):
    """One pass: a frozen dataclass whose fields decide every frame, together with `VERSION`."""

    VERSION: ClassVar[int]
    """Raised by hand when kernels make something else of the same fields."""

    @property
    def features(self) -> Features:
        """The packed corpus."""
        ...

    def prepare(self, threads: int) -> Kernel:
        """Build the indexes; see `Prepare`."""
        ...


class BlockRunner(Protocol):
    """Where blocks are made."""

    def run(
        self, fingerprint: str, prepare: Prepare, rows: RowArray, progress: Progress | None
    ) -> Iterator[pl.DataFrame]:
        """Split the rows into blocks of consecutive ones and make each.

        Args:
            fingerprint: names what all blocks together are made from.
            prepare: of the pass.
            rows: query rows.
            progress: called with the number of rows that were finished, earlier ones included.

        Yields:
            The frame of each block.
        """
        ...


def run_pass(
    work: RowPass,
    rows: RowArray,
    runner: BlockRunner | None,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Iterator[pl.DataFrame]:
    """Run a pass over query rows, equal topic sets one after the other.

    Args:
        work: the pass.
        rows: query rows; may be none, then there is one empty frame.
        runner: makes the blocks; None for a single one in this process, of which nothing is kept.
        workers: threads where there is no runner; None for all cores of this process.
        progress: called with the number of newly finished rows.

    Yields:
        Frames of blocks that together hold every row once.
    """
    grouped = by_topic_set(work.features, rows)
    if runner is None:
        yield work.prepare(workers or available_cores())(grouped, progress)
    else:
        yield from runner.run(fingerprint(work, grouped), work.prepare, grouped, progress)


def fingerprint(work: RowPass, rows: RowArray) -> str:
    """Return a name for the content of a pass and its rows, equal in every process."""
    digest = hashlib.blake2b(digest_size=12)
    _feed(digest, (type(work).__name__, work.VERSION, work, rows))
    return digest.hexdigest()


def _feed(digest: hashlib.blake2b, value: object) -> None:
    """Add a value: arrays by type, shape and bytes, dataclasses and tuples by their parts."""
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).data)
    elif isinstance(value, tuple):
        digest.update(f"{len(value)}(".encode())
        for part in value:
            _feed(digest, part)
    elif is_dataclass(value):
        _feed(digest, tuple(getattr(value, field.name) for field in fields(value)))
    else:
        digest.update(f"{value!r}\0".encode())
