"""Vectors that somebody else computes: what goes into one request, and what an answer must be.

Texts are grouped into requests, several of which are in flight; whatever is answered is handed on
at once, so that it can be kept. A request that is refused is asked again in halves until the text
that is at fault stands alone: it fails, the others don't. What would refuse every request, such as
a wrong key, ends it at the first.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from saber_assets.errors import InputError
from saber_assets.retrieval.dense import Part, RefusedTextError
from saber_assets.retrieval.encoding.contract import Ids, Side, averaged

REVISION = 1
IN_FLIGHT = 8
REQUEST_TOKENS = 200_000
"""Tokens of one request at most; a text has no more of them than bytes."""
HOPELESS = 5
"""Texts that are refused alone before the first is embedded: then it isn't the texts' fault."""
CUT_SLACK = 8
"""A cut may move by a piece's length over this, to fall between two words."""

Input = str | Ids
"""A text, or the numbers of its tokens."""


class TextRefusedError(Exception):
    """A request was refused because of what it holds.

    Args:
        reason: in the words of whoever refused it.
        too_long: whether it holds too many tokens.
    """

    def __init__(self, reason: str, *, too_long: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.too_long = reason, too_long


class Service(Protocol):
    """Whoever computes vectors."""

    @property
    def place(self) -> str:
        """What it is called in a sentence."""
        ...

    def vectors(self, inputs: Sequence[Input], side: Side) -> NDArray[np.float32]:
        """Return one vector an input, in their order.

        Raises:
            TextRefusedError: for something that these inputs hold.
            InputError: for something that a person must mend.
        """
        ...


class Windows(Protocol):
    """What a service is sent of a text."""

    @property
    def mode(self) -> str:
        """How texts are cut, in a word: it decides their vectors."""
        ...

    def of(self, text: str, side: Side) -> list[Input]:
        """Return the windows of a text, none for one without tokens."""
        ...

    def halves(self, text: str) -> list[str]:
        """Return a text that a service found too long in two parts.

        Raises:
            InputError: when the windows are known to be those of the model.
        """
        ...

    def with_query_template(self, template: str) -> Self:
        """Return windows of which those of queries are in another template."""
        ...


class RemoteEncoder:
    """Embeds texts by a service; its texts' vectors are means over their windows.

    Args:
        service: whoever computes vectors.
        windows: what it is sent.
        normalise: whether each window's vector gets length 1 before the mean.
        dimension: length of the vectors, asked for by a probe where it is None.
        at_once: windows of one request at most.
        in_flight: requests at a time.
        sides_alike: whether queries and documents are sent in the same way.
    """

    def __init__(
        self,
        service: Service,
        windows: Windows,
        *,
        normalise: bool,
        dimension: int | None,
        at_once: int,
        in_flight: int = IN_FLIGHT,
        sides_alike: bool = False,
    ) -> None:
        self.sides_alike = sides_alike
        self._service, self._windows = service, windows
        self._normalise, self._dimension = normalise, dimension
        self._at_once, self._in_flight = at_once, in_flight
        self._lock = threading.Lock()
        self._accepted, self._refused = False, 0

    @property
    def dimension(self) -> int:
        """Length of the vectors."""
        if self._dimension is None:
            self._dimension = int(self._service.vectors(["a"], "document").shape[1])
        if self._dimension < 1:
            raise InputError(
                f"{self._service.place} gives vectors of length 0",
                "check which model it serves, and dimension in systems.toml",
            )
        return self._dimension

    @property
    def mode(self) -> str:
        """How texts are cut; a server is asked what it can do, where that decides."""
        return self._windows.mode

    def with_query_template(self, template: str) -> RemoteEncoder:
        """Return an encoder by the same service whose queries stand in another template."""
        other = copy.copy(self)
        other.sides_alike = False
        other._windows = self._windows.with_query_template(template)
        return other

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return document vectors of shape (texts, dimension).

        Raises:
            RefusedTextError: when the service refuses one.
        """
        return self._all(texts, "document")

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return query vectors of shape (texts, dimension); see `encode`."""
        return self._all(texts, "query")

    def fits(self, text: str, side: Side) -> bool:
        """Tell whether a text is read whole, in one window."""
        return len(self._windows.of(text, side)) <= 1

    def parts(self, texts: Sequence[str], side: Side) -> Iterator[Part]:
        """Yield the vectors of some texts whenever they are answered.

        Raises:
            InputError: for something that a person must mend; what was answered before, or is on
                its way, is yielded first.
        """
        groups = self._groups(texts)
        if not groups:
            return
        stop = threading.Event()
        pool = ThreadPoolExecutor(min(self._in_flight, len(groups)))
        try:
            running = [pool.submit(self._job, stop, texts, group, side) for group in groups]
            faults = []
            for done in as_completed(running):
                error = done.exception()
                if error is None:
                    yield from done.result()
                else:
                    faults.append(error)
            if faults:
                raise faults[0]
        finally:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)

    def _job(
        self, stop: threading.Event, texts: Sequence[str], group: list[int], side: Side
    ) -> list[Part]:
        """Return what becomes of a group; nothing any more after a fault of another."""
        if stop.is_set():
            return []
        try:
            return self._settled(texts, group, side)
        except BaseException:
            stop.set()
            raise

    def _all(self, texts: Sequence[str], side: Side) -> NDArray[np.float32]:
        found = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for part in self.parts(texts, side):
            if part.vectors is None:
                raise RefusedTextError(part.reason)
            found[part.positions] = part.vectors
        return found

    def _groups(self, texts: Sequence[str]) -> list[list[int]]:
        """Return which texts share a request."""
        groups: list[list[int]] = []
        size = 0
        for number, text in enumerate(texts):
            grown = _size(text)
            full = groups and (len(groups[-1]) >= self._at_once or size + grown > REQUEST_TOKENS)
            if not groups or full:
                groups.append([])
                size = 0
            groups[-1].append(number)
            size += grown
        return groups

    def _settled(self, texts: Sequence[str], group: list[int], side: Side) -> list[Part]:
        """Return vectors of a group; of each text alone where the service refuses them together."""
        try:
            vectors = self._means([texts[number] for number in group], side)
        except TextRefusedError as error:
            if len(group) > 1:
                middle = len(group) // 2
                first = self._settled(texts, group[:middle], side)
                return [*first, *self._settled(texts, group[middle:], side)]
            return [self._alone(texts[group[0]], group, side, error)]
        good = np.isfinite(vectors).all(axis=1)
        found = [Part([group[row] for row in np.flatnonzero(good)], vectors[good])]
        reason = f"{self._service.place} answered with numbers that aren't finite"
        found += [Part([group[row]], None, reason) for row in np.flatnonzero(~good)]
        return [part for part in found if part.positions]

    def _alone(self, text: str, group: list[int], side: Side, refusal: TextRefusedError) -> Part:
        """Return what becomes of a text that the service refuses by itself."""
        reason = refusal.reason
        if refusal.too_long:
            try:
                pieces = np.concatenate([self._pieces(half, side) for half in self._parts(text)])
            except TextRefusedError as error:
                reason = error.reason
            else:
                return Part(group, averaged(pieces, [0] * len(pieces), 1, self._normalise))
        with self._lock:
            self._refused += 1
            hopeless = not self._accepted and self._refused >= HOPELESS
        if hopeless:
            raise InputError(
                f"{self._service.place} refuses every text, the last one with: {reason}",
                "mend that, then run again",
            )
        return Part(group, None, reason)

    def _parts(self, text: str) -> list[str]:
        if len(text) < 2:
            raise TextRefusedError("the service finds a single character too long")
        return self._windows.halves(text)

    def _pieces(self, text: str, side: Side) -> NDArray[np.float32]:
        """Return the vectors of a text's windows, cut further as long as they are too long."""
        try:
            return self._asked(self._windows.of(text, side), side)
        except TextRefusedError as error:
            if not error.too_long:
                raise
            return np.concatenate([self._pieces(half, side) for half in self._parts(text)])

    def _means(self, texts: Sequence[str], side: Side) -> NDArray[np.float32]:
        """Return the mean of each text's window vectors, shape (texts, dimension)."""
        inputs: list[Input] = []
        owners: list[int] = []
        for number, text in enumerate(texts):
            _check_unicode(text)
            pieces = self._windows.of(text, side)
            inputs += pieces
            owners += [number] * len(pieces)
        return averaged(self._asked(inputs, side), owners, len(texts), self._normalise)

    def _asked(self, inputs: list[Input], side: Side) -> NDArray[np.float32]:
        """Return the vectors of windows, shape (windows, dimension)."""
        found = [np.zeros((0, self.dimension), dtype=np.float32)]
        for request in _requests(inputs, self._at_once):
            answer = self._service.vectors(request, side)
            self._check(answer, len(request))
            self._accepted = True
            found.append(answer)
        return np.concatenate(found)

    def _check(self, answer: NDArray[np.float32], asked: int) -> None:
        if answer.shape[0] != asked:
            raise InputError(
                f"{self._service.place} answered with {answer.shape[0]} vectors for {asked} texts",
                "check that it is an endpoint for embeddings",
            )
        if answer.shape[1] != self.dimension:
            raise InputError(
                f"{self._service.place} gives vectors of length {answer.shape[1]}, and "
                f"{self.dimension} is expected",
                "check which model it serves, or state dimension in systems.toml",
            )
        if not answer.any(axis=1).all():  # asked in halves until that text stands alone
            raise TextRefusedError(f"{self._service.place} answered with zeros alone")


def cut(text: str, count: int) -> list[str]:
    """Return a text in parts of about the same length, cut between words where one is near.

    Args:
        text: at least `count` characters.
        count: how many parts.

    Returns:
        Parts that aren't empty, and are the text when put together.
    """
    slack = len(text) // count // CUT_SLACK
    places = [0]
    for number in range(1, count):
        middle = len(text) * number // count
        near = sorted(range(middle - slack, middle + slack + 1), key=lambda at: abs(at - middle))
        places.append(next((at for at in near if text[at - 1].isspace()), middle))
    return [text[a:b] for a, b in zip(places, [*places[1:], len(text)], strict=True)]


def _requests(inputs: list[Input], at_once: int) -> Iterator[list[Input]]:
    request: list[Input] = []
    size = 0
    for one in inputs:
        grown = _size(one)
        if request and (len(request) >= at_once or size + grown > REQUEST_TOKENS):
            yield request
            request, size = [], 0
        request.append(one)
        size += grown
    if request:
        yield request


def _size(one: Input) -> int:
    """Return the most tokens that an input can have."""
    return len(one.encode("utf-8", "surrogatepass")) if isinstance(one, str) else len(one)


def _check_unicode(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise TextRefusedError(
            f"character {error.start + 1} is half of a pair, which no request can hold"
        ) from error
