"""The joins above a floor against dense rows: every pair, every tie, every kind of set."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.candidates import near_pairs, overlap_index, thresholds
from saber_assets.candidates.categories import count_categories
from saber_assets.candidates.features import build_features
from saber_assets.candidates.histograms import similarity_histograms
from saber_assets.candidates.jaccard_join import summary_similarities
from saber_assets.candidates.lin_blocks import to_matrix
from saber_assets.candidates.near_topics import near_index, near_topic_sets
from saber_assets.candidates.pairs import blocked_pairs
from saber_assets.candidates.precision import as_stored, bin_edges, binned, cutoff
from saber_assets.candidates.thresholds import search_thresholds
from saber_assets.candidates.topic_join import topic_similarities
from saber_assets.ontology.lin import lin_matrix

NAMES = ("Algebra", "Geometry")


def random_corpus(seed, problems, empty=0.0):
    """Topic sets of 0 to 4 nodes of a random tree, and 0 to 40 tokens: one that all have,
    frequent ones and rare ones; every fifth problem repeats an earlier one."""
    rng = np.random.default_rng(seed)
    nodes = 60
    parent = [-1, 0, 0, 0, *(int(rng.integers(1, node)) for node in range(4, nodes))]
    depth = [0] * nodes
    for node in range(1, nodes):
        depth[node] = depth[parent[node]] + 1
    tree = pl.DataFrame({"node_id": range(nodes), "parent_id": parent, "depth": depth})
    topics, ideas = [], []
    for row in range(problems):
        if row % 5 == 4:
            topics.append(topics[row // 2])
            ideas.append(ideas[row // 3])
            continue
        topics.append(rng.zipf(1.5, rng.integers(0, 5)) % nodes)
        words = [f"w{w}" for w in rng.zipf(1.3, rng.integers(0, 12)) % 5000]
        if row % 40 == 7:
            words += [f"long{w}" for w in range(rng.integers(1, 30))]
        ideas.append(" ".join([*words, "everybody"] if row % 17 else []))
    ids = [f"p{row}" for row in range(problems)]
    return build_features(ids, [t.tolist() for t in topics], ideas, tree, empty_jaccard=empty)


def dense(features, precision):
    rows = np.arange(len(features))
    topic = as_stored(topic_similarities(features, rows), precision)
    return topic, as_stored(summary_similarities(features, rows), precision)


def brute_counts(topic, summary, taus, barred):
    near_topic, near_summary = (topic >= taus[0]) & ~barred, (summary >= taus[1]) & ~barred
    kinds = near_topic & ~near_summary, near_summary & ~near_topic, near_topic & near_summary
    return np.transpose([kind.sum(axis=1) for kind in kinds])


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    problems=st.integers(1, 400),
    ties=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    precision=st.sampled_from(["float64", "float16"]),
    empty=st.sampled_from([0.0, 1.0]),
    workers=st.integers(1, 3),
)
def test_counts_equal_brute_force_at_values_that_occur(
    seed, problems, ties, precision, empty, workers
):
    features = random_corpus(seed, problems, empty)
    topic, summary = dense(features, precision)
    # a threshold that some pairs have exactly, among those that are not 0 where there are any
    taus = [
        float(np.unique(values)[int(tie * (np.unique(values).size - 1))])
        for values, tie in zip((topic, summary), ties, strict=True)
    ]
    excluded = [(f"p{i}", f"p{i * 7 % problems}") for i in range(0, problems, 3)]
    barred = np.eye(problems, dtype=bool)
    for one, two in excluded:
        barred[int(one[1:]), int(two[1:])] = barred[int(two[1:]), int(one[1:])] = True
    for pair in (taus, [float(np.nextafter(tau, 1)) for tau in taus], [taus[0], 0.0], [0.0, 1.0]):
        cuts = [tau if precision == "float64" else float(np.float16(tau)) for tau in pair]
        found = count_categories(
            features, *pair, precision=precision, excluded=excluded, workers=workers
        )
        np.testing.assert_array_equal(found, brute_counts(topic, summary, cuts, barred))


@pytest.mark.parametrize("seed", range(3))
def test_a_pair_at_the_threshold_counts_and_one_above_does_not(seed):
    features = random_corpus(seed, 150)
    topic, summary = dense(features, "float64")
    for signal, values in enumerate((topic, summary)):
        for tau in np.unique(values)[1::7]:
            taus = [1.0, 1.0]
            taus[signal] = float(tau)
            at = count_categories(features, *taus)
            above = count_categories(features, *[np.nextafter(t, 2) if t < 1 else t for t in taus])
            lost = (at - above)[:, [signal, 2]].sum()
            assert lost == (values == tau).sum() - np.diag(values == tau).sum() or tau == 1


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), place=st.floats(0, 1))
def test_near_topic_sets_are_exact_to_the_bit(seed, place):
    features = random_corpus(seed, 120)
    values = topic_similarities(features, np.arange(120))
    cut = float(np.unique(values)[int(place * (np.unique(values).size - 1))])
    sets = features.arrays.set_of
    start, near, found = near_topic_sets(features.arrays, near_index(features, cut), sets)
    for row in range(120):
        by_set = np.full(len(features.arrays.set_weight), -1.0)
        by_set[near[start[row] : start[row + 1]]] = found[start[row] : start[row + 1]]
        expected = np.where(values[row] >= cut, values[row], -1.0)
        np.testing.assert_array_equal(by_set[sets], expected)


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    floor=st.floats(0, 1),
    precision=st.sampled_from(["float64", "float16"]),
    self_pairs=st.booleans(),
    empty=st.sampled_from([0.0, 1.0]),
)
def test_histograms_are_exact_from_the_floor_on(seed, floor, precision, self_pairs, empty):
    features = random_corpus(seed, 150, empty)
    edges = bin_edges(precision)
    first = int(floor * (len(edges) - 1))
    domains = [[NAMES[row % 2]] if row % 3 else list(NAMES) for row in range(150)]
    found = similarity_histograms(
        features, domains, precision=precision, self_pairs=self_pairs, topic_floor=first
    )
    rows = np.arange(150)
    similarities = topic_similarities(features, rows), summary_similarities(features, rows)
    for name in NAMES:
        mine = np.array([name in listed for listed in domains])
        for signal, values in enumerate(similarities):
            bins = binned(values, precision)[mine]
            kept = bins[:, :].ravel() if self_pairs else bins[rows[mine][:, None] != rows].ravel()
            if signal == 0:
                kept = np.where(kept < first, 0, kept)
            expected = np.bincount(kept, minlength=len(edges))
            np.testing.assert_array_equal(found.counts[found.domains.index(name), signal], expected)


@pytest.mark.parametrize("precision", ["float64", "float16"])
def test_the_grid_read_in_parts_gives_the_same_thresholds(precision, monkeypatch):
    features = random_corpus(3, 700)
    domains = [[NAMES[row % 2]] for row in range(700)]
    settings_of_search = {"k": 3, "min_queries": 60, "precision": precision}
    whole = search_thresholds(features, domains, **settings_of_search)
    monkeypatch.setattr(thresholds, "PAIRS_AT_FIRST", 1000)
    parts = search_thresholds(features, domains, **settings_of_search)
    assert parts.thresholds.equals(whole.thresholds)
    assert (parts.counts == whole.counts).all()
    assert parts.histograms.topic_floor > 0
    assert 0 < parts.search.height < whole.search.height
    same = whole.search.join(parts.search, on=["domain", "quantile"], how="semi")
    assert same.equals(parts.search)


def test_a_floor_guessed_too_high_is_lowered(monkeypatch):
    features = random_corpus(3, 300)
    domains = [["Algebra"]] * 300
    whole = search_thresholds(features, domains, k=3, min_queries=20)
    guesses = iter([2**18, 2**18 - 5, 1000])
    monkeypatch.setattr(thresholds, "PAIRS_AT_FIRST", 1000)
    monkeypatch.setattr(thresholds, "_guessed_floor", lambda *_: next(guesses, 0))
    again = search_thresholds(features, domains, k=3, min_queries=20)
    assert again.thresholds.equals(whole.thresholds)


def test_small_blocks_and_lists_instead_of_bitmaps_change_nothing(monkeypatch):
    features = random_corpus(8, 500)
    expected = count_categories(features, 0.6, 0.2)
    monkeypatch.setattr(near_pairs, "MOST_ROWS", 7)
    monkeypatch.setattr(near_pairs, "FEWEST_ROWS", 1)
    assert (count_categories(features, 0.6, 0.2, workers=2) == expected).all()
    for bound in (1, 10**6):
        monkeypatch.setattr(overlap_index, "FEWEST_FREQUENT", bound)
        monkeypatch.setattr(overlap_index, "RARE_SHARE", 10**6)
        assert (count_categories(features, 0.6, 0.2) == expected).all()


def test_a_summary_of_hundreds_of_tokens_and_more_words_than_one_stretch():
    rng = np.random.default_rng(2)
    tree = pl.DataFrame({"node_id": [0, 1], "parent_id": [-1, 0], "depth": [0, 1]})
    ideas = [
        " ".join(f"t{w}" for w in rng.integers(0, 30, rng.integers(0, 9))) for _ in range(40_000)
    ]
    ideas[17] = " ".join(f"t{w}" for w in range(500))
    ids = [f"p{row}" for row in range(len(ideas))]
    features = build_features(ids, [[1]] * len(ids), ideas, tree)
    index = overlap_index.overlap_index(features)
    assert index.bitmaps.shape[0] > 1
    rows = np.array([0, 17, 39_999])
    summary = summary_similarities(features, rows)
    pairs = near_pairs.NearPairs.build(features, blocked_pairs(features), 1.0, 1 / 3)
    for members, near in pairs.over(
        rows, lambda block: block.near.copy(), near=True, overlaps=False, workers=1
    ):
        for row, words in zip(members, near, strict=True):
            bits = np.unpackbits(words.view(np.uint8), bitorder="little").astype(bool)
            expected = set(np.flatnonzero(summary[list(rows).index(row)] >= 1 / 3)) - {row}
            assert set(index.problem_at[bits]) == expected


def test_lin_in_blocks_is_lin_of_the_tree():
    features = random_corpus(1, 200)
    table = to_matrix(features.arrays.lin)
    assert features.arrays.lin.values.size < table.size
    topic = topic_similarities(features, np.arange(200))
    assert topic.max() > 0
    assert (table == table.T).all()
    zero = lin_matrix(np.array([-1, 0, 0]), np.array([0, 1, 1]), np.array([0.0, 1.0, 2.0]), [1, 2])
    assert zero[0, 1] == 0  # topics of different subjects are unrelated
    assert cutoff(0.0, "float64") == 0.0
