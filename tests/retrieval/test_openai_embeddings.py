"""OpenAI's embeddings, by a server that answers as theirs: what is sent, retried, refused, paid."""

from __future__ import annotations

import base64
import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from saber_assets.errors import InputError
from saber_assets.retrieval.drivers.driver import Surroundings
from saber_assets.retrieval.drivers.openai_embeddings import DRIVER, make
from saber_assets.retrieval.field import system_entry
from saber_assets.retrieval.machine import Machine
from saber_assets.retrieval.registry import no_chat
from saber_assets.retrieval.remote.openai_service import OpenAiService
from saber_assets.retrieval.remote.remote_encoder import cut
from saber_assets.retrieval.requirements import lacking
from saber_assets.retrieval.systems import shipped_systems

KEY = "sk-open-sesame-0123456789"
SYSTEMS = shipped_systems()
LONGEST = 40
"""Characters of a text that the fake server reads."""


def vector(text, dimension):
    made = np.random.default_rng(sum(text.encode()) + len(text)).normal(size=dimension)
    return made / np.linalg.norm(made)


def openai(path, body):
    assert path == "/v1/embeddings"
    texts, dimension = body["input"], body["dimensions"]
    if not all(texts):
        return 400, {"error": {"message": "'$.input' is invalid.", "type": "invalid_request_error"}}
    longest = max(map(len, texts))
    if longest > LONGEST:
        told = f"maximum context length is {LONGEST} tokens, however you requested {longest} tokens"
        return 400, {"error": {"message": f"This model's {told}"}}
    data = []
    for index, text in enumerate(texts):
        values = vector(text, dimension).astype(np.float32)
        if body.get("encoding_format") == "base64":
            made = base64.b64encode(values.tobytes()).decode()
        else:
            made = values.tolist()
        data.append({"index": index, "embedding": made})
    return 200, {"object": "list", "data": data[::-1], "model": body["model"]}


def around_of(tmp_path, **variables):
    machine = Machine(0, lambda name: False, variables, tmp_path / "hub")
    return Surroundings(machine, SYSTEMS, tmp_path / "work", no_chat)


def made(server, tmp_path, **changes):
    system = SYSTEMS["text-embedding-3-small"]
    system = system.model_copy(update={"served": f"{server.url}/v1", "dimension": 8, **changes})
    return make(system, around_of(tmp_path, OPENAI_API_KEY=KEY))


def test_scores_are_cosines_of_what_was_asked_once(fake_server, tmp_path):
    documents = [f"document {number}" for number in range(150)]
    queries = [f"query {number}" for number in range(10)]
    with fake_server(openai) as server:
        retriever = made(server, tmp_path)
        retriever.prepare(documents)
        retriever.prepare_queries(queries)
        for query in queries:
            scores = retriever.score(query, documents)
            expected = [vector(query, 8) @ vector(document, 8) for document in documents]
            np.testing.assert_allclose(scores, expected, atol=2e-6)
        again = made(server, tmp_path)
        again.prepare(documents[::-1])
        again.score(queries[0], documents)
    bodies = server.bodies("/embeddings")
    assert [len(body["input"]) for body in bodies].count(64) == 2
    assert sorted(text for body in bodies for text in body["input"]) == sorted(documents + queries)
    assert {(body["model"], body["dimensions"]) for body in bodies} == {
        ("text-embedding-3-small", 8)
    }
    assert {headers["authorization"] for _, headers, _ in server.asked} == {f"Bearer {KEY}"}


def test_a_query_that_is_a_document_too_is_paid_for_once(fake_server, tmp_path):
    with fake_server(openai) as server:
        made(server, tmp_path).score("the same", ["the same"])
        made(server, tmp_path, query_template="query: {query}").score("the same", ["the same"])
    sent = [body["input"] for body in server.bodies("/embeddings")]
    assert sent == [["the same"], ["query: the same"], ["the same"]]


def test_long_texts_are_cut_and_averaged_and_empty_ones_not_sent(fake_server, tmp_path):
    text = "one two three four five six seven " * 4
    with fake_server(openai) as server:
        scores = made(server, tmp_path).score("short", ["short", text, ""])
    parts = [text]
    while max(map(len, parts)) > LONGEST:
        parts = [half for part in parts for half in cut(part, 2)]
    mean = np.mean([vector(part, 8) for part in parts], axis=0)
    expected = vector("short", 8) @ mean / np.linalg.norm(mean)
    np.testing.assert_allclose(scores, [1.0, expected, 0.0], atol=2e-6)


def test_too_many_requests_are_waited_out(fake_server, tmp_path):
    left = [3]

    def busy(path, body):
        left[0] -= 1
        if left[0] >= 0:
            return 429, {"error": {"message": "Rate limit reached"}}, {"Retry-After": "0.3"}
        return openai(path, body)

    started = time.monotonic()
    with fake_server(busy) as server:
        made(server, tmp_path).prepare(["a"])
    assert len(server.asked) == 4
    assert 0.9 <= time.monotonic() - started < 2.5


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_ends_it_at_once_and_is_shown_nowhere(fake_server, tmp_path, status, caplog):
    caplog.set_level("DEBUG")
    told = f"Incorrect API key provided: {KEY[:8]}********6789."
    with fake_server(lambda path, body: (status, {"error": {"message": told}})) as server:
        with pytest.raises(InputError) as caught:
            made(server, tmp_path).prepare([f"text {number}" for number in range(2000)])
        assert len(server.asked) <= 8
    assert "set OPENAI_API_KEY to a valid one" in str(caught.value)
    for place in (str(caught.value), repr(caught.value.__cause__), caplog.text):
        assert KEY[:8] not in place
    store = tmp_path / "work" / "vectors.sqlite"
    assert KEY.encode() not in b"".join(file.read_bytes() for file in store.parent.iterdir())


def test_a_key_that_a_server_repeats_is_masked(fake_server, tmp_path):
    def chatty(path, body):
        return 400, {"error": {"message": f"bad request by {KEY}"}}

    with fake_server(chatty) as server:
        retriever = made(server, tmp_path)
        with pytest.raises(Exception, match=r"can't be embedded.*bad request by \*\*\*"):
            retriever.score("a", ["b"])


def test_a_used_up_quota_ends_it(fake_server, tmp_path):
    told = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
    with fake_server(lambda path, body: (429, told, {"x-should-retry": "false"})) as server:
        with pytest.raises(InputError, match="quota is used up.*what was answered is kept"):
            made(server, tmp_path).prepare(["a"])
        assert len(server.asked) == 1


def test_wrong_lengths_are_told(fake_server, tmp_path):
    def short(path, body):
        return openai(path, {**body, "dimensions": 5})

    with (
        fake_server(short) as server,
        pytest.raises(InputError, match="length 5, and 8 is expected"),
    ):
        made(server, tmp_path).prepare(["a"])


def test_a_row_lacks_its_key_only(tmp_path):
    for name in ("text-embedding-3-small", "text-embedding-3-large"):
        system = SYSTEMS[name]
        (need,) = lacking(system, SYSTEMS, around_of(tmp_path).machine)
        assert (need.kind, need.sentence) == ("key", "a key: set OPENAI_API_KEY")
        around = around_of(tmp_path, OPENAI_API_KEY=KEY)
        entry = system_entry(system, around)
        assert entry.missing() is None
        assert KEY not in repr(entry)
        assert entry.version == system_entry(system, around_of(tmp_path)).version
        assert hasattr(entry.make(), "score")
    assert DRIVER.fields


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"<html>", "text/html"),
        ({"data": "abc"}, None),
        ({"data": [1, 2]}, None),
        ([], None),
        (b"[" * 60_000, None),
        ({"data": [{"embedding": [1.0]}, {"embedding": [1.0]}]}, None),
        ({"data": [{"index": 0, "embedding": [1.0]}, {"index": None, "embedding": [1.0]}]}, None),
    ],
)
def test_what_is_not_built_as_theirs_ends_it(content, kind):
    def answer(request):
        sent = content if isinstance(content, bytes) else json.dumps(content).encode()
        request.send_response(200)
        request.send_header("Content-Type", kind or "application/json")
        request.end_headers()
        request.wfile.write(sent)

    with posted_to(answer) as url:
        service = OpenAiService(url, "m", retries=0)
        with pytest.raises(InputError, match="something else than vectors"):
            service.vectors(["a", "b"], "document")


def test_texts_go_to_no_other_host():
    asked = []

    def answer(request):
        asked.append(request.path)
        request.send_response(307)
        request.send_header("Location", f"/elsewhere?key={KEY}")
        request.send_header("Content-Length", "0")
        request.end_headers()

    with posted_to(answer) as url:
        service = OpenAiService(url, "m", key=KEY, retries=0)
        with pytest.raises(InputError, match=r"redirects to /elsewhere\?key=\*\*\*"):
            service.vectors(["confidential"], "document")
    assert asked == ["/embeddings"]


def test_an_address_that_is_none():
    with pytest.raises(InputError, match="is no URL"):
        OpenAiService("https://[::1", "m")


def test_a_key_with_a_line_break_is_lacking_and_never_sent(tmp_path):
    system = SYSTEMS["text-embedding-3-small"]
    around = around_of(tmp_path, OPENAI_API_KEY=f"{KEY}\nmore")
    (need,) = lacking(system, SYSTEMS, around.machine)
    assert need.kind == "key"
    assert "OPENAI_API_KEY holds a line break" in need.sentence
    assert KEY not in need.sentence
    with pytest.raises(InputError, match="OPENAI_API_KEY holds a line break"):
        make(system, around)


@contextmanager
def posted_to(answer):
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            answer(self)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
