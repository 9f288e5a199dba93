"""A server that a test starts as a worker: healthy after a delay, dead on request.

Usage: fake_worker.py PORT DELAY_SECONDS NAME [--child]
"""

import json
import os
import signal
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT, DELAY, NAME = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
STARTED = time.monotonic()
if "--child" in sys.argv:
    # like an engine process, and one that doesn't heed a polite request to end
    subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)  # {PORT}",
        ]
    )
if "--stubborn" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        ready = time.monotonic() - STARTED >= DELAY
        if self.path == "/die":
            os._exit(3)
        if self.path == "/health" and "--no-health" in sys.argv:
            self.reply(404, {})
        elif self.path in ("/health", "/v1/models"):
            self.reply(200 if ready else 503, {"ready": ready})
        else:
            self.reply(200, {"pid": os.getpid(), "gpus": os.environ.get("CUDA_VISIBLE_DEVICES")})

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        message = {"role": "assistant", "content": NAME}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        self.reply(
            200,
            {
                "id": "x",
                "object": "chat.completion",
                "created": 0,
                "model": "fake",
                "choices": [choice],
                "usage": usage,
            },
        )

    def reply(self, status, value):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


sys.stderr.write(f"{NAME} at {PORT}\n")
ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
