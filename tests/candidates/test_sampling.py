"""Pools: members of their category, uniform, and independent of everything but seed and ids."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from saber_assets.candidates.categories import count_categories
from saber_assets.candidates.features import pack_features
from saber_assets.candidates.jaccard_join import summary_similarities
from saber_assets.candidates.sampling import sample_pools
from saber_assets.candidates.tables import CANDIDATE_POOLS, CATEGORIES
from saber_assets.candidates.topic_join import topic_similarities
from saber_assets.errors import InputError

TAUS = (0.5, 0.5)


def corpus(order, extra=0):
    """40 problems in four kinds: (topic 0 or 1) x (tokens ab or cd)."""
    order = list(order)
    topics = [[i % 2] for i in order] + [[0]] * extra
    tokens = [frozenset("ab" if i % 4 < 2 else "cd") for i in order] + [frozenset("zy")] * extra
    ids = [f"p{i:02d}" for i in order] + [f"x{i}" for i in range(extra)]
    return pack_features(ids, topics, tokens, [0, 1], np.eye(2))


def keys(pools):
    return set(pools.select("query_id", "candidate_id", "category").iter_rows())


def test_pool_obeys_the_table_and_the_categories():
    features = corpus(range(40))
    pools = sample_pools(features, ["p00", "p07"], 5, TAUS, seed=3)
    assert CANDIDATE_POOLS.faults(pools) == []
    assert pools.group_by("query_id", "category").len()["len"].to_list() == [5] * 6
    for row in pools.to_dicts():
        pair = features.rows_of([row["query_id"], row["candidate_id"]])
        topic = topic_similarities(features, pair[:1])[0, pair[1]]
        summary = summary_similarities(features, pair[:1])[0, pair[1]]
        assert (row["topic_similarity"], row["summary_similarity"]) == (topic, summary)
        near = topic >= TAUS[0], summary >= TAUS[1]
        expected = {(True, False): 0, (False, True): 1, (True, True): 2}[near]
        assert row["category"] == CATEGORIES[expected]
        assert (row["tau_topic"], row["tau_summary"], row["seed"]) == (*TAUS, 3)


@settings(max_examples=20, deadline=None)
@given(order=st.permutations(range(40)), workers=st.integers(1, 3), seed=st.integers(0, 9))
def test_order_threads_and_other_queries_leave_a_pool_unchanged(order, workers, seed):
    first = sample_pools(corpus(range(40)), ["p03", "p08"], 4, TAUS, seed)
    second = sample_pools(corpus(order), ["p08", "p03", "p11"], 4, TAUS, seed, workers=workers)
    assert first.equals(second.filter(pl.col("query_id") != "p11"))


def test_problems_outside_a_category_leave_its_sample_unchanged():
    first = sample_pools(corpus(range(40)), ["p03"], 4, TAUS, 1)  # p03 has topic 1
    assert keys(first) == keys(sample_pools(corpus(range(40), extra=7), ["p03"], 4, TAUS, 1))


def test_each_member_is_equally_likely():
    features = corpus(range(40))
    draws, k = 1200, 4
    counts: dict[str, dict[str, int]] = {name: {} for name in CATEGORIES}
    pair_together = 0
    for seed in range(draws):
        pools = sample_pools(features, ["p00"], k, TAUS, seed, workers=1)
        chosen = list(pools.select("candidate_id", "category").iter_rows())
        for candidate, category in chosen:
            counts[category][candidate] = counts[category].get(candidate, 0) + 1
        pair_together += {("p04", "both"), ("p08", "both")} <= set(chosen)
    for category, members in (("topic_only", 10), ("summary_only", 10), ("both", 9)):
        observed = np.array(list(counts[category].values()))
        assert len(observed) == members
        expected = draws * k / members
        # sampling without replacement: the statistic is scaled by (1 - k/m) m/(m - 1)
        scale = (1 - k / members) * members / (members - 1)
        statistic = ((observed - expected) ** 2 / expected).sum() / scale
        assert statistic < chi2.ppf(0.9999, members - 1)
    together = draws * (k / 9) * ((k - 1) / 8)
    assert abs(pair_together - together) < 4 * np.sqrt(together)


def test_queries_draw_independently():
    features = corpus(range(40))
    # p00 and p04 share their members: as often as chance says, not always, not never
    shared = 0
    for seed in range(300):
        pools = sample_pools(features, ["p00", "p04"], 3, TAUS, seed, workers=1)
        topic_only = pools.filter(pl.col("category") == "topic_only")
        a, b = (
            set(topic_only.filter(pl.col("query_id") == q)["candidate_id"]) for q in ("p00", "p04")
        )
        shared += len(a & b)
    assert 0.7 * 270 < shared < 1.3 * 270  # 300 draws of 3 * 3 / 10


def test_excluded_pairs_and_shortage():
    features = corpus(range(40))
    listed = [("p04", "p00"), ("p00", "p08"), ("unknown", "p00")]
    pools = sample_pools(features, ["p00"], 7, TAUS, 0, excluded=listed)
    both = pools.filter(pl.col("category") == "both")["candidate_id"].to_list()
    assert both == ["p12", "p16", "p20", "p24", "p28", "p32", "p36"]
    with pytest.raises(InputError, match="query p00 has too few candidates for K = 8"):
        sample_pools(features, ["p00"], 8, TAUS, 0, excluded=listed)
    assert count_categories(features, *TAUS, excluded=listed)[0].tolist() == [10, 10, 7]


def test_float16_similarities_are_returned_as_compared():
    lin = np.array([[1.0, 1 / 3], [1 / 3, 1.0]])
    topics = [[0], [1], [1], [0], []]
    tokens = [frozenset(t) for t in ("ab", "ab", "cd", "cd", "cd")]
    features = pack_features(list("abcde"), topics, tokens, [0, 1], lin)
    tau = float(np.float16(1 / 3))
    pools = sample_pools(features, ["c"], 1, (tau, 0.5), 0, precision="float16")
    near = dict(pools.select("category", "topic_similarity").iter_rows())
    assert near["both"] == tau < 1 / 3
    assert near["summary_only"] == 0.0


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), precision=st.sampled_from(["float64", "float16"]))
def test_categories_follow_from_what_is_kept(tmp_path_factory, seed, precision):
    """Whoever compares the columns of a written pool finds its categories, ties included."""
    rng = np.random.default_rng(seed)
    lin = np.triu(rng.choice([0.0, 0.2, 1 / 3, 0.6, 0.7], (5, 5)), 1)
    topics = [rng.integers(0, 5, rng.integers(0, 4)).tolist() for _ in range(60)]
    tokens = [frozenset(rng.choice(list("abcdef"), rng.integers(0, 5))) for _ in range(60)]
    ids = [f"p{place:02d}" for place in range(60)]
    features = pack_features(ids, topics, tokens, range(5), lin + lin.T + np.eye(5))
    rows = np.arange(60)
    taus = [
        float(np.quantile(similarities(features, rows), 0.8, method="higher"))
        for similarities in (topic_similarities, summary_similarities)
    ]
    if precision == "float16":
        taus = [float(np.float16(tau)) for tau in taus]
    counts = count_categories(features, *taus, precision=precision)
    k = int(counts.min(axis=1).max())
    if k == 0:
        return
    queries = [ids[row] for row in np.flatnonzero(counts.min(axis=1) == k)]
    path = tmp_path_factory.mktemp("pools") / "pools.parquet"
    sample_pools(features, queries, k, tuple(taus), seed, precision=precision).write_parquet(path)
    kept = pl.read_parquet(path)
    near = {
        name: pl.col(f"{name}_similarity") >= pl.col(f"tau_{name}") for name in ("topic", "summary")
    }
    expected = (
        pl.when(near["topic"] & near["summary"])
        .then(pl.lit("both"))
        .when(near["topic"])
        .then(pl.lit("topic_only"))
        .when(near["summary"])
        .then(pl.lit("summary_only"))
    )
    assert kept.height == 3 * k * len(queries)
    assert kept.filter(expected.is_null() | (expected != pl.col("category"))).is_empty()


def test_misuse_is_refused():
    features = corpus(range(40))
    with pytest.raises(ValueError, match="not in the corpus"):
        sample_pools(features, ["nobody"], 1, TAUS, 0)
    with pytest.raises(ValueError, match="repeated"):
        sample_pools(features, ["p00", "p00"], 1, TAUS, 0)
    with pytest.raises(ValueError, match="at least 1"):
        sample_pools(features, ["p00"], 0, TAUS, 0)
    with pytest.raises(ValueError, match="threshold"):
        sample_pools(features, ["p00"], 1, (1.5, 0.5), 0)
    assert sample_pools(features, [], 1, TAUS, 0).equals(CANDIDATE_POOLS.empty())
