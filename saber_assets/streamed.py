"""Tables that nobody holds whole: written in parts as they come, then put together on disk."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl

from saber_assets.content_hash import ContentHash
from saber_assets.table import Table, TableError
from saber_resources.atomic import replacing
from saber_resources.settings import Settings

ROWS = 5_000
"""Rows of a part: with texts of some kilobytes each, tens of megabytes."""


@dataclass(frozen=True)
class Streamed:
    """A table in parts, checked against its contract.

    Attributes:
        frame: the rows, or a scan of the parts in order.
        height: rows.
        head: the first part.
        version: what `content_hash` says of the whole table.
    """

    frame: pl.LazyFrame | pl.DataFrame
    height: int
    head: pl.DataFrame
    version: str


@contextmanager
def part_folder(settings: Settings, asset: str) -> Iterator[Path]:
    """Yield a folder for an asset's parts; it is removed when the asset has been handed over."""
    folder = settings.workdir.blocks / f"{asset}-parts"
    shutil.rmtree(folder, ignore_errors=True)  # of a build that was killed: parts of other inputs
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):  # not empty, or gone
            settings.workdir.blocks.rmdir()


def frames_of(table: Table, rows: Iterable[Mapping[str, Any]]) -> Iterator[pl.DataFrame]:
    """Yield rows as frames of a table's types, `ROWS` at a time."""
    iterator = iter(rows)
    while part := list(islice(iterator, ROWS)):
        yield pl.DataFrame(part, schema=dict(table.schema), orient="row")


def stream(table: Table, frames: Iterable[pl.DataFrame], folder: Path) -> Streamed:
    """Write frames as they come.

    Args:
        table: the contract that each row, and the keys of all together, obey.
        frames: parts in order; none at all gives an empty table.
        folder: where the parts are kept until the table has been handed over.

    Raises:
        TableError: when the contract is broken.
    """
    files: list[Path] = []
    digest, height = ContentHash(table.empty().schema), 0
    head = table.empty()
    for number, frame in enumerate(frames):
        sound = table.conform(frame)
        digest.update(sound)
        height += sound.height
        head = sound.head(100) if number == 0 else head
        files.append(folder / f"{number:06d}.parquet")
        with replacing(files[-1]) as temporary:
            sound.write_parquet(temporary)
    scanned = _scan(files) if files else table.empty().lazy()
    _check_keys(table, scanned)
    return Streamed(scanned, height, head, digest.hexdigest())


def table_parts(table: pl.LazyFrame | pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yield a table piece by piece, in order."""
    for start in range(0, height_of(table), ROWS):
        yield table.lazy().slice(start, ROWS).collect()


def height_of(table: pl.LazyFrame | pl.DataFrame) -> int:
    """Return how many rows a table has, without reading them."""
    return int(table.lazy().select(pl.len()).collect().item())


def _scan(files: Sequence[Path]) -> pl.LazyFrame:
    return pl.concat([pl.scan_parquet(file, hive_partitioning=False, glob=False) for file in files])


def _check_keys(table: Table, scanned: pl.LazyFrame) -> None:
    faults = Table(table.name, "", {}, table.key).faults(scanned.select(table.key).collect())
    if faults:
        raise TableError("; ".join(faults))
