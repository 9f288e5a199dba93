"""The tables of the response store, and the way from older versions of them to this one."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from saber_resources.errors import SetupError

VERSION = 2
BUSY_SECONDS = 60.0

COLUMNS = (
    *("model", "response", "finish_reason", "tokens_in", "tokens_out", "latency", "attempts"),
    *("error", "prompt", "prompt_fingerprint", "sample", "item", "parsed", "fault", "logprobs"),
    *("cached_tokens", "price", "endpoint", "created"),
)
"""In the order of the fields of `Response`; its `text` is the column `response`."""

# A rowid table with an index on the key: rows of some kilobytes are appended, and only the small
# index is written in random places.
_TABLES = """
CREATE TABLE IF NOT EXISTS responses (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,
    model TEXT NOT NULL,
    prompt TEXT NOT NULL,
    prompt_fingerprint TEXT NOT NULL,
    sample INTEGER NOT NULL,
    item TEXT NOT NULL,
    response TEXT,
    parsed TEXT,
    fault TEXT,
    logprobs TEXT,
    finish_reason TEXT,
    tokens_in INTEGER NOT NULL,
    tokens_out INTEGER NOT NULL,
    cached_tokens INTEGER,
    latency REAL NOT NULL,
    price REAL,
    attempts INTEGER NOT NULL,
    error TEXT,
    endpoint TEXT NOT NULL,
    created TEXT NOT NULL,
    imported INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS responses_failed ON responses (id)
    WHERE error IS NOT NULL OR fault IS NOT NULL;
CREATE TABLE IF NOT EXISTS counters (
    model TEXT NOT NULL,
    prompt TEXT NOT NULL,
    prompt_fingerprint TEXT NOT NULL,
    hits INTEGER NOT NULL DEFAULT 0,
    misses INTEGER NOT NULL DEFAULT 0,
    dropped_calls INTEGER NOT NULL DEFAULT 0,
    dropped_tokens_in INTEGER NOT NULL DEFAULT 0,
    dropped_tokens_out INTEGER NOT NULL DEFAULT 0,
    dropped_price REAL,
    PRIMARY KEY (model, prompt, prompt_fingerprint)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS spending (
    run TEXT PRIMARY KEY,
    price REAL NOT NULL,
    calls INTEGER NOT NULL
) WITHOUT ROWID;
"""
_FROM_1 = """
INSERT INTO responses (key, model, prompt, prompt_fingerprint, sample, item, response,
    finish_reason, tokens_in, tokens_out, latency, attempts, error, endpoint, created)
SELECT key, model, '', '', 0, '', response, finish_reason, tokens_in, tokens_out, latency,
    attempts, error, '', created FROM responses_1
"""


def connect(path: Path) -> sqlite3.Connection:
    """Return a connection to a store in autocommit mode; it waits where another one writes."""
    connection = sqlite3.connect(
        path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    # with the write-ahead log, FULL keeps whatever was committed, also when the power fails
    _use_log(connection)
    connection.execute("PRAGMA synchronous=FULL")
    return connection


def _use_log(connection: sqlite3.Connection) -> None:
    """Switch to the write-ahead log; here SQLite itself doesn't wait for another process."""
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.05)


def open_store(path: Path) -> sqlite3.Connection:
    """Return a connection to a store with tables of the present version.

    Args:
        path: made with its folder where absent. A file of version 1 is brought up to date.

    Raises:
        SetupError: when the file can't be opened, is no store, or is of a later version.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = connect(path)
        if _version(connection) != VERSION:
            _upgrade(connection, path)
    except (OSError, sqlite3.Error) as error:
        raise SetupError(
            f"the response store {path} can't be opened ({error})",
            "check its folder's permissions and free space, or move the file away",
        ) from error
    return connection


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _upgrade(connection: sqlite3.Connection, path: Path) -> None:
    """Make the tables, or bring older ones up to date, in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _version(connection)
        if version > VERSION:
            raise SetupError(
                f"the response store {path} has version {version}, and this program knows "
                f"version {VERSION} at most",
                "use a newer version of the program",
            )
        old = version == 0 and _has_table(connection, "responses")
        if old:
            connection.execute("ALTER TABLE responses RENAME TO responses_1")
        for statement in filter(str.strip, _TABLES.split(";")):
            connection.execute(statement)
        if old:
            connection.execute(_FROM_1)
            connection.execute("DROP TABLE responses_1")
        connection.execute(f"PRAGMA user_version = {VERSION}")
    except BaseException:
        connection.execute("ROLLBACK")
        connection.close()
        raise
    connection.execute("COMMIT")


def _has_table(connection: sqlite3.Connection, name: str) -> bool:
    found = connection.execute(
        "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,)
    )
    return found.fetchone() is not None
