"""The chat client of openai keeps to the host that it was told."""

from __future__ import annotations

import asyncio
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from saber_resources.call_errors import CallError
from saber_resources.chat_transport import Limits
from saber_resources.openai_transport import OpenAITransport


def test_texts_follow_no_redirect():
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            asked.append(self.path)
            self.send_response(307)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    async def call(url):
        transport = OpenAITransport("none", Limits(total=5.0, connect=5.0))
        try:
            await transport.call(url, {"model": "m", "messages": []}, "1")
        finally:
            await transport.close()

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        with pytest.raises(CallError, match="status 307"):
            asyncio.run(call(f"http://127.0.0.1:{server.server_port}/v1"))
        server.shutdown()
    assert asked == ["/v1/chat/completions"]
