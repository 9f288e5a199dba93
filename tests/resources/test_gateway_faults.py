"""The gateway against a server that fails on purpose."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import signal
import sqlite3
import threading
import time
from dataclasses import dataclass, field

import pytest

from saber_resources import endpoints
from saber_resources.call_errors import CallError, retry_after
from saber_resources.endpoints import EndpointPool
from saber_resources.errors import SetupError
from saber_resources.llm_gateway import CostLimitError, Gateway, Prices
from saber_resources.response_store import ResponseStore
from saber_resources.spending import Budget

CANARY = "sk-canary-31415926"


@dataclass(frozen=True)
class Ask:
    text: str
    attempt: int = 0
    schema: dict | None = None
    sampling: dict = field(default_factory=lambda: {"temperature": 0.0})
    prompt: str = "judge"
    prompt_fingerprint: str = "f1"
    item: str = "q|a|b"

    @property
    def messages(self):
        return [{"role": "user", "content": self.text}]


def asks(count: int, start: int = 0) -> list[Ask]:
    return [Ask(f"question {number}") for number in range(start, start + count)]


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr(endpoints, "FIRST_PAUSE", 0.02)
    monkeypatch.setattr(endpoints, "FIRST_PROBE", 0.02)
    monkeypatch.setattr(endpoints, "START_SECONDS", 0.3)


@pytest.fixture
def store(tmp_path):
    with ResponseStore(tmp_path / "r.sqlite") as opened:
        yield opened


@pytest.fixture
def gateway(store):
    opened = []

    def make(*urls, **settings) -> Gateway:
        settings = {"timeout_seconds": 1.0, **settings}
        opened.append(Gateway("m", urls, settings.pop("store", store), **settings))
        return opened[-1]

    yield make
    for made in opened:
        made.close()


@pytest.mark.parametrize("transport", ["aiohttp", "openai"])
def test_a_fifth_of_faults_changes_nothing_and_nothing_is_paid_twice(
    gateway, store, fault_server, transport
):
    count = 300 if transport == "aiohttp" else 60
    server = fault_server(share=0.2, seed=3)
    made = gateway(server.url, concurrency=64, transport=transport, timeout_seconds=2.0)
    replies = made.complete(asks(count))
    assert [reply.text for reply in replies] == [f"echo question {n}" for n in range(count)]
    assert len(server.faults) >= (14 if transport == "aiohttp" else 5)
    assert set(server.delivered.values()) == {1} and len(server.delivered) == count
    assert sum(server.billed.values()) - count <= sum(server.faults.values())
    before = server.total()
    assert all(reply.stored for reply in made.complete(asks(count)))
    assert server.total() == before
    [stats] = store.stats()
    assert (stats.prompt, stats.prompt_fingerprint, stats.model) == ("judge", "f1", "m")
    assert (stats.responses, stats.failures, stats.calls) == (count, 0, before)
    assert stats.hit_rate == 0.5


@pytest.mark.parametrize(
    "kind",
    [
        *("429", "429_seconds", "500", "503", "reset", "reset_midway", "truncated", "hang"),
        *("null_content", "no_choice", "cut_off", "wrong_schema", "twice_in_one", "no_json"),
    ],
)
def test_each_fault_is_a_failed_call_that_is_retried(gateway, fault_server, kind):
    server = fault_server(share=1.0, kinds=(kind,), most=1)
    [reply] = gateway(server.url, timeout_seconds=0.3).complete(asks(1))
    assert reply.text == "echo question 0" and server.faults[kind] == 1
    paid = kind in ("null_content", "no_choice", "cut_off", "wrong_schema")
    assert reply.tokens_in == (20 if paid else 10)
    [failed] = gateway(fault_server(share=1.0, kinds=(kind,), most=9).url,
                       timeout_seconds=0.3, attempts=2).complete([Ask("other")])  # fmt: skip
    assert failed.text is None and failed.error


def test_concurrency_backs_off_and_recovers(gateway, fault_server):
    server = fault_server(seconds=0.01, room=8)
    made = gateway(server.url, concurrency=64, attempts=50)
    assert all(reply.text for reply in made.complete(asks(150)))
    [endpoint] = made._asking._opened.pool.endpoints
    assert endpoint.limit < 24, "far below the cap of 64, near what the server has room for"
    assert sum(server.faults.values()) < 150, "most calls are not refused"
    server.room = None
    made.complete(asks(3000, start=1000))
    assert endpoint.limit > 30, "grows again"


def test_limit_halves_once_for_calls_in_flight_together_and_never_below_one():
    endpoint = endpoints.Endpoint("http://a/v1", cap=64)
    now = time.monotonic()
    for _ in range(10):
        endpoint.note_fault(CallError("x", congestion=True, pause=0.0), started=now)
    assert endpoint.limit == 8
    for _ in range(10):
        endpoint.note_fault(CallError("x", congestion=True, pause=0.0), time.monotonic())
    assert endpoint.limit == 1
    endpoint.flying = 1
    for _ in range(100):
        endpoint.flying = int(endpoint.limit)
        endpoint.note_answer()
    assert 10 < endpoint.limit < 16, "one more a round, not a doubling"


def test_retry_after_holds_up_the_whole_endpoint(gateway, fault_server):
    server = fault_server(share=0.1, kinds=("429_seconds",), most=1)
    replies = gateway(server.url, concurrency=4).complete(asks(60))
    assert all(reply.text for reply in replies) and server.faults["429_seconds"] >= 2
    # date: whole seconds, so that the pause is between none and one second
    server = fault_server(share=1.0, kinds=("429_date",), most=1)
    start = time.monotonic()
    [reply] = gateway(server.url).complete([Ask("dated")])
    assert reply.text and server.times[1] - server.times[0] < 20
    assert time.monotonic() - start < 30


@pytest.mark.parametrize(
    ("value", "least", "most"),
    [("3", 3, 3), ("0.5", 0.5, 0.5), ("-1", 0, 0), ("99999", 600, 600),
     ("Fri, 31 Dec 1999 23:59:59 GMT", 0, 0)],
)  # fmt: skip
def test_retry_after_is_read(value, least, most):
    assert least <= retry_after({"Retry-After": value}) <= most


@pytest.mark.parametrize("value", ["soon", "", "nan"])
def test_an_unreadable_retry_after_is_none(value):
    assert retry_after({"Retry-After": value}) is None


def test_another_endpoint_takes_over_and_the_dead_one_comes_back(gateway, fault_server):
    first, second = fault_server(seconds=0.005), fault_server(seconds=0.005)
    made = gateway(first.url, second.url, concurrency=8)
    assert all(reply.text for reply in made.complete(asks(40)))
    assert first.total() > 5 and second.total() > 5
    first.stop()
    assert all(reply.text for reply in made.complete(asks(60, start=100)))
    again = fault_server(port=first.port, seconds=0.005)
    time.sleep(0.3)
    assert all(reply.text for reply in made.complete(asks(200, start=300)))
    assert again.probes >= 1 and again.total() > 20


def test_an_endpoint_that_only_fails_is_left_alone_and_probed(gateway, fault_server):
    bad = fault_server(share=1.0, kinds=("500",), most=10**9)
    bad.well = False
    good = fault_server(seconds=0.002)
    made = gateway(bad.url, good.url, concurrency=8)
    assert all(reply.text for reply in made.complete(asks(200)))
    assert bad.total() == 0 and bad.probes >= 2
    bad.well, bad.share = True, 0.0
    time.sleep(1.0)
    made.complete(asks(300, start=1000))
    assert bad.total() > 10


def test_a_short_outage_is_waited_for_and_a_long_one_is_one_sentence(gateway, fault_server):
    server = fault_server()
    server.well = False
    made = gateway(server.url, outage_seconds=0.4)
    with pytest.raises(SetupError, match="no language model answers at http://127"):
        made.complete(asks(1))
    other = gateway(server.url, outage_seconds=20.0)
    timer = __import__("threading").Timer(0.3, lambda: setattr(server, "well", True))
    timer.start()
    assert other.complete(asks(1))[0].text


def test_a_cost_limit_stops_cleanly_and_a_rerun_goes_on(tmp_path, fault_server):
    server = fault_server()
    price = 10 * 1.0 / 1e6 + 5 * 2.0 / 1e6  # 20 millionths a call
    path = tmp_path / "r.sqlite"
    done = 0
    for run in range(5):
        with ResponseStore(path) as store:
            settings = {"prices": Prices(1.0, 2.0), "max_cost": 30.5 * price, "run": f"r{run}"}
            with Gateway("m", [server.url], store, concurrency=4, **settings) as made:
                try:
                    replies = made.complete(asks(100))
                except CostLimitError as error:
                    assert 30.5 * price <= error.spent <= 34 * price
                    assert "llm.max_cost" in str(error) and "again" in str(error)
                else:
                    assert [reply.text for reply in replies] == [
                        f"echo question {n}" for n in range(100)
                    ]
                    break
            assert store.totals().responses > done
            done = store.totals().responses
    else:
        pytest.fail("never done")
    assert run == 3 and set(server.delivered.values()) == {1}
    with ResponseStore(path) as store:
        assert store.stats()[0].price == pytest.approx(100 * price)
        with pytest.raises(SetupError, match="price_per_million"):
            Gateway("m", [server.url], store, max_cost=1.0)


def test_answers_of_a_stopped_run_are_handed_out_first(gateway, fault_server):
    server = fault_server()
    made = gateway(server.url, concurrency=4, prices=Prices(1e6, 0.0), max_cost=95.0)
    got = []
    with pytest.raises(CostLimitError):
        got.extend(made.complete_stream(asks(50)))
    assert len(got) == server.total() and 10 <= len(got) <= 14


def test_processes_of_a_run_share_its_limit(tmp_path, fault_server):
    server = fault_server()
    settings = {"prices": Prices(1e6, 0.0), "max_cost": 205.0, "run": "one"}
    for start in (0, 1000):
        with (
            ResponseStore(tmp_path / "r") as store,
            Gateway("m", [server.url], store, concurrency=2, **settings) as made,
        ):
            if start == 0:
                made.complete(asks(15))
            else:
                with pytest.raises(CostLimitError):
                    made.complete(asks(50, start))
    assert 21 <= server.total() <= 23


def test_requests_are_taken_only_as_answers_are(gateway, fault_server):
    server, taken = fault_server(), 0

    def many():
        nonlocal taken
        for number in range(10**6):
            taken += 1
            yield Ask(f"question {number}")

    stream = gateway(server.url, concurrency=8).complete_stream(many())
    seen = {next(stream)[0] for _ in range(300)}
    time.sleep(0.5)
    assert len(seen) == 300
    assert server.total() <= taken <= 2000
    stream.close()
    time.sleep(0.1)
    calls = server.total()
    time.sleep(0.2)
    assert server.total() == calls, "nothing goes on behind one's back"


def test_a_stream_gives_every_place_once_also_for_equal_requests(gateway, fault_server):
    server = fault_server()
    stream = gateway(server.url).complete_stream(Ask(f"question {n % 50}") for n in range(3000))
    places = [place for place, reply in stream if reply.text]
    assert sorted(places) == list(range(3000))
    assert server.total() == 50


def _ask_in_process(path, url, start):
    with ResponseStore(path) as store, Gateway("m", [url], store, concurrency=8) as made:
        replies = made.complete(asks(200, start))
        assert all(reply.text for reply in replies)


def test_two_processes_share_a_store(tmp_path, fault_server):
    server = fault_server(share=0.1, kinds=("500", "429", "reset"))
    context = multiprocessing.get_context("spawn")
    workers = [
        context.Process(target=_ask_in_process, args=(tmp_path / "r", server.url, start))
        for start in (0, 200)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    assert len(server.delivered) == 400 and set(server.delivered.values()) == {1}
    with ResponseStore(tmp_path / "r") as store:
        assert store.totals().responses == 400


def test_a_kill_repeats_only_the_calls_in_flight(tmp_path, fault_server):
    server = fault_server(seconds=0.01)
    context = multiprocessing.get_context("spawn")
    for wait in (0.05, 0.12, 0.2):
        worker = context.Process(target=_ask_in_process, args=(tmp_path / "r", server.url, 0))
        worker.start()
        seen = server.total()
        while server.total() == seen and worker.is_alive():
            time.sleep(0.005)
        time.sleep(wait)
        os.kill(worker.pid, signal.SIGKILL)
        worker.join()
    _ask_in_process(tmp_path / "r", server.url, 0)
    assert len(server.delivered) == 200
    assert server.total() - 200 <= 3 * 8


def test_the_key_and_passwords_in_addresses_are_nowhere(
    tmp_path, store, gateway, fault_server, monkeypatch, caplog
):
    monkeypatch.setenv("MY_KEY", CANARY)
    caplog.set_level(logging.DEBUG)
    server = fault_server(share=0.5, most=2, kinds=("500", "reset", "null_content", "truncated"))
    url = server.url.replace("http://", "http://user:pass-canary@")
    made = gateway(url, api_key_variable="MY_KEY")
    texts = [repr(made.complete(asks(30)))]
    assert server.headers[0]["authorization"].startswith("basic"), "a login in the address"
    plain = fault_server()
    gateway(plain.url, api_key_variable="MY_KEY").complete([Ask("plain")])
    assert plain.headers[0]["authorization"] == f"bearer {CANARY}"
    assert len({headers["x-request-id"] for headers in server.headers}) == server.total()
    server.stop()
    with pytest.raises(SetupError) as error:
        gateway(url, outage_seconds=0.1, api_key_variable="MY_KEY").complete([Ask("z")])
    texts += [repr(error.value), caplog.text, repr([list(part) for part in store.rows()])]
    assert "500" in caplog.text
    store.close()
    for path in tmp_path.iterdir():
        texts.append(path.read_bytes().decode("latin-1"))
    assert not any("canary" in text for text in texts)
    assert sqlite3.connect(tmp_path / "r.sqlite").execute(
        "SELECT DISTINCT endpoint FROM responses WHERE error IS NULL"
    ).fetchall() == [(f"127.0.0.1:{server.port}",), (f"127.0.0.1:{plain.port}",)]


def test_log_probabilities_of_the_last_tokens_come_along(tmp_path, gateway, store):
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
    from json import dumps
    from threading import Thread

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            top = [{"token": "1", "logprob": -0.2}, {"token": "2", "logprob": -1.7}]
            tokens = [{"token": "1", "logprob": -0.2, "top_logprobs": top}] * 60
            data = dumps(
                {"choices": [{"message": {"content": "1"}, "logprobs": {"content": tokens}}]}
            ).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    made = gateway(f"http://127.0.0.1:{server.server_port}/v1")
    for stored in (False, True):
        [reply] = made.complete([Ask("x", sampling={"logprobs": True, "top_logprobs": 2})])
        assert reply.stored is stored
        assert len(reply.logprobs) == 24
        assert reply.logprobs[-1] == {
            "token": "1", "logprob": -0.2, "top": {"1": -0.2, "2": -1.7},
        }  # fmt: skip
    server.shutdown()
    server.server_close()


def test_a_cancelled_wait_gives_its_place_back():
    async def scenario():
        async def well(url):
            return None

        pool = EndpointPool(["http://a/v1"], 1, well, Budget(None, None), 1.0)
        held = await pool.acquire()
        waits = [asyncio.create_task(pool.acquire()) for _ in range(3)]
        await asyncio.sleep(0)
        waits[0].cancel()
        pool.release(held)
        waits[1].cancel()
        await asyncio.gather(*waits[:2], return_exceptions=True)
        got = await asyncio.wait_for(waits[2], 1)
        assert got.flying == 1
        await pool.close()

    asyncio.run(scenario())


def test_a_pause_that_ends_while_it_is_looked_at_is_not_missed(monkeypatch):
    """Two looks at the clock around the end of a pause: the waiting call must still be woken."""

    async def scenario():
        async def well(url):
            return None

        pool = EndpointPool(["http://a/v1"], 1, well, Budget(None, None), 1.0)
        held = await pool.acquire()
        waiting = asyncio.create_task(pool.acquire())
        await asyncio.sleep(0)
        start = time.monotonic()
        held.resume_at = start + 0.01
        looks = iter([start])
        monkeypatch.setattr(endpoints.time, "monotonic", lambda: next(looks, start + 0.02))
        try:
            pool.release(held)
        finally:
            monkeypatch.undo()
        assert await asyncio.wait_for(waiting, 1) is held
        await pool.close()

    asyncio.run(scenario())


def test_a_probe_that_fails_unforeseen_ends_every_wait():
    async def scenario():
        async def broken(url):
            raise ZeroDivisionError

        pool = EndpointPool(["http://a/v1"], 1, broken, Budget(None, None), 1.0)
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                await asyncio.wait_for(pool.acquire(), 1)
        await pool.close()

    asyncio.run(scenario())


def test_a_call_that_is_cancelled_from_outside_is_told(gateway, fault_server):
    made = gateway(fault_server(seconds=30).url)
    asking = made._asking

    def cancel_soon():
        while asking._opened is None or not (tasks := asyncio.all_tasks(loop := background())):
            time.sleep(0.01)
        time.sleep(0.1)
        for task in tasks:
            loop.call_soon_threadsafe(task.cancel)

    def background():
        return asking._opened.background.loop

    threading.Thread(target=cancel_soon, daemon=True).start()
    with pytest.raises(RuntimeError, match="cancelled"):
        made.complete([Ask("long")])
