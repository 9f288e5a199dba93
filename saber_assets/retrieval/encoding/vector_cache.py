"""Vectors kept on disk, keyed by encoding contract and content.

One SQLite file holds the vectors of all contracts. A text that was embedded once, under the same
contract and weights, is never embedded again: not in another setting, build or process. What is
acknowledged is on disk whole: a killed process loses the batch in flight, nothing else.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ASKED_AT_ONCE = 500
"""Keys in one query: SQLite bounds the number of its parameters."""
WAIT = 60.0
"""Seconds to wait for another process that writes."""


class VectorCache:
    """The vectors of one contract.

    Args:
        path: the SQLite file; made, with its folder, where it is missing.
        contract: `Contract.key`, or any text that decides the vectors.
        dimension: length of the vectors.
    """

    def __init__(self, path: Path, contract: str, dimension: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._contract = contract
        self._dimension = dimension
        with closing(self._connect()) as connection, connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL) "
                "WITHOUT ROWID"
            )

    def of_queries(self) -> VectorCache:
        """Return the vectors of queries: those of the contract's other side, in the same file."""
        return VectorCache(self._path, f"{self._contract} query", self._dimension)

    def get(self, texts: Sequence[str]) -> dict[int, NDArray[np.float32]]:
        """Return the vectors that are kept, by position in `texts`.

        Raises:
            ValueError: when a kept vector has another length: the file is of another version.
        """
        keys = [self._key(text) for text in texts]
        kept: dict[bytes, bytes] = {}
        with closing(self._connect()) as connection:
            for start in range(0, len(keys), ASKED_AT_ONCE):
                asked = keys[start : start + ASKED_AT_ONCE]
                marks = ",".join("?" * len(asked))
                rows = connection.execute(
                    f"SELECT key, vector FROM vectors WHERE key IN ({marks})",  # noqa: S608
                    asked,
                )
                kept.update(rows)
        found = {
            number: np.frombuffer(kept[key], dtype="<f4").astype(np.float32)
            for number, key in enumerate(keys)
            if key in kept
        }
        for vector in found.values():
            if vector.size != self._dimension:
                raise ValueError(f"{self._path} keeps vectors of length {vector.size}")
        return found

    def put(self, texts: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Keep vectors of shape (texts, dimension); they are on disk when this returns.

        Raises:
            ValueError: when the shapes differ or a vector isn't finite: it would stay for ever.
        """
        if vectors.shape != (len(texts), self._dimension):
            raise ValueError(f"{len(texts)} texts with vectors of shape {vectors.shape}")
        if not np.isfinite(vectors).all():
            raise ValueError("a vector that isn't finite is not kept")
        rows = [
            (self._key(text), vector.astype("<f4").tobytes())
            for text, vector in zip(texts, vectors, strict=True)
        ]
        with closing(self._connect()) as connection, connection:
            connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=WAIT)

    def _key(self, text: str) -> bytes:
        digest = hashlib.blake2b(self._contract.encode(), digest_size=16)
        return hashlib.blake2b(
            digest.digest() + text.encode("utf-8", "surrogatepass"), digest_size=16
        ).digest()
