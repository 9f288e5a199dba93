from __future__ import annotations

import multiprocessing
import os
import sqlite3

import pytest

from saber_resources.errors import SetupError
from saber_resources.response_store import Response, ResponseStore, request_key

MESSAGES = [{"role": "user", "content": "h\u00e9 \ud800"}]


def response(text="yes", error=None, tokens=5):
    return Response("m", text, "stop", tokens, 2, 0.1, 1, error)


def key(number: int) -> bytes:
    return request_key("m", MESSAGES, None, {}, number)


def test_key_depends_on_everything_that_is_asked():
    base = request_key("m", MESSAGES, {"a": 1}, {"t": 0, "n": 1}, 0)
    assert base == request_key("m", MESSAGES, {"a": 1}, {"n": 1, "t": 0}, 0)
    others = [
        request_key("m2", MESSAGES, {"a": 1}, {"t": 0, "n": 1}, 0),
        request_key("m", [*MESSAGES, *MESSAGES], {"a": 1}, {"t": 0, "n": 1}, 0),
        request_key("m", MESSAGES, None, {"t": 0, "n": 1}, 0),
        request_key("m", MESSAGES, {"a": 1}, {"t": 1, "n": 1}, 0),
        request_key("m", MESSAGES, {"a": 1}, {"t": 0, "n": 1}, 1),
    ]
    assert len({base, *others}) == 6


def test_a_reopened_store_serves_what_was_written(tmp_path):
    path = tmp_path / "sub" / "r.sqlite"
    with ResponseStore(path) as store:
        for number in range(1200):
            store.put(key(number), response(f"answer {number}"))
    with ResponseStore(path) as store:
        found = store.get(key(number) for number in range(1300))
        assert len(found) == 1200
        assert found[key(7)].text == "answer 7"
        assert store.totals().responses == 1200


def test_what_put_returned_for_is_in_the_file(tmp_path):
    with ResponseStore(tmp_path / "r.sqlite") as store:
        store.put(key(1), response())
        assert rows(tmp_path) == 1


def rows(folder) -> int:
    with sqlite3.connect(folder / "r.sqlite") as connection:
        return connection.execute("SELECT count(*) FROM responses").fetchone()[0]


def test_failures_are_asked_again_and_what_they_cost_is_kept(tmp_path):
    with ResponseStore(tmp_path / "r.sqlite") as store:
        store.put(key(1), response(None, "broken", tokens=10))
        assert store.get([key(1)]) == {}
        assert store.get([key(1)]) == {}
        assert store.totals().failures == 1
        store.put(key(1), response("good", tokens=7))
        totals = store.totals()
        assert store.get([key(1)])[key(1)].text == "good"
        assert (totals.responses, totals.failures, totals.calls) == (1, 0, 2)
        assert totals.tokens_in == 17
        store.put(key(1), response("too late"))
        assert store.get([key(1)])[key(1)].text == "good", "the first answer stays"


def _fill(path, start):
    with ResponseStore(path) as store:
        for number in range(start, start + 200):
            store.put(key(number), response(f"{number}"))


def _fill_and_die(path):
    store = ResponseStore(path)
    for number in range(20):
        store.put(key(number), response(f"{number}"))
    os._exit(9)


def test_several_processes_write_at_once(tmp_path):
    context = multiprocessing.get_context("spawn")
    path = tmp_path / "r.sqlite"
    writers = [context.Process(target=_fill, args=(path, start)) for start in (0, 100)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    with ResponseStore(path) as store:
        assert store.totals().responses == 300


def test_a_killed_process_loses_nothing_that_was_put(tmp_path):
    writer = multiprocessing.get_context("spawn").Process(
        target=_fill_and_die, args=(tmp_path / "r.sqlite",)
    )
    writer.start()
    writer.join()
    assert writer.exitcode == 9
    with ResponseStore(tmp_path / "r.sqlite") as store:
        assert len(store.get(key(number) for number in range(25))) == 20


def test_a_file_that_is_no_store_is_named(tmp_path):
    (tmp_path / "r.sqlite").write_text("not a database, " * 100)
    with pytest.raises(SetupError, match=r"r\.sqlite"):
        ResponseStore(tmp_path / "r.sqlite")
