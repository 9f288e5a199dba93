"""Asking for what the store lacks: attempts, pauses, bookkeeping; inside an event loop.

A question's place at its endpoint is free again only when its answer is in the store: a process
that is killed loses the calls in flight and nothing else.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import queue
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from saber_resources.background_loop import BackgroundLoop
from saber_resources.call_errors import CallError
from saber_resources.chat_request import Completion, Request, Usage, request_body, storable
from saber_resources.chat_transport import Kind, Limits, Transport, open_transport
from saber_resources.endpoints import Endpoint, EndpointPool, jitter
from saber_resources.errors import SetupError
from saber_resources.response_store import Response, ResponseStore
from saber_resources.spending import THIS_RUN, Budget, Prices

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Settings:
    """How to ask; see `Gateway`."""

    model: str
    endpoints: Sequence[str]
    api_key_variable: str
    concurrency: int
    attempts: int
    transport: Kind
    limits: Limits
    outage_seconds: float
    prices: Prices | None
    max_cost: float | None
    run: str | None


@dataclass(frozen=True, slots=True)
class Question:
    """A request that the store has no answer to.

    Attributes:
        key: what the store finds the answer by.
        request: messages, sampling and sample index.
        schema: JSON schema that is sent along, or None.
        prompt: name of the prompt, or "".
        prompt_fingerprint: fingerprint of the prompt, or "".
        item: what it is about, or "".
    """

    key: bytes
    request: Request
    schema: Mapping[str, Any] | None
    prompt: str
    prompt_fingerprint: str
    item: str


Outcome = Response | BaseException


class Batch:
    """Questions that are asked together, and where their outcomes arrive."""

    def __init__(self) -> None:
        self.arrived: queue.SimpleQueue[list[tuple[bytes, Outcome]]] = queue.SimpleQueue()
        self.tasks: set[asyncio.Task[None]] = set()
        self.closed = False
        """Whether nobody waits for outcomes any more."""
        self._fresh: list[tuple[bytes, Outcome]] = []

    def deliver(self, key: bytes, outcome: Outcome) -> None:
        """Hand an outcome over, together with others of the same moment."""
        if not self._fresh:
            asyncio.get_running_loop().call_soon(self._hand_over)
        self._fresh.append((key, outcome))

    def _hand_over(self) -> None:
        fresh, self._fresh = self._fresh, []
        self.arrived.put(fresh)


@dataclass
class _Tally:
    """What the calls for one question have used."""

    tokens_in: int = 0
    tokens_out: int = 0
    cached_tokens: int | None = None
    price: float | None = None
    calls: int = 0
    latency: float = 0.0
    endpoint: str = ""

    def add(self, usage: Usage, price: float | None) -> None:
        self.tokens_in += usage.tokens_in
        self.tokens_out += usage.tokens_out
        if usage.cached_tokens is not None:
            self.cached_tokens = (self.cached_tokens or 0) + usage.cached_tokens
        if price is not None:
            self.price = (self.price or 0.0) + price


@dataclass
class _Open:
    """What exists while the loop runs."""

    background: BackgroundLoop
    transport: Transport
    pool: EndpointPool
    numbers: itertools.count[int] = field(default_factory=itertools.count)


class Asking:
    """Asks questions at the endpoints and writes the answers to the store.

    Args:
        settings: how.
        store: where answers are kept.

    Raises:
        SetupError: for a cost limit without prices.
    """

    def __init__(self, settings: Settings, store: ResponseStore) -> None:
        self._settings, self._store = settings, store
        self._run = settings.run or THIS_RUN
        self._budget = Budget(settings.prices, settings.max_cost, store.spent(self._run))
        self._opened: _Open | None = None
        self._opening = threading.Lock()

    def open_batch(self) -> Batch:
        """Return a batch to ask questions in."""
        return Batch()

    def ask(self, batch: Batch, questions: Sequence[Question]) -> None:
        """Begin to ask; outcomes arrive in the batch."""
        if not questions:
            return
        if self._budget.limited:
            self._budget.refresh(self._store.spent(self._run))
        opened = self._open()

        def begin() -> None:
            for question in questions:
                task = opened.background.loop.create_task(self._answer(opened, batch, question))
                batch.tasks.add(task)
                task.add_done_callback(batch.tasks.discard)

        opened.background.loop.call_soon_threadsafe(begin)

    def close_batch(self, batch: Batch) -> None:
        """End what is still asked for in a batch."""
        if self._opened is None:
            return

        async def cancel() -> None:
            batch.closed = True
            tasks = list(batch.tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        self._opened.background.run(cancel())

    def close(self) -> None:
        """Close connections and the event loop."""
        opened, self._opened = self._opened, None
        if opened is None:
            return

        async def close() -> None:
            await opened.pool.close()
            await opened.transport.close()

        opened.background.run(close())
        opened.background.stop()

    def _open(self) -> _Open:
        with self._opening:  # several threads may ask at once
            if self._opened is None:
                settings = self._settings
                background = BackgroundLoop("llm-gateway")

                async def make() -> _Open:
                    transport = open_transport(
                        settings.transport, settings.api_key_variable, settings.limits
                    )
                    pool = EndpointPool(
                        settings.endpoints, settings.concurrency, transport.probe, self._budget,
                        settings.outage_seconds,
                    )  # fmt: skip
                    return _Open(background, transport, pool)

                self._opened = background.run(make())
            return self._opened

    async def _answer(self, opened: _Open, batch: Batch, question: Question) -> None:
        outcome: Outcome
        try:
            outcome = await self._ask(opened, question)
        except asyncio.CancelledError:
            if batch.closed:
                raise
            outcome = RuntimeError("a call was cancelled while its answer was waited for")
        except Exception as error:  # noqa: BLE001 -- raised again in the caller's thread
            outcome = error
        batch.deliver(question.key, outcome)

    async def _ask(self, opened: _Open, question: Question) -> Response:
        """Call until there is a reply, the attempts are used up, or trying again is no use."""
        tally, fault = _Tally(), CallError("not called")
        avoid: Endpoint | None = None
        try:
            for attempt in range(self._settings.attempts):
                endpoint = await opened.pool.acquire(avoid)
                try:
                    completion = await self._call(opened, endpoint, question, tally)
                    return await self._keep(question, tally, completion)
                except CallError as error:
                    fault, avoid = error, endpoint
                finally:
                    opened.pool.release(endpoint)
                if not fault.retry:
                    break
                if fault.pause is None and attempt + 1 < self._settings.attempts:
                    await asyncio.sleep(jitter(attempt))
        except SetupError as error:
            if tally.calls:  # what was spent until here is known
                await self._keep(question, tally, None, error.what)
            raise
        return await self._keep(question, tally, None, fault.reason)

    async def _call(
        self, opened: _Open, endpoint: Endpoint, question: Question, tally: _Tally
    ) -> Completion:
        """Make one call; raise CallError where it gives no text."""
        request = question.request
        body = request_body(
            self._settings.model, request.messages, question.schema, request.sampling
        )
        request_id = f"{self._run[:12]}-{question.key[:6].hex()}-{next(opened.numbers)}"
        tally.calls += 1
        tally.endpoint = endpoint.label
        start = time.monotonic()
        try:
            completion = await opened.transport.call(endpoint.url, body, request_id)
        except CallError as error:
            tally.add(error.usage, self._budget.add(error.usage))
            opened.pool.note_fault(endpoint, error, start)
            logger.debug("call %s to %s failed: %s", request_id, endpoint.label, error.reason)
            raise
        finally:
            tally.latency = time.monotonic() - start
        tally.add(completion.usage, self._budget.add(completion.usage))
        opened.pool.note_answer(endpoint)
        logger.debug("call %s to %s took %.2f s", request_id, endpoint.label, tally.latency)
        return completion

    async def _keep(
        self,
        question: Question,
        tally: _Tally,
        completion: Completion | None,
        error: str | None = None,
    ) -> Response:
        """Write what came of a question, and return what stands in the store."""
        logprobs = None if completion is None else completion.logprobs
        response = Response(
            model=self._settings.model,
            text=None if completion is None else completion.text,
            finish_reason=None if completion is None else completion.finish_reason,
            tokens_in=tally.tokens_in,
            tokens_out=tally.tokens_out,
            latency=tally.latency,
            attempts=tally.calls,
            error=error,
            prompt=question.prompt,
            prompt_fingerprint=question.prompt_fingerprint,
            sample=question.request.attempt,
            item=storable(question.item),
            logprobs=None if logprobs is None else orjson.dumps(logprobs).decode(),
            cached_tokens=tally.cached_tokens,
            price=tally.price,
            endpoint=tally.endpoint,
        )
        stands = await self._store.put_soon(question.key, response, self._run)
        self._budget.note_kept(tally.price)
        return stands
