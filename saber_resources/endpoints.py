"""Endpoints of language models: who may be called now, how many calls at once, who is down.

Each endpoint has its own number of calls in flight. It grows while answers come (doubling at
first, then by one a round), is halved when the endpoint says that it has too much to do or doesn't
answer in time, and stays between 1 and a cap. An endpoint that fails again and again is left alone
and asked for its health until it is back.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from saber_resources.call_errors import CallError
from saber_resources.chat_transport import endpoint_label, shown_url
from saber_resources.errors import SetupError
from saber_resources.spending import Budget

FIRST_LIMIT = 16
"""Calls in flight to begin with."""
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 60.0
FAULTS_TO_OPEN = 5
"""Failures without an answer between them after which an endpoint is left alone."""
FIRST_PROBE, LONGEST_PROBE = 0.2, 15.0
START_SECONDS = 2.0
"""How long an endpoint that was never reached is waited for."""
START_THE_SERVER = "start the server or correct llm.endpoints, then run again"


@dataclass(eq=False)
class Endpoint:
    """One address, and how it does.

    Attributes:
        url: base address.
        cap: most calls in flight.
        limit: calls in flight that it stands now, from 1 to `cap`; a fraction grows.
        flying: calls in flight.
        resume_at: monotonic time before which it is not called.
        down: whether it is left alone until a probe finds it well.
        ever_up: whether it was ever well.
    """

    url: str
    cap: int
    limit: float = 1.0
    flying: int = 0
    resume_at: float = 0.0
    down: bool = False
    ever_up: bool = False
    _doubling: bool = True
    _faults: int = 0
    _slow_downs: int = 0
    _slowed_at: float = 0.0

    def __post_init__(self) -> None:
        self.label = endpoint_label(self.url)
        self.limit = float(min(FIRST_LIMIT, self.cap))

    def free(self, now: float) -> bool:
        """Tell whether a call may start."""
        return not self.down and now >= self.resume_at and self.flying < int(self.limit)

    def note_answer(self) -> None:
        """A call gave an answer: allow more, if what is allowed is used."""
        self._faults = self._slow_downs = 0
        self.ever_up = True
        if self.flying * 2 >= self.limit:
            self.limit = min(self.cap, self.limit + (1.0 if self._doubling else 1.0 / self.limit))

    def note_fault(self, error: CallError, started: float) -> None:
        """A call gave nothing: allow fewer, pause, or take the endpoint down.

        Args:
            error: what happened.
            started: monotonic time at which the call began. What was already in flight when the
                endpoint was slowed down says nothing new.
        """
        now = time.monotonic()
        pause = error.pause
        if error.congestion and started >= self._slowed_at:
            self._doubling = False
            self.limit = max(1.0, self.limit / 2)
            self._slowed_at = now
            if pause is None:
                pause = jitter(self._slow_downs)
            self._slow_downs += 1
        if pause is not None:
            self.resume_at = max(self.resume_at, now + pause)
        if error.unhealthy:
            self._faults += 1
            self.down = error.unreachable or self._faults >= FAULTS_TO_OPEN

    def note_well(self) -> None:
        """A probe found it well: begin again, slowly."""
        self.down, self.ever_up, self._faults = False, True, 0
        self.limit = min(self.limit, float(FIRST_LIMIT))


def jitter(attempt: int) -> float:
    """Return a random pause, from nothing to twice as long after each attempt, in seconds."""
    return random.uniform(0.0, min(FIRST_PAUSE * 2 ** min(attempt, 20), LONGEST_PAUSE))


class EndpointPool:
    """Hands out endpoints to calls, in the order in which the calls asked.

    It lives inside one event loop.

    Args:
        urls: base addresses.
        cap: most calls in flight, of each endpoint.
        probe: asks an endpoint for its health; CallError where it isn't well.
        budget: says when no further call may start.
        outage_seconds: how long to wait for endpoints that were well and are all down.
    """

    def __init__(
        self,
        urls: Sequence[str],
        cap: int,
        probe: Callable[[str], Awaitable[None]],
        budget: Budget,
        outage_seconds: float,
    ) -> None:
        self.endpoints = [Endpoint(url, cap) for url in urls]
        self._probe, self._budget, self._outage = probe, budget, outage_seconds
        self._waiting: deque[tuple[asyncio.Future[Endpoint], Endpoint | None]] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._begun = False
        self._fault: Exception | None = None
        self._all_down_since = 0.0
        self._turn = 0

    @property
    def flying(self) -> int:
        """Calls in flight."""
        return sum(endpoint.flying for endpoint in self.endpoints)

    async def acquire(self, avoid: Endpoint | None = None) -> Endpoint:
        """Wait for an endpoint that may be called, and count the call; `release` it afterwards.

        Args:
            avoid: one that just failed; taken only where no other one is free.

        Raises:
            SetupError: when no endpoint is there, or one refuses the key.
            CostLimitError: when the run may not spend more.
        """
        future: asyncio.Future[Endpoint] = asyncio.get_running_loop().create_future()
        self._waiting.append((future, avoid))
        if self._begun:
            self._hand_out()
        else:
            self._begin()
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                self.release(future.result())
            raise

    def release(self, endpoint: Endpoint) -> None:
        """Give back an endpoint after a call."""
        endpoint.flying -= 1
        self._hand_out()

    def note_answer(self, endpoint: Endpoint) -> None:
        """A call to the endpoint gave an answer."""
        endpoint.note_answer()

    def note_fault(self, endpoint: Endpoint, error: CallError, started: float) -> None:
        """A call to the endpoint gave nothing; see `Endpoint.note_fault`."""
        was_down = endpoint.down
        endpoint.note_fault(error, started)
        if endpoint.down and not was_down:
            self._watch(endpoint, error.reason)

    async def close(self) -> None:
        """End the probes."""
        if self._timer is not None:
            self._timer.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self) -> None:
        """Ask every endpoint for its health before its first use."""
        self._begun = True
        for endpoint in self.endpoints:
            self._watch(endpoint, "not asked yet", pause=0.0)

    def _watch(self, endpoint: Endpoint, reason: str, pause: float = FIRST_PROBE) -> None:
        endpoint.down = True
        if all(other.down for other in self.endpoints):
            self._all_down_since = time.monotonic()
        task = asyncio.get_running_loop().create_task(self._revive(endpoint, reason, pause))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _revive(self, endpoint: Endpoint, reason: str, pause: float) -> None:
        """Probe an endpoint until it is well; give up where all have been down for too long."""
        while True:
            await asyncio.sleep(pause)
            pause = min(max(2 * pause, FIRST_PROBE), LONGEST_PROBE)
            try:
                await self._probe(endpoint.url)
            except CallError as error:
                reason = error.reason
                patient = any(other.ever_up for other in self.endpoints) or not error.unreachable
                self._give_up_after(self._outage if patient else START_SECONDS, reason)
            except Exception as error:  # noqa: BLE001 -- raised again in the callers' threads
                self._fault = error
                self._refuse(error)
                return
            else:
                endpoint.note_well()
                self._hand_out()
                return

    def _give_up_after(self, seconds: float, reason: str) -> None:
        down = all(endpoint.down for endpoint in self.endpoints)
        seconds = min(seconds, self._outage)
        if down and time.monotonic() - self._all_down_since >= seconds:
            places = ", ".join(shown_url(endpoint.url) for endpoint in self.endpoints)
            self._refuse(
                SetupError(f"no language model answers at {places} ({reason})", START_THE_SERVER)
            )

    def _refuse(self, error: Exception) -> None:
        """Tell everybody who waits."""
        waiting, self._waiting = self._waiting, deque()
        for future, _ in waiting:
            if not future.done():
                future.set_exception(error)

    def _hand_out(self) -> None:
        """Give free endpoints to those who wait, first come, first served."""
        if self._fault is not None:
            self._refuse(self._fault)
        while self._waiting:
            future, avoid = self._waiting[0]
            if future.done():
                self._waiting.popleft()
                continue
            if self._budget.limited and not self._budget.may_start(self.flying):
                if self.flying == 0:
                    self._refuse(self._budget.error())
                return
            now = time.monotonic()
            endpoint = self._pick(avoid, now)
            if endpoint is None:
                self._wake_up(now)
                return
            self._waiting.popleft()
            endpoint.flying += 1
            future.set_result(endpoint)

    def _pick(self, avoid: Endpoint | None, now: float) -> Endpoint | None:
        """Return the free endpoint with the largest share of free places, or None."""
        self._turn += 1
        count = len(self.endpoints)
        turned = (self.endpoints[(self._turn + place) % count] for place in range(count))
        free = [endpoint for endpoint in turned if endpoint.free(now)]
        others = [endpoint for endpoint in free if endpoint is not avoid]
        return min(others or free, key=lambda one: one.flying / one.limit, default=None)

    def _wake_up(self, now: float) -> None:
        """Look again when the next pause ends.

        Args:
            now: the time at which no endpoint was free; a later one would miss a pause that has
                ended in between, and where no call is in flight nobody would ever look again.
        """
        ends = [one.resume_at for one in self.endpoints if not one.down and one.resume_at > now]
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if ends:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(min(ends) - now + 0.001, self._hand_out)
