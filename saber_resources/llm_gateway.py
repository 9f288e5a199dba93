"""The one way to language models: OpenAI-compatible chat over one or several endpoints.

It looks into the response store first, asks only for what is missing, and writes answers as they
arrive, so that a run that was stopped goes on where it was.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any

import orjson

from saber_resources.asking import Asking, Batch, Question, Settings
from saber_resources.chat_request import Request
from saber_resources.chat_transport import Kind, Limits
from saber_resources.errors import SetupError
from saber_resources.profiles import Llm
from saber_resources.response_store import Response, ResponseStore, request_key
from saber_resources.spending import CostLimitError, Prices

__all__ = ["CostLimitError", "Gateway", "Prices", "Reply", "Request", "open_gateway", "prices_of"]

NO_ENDPOINT = 'set llm.endpoints in saber.toml, such as ["http://127.0.0.1:8000/v1"]'
NO_MODEL = "set llm.model in saber.toml or with --set llm.model=NAME, and llm.endpoints likewise"
LOOKUP = 256
"""Requests looked up at a time."""
LEAST_WINDOW = 1024
"""Requests taken in before answers are handed out: bounds memory."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, or why there is none: exactly one of `text` and `error` is not None.

    Attributes:
        text: what the model said.
        error: why the calls gave nothing, in one sentence.
        finish_reason: as the endpoint gave it.
        tokens_in: prompt tokens over all calls for this request.
        tokens_out: completion tokens likewise.
        stored: whether the answer came out of the store.
        key: what the store finds it by.
        logprobs: the last tokens with `token`, `logprob` and `top`, where they were asked for.
        price: over all calls for this request, or None where prices are unknown.
        noted: whether the store knows already what was read out of the reply; see `Gateway.note`.
    """

    text: str | None
    error: str | None
    finish_reason: str | None
    tokens_in: int
    tokens_out: int
    stored: bool
    key: bytes = b""
    logprobs: Sequence[dict[str, Any]] | None = None
    price: float | None = None
    noted: bool = False


class Gateway:
    """Asks a model through a response store. Close it, or use it as a context.

    Args:
        model: name of the model, as the endpoints know it.
        endpoints: base URLs; calls go where there is room.
        store: where answers are kept.
        api_key_variable: NAME of the environment variable that holds the key. It may be absent.
        concurrency: most calls in flight at each endpoint; fewer where it can't keep up.
        timeout_seconds: of one call.
        connect_timeout_seconds: of making a connection.
        attempts: calls for one request at most.
        json_schema: whether a request's schema is sent along as `response_format`.
        transport: `aiohttp`, or `openai` for the client of that package.
        outage_seconds: how long to wait for endpoints that are all down.
        prices: for a million tokens, or None.
        max_cost: what a run may spend, or None.
        run: whose spending counts; None: that of this process.
        progress: called with the number of newly finished requests.

    Raises:
        SetupError: when no model or no endpoint is configured, or a limit has no prices.
    """

    def __init__(
        self,
        model: str,
        endpoints: Sequence[str],
        store: ResponseStore,
        api_key_variable: str = "OPENAI_API_KEY",
        concurrency: int = 32,
        timeout_seconds: float = 600.0,
        attempts: int = 5,
        json_schema: bool = True,
        progress: Callable[[int], None] | None = None,
        *,
        connect_timeout_seconds: float = 10.0,
        transport: Kind = "aiohttp",
        outage_seconds: float = 120.0,
        prices: Prices | None = None,
        max_cost: float | None = None,
        run: str | None = None,
    ) -> None:
        if not model:
            raise SetupError("no language model is configured", NO_MODEL)
        if not endpoints:
            raise SetupError("no language-model endpoint is configured", NO_ENDPOINT)
        if concurrency < 1 or attempts < 1:
            raise ValueError("concurrency and attempts must be at least 1")
        self.model = model
        self._store = store
        self._json_schema = json_schema
        self._progress = progress
        self._window = max(LEAST_WINDOW, 2 * concurrency * len(endpoints))
        limits = Limits(timeout_seconds, connect_timeout_seconds)
        self._asking = Asking(
            Settings(
                model, tuple(endpoints), api_key_variable, concurrency, attempts, transport,
                limits, outage_seconds, prices, max_cost, run,
            ),
            store,
        )  # fmt: skip

    def __enter__(self) -> Gateway:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; the store stays open."""
        self._asking.close()

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        """Return one reply for each request, in order; a failed one says why.

        Works from any thread, also one that runs an event loop.

        Raises:
            SetupError: when no endpoint can be reached, one refuses the key, the model or the
                address, or (CostLimitError) the run has spent what it may. Answers that have
                arrived are in the store.
        """
        replies: dict[int, Reply] = dict(self.complete_stream(requests))
        return [replies[number] for number in range(len(replies))]

    def complete_stream(self, requests: Iterable[Request]) -> Iterator[tuple[int, Reply]]:
        """Yield (place of the request, reply) as answers arrive, in any order.

        Requests are taken from their source only as fast as answers are taken from here, so that
        memory doesn't grow with their number. A stream that is left early ends what it began.

        Args:
            requests: any number; read in the caller's thread.

        Raises:
            SetupError: as `complete`. At a cost limit the calls in flight are waited for, and
                their answers handed out, before CostLimitError.
        """
        batch = self._asking.open_batch()
        places: dict[bytes, list[int]] = {}
        source = enumerate(requests)
        stop: CostLimitError | None = None
        try:
            more = True
            while more or places:
                while more and stop is None and len(places) < self._window:
                    part = list(islice(source, LOOKUP))
                    more = bool(part)
                    yield from self._look_up(part, places, batch)
                if stop is not None and not places:
                    break
                for key, outcome in self._arrived(batch, bool(places)):
                    waiting = places.pop(key)
                    if isinstance(outcome, CostLimitError):
                        stop = outcome
                        continue
                    if isinstance(outcome, BaseException):
                        raise outcome
                    self._advance(len(waiting))
                    yield from ((place, _reply(key, outcome, False)) for place in waiting)
        finally:
            self._asking.close_batch(batch)
        if stop is not None:
            raise stop

    def note(self, outcomes: Iterable[tuple[bytes, str | None, str | None]]) -> None:
        """Keep what was read out of replies.

        Args:
            outcomes: a reply's key; the value as JSON, or None; why it can't be used, or None.
        """
        self._store.note(outcomes)

    def key(self, request: Request) -> bytes:
        """Return what the store finds the answer to a request by."""
        return request_key(
            self.model,
            request.messages,
            request.schema if self._json_schema else None,
            request.sampling,
            request.attempt,
        )

    def _look_up(
        self, part: Sequence[tuple[int, Request]], places: dict[bytes, list[int]], batch: Batch
    ) -> Iterator[tuple[int, Reply]]:
        """Yield what the store has, and ask for the rest."""
        if not part:
            return
        keyed = [(self.key(request), place, request) for place, request in part]
        found = self._store.get(key for key, _, _ in keyed if key not in places)
        counts: dict[tuple[str, str, str], tuple[int, int]] = {}
        questions: list[Question] = []
        hits: list[tuple[int, Reply]] = []
        for key, place, request in keyed:
            prompt = getattr(request, "prompt", "")
            fingerprint = getattr(request, "prompt_fingerprint", "")
            hit = found.get(key)
            group = (self.model, prompt, fingerprint)
            before = counts.get(group, (0, 0))
            counts[group] = (before[0] + (hit is not None), before[1] + (hit is None))
            if hit is not None:
                hits.append((place, _reply(key, hit, True)))
            elif key in places:
                places[key].append(place)
            else:
                places[key] = [place]
                schema = request.schema if self._json_schema else None
                item = getattr(request, "item", "")
                questions.append(Question(key, request, schema, prompt, fingerprint, item))
        self._store.count_lookups(counts)
        self._asking.ask(batch, questions)
        self._advance(len(hits))
        yield from hits

    def _arrived(
        self, batch: Batch, wait: bool
    ) -> Iterator[tuple[bytes, Response | BaseException]]:
        """Yield what has arrived since the last look; wait for it if told to."""
        while True:
            try:
                arrived = batch.arrived.get(block=wait)
            except queue.Empty:
                return
            yield from arrived
            wait = False

    def _advance(self, count: int) -> None:
        if self._progress is not None and count > 0:
            self._progress(count)


def _reply(key: bytes, response: Response, stored: bool) -> Reply:
    return Reply(
        response.text,
        response.error,
        response.finish_reason,
        response.tokens_in,
        response.tokens_out,
        stored,
        key,
        None if response.logprobs is None else orjson.loads(response.logprobs),
        response.price,
        response.parsed is not None or response.fault is not None,
    )


def prices_of(llm: Llm, model: str | None = None) -> Prices | None:
    """Return a model's prices out of a profile's section, or None where it gives none.

    Args:
        llm: the section.
        model: None: the section's own.
    """
    table = llm.price_per_million
    given = table.get(model or llm.model) if isinstance(table, dict) else table
    return None if given is None else Prices(given.input, given.output, given.cached_input)


@contextmanager
def open_gateway(
    llm: Llm,
    store: Path,
    progress: Callable[[int], None] | None = None,
    run: str | None = None,
) -> Iterator[Gateway]:
    """Yield a gateway as a profile describes it; it and its store are closed afterwards.

    Args:
        llm: the profile's section.
        store: path of the response store.
        progress: called with the number of newly finished requests.
        run: whose spending counts against `llm.max_cost`; None: that of this process.

    Raises:
        SetupError: when no model is configured or the store can't be opened.
    """
    if not llm.model:
        raise SetupError("no language model is configured", NO_MODEL)
    with (
        ResponseStore(store) as responses,
        Gateway(
            model=llm.model,
            endpoints=llm.endpoints,
            store=responses,
            api_key_variable=llm.api_key_variable,
            concurrency=llm.concurrency,
            timeout_seconds=llm.timeout_seconds,
            connect_timeout_seconds=llm.connect_timeout_seconds,
            attempts=llm.attempts,
            transport=llm.transport,
            outage_seconds=llm.outage_seconds,
            json_schema=llm.json_schema,
            prices=prices_of(llm),
            max_cost=llm.max_cost,
            run=run,
            progress=progress,
        ) as gateway,
    ):
        yield gateway
