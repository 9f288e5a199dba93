"""What a table holds, as one short hash: Dagster's data version of every table."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import polars as pl

HASHED_ROWS = 20_000


class ContentHash:
    """The hash of a frame that comes in parts; how it was cut doesn't matter.

    Args:
        schema: columns and types.
    """

    def __init__(self, schema: Mapping[str, pl.DataType]) -> None:
        self._digest = hashlib.blake2b(repr(pl.Schema(schema)).encode(), digest_size=12)

    def update(self, frame: pl.DataFrame) -> None:
        """Take in the next rows."""
        for part in frame.iter_slices(HASHED_ROWS):
            self._digest.update(part.write_ndjson().encode())

    def hexdigest(self) -> str:
        """Return the hash of all rows so far."""
        return self._digest.hexdigest()


def content_hash(frame: pl.DataFrame) -> str:
    """Return a hash of a frame's columns, types and rows, in their order.

    It reads the values, not their layout in memory, which differs between equal frames.
    """
    digest = ContentHash(frame.schema)
    digest.update(frame)
    return digest.hexdigest()
