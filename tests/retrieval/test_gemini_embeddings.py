"""Gemini's embeddings, by a server that answers as theirs."""

from __future__ import annotations

import time

import numpy as np
import pytest

from saber_assets.errors import InputError
from saber_assets.retrieval.drivers.driver import Surroundings
from saber_assets.retrieval.drivers.gemini_embeddings import make
from saber_assets.retrieval.field import system_entry
from saber_assets.retrieval.machine import Machine
from saber_assets.retrieval.registry import no_chat
from saber_assets.retrieval.remote.gemini_service import CountedTexts, GeminiService
from saber_assets.retrieval.remote.json_endpoint import JsonEndpoint
from saber_assets.retrieval.remote.remote_encoder import cut
from saber_assets.retrieval.requirements import lacking
from saber_assets.retrieval.systems import shipped_systems

KEY = "AIza-open-sesame"
SYSTEMS = shipped_systems()
WINDOW = 30


def vector(text, task, dimension):
    made = np.random.default_rng(sum(text.encode()) + len(task or "")).normal(size=dimension)
    return made / np.linalg.norm(made)


def text_of(content):
    (part,) = content["parts"]
    return part["text"]


class Gemini:
    """A token is a word. What is over the window is left out, silently."""

    def __init__(self):
        self.counted = []

    def __call__(self, path, body):
        model, _, verb = path.removeprefix("/v1beta/models/").partition(":")
        if verb == "countTokens":
            (content,) = body["contents"]
            self.counted.append(text_of(content))
            return 200, {"totalTokens": len(self.counted[-1].split())}
        assert verb == "batchEmbedContents"
        rows = []
        for request in body["requests"]:
            assert request["model"] == f"models/{model}"
            assert set(request) <= {"model", "content", "taskType", "outputDimensionality"}
            read = " ".join(text_of(request["content"]).split()[:WINDOW])
            values = vector(read, request.get("taskType"), request["outputDimensionality"])
            rows.append({"values": values.tolist()})
        return 200, {"embeddings": rows}


def around_of(tmp_path, **variables):
    machine = Machine(0, lambda name: False, variables, tmp_path / "hub")
    return Surroundings(machine, SYSTEMS, tmp_path / "work", no_chat)


def made(server, tmp_path, name="gemini-001", **changes):
    values = {"served": f"{server.url}/v1beta", "dimension": 6, "window": WINDOW, **changes}
    system = SYSTEMS[name].model_copy(update=values)
    return make(system, around_of(tmp_path, GEMINI_API_KEY=KEY))


def test_task_types_follow_the_sides_and_the_key_stays_in_its_header(fake_server, tmp_path):
    documents = [f"document {number}" for number in range(130)]
    with fake_server(Gemini()) as server:
        retriever = made(server, tmp_path)
        retriever.prepare(documents)
        retriever.prepare_queries(["query 1", "query 2"])
        scores = retriever.score("query 1", documents)
        made(server, tmp_path).score("query 2", documents)
    asked = vector("query 1", "RETRIEVAL_QUERY", 6)
    expected = [asked @ vector(document, "RETRIEVAL_DOCUMENT", 6) for document in documents]
    np.testing.assert_allclose(scores, expected, atol=2e-6)
    sizes = [len(body["requests"]) for body in server.bodies(":batchEmbedContents")]
    assert sorted(sizes) == [2, 2, 64, 64]
    assert {headers["x-goog-api-key"] for _, headers, _ in server.asked} == {KEY}
    assert {path for path, _, _ in server.asked} == {
        "/v1beta/models/gemini-embedding-001:batchEmbedContents"
    }


def test_the_second_model_gets_one_document_a_request_and_no_task(fake_server, tmp_path):
    gemini = Gemini()

    def slow(path, body):
        time.sleep(0.1)
        return gemini(path, body)

    with fake_server(slow) as server:
        made(server, tmp_path, "gemini-2").score("query", [f"doc {n}" for n in range(9)])
    bodies = server.bodies("gemini-embedding-2:batchEmbedContents")
    assert len(bodies) == 10
    assert all(len(body["requests"]) == 1 for body in bodies)
    assert not any("taskType" in body["requests"][0] for body in bodies)
    assert 1 < server.at_once <= 8


def test_long_texts_are_counted_cut_and_averaged(fake_server, tmp_path):
    text = " ".join(f"w{number}" for number in range(100))
    gemini = Gemini()
    with fake_server(gemini) as server:
        found = made(server, tmp_path).score("w", ["tiny", "a b c d e f g h i j k l m n o p", text])
    # 31 bytes are counted, found to fit and sent whole; the third needs four parts
    assert gemini.counted[:2] == ["a b c d e f g h i j k l m n o p", text]
    parts = cut(text, 4)
    assert max(len(part.split()) for part in parts) <= WINDOW
    mean = np.mean([vector(" ".join(p.split()), "RETRIEVAL_DOCUMENT", 6) for p in parts], axis=0)
    asked = vector("w", "RETRIEVAL_QUERY", 6)
    assert found[2] == pytest.approx(asked @ mean / np.linalg.norm(mean), abs=2e-6)
    whole = vector("a b c d e f g h i j k l m n o p", "RETRIEVAL_DOCUMENT", 6)
    assert found[1] == pytest.approx(asked @ whole, abs=2e-6)


def test_parts_are_counted_again_where_tokens_lie_unevenly():
    text = "longword " * 20 + "a " * 200
    windows = CountedTexts(
        {"query": "{query}", "document": "d: {document}"}, 50, lambda text: len(text.split())
    )
    parts = windows.of(text, "document")
    assert all(len(part.split()) <= 50 for part in parts)
    assert "".join(part.removeprefix("d: ") for part in parts) == text
    assert windows.of("", "query") == []
    assert windows.with_query_template("ask: {query}").of("x", "query") == ["ask: x"]


def test_too_many_requests_are_waited_out(fake_server, tmp_path, monkeypatch):
    left = [2]
    gemini = Gemini()

    def busy(path, body):
        left[0] -= 1
        if left[0] >= 0:
            delay = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.2s"}
            return 429, {"error": {"status": "RESOURCE_EXHAUSTED", "details": [delay]}}
        return gemini(path, body)

    with fake_server(busy) as server:
        made(server, tmp_path).prepare(["a"])
    assert len(server.asked) == 3


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (400, {"message": "API key not valid.", "details": [{"reason": "API_KEY_INVALID"}]}),
        (401, {"message": f"bad {KEY}"}),
        (403, {"message": f"bad {KEY}", "status": "PERMISSION_DENIED"}),
    ],
)
def test_a_refused_key_ends_it_at_once_and_is_shown_nowhere(fake_server, tmp_path, status, told):
    with fake_server(lambda path, body: (status, {"error": told})) as server:
        with pytest.raises(InputError) as caught:
            made(server, tmp_path).prepare([f"text {number}" for number in range(2000)])
        assert len(server.asked) <= 8
    assert "refuses the key: set GEMINI_API_KEY to a valid one" in str(caught.value)
    assert KEY not in str(caught.value)


def test_a_text_that_is_refused_fails_alone(fake_server, tmp_path):
    gemini = Gemini()

    def choosy(path, body):
        if any("!" in text_of(request["content"]) for request in body["requests"]):
            return 400, {"error": {"status": "INVALID_ARGUMENT", "message": f"no {KEY}"}}
        return gemini(path, body)

    with fake_server(choosy) as server:
        retriever = made(server, tmp_path)
        retriever.prepare(["a", "b!", "c"])
        assert retriever.score("q", ["a", "c"]).shape == (2,)
        with pytest.raises(Exception, match=r"'b!' can't be embedded.*no \*\*\*"):
            retriever.score("q", ["b!"])


@pytest.mark.parametrize("content", [{"embeddings": [{}]}, {"embeddings": [{"values": ["x"]}]}, []])
def test_another_answer_is_told(fake_server, tmp_path, content):
    with (
        fake_server(lambda path, body: (200, content)) as server,
        pytest.raises(InputError, match="something else than it should"),
    ):
        made(server, tmp_path).prepare(["a"])


def test_an_aggregate_is_not_taken_for_many(fake_server, tmp_path):
    def aggregate(path, body):
        return 200, {"embeddings": [{"values": [1.0] * 6}]}

    with (
        fake_server(aggregate) as server,
        pytest.raises(InputError, match="1 vectors for 2 texts"),
    ):
        made(server, tmp_path).prepare(["a", "b"])


def test_a_row_lacks_its_key_only(tmp_path):
    for name in ("gemini-001", "gemini-2"):
        (need,) = lacking(SYSTEMS[name], SYSTEMS, around_of(tmp_path).machine)
        assert (need.kind, need.sentence) == ("key", "a key: set GEMINI_API_KEY")
        entry = system_entry(SYSTEMS[name], around_of(tmp_path, GEMINI_API_KEY=KEY))
        assert entry.missing() is None
        assert hasattr(entry.make(), "score")


@pytest.mark.parametrize(
    "answer",
    [
        b'{"embeddings": [{"values": [1, %s]}], "totalTokens": 1e999}' % (b"9" * 400),
        b"[" * 60_000,
        b"<html>",
        b"null",
    ],
)
def test_what_is_not_built_as_theirs_ends_it(fake_server, answer):
    with fake_server(lambda path, body: (200, answer)) as server:
        service = GeminiService(
            JsonEndpoint(server.url, tries=1), "m", key="", key_variable="K", tasks={},
            dimensions=None,
        )  # fmt: skip
        with pytest.raises(InputError, match="something else than it should"):
            service.vectors(["a"], "document")
        with pytest.raises(InputError, match="something else than it should"):
            service.count("a")


def test_redirects_to_another_host_end_it(fake_server):
    there = {"Location": "http://127.0.0.2:1/"}
    with fake_server(lambda path, body: (307, {}, there)) as server:
        service = GeminiService(
            JsonEndpoint(server.url, tries=1), "m", key="", key_variable="K", tasks={},
            dimensions=None,
        )  # fmt: skip
        with pytest.raises(InputError, match="redirects elsewhere"):
            service.vectors(["a"], "document")
