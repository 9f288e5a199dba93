"""Scores of a scoring that is under way, kept in a file until it has ended.

A model may need hours on a slow machine. What it has finished when it is broken off isn't asked for
again: the same version on the same pools goes on where it was. The file has a line of JSON with its
key, then one a finished query; numbers are written so that they are read back to the last bit. A
line that was cut short by the end of its process is passed over.
"""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Self, TextIO

import numpy as np
from numpy.typing import NDArray


class PartialScores:
    """Keeps the scores of finished queries.

    Args:
        path: of the file; its folder is made.
        key: of all that decides the scores; a file with another key is begun anew.
    """

    def __init__(self, path: Path, key: str) -> None:
        self._path, self._key = path, key
        self._found = _read(path, key)
        self._file: TextIO | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        """Nothing is written before something is finished."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file, which stays for another try."""
        self.close()

    def get(self, setting: str, query_id: str) -> NDArray[np.float64] | None:
        """Return the scores of a query in a setting, shape (pool,), or None where it isn't done."""
        found = self._found.get((setting, query_id))
        return None if found is None else np.array(found, dtype=np.float64)

    def put(self, setting: str, query_id: str, scores: NDArray[np.float64]) -> None:
        """Keep the scores of a query in a setting; several threads may."""
        with self._lock:
            if self._file is None:
                self._file = self._begin()
            self._found[setting, query_id] = scores.tolist()
            self._write(self._file, [setting, query_id, self._found[setting, query_id]])

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def remove(self) -> None:
        """Remove the file: its scores are in their table."""
        self.close()
        self._path.unlink(missing_ok=True)

    def _begin(self) -> TextIO:
        """Return a file that holds what was read, without a line that was cut short."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        new = self._path.with_name(self._path.name + ".new")
        with new.open("w", encoding="utf-8") as file:
            self._write(file, self._key)
            for (setting, query_id), scores in self._found.items():
                self._write(file, [setting, query_id, scores])
        new.replace(self._path)
        return self._path.open("a", encoding="utf-8")

    @staticmethod
    def _write(file: TextIO, value: object) -> None:
        file.write(json.dumps(value) + "\n")
        file.flush()


def _read(path: Path, key: str) -> dict[tuple[str, str], list[float]]:
    """Return the scores of a file by setting and query; none where it is of another key."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    except (FileNotFoundError, UnicodeDecodeError):
        return {}
    found: dict[tuple[str, str], list[float]] = {}
    for number, line in enumerate(lines):
        if not line.endswith("\n"):
            break
        try:
            value = json.loads(line)
            if number == 0:
                if value != key:
                    return {}
                continue
            setting, query_id, scores = value
            found[setting, query_id] = [float(score) for score in scores]
        except (ValueError, TypeError):
            break
    return found
