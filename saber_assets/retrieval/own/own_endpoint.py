"""A person's retriever behind an HTTP endpoint.

POST {"query": text, "documents": [text, ...]} is answered by {"scores": [number, ...]}. GET of the
same address is answered by {"version": text}, or by that text in the header X-Retriever-Version:
it changes whenever scores may.
"""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Sequence
from typing import Any

from saber_assets.errors import InputError, UnavailableError
from saber_assets.retrieval.entry import Entry, version_of
from saber_assets.retrieval.key_names import usable_key
from saber_assets.retrieval.reasons import masked, masked_in, reason_of
from saber_assets.retrieval.remote.patience import PassingError, Patience, retry_after
from saber_assets.retrieval.remote.whole_answer import opener

TIMEOUT = 300.0
"""Seconds that a whole answer may take, unless stated otherwise."""

TRIES = 5
FIRST_WAIT = 0.5
LONGEST_WAIT = 30.0
FAILURES_IN_A_ROW = 3
"""Queries that fail one after the other with status 429 or 5xx: then the endpoint is down."""

VERSION_HEADER = "X-Retriever-Version"
VERSION_TIMEOUT = 3.0
VERSION_AGE = 10.0
"""Seconds for which a stated version is believed; a list of retrievers is read several times."""

ROOM = 65_536
ROOM_PER_DOCUMENT = 64
"""Bytes of an answer at most."""

BEARER = "Bearer "
_LONGEST_TOLD = 200
_TOO_MANY = 429
_SERVER_FAULT = 500
_REFUSED = (401, 403, 404, 405, 410)
_MOVED = range(300, 400)
_versions: dict[tuple[str, str], tuple[float, str | InputError]] = {}


def endpoint_entry(
    name: str, url: str, version: str = "", key_variable: str = "", timeout: float = 0.0
) -> Entry:
    """Describe an endpoint as an entry.

    Args:
        name: of the retriever.
        url: see this module.
        version: as its owner states it; "" asks the endpoint.
        key_variable: NAME of the environment variable that holds its key; "" for none.
        timeout: seconds that an answer may take; 0 for `TIMEOUT`.

    Raises:
        InputError: for a bad address, a key that isn't set, or an endpoint that states no version.
        UnavailableError: when the endpoint has to tell its version and can't be reached.
    """
    check_url(url)
    key = key_of(key_variable)
    stated = version or stated_version(url, key)
    return Entry(
        name=name,
        family="own",
        type_code="",
        description=f"Own retriever behind {url}.",
        version=version_of({"endpoint": url, "version": stated}),
        factory=lambda: EndpointRetriever(url, key, timeout or TIMEOUT),
        own=True,
    )


def check_url(url: str) -> None:
    """Check an endpoint's address.

    Raises:
        InputError: when it has no host, or holds a password: addresses are kept in a file.
    """
    try:
        parts = urllib.parse.urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise InputError(
            f"'{url}' is no address ({error})", "write http://host:port/path"
        ) from error
    if parts.scheme.lower() not in ("http", "https") or not parts.hostname:
        raise InputError(f"'{url}' is no address", "write http://host:port/path")
    if parts.username or parts.password:
        raise InputError(
            "an endpoint's address can't hold a name or password",
            "put a key into an environment variable and name it with --key-variable",
        )


def key_of(variable: str) -> str:
    """Return the key that a variable holds, "" where none is named.

    Raises:
        InputError: when the variable isn't set, or holds what can't be a key.
    """
    key = usable_key(variable)
    if variable and not key:
        raise InputError(f"the variable {variable} isn't set", "put the endpoint's key into it")
    return key


def stated_version(url: str, key: str = "") -> str:
    """Return the version that an endpoint states.

    Raises:
        InputError: when it states none.
        UnavailableError: when it can't be reached.
    """
    known = _versions.get((url, key))
    now = time.monotonic()
    if known is None or now - known[0] > VERSION_AGE:
        try:
            found: str | InputError = _ask_version(url, key)
        except InputError as error:
            found = error
        known = _versions[url, key] = (now, found)
    if isinstance(known[1], InputError):
        raise known[1]
    return known[1]


def _ask_version(url: str, key: str) -> str:
    request = urllib.request.Request(url, headers=_headers(key))  # noqa: S310 (see check_url)
    silent = InputError(
        f"{url} states no version",
        f'let GET answer {{"version": "..."}} or the header {VERSION_HEADER}, or give --version',
    )
    try:
        with _opener(url).open(request, timeout=VERSION_TIMEOUT) as response:
            header = response.headers.get(VERSION_HEADER)
            body = response.read(ROOM)
    except urllib.error.HTTPError as error:
        if error.code in _MOVED:
            raise _redirected(url, error, key) from error
        if error.code in (401, 403):
            raise InputError(
                f"{url} refused the key (status {error.code})", "check --key-variable"
            ) from error
        raise silent from error
    except (OSError, http.client.HTTPException, ValueError) as error:  # also a bad redirect
        raise _down(url, reason_of(error, key)) from error
    if header and header.strip():
        return masked(header.strip(), key)
    try:
        version = json.loads(body)["version"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise silent from error
    text = str(version).strip() if type(version) in (str, int, float) else ""
    if not text:
        raise silent
    return masked(text, key)


class EndpointRetriever:
    """Asks an endpoint for the scores of a pool.

    Calls that end in status 429 or 5xx or without an answer are repeated, `TRIES` in all, after
    waits that double. Retry-After is obeyed, and such a try isn't counted; an endpoint that asks
    for more than `LONGEST_ASKED` seconds for one query ends the scoring.

    Args:
        url: see this module.
        key: sent as bearer token; "" for none.
        timeout: seconds that an answer may take.
        sleep: waits so many seconds.
    """

    def __init__(
        self,
        url: str,
        key: str = "",
        timeout: float = TIMEOUT,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url, self.timeout = url, timeout
        self._key, self._sleep = key, sleep
        self._opener = _opener(url)
        self._failed_in_a_row = 0

    def score(self, query: str, documents: Sequence[str]) -> list[Any]:
        """Return what the endpoint answers.

        Raises:
            RuntimeError: when it refuses this query, or its answer can't be used.
            UnavailableError: when it can't be reached, refuses everything, or has no time.
        """
        body = json.dumps({"query": query, "documents": list(documents)}).encode()
        room = ROOM + ROOM_PER_DOCUMENT * len(documents)
        answer = self._answer(body, room)
        try:
            scores = masked_in(json.loads(answer)["scores"], self._key)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise RuntimeError(f"no JSON object with 'scores': {self._shown(answer)}") from error
        if not isinstance(scores, list):
            raise RuntimeError(f"'scores' is no list: {self._shown(answer)}")
        return scores

    def _answer(self, body: bytes, room: int) -> bytes:
        """Return the endpoint's answer, after several tries if need be."""
        patience = Patience(self.url, TRIES, FIRST_WAIT, LONGEST_WAIT, sleep=self._sleep)
        try:
            answer = patience.get(lambda: self._try(body, room))
        except _BusyError as error:
            self._failed_in_a_row += 1
            if self._failed_in_a_row >= FAILURES_IN_A_ROW:
                raise _down(self.url, str(error)) from error
            raise RuntimeError(f"{error} (after {TRIES} tries)") from error
        self._failed_in_a_row = 0
        return answer

    def _try(self, body: bytes, room: int) -> bytes:
        try:
            return self._ask(body, room)
        except urllib.error.HTTPError as error:
            raise self._fault(error) from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise PassingError(_down(self.url, reason_of(error, self._key))) from error

    def _ask(self, body: bytes, room: int) -> bytes:
        headers = {"Content-Type": "application/json", **_headers(self._key)}
        request = urllib.request.Request(  # noqa: S310 (see check_url)
            self.url, data=body, headers=headers, method="POST"
        )
        with self._opener.open(request, timeout=self.timeout) as response:
            answer = bytes(response.read(room + 1))
        if len(answer) > room:
            raise RuntimeError(f"the answer has more than {room} bytes")
        return answer

    def _fault(self, error: urllib.error.HTTPError) -> Exception:
        """Return what a status means for this query, or for all."""
        with error:
            told = f"status {error.code}: {self._shown(_told(error))}"
        if error.code in _MOVED:
            return _redirected(self.url, error, self._key)
        if error.code in _REFUSED:
            return UnavailableError(
                f"{self.url} refuses all queries ({told})", "mend it or its key"
            )
        if error.code != _TOO_MANY and error.code < _SERVER_FAULT:
            return RuntimeError(told)
        return PassingError(_BusyError(told), retry_after(error.headers.get("Retry-After")))

    def _shown(self, answer: bytes) -> str:
        """Return the beginning of an answer, without the key."""
        return masked(answer.decode("utf-8", "replace"), self._key)[:_LONGEST_TOLD]


class _BusyError(Exception):
    """Status 429 or 5xx; the message is what was answered."""


def _told(error: urllib.error.HTTPError) -> bytes:
    """Return the beginning of what stands in an answer that says no, as far as it comes."""
    try:
        return error.read(ROOM)
    except (OSError, http.client.HTTPException):
        return b""


def _redirected(url: str, error: urllib.error.HTTPError, key: str) -> UnavailableError:
    there = masked(error.headers.get("Location", "nowhere"), key)
    return UnavailableError(
        f"{url} redirects to {there} (status {error.code})", "give the address that answers itself"
    )


def _opener(url: str) -> urllib.request.OpenerDirector:
    host = urllib.parse.urlsplit(url).hostname or ""
    near = host in ("localhost", "::1") or host.startswith("127.")
    proxies = [urllib.request.ProxyHandler({})] if near else []
    return opener(*proxies)


def _headers(key: str) -> dict[str, str]:
    return {"Authorization": f"{BEARER}{key}"} if key else {}


def _down(url: str, reason: str) -> UnavailableError:
    return UnavailableError(f"{url} doesn't answer ({reason})", "start it, or check the address")
