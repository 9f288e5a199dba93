"""A person's endpoint: what is sent, what is tried again, and what is refused."""

from __future__ import annotations

import email.utils
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from saber_assets.errors import InputError, UnavailableError
from saber_assets.retrieval.own import own_endpoint
from saber_assets.retrieval.own.own_endpoint import (
    TRIES,
    EndpointRetriever,
    endpoint_entry,
    key_of,
    stated_version,
)
from saber_assets.retrieval.own.own_list import Own, add_own, read_own
from saber_assets.retrieval.registry import registry


class Endpoint:
    """Answers what it is told to, in order; the last answer for ever."""

    def __init__(self):
        self.answers: list[tuple[int, dict, bytes]] = []
        self.asked: list[dict] = []
        self.headers: list[dict] = []
        self.version: tuple[int, dict, bytes] = (200, {}, b'{"version": "v1"}')
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                endpoint.headers.append(dict(self.headers))
                self.reply(*endpoint.version)

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.asked.append(body)
                endpoint.headers.append(dict(self.headers))
                if endpoint.answers:
                    many = len(endpoint.answers) > 1
                    answer = endpoint.answers.pop(0) if many else endpoint.answers[0]
                    return self.reply(*answer)
                scores = [len(text) for text in body["documents"]]
                return self.reply(200, {}, json.dumps({"scores": scores}).encode())

            def reply(self, status, headers, data):
                if status == 0:
                    self.close_connection = True
                    return
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/score"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def endpoint(monkeypatch):
    monkeypatch.setattr(own_endpoint, "VERSION_AGE", 0.0)
    made = Endpoint()
    yield made
    made.stop()


@pytest.fixture
def waits():
    return []


@pytest.fixture
def mine(endpoint, waits):
    return EndpointRetriever(endpoint.url, timeout=10, sleep=waits.append)


def test_what_is_sent_and_read(endpoint, mine):
    assert mine.score("q \ud800 ü", ["a", "bb"]) == [1, 2]
    assert endpoint.asked == [{"query": "q \ud800 ü", "documents": ["a", "bb"]}]
    assert "Authorization" not in endpoint.headers[-1]


def test_tries_again_with_growing_waits_and_obeys_retry_after(endpoint, mine, waits):
    good = (200, {}, b'{"scores": [1]}')
    endpoint.answers = [(503, {}, b""), (429, {"Retry-After": "7"}, b""), (0, {}, b""), good]
    assert mine.score("q", ["a"]) == [1]
    assert waits == [0.5, 7.0, 2.0]


@pytest.mark.parametrize("asked", ["120", "date"])
def test_an_endpoint_gets_the_time_it_asks_for(endpoint, mine, waits, asked):
    if asked == "date":
        asked = email.utils.formatdate(time.time() + 120, usegmt=True)
    busy = (429, {"Retry-After": asked}, b"")
    endpoint.answers = [busy, busy, busy, busy, (200, {}, b'{"scores": [1]}')]
    assert mine.score("q", ["a"]) == [1]
    assert waits == pytest.approx([120] * 4, abs=5)


def test_one_that_asks_for_too_much_ends_the_scoring_and_no_query_counts_zero(
    endpoint, mine, waits
):
    endpoint.answers = [(503, {"Retry-After": "120"}, b"loading")]
    with pytest.raises(UnavailableError, match=r"120 s more, beyond the 600 s .*loading"):
        mine.score("q", ["a"])
    assert waits == [120] * 5
    waits.clear()
    endpoint.answers = [(429, {"Retry-After": "86400"}, b"tomorrow")]
    with pytest.raises(UnavailableError, match="tomorrow"):
        mine.score("q", ["a"])
    assert waits == []


def test_a_query_that_always_fails_costs_itself_but_three_in_a_row_are_an_outage(endpoint, mine):
    endpoint.answers = [(500, {}, b"out of memory")]
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"status 500: out of memory \(after 5 tries\)"):
            mine.score("q", ["a"])
    assert len(endpoint.asked) == 2 * TRIES
    with pytest.raises(UnavailableError, match="doesn't answer"):
        mine.score("q", ["a"])


def test_nobody_there(endpoint, mine, waits):
    endpoint.stop()
    with pytest.raises(UnavailableError, match="doesn't answer .*refused"):
        mine.score("q", ["a"])
    assert len(waits) == TRIES - 1


@pytest.mark.parametrize(
    ("answer", "error", "sentence"),
    [
        ((400, {}, b"too long"), RuntimeError, "status 400: too long"),
        ((401, {}, b"who?"), UnavailableError, "refuses all queries"),
        ((200, {}, b"<html>"), RuntimeError, "no JSON object with 'scores': <html>"),
        ((200, {}, b'{"scores": "abc"}'), RuntimeError, "is no list"),
        ((200, {}, b'{"scores": [' + b"1" * 80_000 + b"]}"), RuntimeError, "more than"),
        ((302, {"Location": "/other"}, b""), UnavailableError, "redirects to"),
        ((307, {"Location": "http://example.org/score"}, b""), UnavailableError, "example.org"),
    ],
)
def test_what_cannot_be_used(endpoint, mine, answer, error, sentence):
    endpoint.answers = [answer]
    with pytest.raises(error, match=sentence):
        mine.score("q", ["a"])
    assert len(endpoint.asked) == 1


def test_a_redirect_to_the_same_host_keeps_the_body(endpoint, mine):
    endpoint.answers = [
        (307, {"Location": f"{endpoint.url}/"}, b""),
        (200, {}, b'{"scores": [3]}'),
    ]
    assert mine.score("q", ["a"]) == [3]
    assert endpoint.asked[0] == endpoint.asked[1]


def test_the_key_is_sent_and_never_shown(endpoint, monkeypatch):
    monkeypatch.setenv("MY_KEY", "s3cret")
    endpoint.answers = [(400, {}, b"bad key s3cret")]
    entry = endpoint_entry("mine", endpoint.url, key_variable="MY_KEY")
    with pytest.raises(RuntimeError, match=r"bad key \*\*\*"):
        entry.make().score("q", ["a"])
    assert {sent["Authorization"] for sent in endpoint.headers} == {"Bearer s3cret"}
    assert "s3cret" not in repr(entry)
    monkeypatch.delenv("MY_KEY")
    with pytest.raises(InputError, match="the variable MY_KEY isn't set"):
        endpoint_entry("mine", endpoint.url, key_variable="MY_KEY")


def test_versions(endpoint):
    by_body = endpoint_entry("mine", endpoint.url).version
    endpoint.version = (200, {"X-Retriever-Version": "v1"}, b"ready")
    assert endpoint_entry("mine", endpoint.url).version == by_body
    endpoint.version = (200, {}, b'{"version": "v2"}')
    assert endpoint_entry("mine", endpoint.url).version != by_body
    for silent in ((405, {}, b""), (200, {}, b"ready"), (200, {}, b"[]")):
        endpoint.version = silent
        with pytest.raises(InputError, match="states no version"):
            endpoint_entry("mine", endpoint.url)
        assert endpoint_entry("mine", endpoint.url, "v1").version == by_body


@pytest.mark.parametrize("url", ["http://", "http://me:pw@host/", "http://host:port/"])
def test_bad_addresses(url):
    with pytest.raises(InputError) as caught:
        endpoint_entry("mine", url, "1")
    assert "pw" not in str(caught.value)


def test_in_the_list_and_what_counts_while_it_is_gone(endpoint, tmp_path):
    path = tmp_path / "retrievers.json"
    own = Own("mine", endpoint.url, key_variable="", timeout=5.0)
    add_own(path, own)
    assert read_own(path) == [own]
    here = registry([], path)["mine"]
    assert (here.missing(), here.version_known) == (None, True)
    endpoint.stop()
    gone = registry([], path)["mine"]
    assert "doesn't answer" in str(gone.missing())
    assert not gone.version_known, "its last scores stay on the board"


@pytest.mark.parametrize("held", ["null", '""', '" "', "[]", '{"a": 1}', "true", "[" * 60_000])
def test_a_version_is_a_text_or_a_number(endpoint, held):
    endpoint.version = 200, {}, b'{"version": %s}' % held.encode()
    with pytest.raises(InputError, match="states no version"):
        stated_version(endpoint.url)


def test_versions_that_are_one(endpoint):
    for headers, body, version in (
        ({}, b'{"version": 7}', "7"),
        ({"X-Retriever-Version": " "}, b'{"version": "v"}', "v"),
        ({}, b'{"version": "by sesame"}', "by ***"),
        ({"X-Retriever-Version": "sesame"}, b"", "***"),
    ):
        endpoint.version = 200, headers, body
        assert stated_version(endpoint.url, "sesame") == version


@pytest.mark.parametrize("sign", ["\n", "\r", " ", "\u2019", "\x7f"])
def test_a_key_that_no_header_can_hold_is_refused_unseen(monkeypatch, sign):
    monkeypatch.setenv("MY_KEY", f"sk-open{sign}sesame")
    with pytest.raises(
        InputError, match="the variable MY_KEY holds a line break or a sign"
    ) as told:
        key_of("MY_KEY")
    assert "open" not in str(told.value)
    assert "sesame" not in str(told.value)
    monkeypatch.setenv("MY_KEY", " sk-open\n")
    assert key_of("MY_KEY") == "sk-open"


def test_answers_that_are_nested_without_end_or_lead_nowhere(endpoint, mine):
    endpoint.answers = [(200, {}, b'{"scores": ' + b"[" * 60_000)]
    with pytest.raises(RuntimeError, match="no JSON object with 'scores'"):
        mine.score("q", ["a"])
    endpoint.answers = [(307, {"Location": "http://[::1/x"}, b"")]
    with pytest.raises(UnavailableError, match="doesn't answer"):
        mine.score("q", ["a"])
