"""Leaving out what isn't permissively licensed, and what that breaks."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from saber_assets.errors import InputError
from saber_assets.publishing.permissive import keep_permissive


def licensed(benchmark, licences: dict[str, str | None]):
    column = [licences.get(key, "MIT") for key in benchmark.documents["problem_id"]]
    documents = benchmark.documents.with_columns(pl.Series("licence", column, pl.String))
    return replace(benchmark, documents=documents)


def test_queries_and_pools_lose_what_is_left_out(benchmark) -> None:
    query = benchmark.queries["query_id"][1]
    other = benchmark.queries["query_id"][2]
    candidate = benchmark.pools.filter(pl.col("query_id") == other)["candidate_id"][0]
    with_it = benchmark.pools.filter(
        (pl.col("candidate_id") == candidate) & ~pl.col("query_id").is_in([query, "asked alone"])
    )
    given = licensed(benchmark, {query: "CC-BY-SA-4.0", candidate: None})
    kept, lost = keep_permissive(given)
    assert (lost.documents, lost.queries) == (2, 2)  # `asked alone` has no stated licence either
    assert (lost.pools, lost.candidates) == (with_it.height, with_it.height)
    assert query not in kept.queries["query_id"]
    assert candidate not in kept.pools["candidate_id"]
    assert candidate not in kept.runs["candidate_id"]
    assert {query, candidate}.isdisjoint(kept.documents["problem_id"])
    assert "2 documents are left out" in lost.sentence


def test_without_the_column_it_says_so(benchmark) -> None:
    with pytest.raises(InputError, match="has no column 'licence': export without --permissive"):
        keep_permissive(benchmark)


def test_nothing_left_is_refused(benchmark) -> None:
    closed = dict.fromkeys(benchmark.documents["problem_id"], "CC-BY-NC-4.0")
    with pytest.raises(InputError, match="no query of this benchmark is permissively"):
        keep_permissive(licensed(benchmark, closed))
