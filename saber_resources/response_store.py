"""The store of language-model responses: what was answered once is never paid for again.

SQLite in WAL mode, so that several processes may read and write. A response is found by what was
asked (model, messages, schema, sampling, sample index), never by which endpoint answered. The
messages themselves are not kept: three problems a call and a million calls are tens of gigabytes;
`prompt` and `item` say what was asked.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Awaitable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from operator import attrgetter
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from saber_resources.group_commit import GroupCommit
from saber_resources.response_record import (
    EVERYTHING,
    PromptStats,
    Response,
    Row,
    Select,
    Totals,
    request_key,
)
from saber_resources.response_schema import COLUMNS, connect, open_store

__all__ = [
    "EVERYTHING",
    "PromptStats",
    "Response",
    "ResponseStore",
    "Row",
    "Select",
    "Totals",
    "request_key",
]

T = TypeVar("T")

BATCH = 2000
_KEYS_A_QUERY = 500
_FIELDS = ", ".join(COLUMNS)
_VALUES = attrgetter(*("text" if name == "response" else name for name in COLUMNS))
_INSERT = (
    f"INSERT INTO responses (key, {_FIELDS}, imported) "  # noqa: S608
    f"VALUES ({', '.join('?' * (len(COLUMNS) + 2))}) ON CONFLICT (key) DO UPDATE SET "
)
_REPLY = ["response", "finish_reason", "error", "parsed", "fault", "logprobs", "created"]
_REPLY_PARTS = ", ".join(f"{name} = excluded.{name}" for name in _REPLY)
_COSTS = """
    tokens_in = tokens_in + excluded.tokens_in,
    tokens_out = tokens_out + excluded.tokens_out,
    attempts = attempts + excluded.attempts,
    price = CASE WHEN price IS NULL AND excluded.price IS NULL THEN NULL
                 ELSE coalesce(price, 0) + coalesce(excluded.price, 0) END,
    cached_tokens = CASE WHEN cached_tokens IS NULL AND excluded.cached_tokens IS NULL THEN NULL
                 ELSE coalesce(cached_tokens, 0) + coalesce(excluded.cached_tokens, 0) END
"""
# The first answer stays, whoever comes second, and a failure makes way; what both cost is kept.
_PUT_OVER_FAILURE = (
    f"{_INSERT} {_REPLY_PARTS}, latency = excluded.latency, endpoint = excluded.endpoint, {_COSTS}"
)
_PUT_BESIDE_ANSWER = f"{_INSERT} {_COSTS}"
_IMPORT = (
    f"{_INSERT} {_REPLY_PARTS}, endpoint = excluded.endpoint "
    "WHERE responses.error IS NOT NULL AND excluded.error IS NULL"
)
_COUNT = """
INSERT INTO counters (model, prompt, prompt_fingerprint, hits, misses) VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET hits = hits + excluded.hits, misses = misses + excluded.misses
"""
_SPEND = """
INSERT INTO spending VALUES (?, ?, ?)
ON CONFLICT DO UPDATE SET price = price + excluded.price, calls = calls + excluded.calls
"""
_DROPPED = """
INSERT INTO counters (model, prompt, prompt_fingerprint, dropped_calls, dropped_tokens_in,
    dropped_tokens_out, dropped_price)
SELECT model, prompt, prompt_fingerprint, sum(attempts), sum(tokens_in), sum(tokens_out),
    sum(price) FROM responses WHERE imported = 0 AND {condition} GROUP BY 1, 2, 3
ON CONFLICT DO UPDATE SET
    dropped_calls = dropped_calls + excluded.dropped_calls,
    dropped_tokens_in = dropped_tokens_in + excluded.dropped_tokens_in,
    dropped_tokens_out = dropped_tokens_out + excluded.dropped_tokens_out,
    dropped_price = CASE WHEN dropped_price IS NULL AND excluded.dropped_price IS NULL THEN NULL
        ELSE coalesce(dropped_price, 0) + coalesce(excluded.dropped_price, 0) END
"""
_STATS = """
WITH present AS (
    SELECT model, prompt, prompt_fingerprint,
        count(*) FILTER (WHERE error IS NULL AND fault IS NULL) AS responses,
        count(*) FILTER (WHERE error IS NULL AND fault IS NOT NULL) AS unusable,
        count(*) FILTER (WHERE error IS NOT NULL) AS failures,
        sum(imported) AS imported,
        sum(attempts) FILTER (WHERE NOT imported) AS calls,
        sum(tokens_in) FILTER (WHERE NOT imported) AS tokens_in,
        sum(tokens_out) FILTER (WHERE NOT imported) AS tokens_out,
        sum(cached_tokens) FILTER (WHERE NOT imported) AS cached_tokens,
        sum(latency) FILTER (WHERE NOT imported) AS latency,
        sum(price) FILTER (WHERE NOT imported) AS price
    FROM responses WHERE {condition} GROUP BY 1, 2, 3
), counted AS (
    SELECT * FROM counters WHERE {plain}
)
SELECT model, prompt, prompt_fingerprint, coalesce(responses, 0), coalesce(unusable, 0),
    coalesce(failures, 0), coalesce(imported, 0), coalesce(calls, 0) + coalesce(dropped_calls, 0),
    coalesce(tokens_in, 0) + coalesce(dropped_tokens_in, 0),
    coalesce(tokens_out, 0) + coalesce(dropped_tokens_out, 0), coalesce(cached_tokens, 0),
    coalesce(latency, 0),
    CASE WHEN price IS NULL AND dropped_price IS NULL THEN NULL
         ELSE coalesce(price, 0) + coalesce(dropped_price, 0) END,
    coalesce(hits, 0), coalesce(misses, 0)
FROM present FULL JOIN counted USING (model, prompt, prompt_fingerprint) ORDER BY 1, 2, 3
"""


class ResponseStore:
    """Responses in one SQLite file; safe to use from several threads and processes.

    Whatever `put`, `put_many` or an awaited `put_soon` has returned for is on the disk.

    Args:
        path: made with its folder where absent; a file of an older version is brought up to date.

    Raises:
        SetupError: when the file can't be opened or is no store.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._reading, self._writing = threading.RLock(), threading.RLock()
        self._reader = open_store(path)
        self._writer = connect(path)
        self._soon: GroupCommit[tuple[bytes, Response, str | None], Response] = GroupCommit(
            self._write
        )

    def __enter__(self) -> ResponseStore:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Write what waits and close the file."""
        self._soon.close()
        with self._reading, self._writing:
            self._reader.close()
            self._writer.close()

    # --- looking up -----------------------------------------------------------------------------

    def get(self, keys: Iterable[bytes]) -> dict[bytes, Response]:
        """Return the answers that are there; failures are none, so that they are asked again."""
        found: dict[bytes, Response] = {}
        with self._reading:
            for part in _parts(dict.fromkeys(keys), _KEYS_A_QUERY):
                found.update(self._find(self._reader, f"key, {_FIELDS}", part))
        return found

    def known(self, keys: Iterable[bytes]) -> set[bytes]:
        """Return which of the keys have an answer; cheaper than `get`."""
        found: set[bytes] = set()
        with self._reading:
            for part in _parts(dict.fromkeys(keys), _KEYS_A_QUERY):
                marks = ",".join("?" * len(part))
                query = f"SELECT key FROM responses WHERE error IS NULL AND key IN ({marks})"  # noqa: S608
                found.update(row[0] for row in self._reader.execute(query, part))
        return found

    def _find(
        self, connection: sqlite3.Connection, fields: str, keys: Sequence[bytes]
    ) -> Iterator[Row]:
        marks = ",".join("?" * len(keys))
        query = f"SELECT {fields} FROM responses WHERE error IS NULL AND key IN ({marks})"  # noqa: S608
        return map(_row, connection.execute(query, keys))

    # --- writing --------------------------------------------------------------------------------

    def put(self, key: bytes, response: Response, run: str | None = None) -> Response:
        """Write a response and return the one that stands: the first answer stays.

        Args:
            key: from `request_key`.
            response: an answer, or a failure, which makes way for any later response.
            run: whose spending the price is added to, or None.
        """
        return self._write([(key, response, run)])[0]

    def put_many(self, rows: Iterable[Row]) -> None:
        """Write responses in transactions of some thousands."""
        for part in _parts(rows, BATCH):
            self._write([(key, response, None) for key, response in part])

    def put_soon(
        self, key: bytes, response: Response, run: str | None = None
    ) -> Awaitable[Response]:
        """Like `put`, for coroutines: written with others' in one transaction, then done."""
        return self._soon.submit((key, response, run))

    def _write(self, items: Sequence[tuple[bytes, Response, str | None]]) -> list[Response]:
        now = _now()
        standing: dict[bytes, Response] = {}
        outcomes: list[Response] = []
        spent: dict[str, tuple[float, int]] = {}
        with self._transaction() as connection:
            for part in _parts(dict.fromkeys(key for key, _, _ in items), _KEYS_A_QUERY):
                standing.update(self._find(connection, f"key, {_FIELDS}", part))
            for key, given, run in items:
                response = given if given.created else replace(given, created=now)
                stands = standing.get(key)
                statement = _PUT_OVER_FAILURE if stands is None else _PUT_BESIDE_ANSWER
                connection.execute(statement, (key, *_VALUES(response), 0))
                if stands is None and response.error is None:
                    standing[key] = response
                outcomes.append(standing.get(key, response))
                if run is not None:
                    price, calls = spent.get(run, (0.0, 0))
                    spent[run] = (price + (response.price or 0.0), calls + response.attempts)
            connection.executemany(_SPEND, [(run, *sums) for run, sums in spent.items()])
        return outcomes

    def note(self, outcomes: Iterable[tuple[bytes, str | None, str | None]]) -> None:
        """Keep what was read out of answers.

        Args:
            outcomes: key of an answer; the value as JSON, or None; why its content can't be used,
                or None.
        """
        for part in _parts(outcomes, BATCH):
            with self._transaction() as connection:
                connection.executemany(
                    "UPDATE responses SET parsed = ?, fault = ? WHERE key = ?",
                    [(parsed, fault, key) for key, parsed, fault in part],
                )

    def insert_missing(self, rows: Iterable[Row]) -> int:
        """Take over responses of others; answers that are there stay. Return how many were taken.

        What these cost others is kept in their rows, and not counted as spent here.
        """
        taken = 0
        for part in _parts(rows, BATCH):
            now = _now()
            with self._transaction() as connection:
                before = connection.total_changes
                connection.executemany(
                    _IMPORT, [(key, *_VALUES(replace(r, created=r.created or now)), 1)
                              for key, r in part]
                )  # fmt: skip
                taken += connection.total_changes - before
        return taken

    def delete_failures(self, select: Select = EVERYTHING, unusable: bool = False) -> int:
        """Remove failed requests, and return how many; what they cost stays in the sums.

        Args:
            select: which.
            unusable: whether answers whose content can't be used are removed too. Failures are
                asked again by themselves; these only after they were removed.
        """
        condition, values = _failed(select, errors=True, unusable=unusable)
        with self._transaction() as connection:
            connection.execute(_DROPPED.format(condition=condition), values)
            return connection.execute(
                f"DELETE FROM responses WHERE {condition}",  # noqa: S608
                values,
            ).rowcount

    def count_lookups(self, counts: Mapping[tuple[str, str, str], tuple[int, int]]) -> None:
        """Add to the look-ups of (model, prompt, fingerprint): how many hit, how many missed."""
        with self._transaction() as connection:
            connection.executemany(_COUNT, [(*group, *both) for group, both in counts.items()])

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._writing:
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
            except BaseException:
                self._writer.execute("ROLLBACK")
                raise
            self._writer.execute("COMMIT")

    # --- reading all ----------------------------------------------------------------------------

    def rows(self, select: Select = EVERYTHING, batch: int = BATCH) -> Iterator[list[Row]]:
        """Yield all responses, failures too, in batches, oldest first.

        Args:
            select: which.
            batch: rows at a time.
        """
        condition, values = select.where()
        return self._batches(condition, values, batch)

    def failures(
        self, select: Select = EVERYTHING, unusable: bool = True, batch: int = BATCH
    ) -> Iterator[Row]:
        """Yield requests without an answer, oldest first.

        Args:
            select: which.
            unusable: whether answers whose content can't be used (`fault`) come too.
            batch: rows read at a time.
        """
        condition, values = _failed(select, errors=True, unusable=unusable)
        for part in self._batches(condition, values, batch):
            yield from part

    def _batches(self, condition: str, values: Sequence[str], batch: int) -> Iterator[list[Row]]:
        """Read by row number, so that no long-lived cursor holds up the write-ahead log."""
        query = (
            f"SELECT id, key, {_FIELDS} FROM responses WHERE id > ? AND {condition} "  # noqa: S608
            "ORDER BY id LIMIT ?"
        )
        last = 0
        while True:
            with self._reading:
                found = self._reader.execute(query, (last, *values, batch)).fetchall()
            if not found:
                return
            last = found[-1][0]
            yield [_row(row[1:]) for row in found]

    def stats(self, select: Select = EVERYTHING) -> list[PromptStats]:
        """Return sums per model, prompt and prompt version.

        Args:
            select: which; look-ups and what removed failures cost have neither item nor date, and
                are counted whatever these say.
        """
        condition, values = select.where()
        plain, more = replace(select, item=None, since=None).where()
        query = _STATS.format(condition=condition, plain=plain)
        with self._reading:
            found = self._reader.execute(query, [*values, *more]).fetchall()
        return [PromptStats(*row) for row in found]

    def totals(self) -> Totals:
        """Return counts and costs of everything that was written."""
        rows = self.stats()
        return Totals(
            sum(row.responses + row.unusable for row in rows),
            sum(row.failures for row in rows),
            sum(row.calls for row in rows),
            sum(row.tokens_in for row in rows),
            sum(row.tokens_out for row in rows),
        )

    def spent(self, run: str) -> float:
        """Return what a run has spent so far, in all its processes."""
        with self._reading:
            row = self._reader.execute(
                "SELECT price FROM spending WHERE run = ?", (run,)
            ).fetchone()
        return float(row[0]) if row else 0.0


def _failed(select: Select, errors: bool, unusable: bool) -> tuple[str, list[str]]:
    condition, values = select.where()
    kinds = [kind for kind, on in (("error", errors), ("fault", unusable)) if on]
    return f"({' OR '.join(f'{kind} IS NOT NULL' for kind in kinds)}) AND {condition}", values


def _row(values: Sequence[Any]) -> Row:
    return values[0], Response(*values[1:])


def _parts(items: Iterable[T], size: int) -> Iterator[list[T]]:
    iterator = iter(items)
    while part := list(islice(iterator, size)):
        yield part


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
