"""Answers that drip end with the timeout; others are read as ever."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import contextmanager

import pytest

from saber_assets.errors import InputError, UnavailableError
from saber_assets.retrieval.own import own_endpoint
from saber_assets.retrieval.own.own_endpoint import EndpointRetriever, stated_version
from saber_assets.retrieval.remote import json_endpoint
from saber_assets.retrieval.remote.json_endpoint import JsonEndpoint, StatusError

HEAD = b"HTTP/1.1 200 OK\r\n"
DRIPPING = {"headers": HEAD, "body": HEAD + b"\r\n"}


@contextmanager
def dripping(head):
    """Serve a head, and then a sign each 50 ms, for 3 s at most."""
    server = socket.create_server(("127.0.0.1", 0))

    def drip(connection):
        with connection:
            connection.recv(65536)
            try:
                connection.sendall(head)
                for _ in range(60):
                    connection.sendall(b" ")
                    time.sleep(0.05)
            except OSError:
                return

    def serve():
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=drip, args=(connection,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/x"
    finally:
        server.close()


@pytest.mark.parametrize("head", DRIPPING.values(), ids=list(DRIPPING))
def test_an_answer_that_drips_has_an_end(head, monkeypatch):
    monkeypatch.setattr(own_endpoint, "VERSION_TIMEOUT", 0.3)
    monkeypatch.setattr(own_endpoint, "TRIES", 1)
    with dripping(head) as url:
        start = time.monotonic()
        with pytest.raises(UnavailableError, match=r"doesn't answer \(TimeoutError"):
            stated_version(url)
        with pytest.raises(UnavailableError, match=r"doesn't answer \(TimeoutError"):
            EndpointRetriever(url, timeout=0.3).score("q", ["d"])
        with pytest.raises(InputError, match="doesn't answer"):
            JsonEndpoint(url, timeout=0.3, tries=1).post("a", {})
        assert time.monotonic() - start < 2.0


def test_an_answer_has_a_size_limit(fake_server, monkeypatch):
    monkeypatch.setattr(json_endpoint, "LARGEST", 100)
    with fake_server(lambda path, body: (200, {"text": "x" * 50 * body["many"]})) as server:
        asked = JsonEndpoint(server.url, tries=1)
        assert asked.post("a", {"many": 1}) == {"text": "x" * 50}
        with pytest.raises(StatusError, match="more than 100 bytes"):
            asked.post("a", {"many": 2})
