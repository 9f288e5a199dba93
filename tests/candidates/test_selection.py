"""Selection of queries: evenness, quotas, determinism and what is reported as scarce."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.candidates.features import pack_features
from saber_assets.candidates.selection import eligible_queries, select_queries
from saber_assets.candidates.tables import BENCHMARK_QUERIES
from saber_assets.errors import InputError
from saber_assets.ontology.tables import DOMAINS


def eligible(sizes):
    """Return an eligible frame with so many queries of each combination."""
    rows = [
        (f"{number}-{index:04d}", combination.split(" + "), combination, 9, 9, 9)
        for number, (combination, size) in enumerate(sizes.items())
        for index in range(size)
    ]
    schema = {
        "query_id": pl.String, "domains": pl.List(pl.String), "combination": pl.String,
        "topic_only": pl.Int64, "summary_only": pl.Int64, "both": pl.Int64,
    }  # fmt: skip
    return pl.DataFrame(rows, schema=schema, orient="row")


def per_domain(queries):
    counted = Counter(domain for listed in queries["domains"].to_list() for domain in listed)
    return [counted[domain] for domain in DOMAINS]


def test_even_over_domains_with_combinations():
    sizes = dict.fromkeys(DOMAINS, 100) | {"Algebra + Geometry": 80, "Algebra + Number Theory": 80}
    chosen = select_queries(eligible(sizes), 250, seed=1)
    counts = per_domain(chosen.queries)
    assert max(counts) - min(counts) <= 1
    assert chosen.queries.height == 250
    assert chosen.scarcity.is_empty()
    assert BENCHMARK_QUERIES.faults(chosen.queries) == []
    used = Counter(chosen.queries["combination"].to_list())
    assert used["Algebra + Geometry"] > 0  # combinations are used, not avoided
    assert used["Algebra + Number Theory"] > 0


def test_a_scarce_domain_is_reported_and_the_rest_stays_even():
    sizes = dict.fromkeys(DOMAINS, 100) | {"Geometry": 3}
    chosen = select_queries(eligible(sizes), 103, seed=1)
    assert per_domain(chosen.queries) == [25, 3, 25, 25, 25]
    assert chosen.scarcity.to_dicts() == [
        {"stratum": "Geometry", "wanted": 24, "available": 3, "selected": 3, "missing": 21}
    ]


def test_too_few_altogether():
    chosen = select_queries(eligible(dict.fromkeys(DOMAINS, 2)), 50, seed=1)
    assert chosen.queries.height == 10
    assert chosen.scarcity.to_dicts() == [
        {"stratum": "all", "wanted": 50, "available": 10, "selected": 10, "missing": 40}
    ]
    nothing = select_queries(eligible({}), 5, seed=1)
    assert nothing.queries.equals(BENCHMARK_QUERIES.empty())
    assert nothing.scarcity["missing"].to_list() == [5]


def test_quota_is_taken_to_the_letter():
    frame = eligible({"Algebra": 20, "Algebra + Geometry": 20, "Geometry": 2})
    quota = {"Algebra": 5, "Geometry + Algebra": 7, "Geometry": 4}
    chosen = select_queries(frame, None, seed=1, quota=quota)
    used = Counter(chosen.queries["combination"].to_list())
    assert used == {"Algebra": 5, "Algebra + Geometry": 7, "Geometry": 2}
    assert chosen.scarcity.to_dicts() == [
        {"stratum": "Geometry", "wanted": 4, "available": 2, "selected": 2, "missing": 2}
    ]
    with pytest.raises(InputError, match="adds up to 16"):
        select_queries(frame, 20, seed=1, quota=quota)
    with pytest.raises(InputError, match="Alchemy"):
        select_queries(frame, None, seed=1, quota={"Alchemy": 1})
    with pytest.raises(InputError, match="-1"):
        select_queries(frame, None, seed=1, quota={"Algebra": -1})
    with pytest.raises(ValueError, match="count"):
        select_queries(frame, None, seed=1)


COMBINATIONS = [*DOMAINS, "Algebra + Geometry", "Algebra + Combinatorics + Geometry"]


@settings(max_examples=30, deadline=None)
@given(
    sizes=st.dictionaries(st.sampled_from(COMBINATIONS), st.integers(1, 12)),
    count=st.integers(0, 60),
    seed=st.integers(0, 99),
    shuffle=st.integers(0, 99),
)
def test_same_seed_same_queries_whatever_the_order(sizes, count, seed, shuffle):
    frame = eligible(sizes)
    chosen = select_queries(frame, count, seed)
    again = select_queries(frame.sample(fraction=1.0, shuffle=True, seed=shuffle), count, seed)
    assert chosen.queries.equals(again.queries)
    assert chosen.scarcity.equals(again.scarcity)
    assert chosen.queries.height == min(count, frame.height)
    assert set(chosen.queries["query_id"]) <= set(frame["query_id"])


def test_seeds_differ_and_every_query_has_its_chance():
    frame = eligible({"Algebra": 10})
    counted = Counter(
        query for seed in range(400) for query in select_queries(frame, 3, seed).queries["query_id"]
    )
    assert len(counted) == 10
    assert all(70 < times < 175 for times in counted.values())  # 120 expected


def test_eligible_needs_k_in_each_category_and_a_domain():
    features = pack_features(list("dcba"), [[0]] * 4, [frozenset("x")] * 4, [0], np.ones((1, 1)))
    counts = np.array([[5, 5, 5], [5, 4, 5], [9, 9, 9], [6, 7, 8]])
    domains = [["Geometry", "Algebra"], ["Algebra"], [], ["Algebra"]]
    frame = eligible_queries(features, domains, counts, 5)
    assert frame["query_id"].to_list() == ["a", "d"]
    assert frame["combination"].to_list() == ["Algebra", "Algebra + Geometry"]
    assert frame.row(0)[3:] == (6, 7, 8)
    empty = eligible_queries(features, domains, counts, 50)
    assert select_queries(empty, 5, 0).queries.is_empty()
