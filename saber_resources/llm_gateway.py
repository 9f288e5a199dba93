"""The one way to language models: OpenAI-compatible chat over one or several endpoints.

It looks into the response store first, asks only for what is missing, and writes answers as they
arrive, so that a run that was stopped goes on where it was.
"""

from __future__ import annotations

import asyncio
import email.utils
import os
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import openai

from saber_resources.coroutines import run_anywhere
from saber_resources.errors import SetupError
from saber_resources.profiles import Llm
from saber_resources.response_store import Response, ResponseStore, request_key

NO_MODEL = "set llm.model in saber.toml or with --set llm.model=NAME, and llm.endpoints likewise"
NO_ENDPOINT = 'set llm.endpoints in saber.toml, such as ["http://127.0.0.1:8000/v1"]'
WINDOW = 2048
"""Requests looked up and asked at a time: bounds memory."""
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 60.0
LONGEST_RETRY_AFTER = 600.0
"""Seconds; an endpoint that asks for a longer pause than this is asked again after it."""
_NATIVE = frozenset(
    [
        *("temperature", "top_p", "max_tokens", "seed", "frequency_penalty"),
        *("presence_penalty", "reasoning_effort"),
    ]
)
_SET_UP_FAULTS = {
    401: "set the API key in the variable that llm.api_key_variable names",
    403: "check the rights of the API key",
    404: "check llm.endpoints (they usually end in /v1) and llm.model",
}


class Request(Protocol):
    """What can be asked; see `ChatRequest` of the annotation stage."""

    @property
    def messages(self) -> Sequence[Mapping[str, str]]:
        """Chat messages."""
        ...

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """JSON schema of the reply, or None."""
        ...

    @property
    def sampling(self) -> Mapping[str, Any]:
        """Sampling settings."""
        ...

    @property
    def attempt(self) -> int:
        """Sample index, or number of the re-ask."""
        ...


@dataclass(frozen=True)
class Reply:
    """An answer, or why there is none: exactly one of `text` and `error` is not None."""

    text: str | None
    error: str | None
    finish_reason: str | None
    tokens_in: int
    tokens_out: int
    stored: bool
    """True where the answer came out of the store."""


@dataclass
class _Endpoint:
    url: str
    client: openai.AsyncOpenAI
    resume_at: float = 0.0
    """Monotonic time before which the endpoint asked not to be called."""


@dataclass
class _Cost:
    """What the calls for one request have used."""

    tokens_in: int = 0
    tokens_out: int = 0
    calls: int = 0
    latency: float = 0.0


class _FailedCallError(Exception):
    """A call that gave nothing.

    Args:
        reason: in one sentence.
        retry: whether another try may help.
        pause: seconds that the endpoint asked to wait, or None.
        unreachable: whether no connection came about.
    """

    def __init__(
        self, reason: str, retry: bool, pause: float | None = None, unreachable: bool = False
    ) -> None:
        super().__init__(reason)
        self.reason, self.retry, self.pause, self.unreachable = reason, retry, pause, unreachable


class Gateway:
    """Asks a model through a response store.

    Args:
        model: name of the model, as the endpoints know it.
        endpoints: base URLs; requests are spread over them in turn.
        store: where answers are kept.
        api_key_variable: NAME of the environment variable that holds the key. It may be absent.
        concurrency: calls in flight.
        timeout_seconds: of one call.
        attempts: calls for one request at most.
        json_schema: whether a request's schema is sent along as `response_format`.
        progress: called with the number of newly finished requests.

    Raises:
        SetupError: when no model or no endpoint is configured.
    """

    def __init__(
        self,
        model: str,
        endpoints: Sequence[str],
        store: ResponseStore,
        api_key_variable: str = "OPENAI_API_KEY",
        concurrency: int = 32,
        timeout_seconds: float = 600.0,
        attempts: int = 5,
        json_schema: bool = True,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        if not model:
            raise SetupError("no language model is configured", NO_MODEL)
        if not endpoints:
            raise SetupError("no language-model endpoint is configured", NO_ENDPOINT)
        if concurrency < 1 or attempts < 1:
            raise ValueError("concurrency and attempts must be at least 1")
        self.model = model
        self._urls = tuple(endpoints)
        self._store = store
        self._api_key_variable = api_key_variable
        self._concurrency = concurrency
        self._timeout = timeout_seconds
        self._attempts = attempts
        self._json_schema = json_schema
        self._progress = progress

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        """Return one reply for each request, in order; a failed one says why.

        Works from any thread, also one that runs an event loop.

        Raises:
            SetupError: when an endpoint can't be reached, or refuses the key, the model or the
                address. Answers that have arrived are in the store.
        """
        replies: list[Reply] = []
        for start in range(0, len(requests), WINDOW):
            replies.extend(self._complete_window(requests[start : start + WINDOW]))
        return replies

    def _complete_window(self, requests: Sequence[Request]) -> list[Reply]:
        keys = [self._key(request) for request in requests]
        answers = {key: _reply(found, True) for key, found in self._store.get(keys).items()}
        missing = {
            key: request for key, request in zip(keys, requests, strict=True) if key not in answers
        }
        self._advance(sum(key not in missing for key in keys))
        if missing:
            try:
                answers.update(run_anywhere(self._ask_all(missing)))
            finally:
                self._store.flush()
            self._advance(sum(key in missing for key in keys) - len(missing))
        return [answers[key] for key in keys]

    def _advance(self, count: int) -> None:
        if self._progress is not None and count > 0:
            self._progress(count)

    def _key(self, request: Request) -> bytes:
        return request_key(
            self.model, request.messages, self._schema(request), request.sampling, request.attempt
        )

    def _schema(self, request: Request) -> Mapping[str, Any] | None:
        return request.schema if self._json_schema else None

    async def _ask_all(self, missing: Mapping[bytes, Request]) -> dict[bytes, Reply]:
        """Ask for every request with at most `concurrency` calls in flight."""
        answers: dict[bytes, Reply] = {}
        endpoints = [_Endpoint(url, self._client(url)) for url in self._urls]
        waiting = iter(enumerate(missing.items()))

        async def work() -> None:
            for number, (key, request) in waiting:
                response = await self._ask(request, endpoints, number)
                self._store.put(key, response)
                answers[key] = _reply(response, False)
                self._advance(1)

        workers = [asyncio.create_task(work()) for _ in range(min(self._concurrency, len(missing)))]
        ticker = asyncio.create_task(self._store.flush_regularly())
        try:
            await asyncio.gather(*workers)
        finally:
            for task in (*workers, ticker):
                task.cancel()
            await asyncio.gather(*workers, ticker, return_exceptions=True)
            for endpoint in endpoints:
                await endpoint.client.close()
        return answers

    def _client(self, url: str) -> openai.AsyncOpenAI:
        key = os.environ.get(self._api_key_variable) or "none"
        return openai.AsyncOpenAI(base_url=url, api_key=key, timeout=self._timeout, max_retries=0)

    async def _ask(self, request: Request, endpoints: Sequence[_Endpoint], number: int) -> Response:
        """Call until there is a reply, the attempts are used up, or trying again is no use."""
        cost = _Cost()
        fault = _FailedCallError("not called", retry=False)
        for attempt in range(self._attempts):
            endpoint = endpoints[(number + attempt) % len(endpoints)]
            await asyncio.sleep(max(0.0, endpoint.resume_at - time.monotonic()))
            try:
                text, reason = await self._call(request, endpoint, cost)
            except _FailedCallError as error:
                fault = error
                if not error.retry:
                    break
                if error.pause is not None:
                    endpoint.resume_at = max(endpoint.resume_at, time.monotonic() + error.pause)
                elif attempt + 1 < self._attempts:
                    await asyncio.sleep(_pause(attempt))
            else:
                return self._response(cost, text, reason, None)
        if fault.unreachable:
            tried = f"{', '.join(self._urls)} ({fault.reason.rstrip('.')})"
            raise SetupError(
                f"no language model answers at {tried}", "start it or correct llm.endpoints"
            )
        return self._response(cost, None, None, fault.reason)

    def _response(
        self, cost: _Cost, text: str | None, reason: str | None, error: str | None
    ) -> Response:
        return Response(
            self.model, text, reason, cost.tokens_in, cost.tokens_out, cost.latency, cost.calls,
            error,
        )  # fmt: skip

    async def _call(
        self, request: Request, endpoint: _Endpoint, cost: _Cost
    ) -> tuple[str, str | None]:
        """Make one call; raise _FailedCallError where it gives no text."""
        cost.calls += 1
        start = time.monotonic()
        try:
            completion = await endpoint.client.chat.completions.create(**self._arguments(request))
        except openai.APITimeoutError as error:
            raise _FailedCallError(f"no answer within {self._timeout:g} s", retry=True) from error
        except openai.APIConnectionError as error:
            reason = str(error.__cause__ or error)
            raise _FailedCallError(reason, retry=True, unreachable=True) from error
        except openai.APIStatusError as error:
            raise _status_fault(error, endpoint.url) from error
        except (openai.OpenAIError, ValueError, TypeError) as error:
            raise _FailedCallError(
                f"the endpoint's answer is not understood ({type(error).__name__})", retry=True
            ) from error
        finally:
            cost.latency = time.monotonic() - start
        return _text_of(completion, cost)

    def _arguments(self, request: Request) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "model": self.model,
            "messages": [
                {"role": message["role"], "content": _encodable(message["content"])}
                for message in request.messages
            ],
        }
        extra: dict[str, Any] = {}
        for name, value in request.sampling.items():
            (arguments if name in _NATIVE else extra)[name] = value
        if extra:
            arguments["extra_body"] = extra
        schema = self._schema(request)
        if schema is not None:
            arguments["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "reply", "schema": dict(schema)},
            }
        return arguments


@contextmanager
def open_gateway(
    llm: Llm, store: Path, progress: Callable[[int], None] | None = None
) -> Iterator[Gateway]:
    """Yield a gateway as a profile describes it; its store is closed afterwards.

    Args:
        llm: the profile's section.
        store: path of the response store.
        progress: called with the number of newly finished requests.

    Raises:
        SetupError: when no model is configured or the store can't be opened.
    """
    if not llm.model:
        raise SetupError("no language model is configured", NO_MODEL)
    with ResponseStore(store) as responses:
        yield Gateway(
            model=llm.model,
            endpoints=llm.endpoints,
            store=responses,
            api_key_variable=llm.api_key_variable,
            concurrency=llm.concurrency,
            timeout_seconds=llm.timeout_seconds,
            attempts=llm.attempts,
            progress=progress,
        )


def _reply(response: Response, stored: bool) -> Reply:
    return Reply(
        response.text, response.error, response.finish_reason, response.tokens_in,
        response.tokens_out, stored,
    )  # fmt: skip


def _text_of(completion: Any, cost: _Cost) -> tuple[str, str | None]:
    """Return text and finish reason of a completion, adding its tokens to the cost."""
    usage = getattr(completion, "usage", None)
    cost.tokens_in += getattr(usage, "prompt_tokens", None) or 0
    cost.tokens_out += getattr(usage, "completion_tokens", None) or 0
    choices = getattr(completion, "choices", None)
    if not choices:
        raise _FailedCallError("the endpoint's answer holds no choice", retry=True)
    text = getattr(getattr(choices[0], "message", None), "content", None)
    if not isinstance(text, str) or not text.strip():
        raise _FailedCallError("the endpoint's answer holds no text", retry=True)
    return text, choices[0].finish_reason


def _status_fault(error: openai.APIStatusError, url: str) -> _FailedCallError:
    """Return what a refusal means; raise SetupError where every call would be refused."""
    status = error.status_code
    if status in _SET_UP_FAULTS:
        raise SetupError(f"{url} refused the call with status {status}", _SET_UP_FAULTS[status])
    retry = status in {408, 409, 429} or status >= 500
    reason = f"the endpoint answered with status {status}"
    if not retry:
        reason += f": {' '.join(str(error.message).split())[:300]}"
    return _FailedCallError(reason, retry, _retry_after(error.response.headers))


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a Retry-After header asks to wait, or None."""
    value = headers.get("retry-after")
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        except ValueError:
            return None
    return min(max(seconds, 0.0), LONGEST_RETRY_AFTER)


def _pause(attempt: int) -> float:
    """Return a random pause before the next attempt, longer after each failure, in seconds."""
    longest = min(FIRST_PAUSE * 2**attempt, LONGEST_PAUSE)
    return random.uniform(longest / 2, longest)


def _encodable(text: str) -> str:
    """Replace lone surrogates, which no request can carry."""
    return text.encode("utf-8", "replace").decode()
