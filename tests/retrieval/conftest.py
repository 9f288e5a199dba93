"""A server on this machine that answers as a test tells it to."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

Answer = tuple[int, Any] | tuple[int, Any, dict[str, str]]


@dataclass
class FakeServer:
    """Attributes: url; what was asked, as (path, headers, body); how many at once at most."""

    url: str = ""
    asked: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)
    at_once: int = 0
    running: int = 0
    lock: Any = field(default_factory=threading.Lock)

    def bodies(self, path: str) -> list[Any]:
        return [body for asked, _, body in self.asked if asked.endswith(path)]


@contextmanager
def serving(answer: Callable[[str, Any], Answer]) -> Iterator[FakeServer]:
    fake = FakeServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            with fake.lock:
                fake.asked.append((self.path, headers, body))
                fake.running += 1
                fake.at_once = max(fake.at_once, fake.running)
            try:
                status, content, *more = answer(self.path, body)
            finally:
                with fake.lock:
                    fake.running -= 1
            sent = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            for name, value in (more[0] if more else {}).items():
                self.send_header(name, value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # a client that gave up is no news
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    fake.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def fake_server():
    """Return what serves a function from path and body to status, content and headers."""
    return serving
