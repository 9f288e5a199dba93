"""Calls by way of a batch service's files instead of the network, with the same response store."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from saber_assets.errors import InputError
from saber_resources.batch_files import Answer, BatchWriter, read_answers
from saber_resources.chat_request import Request, request_body
from saber_resources.errors import SetupError
from saber_resources.llm_gateway import Prices, prices_of
from saber_resources.lock import hold
from saber_resources.response_store import Response, ResponseStore
from saber_resources.settings import Settings
from saber_services.planning.plan import shadow_run

COMMIT_EVERY = 1000
_TABLE = """
CREATE TABLE IF NOT EXISTS asked (
    key BLOB PRIMARY KEY,
    model TEXT NOT NULL,
    prompt TEXT NOT NULL,
    prompt_fingerprint TEXT NOT NULL,
    sample INTEGER NOT NULL,
    item TEXT NOT NULL,
    answered INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID
"""
_NOTE = """
INSERT INTO asked VALUES (?, ?, ?, ?, ?, ?, 0) ON CONFLICT (key) DO UPDATE SET answered = 0
"""


@dataclass(frozen=True)
class Written:
    """The files, and how many requests they hold."""

    files: list[Path]
    requests: int


@dataclass
class Read:
    """What became of the lines of output and error files.

    Attributes:
        answers: taken into the store.
        failures: likewise; they are asked again at the next build or writing.
        repeated: lines whose answer had been read before; they cost nothing again.
        unknown: lines refused, as nothing was written with their id.
    """

    answers: int = 0
    failures: int = 0
    repeated: int = 0
    unknown: int = 0


def write_batch(settings: Settings, folder: Path, prompt: str, **limits: int) -> Written:
    """Write the requests of one prompt that a build would ask now into files.

    What a build asks later may depend on the answers: for the walk down the topics, the rounds of
    the tournament, and replies that can't be used, read the answers and write again.

    Args:
        settings: the workdir and its profile.
        folder: where the files go.
        prompt: name of the prompt.
        limits: as BatchWriter takes them.

    Raises:
        SetupError: when nothing asks this prompt, or no model is configured.
    """
    if not settings.profile.llm.model:
        raise SetupError("no language model is configured", "set llm.model in saber.toml")
    count = 0
    with _asked(settings) as asked, BatchWriter(folder, prompt, **limits) as writer:

        def write(key: bytes, request: Request) -> None:
            nonlocal count
            if getattr(request, "prompt", "") != prompt:
                return
            schema = request.schema if settings.profile.llm.json_schema else None
            model = settings.profile.llm.model
            writer.add(key, request_body(model, request.messages, schema, request.sampling))
            asked.execute(_NOTE, (key, model, *_subject(request)))
            count += 1

        with shadow_run(settings, write) as (shadow, _):
            asset = shadow.asking(prompt)
            if asset is None:
                raise SetupError(
                    f"no asset asks the prompt '{prompt}' with the present settings",
                    f"use one of {', '.join(shadow.prompts())}"
                    if shadow.prompts()
                    else "set annotation.annotator=llm first",
                )
            shadow.run(asset)
    return Written(writer.paths, count)


def _subject(request: Request) -> tuple[str, str, int, str]:
    return (
        getattr(request, "prompt", ""),
        getattr(request, "prompt_fingerprint", ""),
        request.attempt,
        getattr(request, "item", ""),
    )


def read_batch(settings: Settings, files: Sequence[Path]) -> Read:
    """Read output and error files into the store, as if the answers had been asked for online.

    Raises:
        SetupError: when a file is none; what was read before its faulty line is kept.
        InputError: when no line of the files has an id that was written here.
    """
    found = Read()
    prices = prices_of(settings.profile.llm)
    if not settings.workdir.batches.is_file():
        raise SetupError(
            f"no batch was written from {settings.workdir.root}",
            "write one first with `saber llm batch-write`, or name another --workdir",
        )
    with (
        hold(settings.workdir.root),
        _asked(settings) as asked,
        ResponseStore(settings.workdir.responses) as store,
    ):
        taker = _Taker(asked, store, prices, found)
        try:
            for path in files:
                for answer in read_answers(path):
                    taker.take(answer)
        finally:
            taker.flush()
    if found.unknown and not (found.answers or found.failures or found.repeated):
        raise InputError(
            f"none of the {found.unknown} answers was asked for from {settings.workdir.root}",
            "name the --workdir that the batch was written from",
        )
    return found


class _Taker:
    """Takes answers into the store, in batches."""

    def __init__(
        self, asked: sqlite3.Connection, store: ResponseStore, prices: Prices | None, found: Read
    ) -> None:
        self._asked, self._store, self._prices, self._found = asked, store, prices, found
        self._waiting: dict[bytes, Response] = {}

    def take(self, answer: Answer) -> None:
        """Take one; it is written with the next batch."""
        row = self._asked.execute(
            "SELECT model, prompt, prompt_fingerprint, sample, item, answered FROM asked "
            "WHERE key = ?",
            (answer.key,),
        ).fetchone()
        if row is None:
            self._found.unknown += 1
            return
        if row[5] or answer.key in self._waiting:
            self._found.repeated += 1
            return
        model, prompt, fingerprint, sample, item, _ = row
        self._waiting[answer.key] = Response(
            model=model,
            text=answer.text,
            finish_reason=answer.finish_reason,
            tokens_in=answer.tokens_in,
            tokens_out=answer.tokens_out,
            latency=0.0,
            attempts=1,
            error=answer.error,
            prompt=prompt,
            prompt_fingerprint=fingerprint,
            sample=sample,
            item=item,
            logprobs=None if answer.logprobs is None else orjson.dumps(answer.logprobs).decode(),
            cached_tokens=answer.cached_tokens,
            price=None if self._prices is None else self._prices.price(answer.usage),
            endpoint="batch",
        )
        self._found.answers += answer.error is None
        self._found.failures += answer.error is not None
        if len(self._waiting) >= COMMIT_EVERY:
            self.flush()

    def flush(self) -> None:
        """Write what waits, and remember that it was read."""
        self._store.put_many(self._waiting.items())
        self._asked.executemany(
            "UPDATE asked SET answered = 1 WHERE key = ?", [(key,) for key in self._waiting]
        )
        self._asked.execute("COMMIT")
        self._asked.execute("BEGIN")
        self._waiting.clear()


@contextmanager
def _asked(settings: Settings) -> Iterator[Any]:
    """Yield the list of what was written, inside a transaction."""
    path = settings.workdir.batches
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path, isolation_level=None, timeout=60.0)) as connection:
            connection.execute(_TABLE)
            connection.execute("BEGIN")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise SetupError(
            f"the list of batches {path} can't be used ({error})", "move the file away"
        ) from error
