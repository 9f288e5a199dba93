"""Workers for as long as they are needed: a build starts them once, when a call is due at last.

A build all of whose answers are in the response store starts nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any

from saber_resources.errors import SetupError
from saber_resources.profiles import Llm
from saber_resources.response_store import ResponseStore
from saber_resources.settings import Settings
from saber_resources.spending import CostLimitError
from saber_resources.worker_commands import make_workers
from saber_resources.workers import Workers

RECOVERIES = 5
"""How often one batch of calls waits for a worker that is being started again."""
UNREACHABLE = "http://127.0.0.1:9/v1"
"""Stands where no call is due."""
WINDOW = 2048
"""Requests looked up at a time: bounds memory."""

Announce = Callable[[str], None]


class WorkerSource:
    """The workers of a profile, started at the first use.

    Args:
        settings: the workdir and its profile.
        announce: is told what happens to them, line by line.
    """

    def __init__(self, settings: Settings, announce: Announce) -> None:
        self._settings = settings
        self._announce = announce
        self._workers: Workers | None = None

    def urls(self) -> tuple[str, ...]:
        """Return the addresses of running workers.

        Raises:
            SetupError: when they can't be started.
        """
        if self._workers is None:
            profile, logs = self._settings.profile, self._settings.workdir.logs
            workers = make_workers(profile.workers, profile.llm, logs, self._announce)
            self._workers = workers.__enter__()
        return self._workers.urls

    def recover(self) -> bool:
        """Wait until a worker answers that was started before; False when none does any more."""
        return self._workers is not None and self._workers.recover()

    def close(self) -> None:
        """Stop what was started."""
        if self._workers is not None:
            self._workers.stop()
            self._workers = None


class _Hold:
    """What is kept inside `hold_workers`."""

    def __init__(self, announce: Announce) -> None:
        self.announce = announce
        self.sources: dict[Any, WorkerSource] = {}


_holds: list[_Hold] = []


@contextmanager
def hold_workers(announce: Announce = lambda line: None) -> Iterator[None]:
    """Keep workers that are started inside running until the end of the outermost such block.

    Args:
        announce: is told what happens to them, line by line.
    """
    if _holds:
        yield
        return
    hold = _Hold(announce)
    _holds.append(hold)
    try:
        yield
    finally:
        _holds.remove(hold)
        for source in hold.sources.values():
            source.close()


@contextmanager
def open_source(settings: Settings) -> Iterator[WorkerSource]:
    """Yield the workers of a profile; outside of `hold_workers` they end with this block."""
    if not _holds:
        source = WorkerSource(settings, lambda line: None)
        try:
            yield source
        finally:
            source.close()
        return
    hold = _holds[-1]
    key = (settings.profile.workers, settings.profile.llm.model)
    if key not in hold.sources:
        hold.sources[key] = WorkerSource(settings, hold.announce)
    yield hold.sources[key]


def worker_opener(settings: Settings) -> Callable[[Llm, Path], AbstractContextManager[Any]] | None:
    """Return what opens a gateway to workers of our own; None where a profile attaches to others.

    Args:
        settings: the workdir and its profile.
    """
    if settings.profile.workers.kind == "attach":
        return None

    @contextmanager
    def opener(llm: Llm, store: Path) -> Iterator[WorkerChat]:
        with open_source(settings) as source, ExitStack() as stack:
            yield WorkerChat(llm, store, source, stack)

    return opener


class WorkerChat:
    """A gateway to workers that are started when a call is due, and waited for when they died.

    Args:
        llm: the profile's section.
        store: path of the response store.
        source: the workers.
        stack: closes what is opened here.
    """

    def __init__(self, llm: Llm, store: Path, source: WorkerSource, stack: ExitStack) -> None:
        self.model = llm.model
        self._llm = llm
        self._store = store
        self._source = source
        self._stack = stack
        self._stored = self._open((UNREACHABLE,))
        self._gateway: Any = None
        """A gateway to running workers, once there are any."""

    def complete(self, requests: Sequence[Any]) -> Sequence[Any]:
        """Return one reply for each request, in order.

        Raises:
            SetupError: when the workers can't be started, or none answers any more. What had
                arrived is in the store.
        """
        if self._gateway is None:
            if self._all_stored(requests):
                return self._stored.complete(requests)  # type: ignore[no-any-return]
            self._start()
        for _ in range(RECOVERIES):
            try:
                return self._gateway.complete(requests)  # type: ignore[no-any-return]
            except CostLimitError:
                raise
            except SetupError:
                if not self._source.recover():
                    raise
        return self._gateway.complete(requests)  # type: ignore[no-any-return]

    def complete_stream(self, requests: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """Yield (place of the request, reply) as answers arrive, in any order.

        Raises:
            SetupError: as `complete`.
        """
        source, done = iter(requests), 0
        gateway = self._gateway
        while gateway is None:
            part = list(islice(source, WINDOW))
            if not part:
                return
            if not self._all_stored(part):
                gateway = self._start()
                source = chain(part, source)
                break
            yield from (
                (done + place, reply) for place, reply in self._stored.complete_stream(part)
            )
            done += len(part)
        for place, reply in gateway.complete_stream(source):
            yield done + place, reply

    def note(self, outcomes: Iterable[tuple[bytes, str | None, str | None]]) -> None:
        """Keep what was read out of replies; see `Gateway.note`."""
        self._stored.note(outcomes)

    def key(self, request: Any) -> bytes:
        """Return what the store finds the answer to a request by."""
        return self._stored.key(request)  # type: ignore[no-any-return]

    def _start(self) -> Any:
        self._gateway = self._open(self._source.urls())
        return self._gateway

    def _open(self, urls: tuple[str, ...]) -> Any:
        # only here: the client library takes a second to import
        from saber_resources.llm_gateway import open_gateway

        llm = self._llm.model_copy(update={"endpoints": urls})
        return self._stack.enter_context(open_gateway(llm, self._store))

    def _all_stored(self, requests: Sequence[Any]) -> bool:
        """Tell whether no call is due."""
        with ResponseStore(self._store) as store:
            for start in range(0, len(requests), WINDOW):
                keys = {self.key(request) for request in requests[start : start + WINDOW]}
                if keys - store.known(keys):
                    return False
        return True
