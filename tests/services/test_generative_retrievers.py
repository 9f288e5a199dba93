"""Retrievers behind an OpenAI-compatible endpoint: asked once, and told when it is gone."""

from __future__ import annotations

import json
import math
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import polars as pl
import pytest

from saber_assets.errors import InputError, UnavailableError
from saber_assets.retrieval.scoring import score_pools
from saber_assets.retrievers import retrievers_of
from saber_resources.response_store import ResponseStore
from saber_resources.settings import load_settings, save_settings
from saber_services.builder import build
from saber_services.planning.plan import plan_build

ROWS = """
[asked]
family = "generative-pointwise"
type_code = "C"
backends = ["vllm"]
model = "fake-judge"
served = "{url}"
answers = ["yes", "no"]
pair_template = "Alike?\\n{{query}}\\n--\\n{{document}}"
sampling = {{ temperature = 0, max_tokens = 4, logprobs = true, top_logprobs = 20 }}

[rewritten]
family = "query-rewriter"
type_code = "TWB"
backends = ["vllm"]
rewriter = "fake-rewriter"
base = "bm25"
served = "{url}"
rewrite_template = "Rewrite: {{query}}"
"""


PRICE = {"input": 0.1, "output": 0.1}


class Server:
    """Says yes by how many words the two texts share; rewrites by turning the words round."""

    def __init__(self) -> None:
        self.bodies: list[str] = []
        self.lock = threading.Lock()
        self.most = self.now = 0
        self.window: int | None = None
        """Characters of the longest text that is answered."""
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                text = self.rfile.read(int(self.headers["Content-Length"])).decode()
                with server.lock:
                    server.bodies.append(text)
                    server.now += 1
                    server.most = max(server.most, server.now)
                time.sleep(0.005)
                body = json.loads(text)
                length = len(body["messages"][-1]["content"])
                fits = server.window is None or length <= server.window
                data = json.dumps(answer(body) if fits else refusal(length, server.window)).encode()
                with server.lock:
                    server.now -= 1
                self.send_response(200 if fits else 400)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        class Many(ThreadingHTTPServer):
            request_queue_size = 256

        self.server = Many(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def refusal(length: int, window: int | None) -> dict:
    told = (
        f"This model's maximum context length is {window} tokens. However, you requested {length}"
    )
    return {"error": {"message": told, "type": "BadRequestError", "param": None, "code": 400}}


def share(text: str) -> float:
    query, document = (set(re.findall(r"\w+", part)) for part in text.split("\n--\n"))
    return min(0.99, 0.01 + len(query & document) / (len(query | document) or 1))


def answer(body: dict) -> dict:
    text = body["messages"][-1]["content"]
    logprobs = None
    if text.startswith("Rewrite: "):
        said = " ".join(reversed(text.removeprefix("Rewrite: ").split()))
    else:
        yes = share(text.removeprefix("Alike?\n"))
        top = [{"token": "yes", "logprob": math.log(yes)}]
        top.append({"token": "no", "logprob": math.log(1 - yes)})
        said = "yes" if yes > 0.5 else "no"
        own = next(one["logprob"] for one in top if one["token"] == said)
        logprobs = {"content": [{"token": said, "logprob": own, "top_logprobs": top}]}
    message = {"role": "assistant", "content": said}
    choice = {"index": 0, "finish_reason": "stop", "message": message, "logprobs": logprobs}
    usage = {"prompt_tokens": 10, "completion_tokens": 1, "total_tokens": 11}
    return {"id": "x", "object": "chat.completion", "choices": [choice], "usage": usage}


@pytest.fixture
def server():
    made = Server()
    yield made
    made.close()


def with_rows(root, url, names=("asked", "rewritten"), **llm):
    (root / "systems.toml").write_text(ROWS.format(url=url), encoding="utf-8")
    overrides = {"retrieval": {"retrievers": ["bm25", *names]}, "llm": llm}
    return save_settings(root, None, overrides)


def tables(root):
    return (
        pl.read_parquet(root / "tables" / "candidate_pools.parquet"),
        pl.read_parquet(root / "tables" / "deduped_corpus.parquet"),
    )


def scored(settings, name):
    entry = retrievers_of(settings)[name]
    pools, corpus = tables(settings.workdir.root)
    return score_pools(name, entry.version, entry.make(), pools, corpus)


def test_no_pair_is_asked_twice_and_the_score_is_the_probability(workdir, server) -> None:
    settings = with_rows(workdir, server.url)
    scores, failures = scored(settings, "asked")
    assert failures.height == 0
    pools, corpus = tables(workdir)
    assert scores.height == 3 * pools.height
    texts = {row["problem_id"]: row for row in corpus.iter_rows(named=True)}
    row = scores.filter(setting="statement-statement").row(0, named=True)
    pair = (texts[row["query_id"]]["problem"], texts[row["candidate_id"]]["problem"])
    assert row["score"] == pytest.approx(share("\n--\n".join(pair)), abs=2e-6)
    assert len(server.bodies) == len(set(server.bodies))
    assert server.most > 1

    asked = len(server.bodies)
    again, _ = scored(settings, "asked")
    assert again.equals(scores)
    assert len(server.bodies) == asked
    with ResponseStore(settings.workdir.responses) as store:
        (stats,) = [one for one in store.stats() if one.model == "fake-judge"]
    assert (stats.prompt, stats.responses, stats.failures) == ("asked", asked, 0)


def test_no_query_is_lost_to_the_length_of_its_documents(workdir, server) -> None:
    settings = with_rows(workdir, server.url)
    pools, corpus = tables(workdir)
    queries = corpus.filter(pl.col("problem_id").is_in(pools["query_id"].implode()))
    longest = (queries["problem"].str.len_chars() + queries["solution"].str.len_chars()).max()
    server.window = 100 + longest
    scores, failures = scored(settings, "asked")
    assert (failures.height, scores.height) == (0, 3 * pools.height)
    lengths = {text: len(json.loads(text)["messages"][-1]["content"]) for text in server.bodies}
    refused = sum(length > server.window for length in lengths.values())
    assert 0 < refused < len(lengths)

    asked = len(server.bodies)
    again, _ = scored(settings, "asked")
    assert again.equals(scores)
    assert len(server.bodies) - asked == refused  # those that cost nothing


def test_a_server_that_is_gone_ends_the_row_in_one_sentence(workdir, server) -> None:
    settings = with_rows(workdir, server.url, outage_seconds=0.5, attempts=1)
    server.close()
    with pytest.raises(InputError) as caught:
        scored(settings, "asked")
    assert "127.0.0.1" in str(caught.value)


def test_a_price_limit_of_the_judge_ends_no_row_that_costs_nothing(workdir, server) -> None:
    settings = with_rows(workdir, server.url, max_cost=0.5, price_per_million={"judge": PRICE})
    _, failures = scored(settings, "asked")
    assert failures.height == 0


def test_without_a_price_a_row_with_a_key_is_not_run(workdir, server, monkeypatch) -> None:
    monkeypatch.setenv("SOME_KEY", "k")
    settings = with_rows(workdir, server.url, max_cost=0.5, price_per_million={"judge": PRICE})
    file = workdir / "systems.toml"
    text = file.read_text().replace(
        'model = "fake-judge"', 'model = "fake-judge"\nkey_variable = "SOME_KEY"'
    )
    file.write_text(text)
    with pytest.raises(UnavailableError, match="fake-judge can't be asked, llm.max_cost needs pri"):
        scored(settings, "asked")
    assert not server.bodies
    priced = {"judge": PRICE, "fake-judge": PRICE}
    save_settings(workdir, None, {"llm": {"price_per_million": priced}})
    _, failures = scored(load_settings(workdir), "asked")
    assert failures.height == 0


def test_both_kinds_come_on_the_board_and_a_plan_tells_of_their_calls(workdir, server) -> None:
    settings = with_rows(workdir, server.url)
    plan = plan_build(settings)
    pools, _ = tables(workdir)
    queries = pools["query_id"].n_unique()
    assert plan.retriever_calls == {"asked": 3 * pools.height, "rewritten": 3 * queries}
    assert not server.bodies
    build(settings)
    board = pl.read_parquet(workdir / "tables" / "leaderboard.parquet")
    assert {"asked", "rewritten"} <= set(board["retriever"])
    asked = len(server.bodies)
    assert plan_build(load_settings(workdir)).retriever_calls == {}
    build(load_settings(workdir))
    assert len(server.bodies) == asked == len(set(server.bodies))
