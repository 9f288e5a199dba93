"""A language-model server that fails on purpose, for the tests of everything that calls one."""

from __future__ import annotations

import asyncio
import contextlib
import email.utils
import hashlib
import json
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable

import pytest

REFUSALS = {
    "429": (429, {}),
    "429_seconds": (429, {"Retry-After": "0.05"}),
    "429_date": (429, {"Retry-After": "date"}),
    "500": (500, {}),
    "503": (503, {}),
}
BROKEN = ("reset", "reset_midway", "truncated", "hang")
USELESS = ("null_content", "no_choice", "cut_off", "wrong_schema", "twice_in_one", "no_json")
SLOW = ("slow", "slow_body", "two_choices")
"""Slow or odd, but good answers."""
ALL_FAULTS = (*REFUSALS, *BROKEN, *USELESS, *SLOW)


class FaultServer:
    """An OpenAI-compatible chat server; which call fails how is drawn from a seed.

    Args:
        answer: gives the reply's text for a request's body.
        share: share of the calls that fail, drawn from the seed, the body and the try's number.
        kinds: which faults.
        seed: of the draw.
        most: faults of one request at most; later tries succeed.
        seconds: time that an answer takes.
        room: calls at once above which a call is refused with status 429; None: any number.
        hang_seconds: how long a hanging call hangs.
    """

    def __init__(
        self,
        answer: Callable[[dict], str] | None = None,
        share: float = 0.0,
        kinds: tuple[str, ...] = ALL_FAULTS,
        seed: int = 0,
        most: int = 3,
        seconds: float = 0.0,
        room: int | None = None,
        hang_seconds: float = 30.0,
    ) -> None:
        assert set(kinds) <= set(ALL_FAULTS), kinds
        self.answer = answer or (lambda body: "echo " + body["messages"][-1]["content"])
        self.share, self.kinds, self.seed, self.most = share, kinds, seed, most
        self.seconds, self.room, self.hang_seconds = seconds, room, hang_seconds
        self.tries: Counter[str] = Counter()
        """Calls, by request."""
        self.billed: Counter[str] = Counter()
        """Calls for which tokens were made, by request; also where no usable answer arrived."""
        self._delivered: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        """Faults, by kind."""
        self.probes = 0
        self.well = True
        """Whether /v1/models says so."""
        self.flying = self.most_flying = 0
        self.headers: list[dict[str, str]] = []
        self.times: list[float] = []
        self._writers: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self.port = 0
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def delivered(self) -> Counter[str]:
        """Good answers that were written out completely, by request.

        An answer counts after its last byte, when its reader may be on already: whoever looks
        waits a moment for the calls in flight.
        """
        deadline = time.monotonic() + 2
        while self.flying and time.monotonic() < deadline:
            time.sleep(0.01)
        return self._delivered

    def total(self) -> int:
        """Calls in all."""
        return sum(self.tries.values())

    def start(self) -> FaultServer:
        self._thread.start()
        self._started.wait(10)
        return self

    def stop(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._end.set)
            self._thread.join(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        self._end = asyncio.Event()
        server = await asyncio.start_server(self._connection, "127.0.0.1", self.port, backlog=2048)
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        await self._end.wait()
        server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        for writer in list(self._writers):
            writer.transport.abort()
        await asyncio.sleep(0)

    async def _connection(self, reader, writer) -> None:
        self._writers.add(writer)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                lines = head.split("\r\n")
                headers = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                if lines[0].startswith("GET"):
                    self.probes += 1
                    await reply(writer, 200 if self.well else 503, {}, b'{"data": []}')
                elif not await self._chat(writer, headers, json.loads(body)):
                    return
        except (asyncio.IncompleteReadError, OSError, asyncio.CancelledError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _chat(self, writer, headers, body) -> bool:
        """Answer one call; return whether the connection is still good."""
        request = json.dumps(body, sort_keys=True)
        number = self.tries[request]
        self.tries[request] += 1
        self.headers.append(headers)
        self.times.append(time.monotonic())
        self.flying += 1
        self.most_flying = max(self.most_flying, self.flying)
        try:
            if self.room is not None and self.flying > self.room:
                self.faults["429"] += 1
                await reply(writer, 429, {}, b"{}")
                return True
            fault = self._draw(request, number)
            if fault is not None:
                self.faults[fault] += 1
            await asyncio.sleep(self.seconds)
            return await self._send(writer, request, body, fault)
        finally:
            self.flying -= 1

    def _draw(self, request: str, number: int) -> str | None:
        if number >= self.most or not self.share:
            return None
        digest = hashlib.blake2b(f"{self.seed}|{number}|{request}".encode(), digest_size=8).digest()
        draw = int.from_bytes(digest, "big")
        if (draw % 10**6) / 10**6 >= self.share:
            return None
        return self.kinds[(draw // 10**6) % len(self.kinds)]

    async def _send(self, writer, request: str, body: dict, fault: str | None) -> bool:
        if fault in REFUSALS:
            status, extra = REFUSALS[fault]
            if extra.get("Retry-After") == "date":
                extra = {"Retry-After": email.utils.formatdate(time.time() + 1, usegmt=True)}
            await reply(writer, status, extra, b'{"error": {"message": "on purpose"}}')
            return True
        if fault == "hang":
            await asyncio.sleep(self.hang_seconds)
            return False
        if fault == "reset":
            abort(writer)
            return False
        self.billed[request] += 1
        data = completion(self.answer(body), fault)
        if fault in ("truncated", "reset_midway"):
            writer.write(head_of(200, {}, len(data)) + data[: len(data) // 2])
            await writer.drain()
            if fault == "reset_midway":
                abort(writer)
            return False
        if fault == "slow":
            await asyncio.sleep(0.1)
        await reply(writer, 200, {}, data, slowly=fault == "slow_body")
        if fault is None or fault in SLOW:
            self._delivered[request] += 1
        return True


def completion(text: str, fault: str | None = None) -> bytes:
    """A chat completion; some faults are in its content."""
    reason, content = "stop", text
    if fault == "null_content":
        content = None
    elif fault == "cut_off":
        reason, content = "length", ""
    elif fault == "wrong_schema":
        content = ["not", "a", "text"]
    choice = {
        "index": 0,
        "finish_reason": reason,
        "message": {"role": "assistant", "content": content},
    }
    choices = {"no_choice": [], "two_choices": [choice, {**choice, "index": 1}]}
    data = json.dumps(
        {
            "id": "x",
            "object": "chat.completion",
            "created": 0,
            "model": "faulty",
            "choices": choices.get(fault, [choice]),
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        }
    ).encode()
    if fault == "twice_in_one":
        return data + data
    return b"<html>busy</html>" if fault == "no_json" else data


def head_of(status: int, headers: dict[str, str], length: int) -> bytes:
    lines = [f"HTTP/1.1 {status} X", "Content-Type: application/json", f"Content-Length: {length}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def reply(writer, status, headers, data: bytes, slowly: bool = False) -> None:
    writer.write(head_of(status, headers, len(data)))
    if slowly:
        for start in range(0, len(data), 40):
            writer.write(data[start : start + 40])
            await writer.drain()
            await asyncio.sleep(0.01)
    else:
        writer.write(data)
    await writer.drain()


def abort(writer) -> None:
    """Reset the connection."""
    with contextlib.suppress(OSError):
        writer.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
    writer.transport.abort()


@pytest.fixture
def fault_server():
    """Start faulty language-model servers; they end with the test."""
    started: list[FaultServer] = []

    def start(*args, port: int = 0, **settings) -> FaultServer:
        server = FaultServer(*args, **settings)
        server.port = port
        started.append(server)
        return server.start()

    yield start
    for server in started:
        server.stop()
