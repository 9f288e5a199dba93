"""Group commit: many small writes that wait for each other cost one transaction together."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

LINGER = 0.004
"""Seconds to wait for company after the first item; short next to a call's latency."""
MOST = 2000
"""Items a transaction at most."""


class GroupCommit(Generic[Item, Outcome]):
    """A thread that writes what several coroutines hand in, in batches.

    Args:
        write: writes a batch durably and returns one outcome for each item.
    """

    def __init__(self, write: Callable[[Sequence[Item]], Sequence[Outcome]]) -> None:
        self._write = write
        self._queue: queue.SimpleQueue[tuple[Item, asyncio.Future[Outcome]] | None] = (
            queue.SimpleQueue()
        )
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def submit(self, item: Item) -> asyncio.Future[Outcome]:
        """Return a future of the running loop that is done when the item is written."""
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        if self._thread is None:
            self._start()
        self._queue.put((item, future))
        return future

    def close(self) -> None:
        """Write what waits and end the thread."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            self._queue.put(None)
            thread.join()

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="responses", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        more = True
        while more:
            batch, more = self._next_batch()
            if batch:
                self._commit(batch)

    def _next_batch(self) -> tuple[list[tuple[Item, asyncio.Future[Outcome]]], bool]:
        first = self._queue.get()
        if first is None:
            return [], False
        batch = [first]
        time.sleep(LINGER)
        while len(batch) < MOST:
            try:
                entry = self._queue.get_nowait()
            except queue.Empty:
                break
            if entry is None:
                return batch, False
            batch.append(entry)
        return batch, True

    def _commit(self, batch: Sequence[tuple[Item, asyncio.Future[Outcome]]]) -> None:
        error: BaseException | None = None
        outcomes: Sequence[Outcome] = ()
        try:
            outcomes = self._write([item for item, _ in batch])
        except BaseException as fault:  # noqa: BLE001 -- raised where the answer is awaited
            error = fault
        loops: dict[asyncio.AbstractEventLoop, list[int]] = {}
        for number, (_, future) in enumerate(batch):
            loops.setdefault(future.get_loop(), []).append(number)

        def resolve(numbers: Sequence[int]) -> None:
            for number in numbers:
                future = batch[number][1]
                if future.done():
                    continue
                if error is None:
                    future.set_result(outcomes[number])
                else:
                    future.set_exception(error)

        for loop, numbers in loops.items():
            try:
                loop.call_soon_threadsafe(resolve, numbers)
            except RuntimeError:  # that loop has ended: nobody waits any more
                continue
