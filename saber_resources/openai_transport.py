"""Chat calls through the client of the package `openai`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import openai
import orjson

from saber_resources.call_errors import CallError, refused, timed_out
from saber_resources.chat_request import Completion, encode_body, read_completion
from saber_resources.chat_transport import (
    PROBE_SECONDS,
    REQUEST_ID,
    Limits,
    check_probe,
    shown_url,
    usable,
    without_login,
)


class OpenAITransport:
    """Calls through `openai.AsyncOpenAI`, one client an endpoint; see `Transport`.

    Args:
        key: API key.
        limits: how long calls may take.
    """

    def __init__(self, key: str, limits: Limits) -> None:
        self._key, self._limits = key, limits
        self._clients: dict[str, openai.AsyncOpenAI] = {}

    def _client(self, url: str) -> openai.AsyncOpenAI:
        if url not in self._clients:
            timeout = openai.Timeout(self._limits.total, connect=self._limits.connect)
            clean, login = without_login(url)
            self._clients[url] = openai.AsyncOpenAI(
                base_url=clean,
                api_key=self._key,
                default_headers=None if login is None else {"Authorization": login},
                timeout=timeout,
                max_retries=0,
                # the texts are for this host alone
                http_client=openai.DefaultAsyncHttpxClient(follow_redirects=False, timeout=timeout),
            )
        return self._clients[url]

    async def call(self, url: str, body: Mapping[str, Any], request_id: str) -> Completion:
        """Return an answer that has text; see `Transport`."""
        try:
            answer = await self._client(url).chat.completions.with_raw_response.create(
                model=body["model"],
                messages=orjson.loads(encode_body({"messages": body["messages"]}))["messages"],
                extra_body={name: body[name] for name in body.keys() - {"model", "messages"}},
                extra_headers={REQUEST_ID: request_id},
            )
            data = answer.content
        except openai.OpenAIError as error:
            raise self._fault(error, url) from error
        except (ValueError, TypeError) as error:
            raise CallError(f"the answer is not understood ({type(error).__name__})") from error
        return usable(read_completion(data))

    async def probe(self, url: str) -> None:
        """Return when the endpoint is there; see `Transport`."""
        client = self._client(url).with_options(timeout=min(PROBE_SECONDS, self._limits.total))
        try:
            await client.models.with_raw_response.list()
        except openai.APIStatusError as error:
            check_probe(error.status_code)
        except openai.OpenAIError as error:
            raise self._fault(error, url) from error

    async def close(self) -> None:
        """Close all connections."""
        for client in self._clients.values():
            await client.close()

    def _fault(self, error: openai.OpenAIError, url: str) -> CallError:
        if isinstance(error, openai.APITimeoutError):
            return timed_out(self._limits.total)
        if isinstance(error, openai.APIStatusError):
            return refused(
                error.status_code, error.response.headers, str(error.message), shown_url(url)
            )
        if isinstance(error, openai.APIConnectionError):
            cause = type(error.__cause__).__name__
            reached = "Connect" not in cause
            text = f"the connection broke off ({cause})" if reached else f"no connection: {cause}"
            return CallError(text, unhealthy=True, unreachable=not reached)
        return CallError(f"the answer is not understood ({type(error).__name__})")
