"""A JSON endpoint is asked with patience where that helps, and once where it doesn't."""

from __future__ import annotations

import email.utils
import time

import pytest

from saber_assets.errors import InputError, UnavailableError
from saber_assets.retrieval.remote.json_endpoint import JsonEndpoint, StatusError
from saber_assets.retrieval.remote.patience import retry_after


def endpoint_of(url, waited, **more):
    return JsonEndpoint(url, {"x-key": "sesame"}, sleep=waited.append, **more)


def refusing(times, status, headers=None, content=None):
    left = [times]

    def answer(path, body):
        left[0] -= 1
        if left[0] >= 0:
            return status, content or {"error": "later"}, headers or {}
        return 200, {"path": path, "body": body}

    return answer


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_what_may_pass_is_asked_again_ever_later(fake_server, status):
    waited = []
    with fake_server(refusing(5, status)) as server:
        answer = endpoint_of(server.url, waited).post("a/b", {"text": "π"})
    assert answer == {"path": "/a/b", "body": {"text": "π"}}
    assert len(server.asked) == 6
    assert all(headers["x-key"] == "sesame" for _, headers, _ in server.asked)
    assert all(0.375 * 2**n <= pause <= 0.5 * 2**n for n, pause in enumerate(waited))


@pytest.mark.parametrize(
    ("headers", "content", "seconds"),
    [
        ({"Retry-After": "7"}, None, 7),
        ({"Retry-After": "450"}, None, 450),
        ({"Retry-After": "in 30 seconds"}, None, 29),
        ({"Retry-After": "soon"}, None, 0.45),
        ({}, {"error": {"details": [{"@type": "RetryInfo", "retryDelay": "22s"}]}}, 22),
    ],
)
def test_a_server_is_given_the_time_it_asks_for(fake_server, headers, content, seconds):
    waited = []
    if headers.get("Retry-After") == "in 30 seconds":
        headers = {"Retry-After": email.utils.formatdate(time.time() + 30)}
    with fake_server(refusing(1, 429, headers, content)) as server:
        endpoint_of(server.url, waited).post("a", {})
    assert waited == pytest.approx([seconds], abs=1.5)


def test_a_server_that_asks_for_too_much_time_ends_it(fake_server):
    waited = []
    with (
        fake_server(refusing(99, 429, {"Retry-After": "200"})) as server,
        pytest.raises(UnavailableError, match=r"asks to wait 200 s more, .* \(status 429"),
    ):
        endpoint_of(server.url, waited).post("a", {})
    assert waited == [200, 200, 200]


def test_what_does_not_pass_is_asked_once(fake_server):
    with (
        fake_server(lambda path, body: (400, {"error": "no"})) as server,
        pytest.raises(StatusError, match="status 400"),
    ):
        endpoint_of(server.url, []).post("a", {})
    assert len(server.asked) == 1


def test_patience_has_an_end(fake_server):
    waited = []
    with (
        fake_server(lambda path, body: (429, {})) as server,
        pytest.raises(StatusError) as caught,
    ):
        endpoint_of(server.url, waited, tries=3).post("a", {})
    assert (caught.value.status, len(server.asked), len(waited)) == (429, 3, 2)


def test_no_redirect_takes_the_key_elsewhere(fake_server):
    with fake_server(lambda path, body: (200, {})) as other:
        moved = {"Location": f"{other.url}/elsewhere"}
        with (
            fake_server(lambda path, body: (307, {}, moved)) as server,
            pytest.raises(StatusError, match="307"),
        ):
            endpoint_of(server.url, []).post("a", {})
    assert other.asked == []


def test_a_server_that_is_not_there(fake_server):
    with fake_server(lambda path, body: (200, {})) as server:
        gone = server.url
    waited = []
    with pytest.raises(InputError, match=r"127.0.0.1:\d+ doesn't answer .*refused.* kept"):
        endpoint_of(gone, waited).post("a", {})
    assert len(waited) == 2


def test_a_server_that_was_there_is_waited_for_longer(fake_server):
    waited = []
    with fake_server(lambda path, body: (200, {})) as server:
        endpoint = endpoint_of(server.url, waited)
        endpoint.post("a", {})
    with pytest.raises(InputError, match="doesn't answer"):
        endpoint.post("a", {})
    assert len(waited) == 7


def test_an_answer_that_never_comes_or_is_no_json(fake_server):
    def late(path, body):
        time.sleep(0.6 if path == "/late" else 0)
        return 200, b"<html>"

    with fake_server(late) as server:
        with pytest.raises(InputError, match="timed out"):
            endpoint_of(server.url, [], tries=1, timeout=0.2).post("late", {})
        with pytest.raises(StatusError, match="not JSON"):
            endpoint_of(server.url, [], tries=2).post("html", {})


def test_only_http_is_spoken():
    with pytest.raises(InputError, match="no http URL"):
        JsonEndpoint("file:///etc")


DEEP = b"[" * 60_000


def test_what_is_nested_without_end_is_no_json(fake_server):
    with (
        fake_server(lambda path, body: (200, DEEP)) as server,
        pytest.raises(StatusError, match="not JSON"),
    ):
        endpoint_of(server.url, [], tries=1).post("a", {})
    with fake_server(refusing(1, 429, {}, DEEP)) as server:
        assert endpoint_of(server.url, []).post("a", {})["path"] == "/a"


@pytest.mark.parametrize("asked", ["²", "nan", "soon"])
def test_a_pause_that_is_none_is_not_obeyed(asked):
    assert retry_after(asked) is None


def test_an_address_that_is_none():
    with pytest.raises(InputError, match="is no URL"):
        JsonEndpoint("https://[::1")
