"""The confidence judge over HTTP: log-probabilities are asked for, stored, and read again."""

from __future__ import annotations

import json
import math
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from saber_assets.annotation.annotator import Comparison, Problem, Verdict
from saber_assets.asking import Asker
from saber_assets.errors import InputError
from saber_assets.tournament.judges.confidence import ConfidenceJudge
from saber_resources.llm_gateway import Gateway
from saber_resources.prompts import load_prompt
from saber_resources.response_store import ResponseStore

PAIR = Comparison(*(Problem(name, f"S {name}", f"T {name}") for name in "qab"))
TOKENS = [("Both descend", -0.5, {}), (" \\boxed", -0.1, {}), ("{", 0.0, {})]
DIGIT = ("2", math.log(0.8), {"2": math.log(0.8), "1": math.log(0.2)})


def answer(body, with_logprobs) -> str:
    tokens = [*TOKENS, DIGIT, ("}", 0.0, {})]
    content = [
        {
            "token": token,
            "logprob": logprob,
            "bytes": list(token.encode()),
            "top_logprobs": [{"token": t, "logprob": p, "bytes": None} for t, p in top.items()],
        }
        for token, logprob, top in tokens
    ]
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": "".join(token for token, *_ in tokens)},
    }
    if with_logprobs and body.get("logprobs") is True and body.get("top_logprobs") == 5:
        choice["logprobs"] = {"content": content}
    return json.dumps(
        {
            "id": "x", "object": "chat.completion", "created": 0, "model": "m",
            "choices": [choice],
            "usage": {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14},
        }
    )  # fmt: skip


@pytest.fixture
def server():
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.calls += 1
            data = answer(body, server.with_logprobs).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.calls, server.with_logprobs = 0, True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def judged(server, path):
    with ResponseStore(path) as store:
        gateway = Gateway("m", [f"http://127.0.0.1:{server.server_port}/v1"], store)
        judge = ConfidenceJudge(Asker(gateway), load_prompt("pairwise_judge"))
        return judge.compare([PAIR])


def test_confidence_comes_from_the_server_and_then_from_the_store(server, tmp_path):
    expected = [Verdict(2, pytest.approx(0.8))]
    assert judged(server, tmp_path / "r") == expected
    assert judged(server, tmp_path / "r") == expected
    assert server.calls == 1


def test_a_server_that_ignores_the_wish_is_named(server, tmp_path):
    server.with_logprobs = False
    with pytest.raises(InputError, match="gives no log-probabilities"):
        judged(server, tmp_path / "r")
