from __future__ import annotations

import asyncio
import multiprocessing
import os
import sqlite3
from dataclasses import replace

import pytest

from saber_resources.errors import SetupError
from saber_resources.response_store import Response, ResponseStore, Select, request_key

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


VERSION_1 = """
CREATE TABLE responses (
    key BLOB PRIMARY KEY, model TEXT NOT NULL, response TEXT, finish_reason TEXT,
    tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, latency REAL NOT NULL,
    attempts INTEGER NOT NULL, error TEXT, created TEXT NOT NULL
) WITHOUT ROWID
"""


def test_a_store_of_the_first_version_keeps_its_answers(tmp_path):
    path = tmp_path / "r.sqlite"
    with sqlite3.connect(path) as old:
        old.execute(VERSION_1)
        old.executemany(
            "INSERT INTO responses VALUES (?, 'm', ?, 'stop', 5, 2, 0.1, 1, ?, '2025-01-01')",
            [(key(1), "one", None), (key(2), None, "broken")],
        )
    old.close()
    for _ in range(2):
        with ResponseStore(path) as store:
            assert store.get([key(1), key(2)]).keys() == {key(1)}
            assert store.get([key(1)])[key(1)].text == "one"
            totals = store.totals()
            assert (totals.responses, totals.failures, totals.tokens_in) == (1, 1, 10)


def test_a_store_of_a_later_version_is_refused(tmp_path):
    with sqlite3.connect(tmp_path / "r.sqlite") as later:
        later.execute("PRAGMA user_version = 99")
    later.close()
    with pytest.raises(SetupError, match="version 99"):
        ResponseStore(tmp_path / "r.sqlite")


FULL = Response(
    "m", "yes", "stop", 5, 2, 0.25, 1, None, "judge", "f1", 3, "q|a|b", '{"a": 1}', None, "[]", 4,
    0.5, "host:80", "2026-01-02T00:00:00+00:00",
)  # fmt: skip


def test_every_field_comes_back(tmp_path):
    with ResponseStore(tmp_path / "r.sqlite") as store:
        store.put(key(1), FULL)
        assert store.get([key(1)]) == {key(1): FULL}
        assert list(store.rows()) == [[(key(1), FULL)]]
        assert store.known([key(1), key(2)]) == {key(1)}


def test_rows_come_in_batches_and_by_filter(tmp_path):
    with ResponseStore(tmp_path / "r.sqlite") as store:
        store.put_many(
            (key(n), replace(FULL, prompt=f"p{n % 2}", item=f"i{n}", created=f"2026-01-{n + 1:02}"))
            for n in range(10)
        )
        assert [len(part) for part in store.rows(batch=4)] == [4, 4, 2]
        chosen = [
            row for part in store.rows(Select(prompt="p1", since="2026-01-05")) for row in part
        ]
        assert [row[1].item for row in chosen] == ["i5", "i7", "i9"]
        assert [part[0][1].item for part in store.rows(Select(model="m", item="i3"))] == ["i3"]
        assert list(store.rows(Select(model="none"))) == []


def test_failures_are_listed_and_removed_but_not_what_they_cost(tmp_path):
    with ResponseStore(tmp_path / "r.sqlite") as store:
        store.put(key(1), FULL)
        store.put(key(2), replace(FULL, text=None, error="broken", prompt="other"))
        store.put(key(3), FULL)
        store.note([(key(3), None, "no verdict"), (key(1), "2", None)])
        assert store.get([key(1)])[key(1)].parsed == "2"
        assert [row[0] for row in store.failures()] == [key(2), key(3)]
        assert [row[0] for row in store.failures(unusable=False)] == [key(2)]
        assert [row[0] for row in store.failures(Select(prompt="judge"))] == [key(3)]
        assert [(s.responses, s.unusable, s.failures) for s in store.stats()] == [
            (1, 1, 0),
            (0, 0, 1),
        ]
        assert store.delete_failures(Select(prompt="none"), unusable=True) == 0
        assert store.delete_failures() == 1
        assert store.delete_failures(unusable=True) == 1
        assert store.get([key(3)]) == {} and list(store.failures()) == []
        judge, other = store.stats()
        assert (judge.responses, judge.calls, judge.price, judge.tokens_in) == (1, 2, 1.0, 10)
        assert (other.responses, other.calls, other.price, other.failures) == (0, 1, 0.5, 0)


def test_what_others_answered_is_taken_over_and_not_counted_as_spent(tmp_path):
    with ResponseStore(tmp_path / "r.sqlite") as store:
        store.put(key(1), FULL)
        store.put(key(2), replace(FULL, text=None, error="broken"))
        others = [(key(n), replace(FULL, text="theirs")) for n in (1, 2, 3)]
        failed = (key(4), replace(FULL, text=None, error="theirs too"))
        assert store.insert_missing([*others, failed]) == 3
        assert store.insert_missing(others) == 0
        texts = [store.get([key(n)])[key(n)].text for n in (1, 2, 3)]
        assert texts == ["yes", "theirs", "theirs"]
        [stats] = store.stats()
        assert (stats.imported, stats.calls, stats.price) == (2, 2, 1.0)


def test_lookups_and_spending_add_up(tmp_path):
    with ResponseStore(tmp_path / "r.sqlite") as store:
        assert store.spent("run") == 0.0
        store.put(key(1), FULL, run="run")
        store.put(key(1), FULL, run="run")
        assert store.spent("run") == 1.0, "paid for twice, and said so"
        for _ in range(2):
            store.count_lookups({("m", "judge", "f1"): (3, 1)})
        [stats] = store.stats()
        assert (stats.hits, stats.misses, stats.hit_rate) == (6, 2, 0.75)
        assert (stats.responses, stats.calls) == (1, 2)


def test_the_first_answer_stands_also_within_a_transaction(tmp_path):
    async def both(store):
        answers = [store.put_soon(key(1), replace(FULL, text=text)) for text in ("first", "second")]
        return [answer.text for answer in await asyncio.gather(*answers)]

    with ResponseStore(tmp_path / "r.sqlite") as store:
        assert asyncio.run(both(store)) == ["first", "first"]
        assert store.put(key(1), replace(FULL, text="third")).text == "first"


def test_a_failed_write_is_told_to_whoever_waits(tmp_path):
    async def wait(store):
        await store.put_soon(key(1), replace(FULL, model=None))

    with ResponseStore(tmp_path / "r.sqlite") as store:
        with pytest.raises(sqlite3.IntegrityError):
            asyncio.run(wait(store))
        store.put(key(1), FULL)
        assert store.totals().responses == 1
