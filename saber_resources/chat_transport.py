"""How a chat call travels: aiohttp, or the client of the package `openai`.

The first costs a tenth of the second's processor time; the second is there for whoever needs what
the client brings along, such as its handling of proxies and certificates.
"""

from __future__ import annotations

import asyncio
import base64
import os
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol
from urllib.parse import unquote, urlsplit, urlunsplit

import aiohttp

from saber_resources.call_errors import CallError, refused, timed_out
from saber_resources.chat_request import Completion, encode_body, read_completion
from saber_resources.errors import SetupError

Kind = Literal["aiohttp", "openai"]
REQUEST_ID = "X-Request-ID"
PROBE_SECONDS = 10.0
_STARTING = 500
"""Statuses from here on mean that a server isn't ready, except "not implemented"."""


@dataclass(frozen=True)
class Limits:
    """How long calls may take, in seconds.

    Attributes:
        total: a whole call.
        connect: making the connection.
    """

    total: float = 600.0
    connect: float = 10.0


class Transport(Protocol):
    """Makes one call at a time, many at once; lives inside one event loop."""

    async def call(self, url: str, body: Mapping[str, Any], request_id: str) -> Completion:
        """Return an answer that has text.

        Args:
            url: base address of the endpoint.
            body: see `request_body`.
            request_id: sent along, for finding the call in the server's log.

        Raises:
            CallError: when there is none.
            SetupError: when the endpoint refuses the key, the model or the address.
        """
        ...

    async def probe(self, url: str) -> None:
        """Return when the endpoint is there; CallError otherwise."""
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


def endpoint_label(url: str) -> str:
    """Return host and port of an address, never its user name, password or query."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    return f"{host}:{parts.port}" if parts.port else host


def shown_url(url: str) -> str:
    """Return an address fit for messages: without user name, password and query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{endpoint_label(url)}{parts.path}"


def without_login(url: str) -> tuple[str, str | None]:
    """Return an address without user name and password, and the header value that stands for them.

    A login in the address goes before the API key: both travel in the same header.
    """
    parts = urlsplit(url)
    if "@" not in parts.netloc:
        return url, None
    login = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    clean = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    return clean, f"Basic {base64.b64encode(login.encode()).decode()}"


def open_transport(kind: Kind, api_key_variable: str, limits: Limits) -> Transport:
    """Return a transport; call it inside the event loop that will use it.

    Args:
        kind: which one.
        api_key_variable: NAME of the environment variable that holds the key; it may be absent.
        limits: how long calls may take.
    """
    key = os.environ.get(api_key_variable) or "none"
    if kind == "aiohttp":
        return AiohttpTransport(key, limits)
    from saber_resources.openai_transport import OpenAITransport  # it takes a second to import

    return OpenAITransport(key, limits)


@dataclass(frozen=True)
class _Route:
    """How an endpoint is reached: address, value of the header, proxy from the environment."""

    url: str
    authorization: str = field(repr=False)
    proxy: str | None


class AiohttpTransport:
    """Calls through aiohttp.

    Args:
        key: API key.
        limits: how long calls may take.
    """

    def __init__(self, key: str, limits: Limits) -> None:
        self._limits = limits
        self._key = key
        self._routes: dict[str, _Route] = {}
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=60),
            timeout=aiohttp.ClientTimeout(total=limits.total, sock_connect=limits.connect),
            headers={"Content-Type": "application/json"},
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def call(self, url: str, body: Mapping[str, Any], request_id: str) -> Completion:
        """Return an answer that has text; see `Transport`."""
        route = self._route(url)
        try:
            async with self._session.post(
                f"{route.url}/chat/completions",
                data=encode_body(body),
                headers={REQUEST_ID: request_id, "Authorization": route.authorization},
                proxy=route.proxy,
                allow_redirects=False,
            ) as answer:
                data = await answer.read()
                status, headers = answer.status, answer.headers
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise _unreachable(error) from error
        except TimeoutError as error:
            raise timed_out(self._limits.total) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise _broken(error) from error
        if status >= 300:
            raise refused(status, headers, data.decode("utf-8", "replace"), shown_url(url))
        return usable(read_completion(data))

    async def probe(self, url: str) -> None:
        """Return when the endpoint is there; see `Transport`."""
        route = self._route(url)
        try:
            async with self._session.get(
                f"{route.url}/models",
                timeout=aiohttp.ClientTimeout(total=min(PROBE_SECONDS, self._limits.total)),
                headers={"Authorization": route.authorization},
                proxy=route.proxy,
            ) as answer:
                check_probe(answer.status)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise _unreachable(error) from error
        except TimeoutError as error:
            raise timed_out(PROBE_SECONDS) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise _broken(error) from error

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()
        await asyncio.sleep(0)

    def _route(self, url: str) -> _Route:
        """Return how an endpoint is reached, worked out once."""
        if url not in self._routes:
            clean, login = without_login(url)
            parts = urlsplit(clean)
            bypass = urllib.request.proxy_bypass(parts.hostname or "")
            proxy = None if bypass else urllib.request.getproxies().get(parts.scheme)
            self._routes[url] = _Route(clean.rstrip("/"), login or f"Bearer {self._key}", proxy)
        return self._routes[url]


def usable(completion: Completion) -> Completion:
    """Return a completion that has text; CallError for any other."""
    if completion.fault is not None:
        raise CallError(completion.fault, usage=completion.usage)
    return completion


def check_probe(status: int) -> None:
    """Judge the status of an endpoint's list of models; not every server has or shows one.

    Raises:
        CallError: when it isn't ready.
    """
    if status >= _STARTING and status != 501:
        raise CallError(f"the endpoint answered with status {status}", unhealthy=True)


def _unreachable(error: BaseException) -> CallError:
    system = getattr(error, "os_error", None)
    reason = getattr(system, "strerror", None) or str(error) or type(error).__name__
    return CallError(f"no connection: {reason}", unhealthy=True, unreachable=True)


def _broken(error: BaseException) -> CallError:
    """Return the error of a connection that broke or an answer that isn't HTTP.

    The message is our own: the library's may hold headers.
    """
    if isinstance(error, aiohttp.InvalidURL):
        raise SetupError("an address in llm.endpoints is no URL", "write http://HOST:PORT/v1")
    kind = "was cut short" if isinstance(error, aiohttp.ClientPayloadError) else "broke off"
    return CallError(f"the connection {kind} ({type(error).__name__})", unhealthy=True)
