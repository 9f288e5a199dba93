"""A server that repeats the headers it gets: the key is in no message, table or file."""

from __future__ import annotations

import socket
import threading

import polars as pl
import pytest

from saber_assets.errors import InputError
from saber_assets.retrieval.drivers import gemini_embeddings, openai_embeddings, served_dense
from saber_assets.retrieval.drivers.driver import Surroundings
from saber_assets.retrieval.machine import Machine
from saber_assets.retrieval.own import own_endpoint
from saber_assets.retrieval.own.own_endpoint import EndpointRetriever
from saber_assets.retrieval.reasons import reason_of
from saber_assets.retrieval.registry import no_chat
from saber_assets.retrieval.remote.json_endpoint import JsonEndpoint, StatusError
from saber_assets.retrieval.scoring import score_pools
from saber_assets.retrieval.systems import shipped_systems

KEY = "sk-open-sesame-0123456789"
SYSTEMS = shipped_systems()
POOLS = pl.DataFrame({"query_id": ["a", "a", "b"], "candidate_id": ["b", "c", "c"]})
CORPUS = pl.DataFrame(
    {"problem_id": ["a", "b", "c"], "problem": ["one " * 40, "two", "three"], "solution": ["4"] * 3}
)


def echoing(fake_server, status, *, content=None, only=""):
    """Return a server that answers with what it was sent in the headers."""
    servers = []

    def answer(path, body):
        if only and not path.endswith(only):
            return 404, {}
        _, headers, _ = servers[-1].asked[-1]
        if len(servers[-1].asked) == 1 and only:  # the probe of its tokenizer
            return 200, {"tokens": [1]}
        return status, (content or (lambda told: {"error": {"message": told}}))(str(headers))

    class Kept:
        def __enter__(self):
            self.context = fake_server(answer)
            servers.append(self.context.__enter__())
            return servers[-1]

        def __exit__(self, *fault):
            return self.context.__exit__(*fault)

    return Kept()


def told_by(retriever) -> str:
    """Return all that comes of scoring, a fault or the failures."""
    try:
        _, failures = score_pools("mine", "1", retriever, POOLS, CORPUS)
    except InputError as error:
        return repr(error)
    assert failures.height
    return " ".join(failures["reason"])


def around_of(tmp_path):
    variables = {"OPENAI_API_KEY": KEY, "GEMINI_API_KEY": KEY, "MINE": KEY}
    machine = Machine(0, lambda name: False, variables, tmp_path / "hub")
    return Surroundings(machine, SYSTEMS, tmp_path / "work", no_chat)


def api(kind, url):
    if kind is gemini_embeddings:
        return SYSTEMS["gemini-001"].model_copy(update={"served": url, "dimension": 4})
    system = SYSTEMS["text-embedding-3-small"]
    return system.model_copy(update={"served": f"{url}/v1", "dimension": 4})


def served(url):
    card = {"family": "bi-encoder", "pooling": "mean", "eos": "", "normalise": True, "window": 30}
    more = {"precision": "float32", "key_variable": "MINE", "served": f"{url}/v1", "dimension": 4}
    return SYSTEMS["text-embedding-3-small"].model_copy(update={**card, **more})


@pytest.mark.parametrize("status", [400, 404, 422])
@pytest.mark.parametrize("kind", [openai_embeddings, gemini_embeddings])
def test_an_api(fake_server, tmp_path, kind, status):
    with echoing(fake_server, status) as server:
        told = told_by(kind.make(api(kind, server.url), around_of(tmp_path)))
        assert any(KEY in str(headers) for _, headers, _ in server.asked)
    assert KEY not in told


@pytest.mark.parametrize("kind", [openai_embeddings, gemini_embeddings])
def test_an_api_that_gives_it_for_a_vector(fake_server, tmp_path, kind):
    def content(told):
        row = {"index": 0, "embedding": told, "values": told}
        return {"data": [row] * 3, "embeddings": [row] * 3}

    with echoing(fake_server, 200, content=content) as server:
        assert KEY not in told_by(kind.make(api(kind, server.url), around_of(tmp_path)))


@pytest.mark.parametrize("status", [200, 400, 422])
def test_the_tokenizer_of_an_endpoint(fake_server, tmp_path, status):
    def content(told):
        return {"detail": told, "tokens": [told]}

    with echoing(fake_server, status, content=content, only="/tokenize") as server:
        system = served(server.url)
        assert KEY not in told_by(served_dense.make(system, around_of(tmp_path)))
        assert len(server.bodies("/tokenize")) > 1


@pytest.mark.parametrize("status", [400, 500])
@pytest.mark.parametrize("header", [{"Authorization": f"Bearer {KEY}"}, {"x-goog-api-key": KEY}])
def test_a_json_endpoint(fake_server, status, header):
    with echoing(fake_server, status) as server:
        endpoint = JsonEndpoint(server.url, header, sleep=lambda _: None)
        with pytest.raises(StatusError) as caught:
            endpoint.post("path", {})
    assert "***" in str(caught.value)
    assert "***" in caught.value.body
    assert KEY not in str(caught.value) + caught.value.body


@pytest.fixture
def no_http():
    """A server that answers every request with the key instead of a status."""
    listening = socket.create_server(("127.0.0.1", 0))

    def answer():
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                connection.recv(65_536)
                connection.sendall(f"{'x' * 280} Bearer {KEY}\r\n\r\n".encode())

    threading.Thread(target=answer, daemon=True).start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    listening.close()


def test_a_server_of_another_protocol(no_http, monkeypatch):
    monkeypatch.setattr(own_endpoint, "TRIES", 2)
    with pytest.raises(InputError, match="doesn't answer") as caught:
        endpoint = JsonEndpoint(no_http, {"x-goog-api-key": KEY}, sleep=lambda _: None)
        endpoint.post("path", {})
    assert KEY[:4] not in str(caught.value)
    with pytest.raises(InputError, match="doesn't answer") as caught:
        EndpointRetriever(no_http, KEY, sleep=lambda _: None).score("query", ["document"])
    assert KEY[:4] not in str(caught.value)
    with pytest.raises(InputError, match="doesn't answer") as caught:
        own_endpoint.stated_version(no_http, KEY)
    assert KEY[:4] not in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        lambda told: {"scores": [told, told]},
        lambda told: {"scores": told},
        lambda told: {"else": told},
        lambda told: told.encode(),
    ],
)
@pytest.mark.parametrize("status", [200, 400, 503])
def test_an_own_endpoint(fake_server, content, status):
    with echoing(fake_server, status, content=content) as server:
        assert KEY not in told_by(EndpointRetriever(server.url, KEY, sleep=lambda _: None))


def test_an_own_endpoint_that_redirects_with_it(fake_server):
    there = {"Location": f"http://127.0.0.1:9/?key={KEY}"}
    with fake_server(lambda path, body: (307, {}, there)) as server:
        told = told_by(EndpointRetriever(server.url, KEY, sleep=lambda _: None))
    assert "redirects to" in told
    assert KEY not in told


def test_a_key_at_the_end_of_a_reason_isn_t_shown_in_part() -> None:
    for before in range(270, 300):
        assert KEY[:6] not in reason_of(ValueError("x" * before + KEY), KEY)


def test_a_short_key_breaks_no_answer(fake_server):
    answer = {"tokens": [11, 1.1], "1": "1 and 2"}
    with fake_server(lambda path, body: (200, answer)) as server:
        endpoint = JsonEndpoint(server.url, {"Authorization": "Bearer 1"})
        assert endpoint.post("path", {}) == {"tokens": [11, 1.1], "1": "*** and 2"}
    scores = {"scores": [1.0, 11.0]}
    with fake_server(lambda path, body: (200, scores)) as server:
        assert EndpointRetriever(server.url, "1").score("query", ["a", "b"]) == [1.0, 11.0]
