"""Replies of the leakage audit put together."""

import json

import polars as pl

from saber_assets.evaluation.leakage import aggregate, audits, read_replies, texts_of

RATINGS = pl.DataFrame(
    [("q1", f"d{i}", float(i)) for i in range(4)] + [("q2", "d0", 1.0), ("q3", "d0", 2.0)],
    schema=["query_id", "candidate_id", "rating"],
    orient="row",
)


def reply(*numbers):
    return json.dumps({"equivalent": [{"document": n, "reason": f"r{n}"} for n in numbers]})


def aggregate_replies(asked, replies):
    return aggregate(asked, read_replies(asked, replies))


def test_audit():
    asked = audits(RATINGS, top=3)
    assert asked[0].candidate_ids == ("d3", "d2", "d1")
    statements = {key: key.upper() for key in ("q1", "d1", "d2", "d3")}
    assert texts_of(asked[0], statements) == {"query": "Q1", "documents": ["D3", "D2", "D1"]}
    found = aggregate_replies(asked, {"q1": reply(2), "q2": "I found none, sorry", "q3": None})
    assert (found.queries, found.pairs) == (1, 3)
    assert found.flagged.rows() == [("q1", "d2", 2, "r2")]
    assert found.unread["query_id"].to_list() == ["q2", "q3"]


def test_numbers_that_were_not_shown_are_no_flags():
    found = aggregate_replies(audits(RATINGS, 3), {"q1": reply(4), "q2": reply(1), "q3": reply()})
    assert found.unread["query_id"].to_list() == ["q1"]
    assert (found.queries, found.pairs, found.flagged.height) == (2, 2, 1)


def test_nothing():
    found = aggregate([], {})
    assert found.flagged.is_empty()
    assert found.pairs == 0
