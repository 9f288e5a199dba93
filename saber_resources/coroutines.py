"""Running asynchronous work from synchronous code, wherever that code runs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

T = TypeVar("T")


@dataclass
class _Outcome:
    value: Any = None
    error: BaseException | None = None
    loop: asyncio.AbstractEventLoop | None = None
    task: asyncio.Task[Any] | None = None
    started: threading.Event = field(default_factory=threading.Event)


def run_anywhere(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a thread of its own, so that the caller may have an event loop.

    An interrupt of the caller cancels the work before it goes on.
    """
    outcome = _Outcome()

    async def supervised() -> T:
        outcome.loop, outcome.task = asyncio.get_running_loop(), asyncio.current_task()
        outcome.started.set()
        return await work

    def target() -> None:
        try:
            outcome.value = asyncio.run(supervised())
        except BaseException as error:  # noqa: BLE001 -- raised again in the caller's thread
            outcome.error = error
        finally:
            outcome.started.set()

    thread = threading.Thread(target=target, name="llm-gateway", daemon=True)
    thread.start()
    try:
        thread.join()
    except BaseException:
        outcome.started.wait()
        if outcome.loop is not None and outcome.task is not None and thread.is_alive():
            outcome.loop.call_soon_threadsafe(outcome.task.cancel)
        thread.join()
        raise
    if outcome.error is not None:
        raise outcome.error
    return cast("T", outcome.value)
