"""The store of language-model responses: what was answered once is never paid for again.

SQLite in WAL mode, so that several processes may read and write. A response is found by what was
asked (model, messages, schema, sampling, attempt), never by which endpoint answered.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from saber_resources.errors import SetupError

FLUSH_ROWS = 1
"""Answers written at once: each as it arrives, so that a kill loses only calls in flight."""
FLUSH_SECONDS = 1.0
_BUSY_SECONDS = 60.0
_KEYS_A_QUERY = 500

_SCHEMA = """
CREATE TABLE IF NOT EXISTS responses (
    key BLOB PRIMARY KEY,
    model TEXT NOT NULL,
    response TEXT,
    finish_reason TEXT,
    tokens_in INTEGER NOT NULL,
    tokens_out INTEGER NOT NULL,
    latency REAL NOT NULL,
    attempts INTEGER NOT NULL,
    error TEXT,
    created TEXT NOT NULL
) WITHOUT ROWID
"""
# The first answer stays, whoever comes second; a failure makes way, but what it cost is kept.
_PUT = """
INSERT INTO responses VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET
    response = excluded.response,
    finish_reason = excluded.finish_reason,
    tokens_in = tokens_in + excluded.tokens_in,
    tokens_out = tokens_out + excluded.tokens_out,
    latency = excluded.latency,
    attempts = attempts + excluded.attempts,
    error = excluded.error,
    created = excluded.created
WHERE responses.error IS NOT NULL
"""


@dataclass(frozen=True)
class Response:
    """What one request came to.

    Attributes:
        model: who was asked.
        text: the reply, or None for a failure.
        finish_reason: as the endpoint gave it.
        tokens_in: prompt tokens, over all attempts, also of those that gave nothing.
        tokens_out: completion tokens, likewise.
        latency: seconds of the last attempt.
        attempts: calls made.
        error: why there is no reply, or None.
    """

    model: str
    text: str | None
    finish_reason: str | None
    tokens_in: int
    tokens_out: int
    latency: float
    attempts: int
    error: str | None = None


@dataclass(frozen=True)
class Totals:
    """Sums over the store."""

    responses: int
    failures: int
    calls: int
    tokens_in: int
    tokens_out: int


def request_key(
    model: str,
    messages: Sequence[Mapping[str, str]],
    schema: Mapping[str, Any] | None,
    sampling: Mapping[str, Any],
    attempt: int,
) -> bytes:
    """Return the 32 bytes under which the answer to a request is kept."""
    content = json.dumps(
        [model, [dict(message) for message in messages], schema, dict(sampling), attempt],
        sort_keys=True,
        separators=(",", ":"),
    )
    return hashlib.blake2b(content.encode(), digest_size=32).digest()


class ResponseStore:
    """Responses in one SQLite file; safe to use from several threads and processes.

    What is put is written when `flush_rows` rows wait (by default at once), when the oldest has
    waited for a second, on `flush` and on `close`. A crash loses at most what waits.

    Args:
        path: made with its folder where absent.

    Raises:
        SetupError: when the file can't be opened or is no store.
    """

    def __init__(
        self, path: Path, flush_rows: int = FLUSH_ROWS, flush_seconds: float = FLUSH_SECONDS
    ) -> None:
        self.path = path
        self._flush_rows, self._flush_seconds = flush_rows, flush_seconds
        self._lock = threading.RLock()
        self._waiting: dict[bytes, Response] = {}
        self._waiting_since = 0.0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(
                path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._connection.execute("PRAGMA journal_mode=WAL")
            # in WAL mode a killed process loses nothing that was committed; no sync a commit
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._connection.execute(_SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise SetupError(
                f"the response store {path} can't be opened ({error})",
                "check its folder's permissions and free space, or move the file away",
            ) from error

    def __enter__(self) -> ResponseStore:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def get(self, keys: Iterable[bytes]) -> dict[bytes, Response]:
        """Return the answers that are there; failures are none, so that they are asked again."""
        wanted = list(dict.fromkeys(keys))
        found: dict[bytes, Response] = {}
        with self._lock:
            for start in range(0, len(wanted), _KEYS_A_QUERY):
                part = wanted[start : start + _KEYS_A_QUERY]
                marks = ",".join("?" * len(part))
                rows = self._connection.execute(
                    "SELECT key, model, response, finish_reason, tokens_in, tokens_out, latency, "  # noqa: S608
                    f"attempts FROM responses WHERE error IS NULL AND key IN ({marks})",
                    part,
                )
                found.update((row[0], Response(*row[1:])) for row in rows)
            for key in wanted:
                waiting = self._waiting.get(key)
                if key not in found and waiting is not None and waiting.error is None:
                    found[key] = waiting
        return found

    def put(self, key: bytes, response: Response) -> None:
        """Keep a response; written with the next batch."""
        with self._lock:
            if key in self._waiting:
                self.flush()
            if not self._waiting:
                self._waiting_since = time.monotonic()
            self._waiting[key] = response
            if len(self._waiting) >= self._flush_rows:
                self.flush()
            else:
                self.flush_if_due()

    def flush_if_due(self) -> None:
        """Write what waits when the oldest of it has waited long enough."""
        with self._lock:
            waited = time.monotonic() - self._waiting_since
            if self._waiting and waited >= self._flush_seconds:
                self.flush()

    async def flush_regularly(self) -> None:
        """Write what is due, for ever; for a task that is cancelled at the end."""
        while True:
            await asyncio.sleep(self._flush_seconds / 2)
            self.flush_if_due()

    def flush(self) -> None:
        """Write what waits, in one transaction."""
        with self._lock:
            if not self._waiting:
                return
            created = datetime.now(UTC).isoformat(timespec="seconds")
            rows = [
                (key, r.model, r.text, r.finish_reason, r.tokens_in, r.tokens_out, r.latency,
                 r.attempts, r.error, created)
                for key, r in self._waiting.items()
            ]  # fmt: skip
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._connection.executemany(_PUT, rows)
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
            self._waiting.clear()

    def totals(self) -> Totals:
        """Return counts and costs of everything that was written."""
        with self._lock:
            self.flush()
            row = self._connection.execute(
                "SELECT count(*) FILTER (WHERE error IS NULL), "
                "count(*) FILTER (WHERE error IS NOT NULL), coalesce(sum(attempts), 0), "
                "coalesce(sum(tokens_in), 0), coalesce(sum(tokens_out), 0) FROM responses"
            ).fetchone()
        return Totals(*row)

    def close(self) -> None:
        """Write what waits and close the file."""
        with self._lock:
            self.flush()
            self._connection.close()
