"""A JSON endpoint that is asked with patience: timeouts, back-off, Retry-After, redirects."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any

from saber_assets.errors import InputError
from saber_assets.retrieval.reasons import masked, masked_in, said
from saber_assets.retrieval.remote.patience import PassingError, Patience, retry_after
from saber_assets.retrieval.remote.whole_answer import opener

TRIES = 8
FIRST_TRIES = 3
"""Tries to reach a server that never answered: its URL is rather wrong than its day bad."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0
"""Seconds between tries: they double."""
TIMEOUT = 120.0
LARGEST = 1 << 28
LARGEST_FAULT = 1 << 16
"""Bytes of an answer, and of one that says no, at most."""
BEARER = "Bearer "
_PASSING = frozenset({408, 409, 425, 429})


class StatusError(Exception):
    """An answer that isn't one; the message is its body.

    Args:
        status: HTTP status.
        body: text of the answer.
    """

    def __init__(self, status: int, body: str) -> None:
        super().__init__(f"status {status}: {said(body)}")
        self.status, self.body = status, body


class JsonEndpoint:
    """Posts JSON to paths below a URL.

    A server may repeat the headers that it gets. Nothing of an answer leaves this class before
    their values are masked in it.

    Args:
        url: where the paths begin, without the last slash.
        headers: sent with each request; the key is one of them, never a part of the URL.
        tries: how often a request is sent at most.
        timeout: seconds until an answer that isn't whole counts as lost.
        sleep: waits for some seconds.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str] | None = None,
        *,
        tries: int = TRIES,
        timeout: float = TIMEOUT,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise InputError(f"'{url}' is no http URL", "correct `served` in systems.toml")
        try:
            urllib.parse.urlsplit(url)
        except ValueError:
            raise InputError(f"'{url}' is no URL", "correct `served` in systems.toml") from None
        self._url = url.rstrip("/")
        self._headers = {"Content-Type": "application/json", **(headers or {})}
        self._secrets = [value.removeprefix(BEARER) for value in (headers or {}).values()]
        self._tries, self._timeout, self._sleep = tries, timeout, sleep
        self._reached = False
        self._opener = opener()

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Return the answer to a request.

        Raises:
            StatusError: for a status that says no, after all tries where it may pass.
            InputError: when nobody answers.
            UnavailableError: when the server asks for more time than it gets.
        """
        content = json.dumps(body).encode()
        patience = Patience(
            self._url, self._tries, FIRST_PAUSE, LONGEST_PAUSE, spread=0.25, sleep=self._sleep
        )
        return patience.get(lambda: self._try(path, content))

    def _try(self, path: str, content: bytes) -> Any:
        try:
            return self._sent(path, content)
        except urllib.error.HTTPError as error:
            self._reached = True
            with error:
                text = self._plain(_told(error).decode("utf-8", "replace"))
            fault = StatusError(error.code, text)
            if error.code not in _PASSING and error.code < 500:
                raise fault from None
            asked = retry_after(error.headers.get("Retry-After") or _retry_delay(text))
            raise PassingError(fault, asked) from None
        except (OSError, http.client.HTTPException) as error:
            told = self._plain(str(getattr(error, "reason", error)))
            gone = InputError(
                f"{self._url} doesn't answer ({said(told) or type(error).__name__})",
                "start it or check its URL, then run again: what was answered is kept",
            )
            tries = None if self._reached else min(FIRST_TRIES, self._tries)
            raise PassingError(gone, tries=tries) from None
        except (ValueError, RecursionError):  # no JSON, or nested without end
            raise PassingError(StatusError(200, "the answer is not JSON")) from None

    def _sent(self, path: str, content: bytes) -> Any:
        request = urllib.request.Request(  # noqa: S310  (the scheme was checked)
            f"{self._url}/{path}", data=content, headers=self._headers, method="POST"
        )
        with self._opener.open(request, timeout=self._timeout) as answer:
            self._reached = True
            content = answer.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise StatusError(answer.status, f"the answer has more than {LARGEST} bytes")
        found = json.loads(content)
        for secret in self._secrets:
            if secret.strip().encode() in content:  # rarely: vectors are long
                found = masked_in(found, secret)
        return found

    def _plain(self, text: str) -> str:
        """Return a text without what must stay here."""
        for secret in self._secrets:
            text = masked(text, secret)
        return text


def _told(error: urllib.error.HTTPError) -> bytes:
    """Return the beginning of what stands in an answer that says no, as far as it comes."""
    try:
        return error.read(LARGEST_FAULT)
    except (OSError, http.client.HTTPException):
        return b""


def _retry_delay(body: str) -> str | None:
    """Return the seconds that Google's details ask to wait."""
    try:
        details = json.loads(body)["error"]["details"]
        delays = [detail["retryDelay"] for detail in details if "retryDelay" in detail]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return str(delays[0]).removesuffix("s") if delays else None
