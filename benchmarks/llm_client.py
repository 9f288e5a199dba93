"""How much the gateway to language models costs by itself, next to a plain loop over `openai`.

    python benchmarks/llm_client.py                     # calls a second, processor time a call
    python benchmarks/llm_client.py --memory 10000,50000,100000

A server in a process of its own answers at once with a fixed text, so that what is measured is the
client. Ours includes the look-up in the response store and the durable write of each answer; the
plain loop (`asyncio.gather` over `AsyncOpenAI`, bounded by a semaphore) keeps nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

REPLY = "The first candidate shares the key idea. " * 8 + r"\boxed{1}"
PROMPT = "Which of the two problems is more useful for solving the query? " * 30
BODY = json.dumps(
    {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "dummy",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": REPLY},
            }
        ],
        "usage": {"prompt_tokens": 500, "completion_tokens": 90, "total_tokens": 590},
    }
).encode()
ANSWER = (
    f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(BODY)}\r\n\r\n"
).encode() + BODY


class Answering(asyncio.Protocol):
    """Answers every request after a pause, without looking at more than its length."""

    def __init__(self, pause: float) -> None:
        self.pause, self.rest = pause, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection."""
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer each request that is complete."""
        self.rest += data
        while (end := self.rest.find(b"\r\n\r\n")) >= 0:
            head = self.rest[:end].lower()
            place = head.find(b"content-length: ")
            length = int(head[place + 16 :].split(b"\r\n", 1)[0]) if place >= 0 else 0
            if len(self.rest) < end + 4 + length:
                return
            self.rest = self.rest[end + 4 + length :]
            asyncio.get_running_loop().call_later(self.pause, self.transport.write, ANSWER)


def serve(ports: multiprocessing.Queue, pause: float) -> None:
    """Serve for ever; put the port."""

    async def run() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Answering(pause), "127.0.0.1", 0, backlog=4096)
        ports.put(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


@dataclass(frozen=True)
class Ask:
    """A request of the size of a pairwise judgment's."""

    number: int
    attempt: int = 0
    schema: None = None
    sampling: dict = field(default_factory=lambda: {"temperature": 0.0, "max_tokens": 512})

    @property
    def messages(self) -> list[dict[str, str]]:
        """Chat messages, made when they are needed."""
        return [{"role": "user", "content": f"{PROMPT}{self.number}"}]


def asks(count: int) -> Iterator[Ask]:
    """Yield requests one by one."""
    return (Ask(number) for number in range(count))


def ours(url: str, count: int, flying: int, transport: str = "aiohttp") -> int:
    """Ask through the gateway with a fresh store; return the number of answers."""
    from saber_resources.llm_gateway import Gateway
    from saber_resources.response_store import ResponseStore

    with (
        tempfile.TemporaryDirectory() as folder,
        ResponseStore(Path(folder) / "responses.sqlite") as store,
        Gateway("dummy", [url], store, concurrency=flying, transport=transport) as gateway,
    ):
        return sum(reply.text == REPLY for _, reply in gateway.complete_stream(asks(count)))


def plain(url: str, count: int, flying: int) -> int:
    """Ask with a loop over the client of `openai`; return the number of answers."""
    import openai

    async def run() -> int:
        client = openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0)
        room = asyncio.Semaphore(flying)

        async def one(ask: Ask) -> bool:
            async with room:
                try:
                    completion = await client.chat.completions.create(
                        model="dummy", messages=ask.messages, **ask.sampling
                    )
                except openai.OpenAIError:
                    return False
            return completion.choices[0].message.content == REPLY

        answers = await asyncio.gather(*(one(ask) for ask in asks(count)))
        await client.close()
        return sum(answers)

    return asyncio.run(run())


def measure(pipe, kind: str, url: str, count: int, flying: int) -> None:
    """Send answers, seconds, processor seconds and the growth of the peak memory in MB."""
    client = {
        "gateway": ours,
        "gateway, openai": lambda *rest: ours(*rest, transport="openai"),
        "plain openai": plain,
    }[kind]
    client(url, 64, 64)  # imports, code
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start, used = time.perf_counter(), time.process_time()
    answers = client(url, count, flying)
    seconds, used = time.perf_counter() - start, time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    pipe.send((answers, seconds, used, peak / 1024, (peak - memory) / 1024))


def run_one(kind: str, url: str, count: int, flying: int) -> tuple[int, float, float, float, float]:
    """Measure in a fresh process."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=measure, args=(there, kind, url, count, flying))
    process.start()
    there.close()
    found = here.recv()
    process.join()
    return found


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--calls", type=int, default=2000, help="calls of each measurement")
    parser.add_argument("--in-flight", default="64,256,1024")
    parser.add_argument("--memory", default="", help="numbers of calls to show the memory for")
    parser.add_argument("--pause", type=float, default=0.02, help="seconds that an answer takes")
    parser.add_argument("--clients", default="gateway,gateway+openai,plain")
    chosen = parser.parse_args()
    names = {
        "gateway": "gateway",
        "gateway+openai": "gateway, openai",
        "plain": "plain openai",
    }
    context = multiprocessing.get_context("spawn")
    ports = context.Queue()
    server = context.Process(target=serve, args=(ports, chosen.pause), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{ports.get()}/v1"
    print(f"{'client':16} {'in flight':>9} {'calls':>8} {'answers':>8} {'calls/s':>8} "
          f"{'CPU ms/call':>11} {'peak MB':>8} {'growth MB':>9}")  # fmt: skip
    if chosen.memory:
        plan = [("gateway", 256, int(count)) for count in chosen.memory.split(",")]
    else:
        plan = [
            (names[client], int(flying), chosen.calls)
            for client in chosen.clients.split(",")
            for flying in chosen.in_flight.split(",")
        ]
    for kind, flying, count in plan:
        answers, seconds, used, peak, growth = run_one(kind, url, count, flying)
        print(f"{kind:16} {flying:9} {count:8} {answers:8} {count / seconds:8.0f} "
              f"{1000 * used / count:11.3f} {peak:8.1f} {growth:9.1f}", flush=True)  # fmt: skip
    server.terminate()


if __name__ == "__main__":
    main()
