"""Eligible queries at every combination of thresholds, against brute force."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.candidates.categories import domain_capacities
from saber_assets.candidates.features import build_features
from saber_assets.candidates.histograms import similarity_histograms
from saber_assets.candidates.jaccard_join import summary_similarities
from saber_assets.candidates.joint_grid import eligible_grid, joint_bins
from saber_assets.candidates.precision import bin_edges, binned
from saber_assets.candidates.topic_join import topic_similarities

PARENTS = [-1, 0, 0, 0, 1, 1, 2, 2, 4, 4]
TREE = pl.DataFrame(
    {"node_id": range(10), "parent_id": PARENTS, "depth": [0, 1, 1, 1, 2, 2, 2, 2, 3, 3]},
    schema={"node_id": pl.Int32, "parent_id": pl.Int32, "depth": pl.Int32},
)


@st.composite
def corpora(draw):
    """Return features and members of two domains; problems without words or topics included."""
    count = draw(st.integers(2, 30))
    seed = draw(st.integers(0, 2**32 - 1))
    generator = np.random.default_rng(seed)
    topics = [generator.choice(10, generator.integers(0, 4), replace=False) for _ in range(count)]
    words = [generator.choice(6, generator.integers(0, 5), replace=False) for _ in range(count)]
    features = build_features(
        [f"p{i}" for i in range(count)],
        [sorted(row.tolist()) for row in topics],
        [" ".join(f"w{word}" for word in row) for row in words],
        TREE,
        empty_jaccard=draw(st.sampled_from([0.0, 1.0])),
    )
    return features, generator.random((count, 2)) < 0.7


def brute_force(features, member, topic_bins, summary_bins, k, precision, excluded):
    rows = np.arange(len(features))
    edges = bin_edges(precision)
    topic = binned(topic_similarities(features, rows), precision)
    summary = binned(summary_similarities(features, rows), precision)
    candidate = ~np.eye(len(rows), dtype=bool)
    place = {problem_id: row for row, problem_id in enumerate(features.problem_ids)}
    for one, two in excluded:
        candidate[place[one], place[two]] = candidate[place[two], place[one]] = False
    found = np.zeros((member.shape[1], len(topic_bins), len(summary_bins)), dtype=int)
    for i, tau_topic in enumerate(edges[topic_bins]):
        near_topic = (edges[topic] >= tau_topic) & candidate
        for j, tau_summary in enumerate(edges[summary_bins]):
            near_summary = (edges[summary] >= tau_summary) & candidate
            groups = near_topic & ~near_summary, ~near_topic & near_summary
            least = np.min(
                [group.sum(axis=1) for group in (*groups, near_topic & near_summary)], axis=0
            )
            found[:, i, j] = member[least >= k].sum(axis=0)
    return found


@settings(max_examples=60, deadline=None)
@given(
    corpora(),
    st.data(),
    st.integers(1, 3),
    st.sampled_from(["float64", "float16"]),
    st.booleans(),
)
def test_equals_brute_force_where_similarities_equal_thresholds(
    corpus, data, k, precision, duplicates
):
    features, member = corpus
    rows = np.arange(len(features))
    thresholds = []
    for similarities in (topic_similarities, summary_similarities):
        present = np.unique(binned(similarities(features, rows), precision)).tolist()
        near = sorted({*present, *(min(b + 1, len(bin_edges(precision)) - 1) for b in present)})
        drawn = data.draw(st.lists(st.sampled_from(near), min_size=1, max_size=6))
        thresholds.append(np.array(sorted(drawn), dtype=np.int32))
    excluded = [("p0", "p1")] if duplicates else []
    found = eligible_grid(
        features, member, *thresholds, k, precision=precision, excluded=excluded, workers=2
    )
    expected = brute_force(features, member, *thresholds, k, precision, excluded)
    np.testing.assert_array_equal(found, expected)


def crowd():
    """Return 200 problems with few topics and words, so that many are eligible."""
    generator = np.random.default_rng(5)
    topics = [sorted(generator.choice(10, 2, replace=False).tolist()) for _ in range(200)]
    ideas = [
        " ".join(f"w{word}" for word in generator.choice(8, 3, replace=False)) for _ in range(200)
    ]
    features = build_features([f"p{i}" for i in range(200)], topics, ideas, TREE)
    return features, generator.random((200, 2)) < 0.7


def test_the_diagonal_is_the_line_of_the_search():
    features, member = crowd()
    bins = np.array([[40_000, 131_072, 200_000], [50_000, 52_428, 131_072]], dtype=np.int32)
    both = np.repeat(bins[None], 2, axis=0)
    capacities = domain_capacities(features, member, both, precision="float64")
    found = eligible_grid(features, member, *bins, 5, precision="float64")
    line = [(capacity >= 5).sum(axis=0) for capacity in capacities]
    assert np.sum(line) > 0
    np.testing.assert_array_equal(found[:, range(3), range(3)], line)


@pytest.mark.parametrize("precision", ["float64", "float16"])
def test_grid_around_the_chosen_pair_holds_it(precision):
    features, member = crowd()
    names = ["Algebra", "Geometry"]
    domains = [[name for name, is_in in zip(names, row, strict=True) if is_in] for row in member]
    histograms = similarity_histograms(features, domains, precision=precision)
    edges = bin_edges(precision)
    present = np.flatnonzero(histograms.counts[:, 1].any(axis=1))
    pair = np.min([histograms.quantile_bins(d, [0.9, 0.99, 0.5]) for d in present], axis=0)
    chosen = edges[pair[:, 0]]
    axes = joint_bins(histograms, (0.5, 0.99), (chosen[0], chosen[1]))
    for axis, (middle, high, low) in zip(axes, pair, strict=True):
        assert 2 <= len(axis) <= 16 and (np.diff(axis) > 0).all()
        assert middle in axis
        assert (axis[0], axis[-1]) == (low, high)


def test_useless_thresholds_are_refused():
    features, member = crowd()
    one, falling = np.array([5], dtype=np.int32), np.array([5, 4], dtype=np.int32)
    for topic, summary, k in (
        (falling, one, 1),
        (one, falling, 1),
        (one[:0], one, 1),
        (one, one, 0),
    ):
        with pytest.raises(ValueError, match="descend|at least 1"):
            eligible_grid(features, member, topic, summary, k, precision="float64")
