"""Both joins against brute force in plain Python, and what a change of order may not change."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.candidates.categories import count_categories, domain_capacities
from saber_assets.candidates.features import build_features, pack_features
from saber_assets.candidates.histograms import similarity_histograms
from saber_assets.candidates.jaccard_join import summary_similarities
from saber_assets.candidates.lin_blocks import to_matrix
from saber_assets.candidates.pairs import over_blocks
from saber_assets.candidates.precision import as_stored, bin_count, bin_edges, bin_row
from saber_assets.candidates.topic_join import topic_similarities

NODES = 7
WORDS = "abcdefg"


def random_lin(seed, nodes=NODES):
    """A symmetric table with ties, zeros and ones on the diagonal."""
    lin = np.random.default_rng(seed).choice([0.0, 0.0, 0.25, 1 / 3, 0.5, 0.7], (nodes, nodes))
    lin = np.triu(lin, 1)
    lin += lin.T
    np.fill_diagonal(lin, 1.0)
    return lin


def brute_topic(x, y, lin):
    if not x or not y:
        return 0.0
    best = [max(Fraction(lin[t, u]) for u in y) for t in x]
    best += [max(Fraction(lin[t, u]) for t in x) for u in y]
    return float(sum(best) / (len(x) + len(y)))


def brute_summary(x, y, empty):
    return len(x & y) / len(x | y) if x | y else empty


CORPORA = st.lists(
    st.tuples(
        st.frozensets(st.integers(0, NODES - 1), max_size=4),
        st.frozensets(st.sampled_from(WORDS), max_size=5),
    ),
    min_size=1,
    max_size=12,
)


def packed(corpus, lin, empty=0.0):
    ids = [f"p{i}" for i in range(len(corpus))]
    topics, tokens = zip(*corpus, strict=True)
    return pack_features(ids, topics, tokens, range(len(lin)), lin, empty_jaccard=empty)


@settings(max_examples=60, deadline=None)
@given(corpus=CORPORA, seed=st.integers(0, 50), empty=st.sampled_from([0.0, 1.0]))
def test_joins_equal_brute_force(corpus, seed, empty):
    lin = random_lin(seed)
    features = packed(corpus, lin, empty)
    rows = np.arange(len(corpus))
    topic, summary = topic_similarities(features, rows), summary_similarities(features, rows)
    on_grid = to_matrix(features.arrays.lin)
    for i, (x, a) in enumerate(corpus):
        for j, (y, b) in enumerate(corpus):
            assert topic[i, j] == brute_topic(x, y, on_grid)  # to the bit, whatever the order
            assert topic[i, j] == pytest.approx(brute_topic(x, y, lin), abs=5e-13)
            assert summary[i, j] == brute_summary(a, b, empty)
    assert (topic == topic.T).all()
    assert (summary == summary.T).all()
    assert 0 <= topic.min() <= topic.max() <= 1
    assert 0 <= summary.min() <= summary.max() <= 1


@settings(max_examples=40, deadline=None)
@given(
    corpus=CORPORA,
    seed=st.integers(0, 50),
    pick=st.tuples(st.integers(0, 143), st.integers(0, 143)),
    precision=st.sampled_from(["float64", "float16"]),
)
def test_counts_with_ties_exactly_at_the_thresholds(corpus, seed, pick, precision):
    features = packed(corpus, random_lin(seed))
    rows = np.arange(len(corpus))
    topic = as_stored(topic_similarities(features, rows), precision)
    summary = as_stored(summary_similarities(features, rows), precision)
    taus = topic.ravel()[pick[0] % topic.size], summary.ravel()[pick[1] % summary.size]
    counts = count_categories(features, *taus, precision=precision, workers=2)
    near_topic, near_summary = topic >= taus[0], summary >= taus[1]
    other = ~np.eye(len(corpus), dtype=bool)
    expected = [
        (near_topic & ~near_summary & other).sum(axis=1),
        (near_summary & ~near_topic & other).sum(axis=1),
        (near_topic & near_summary & other).sum(axis=1),
    ]
    np.testing.assert_array_equal(counts, np.transpose(expected))


ALIKE = st.tuples(st.integers(0, NODES - 1), st.sampled_from(WORDS))


@settings(max_examples=30, deadline=None)
@given(
    kinds=st.lists(ALIKE, min_size=1, max_size=4, unique=True),
    drawn=st.lists(st.integers(0, 3), min_size=2, max_size=20),
    shared=st.booleans(),
    seed=st.integers(0, 50),
)
def test_sets_of_one_topic_and_crowds_of_equal_sets(kinds, drawn, shared, seed):
    """One topic and one token each, perhaps one more token that everyone has; many are equal."""
    lin = random_lin(seed)
    chosen = [kinds[place % len(kinds)] for place in drawn]
    everyone = frozenset(["all"]) if shared else frozenset()
    features = packed([(frozenset([t]), frozenset([w]) | everyone) for t, w in chosen], lin)
    topics = np.array([topic for topic, _ in chosen])
    words = np.array([word for _, word in chosen])
    kept = np.round(lin * 2.0**40) / 2.0**40  # Lin lies on a grid, and the ties with it
    topic, same = kept[np.ix_(topics, topics)], words[:, None] == words
    summary = np.where(same, 1.0, 1 / 3 if shared else 0.0)
    assert (topic_similarities(features, np.arange(len(chosen))) == topic).all()
    other = ~np.eye(len(chosen), dtype=bool)
    for taus in ((kept[0, 1], 1 / 3), (1.0, 1.0), (1 / 3, 1 / 2), (0.0, 0.0)):
        near_topic, near_summary = (topic >= taus[0]) & other, (summary >= taus[1]) & other
        groups = near_topic & ~near_summary, near_summary & ~near_topic, near_topic & near_summary
        expected = np.transpose([group.sum(axis=1) for group in groups])
        np.testing.assert_array_equal(count_categories(features, *taus), expected)


@settings(max_examples=40, deadline=None)
@given(
    corpus=CORPORA,
    seed=st.integers(0, 50),
    pick=st.tuples(st.integers(0, 143), st.integers(0, 143)),
    precision=st.sampled_from(["float64", "float16"]),
)
def test_a_threshold_that_was_kept_as_float32_is_read_as_it_is(corpus, seed, pick, precision):
    """float32(0.2) is above 0.2: a pair at 0.2 is then out, and in where it was rounded down."""
    features = packed(corpus, random_lin(seed))
    rows = np.arange(len(corpus))
    similarities = topic_similarities(features, rows), summary_similarities(features, rows)
    values = [s.ravel()[place % s.size] for s, place in zip(similarities, pick, strict=True)]
    rounded = [np.float32(value) for value in values]
    counts = count_categories(features, *rounded, precision=precision)
    assert (counts == count_categories(features, *map(float, rounded), precision=precision)).all()
    # compared by exact fractions of what was computed, after rounding where the profile says so
    cuts = [Fraction(float(np.float16(t) if precision == "float16" else t)) for t in rounded]
    near = [
        [[Fraction(value) >= cut for value in row] for row in as_stored(s, precision).tolist()]
        for s, cut in zip(similarities, cuts, strict=True)
    ]
    near_topic, near_summary = (np.array(table) & ~np.eye(len(rows), dtype=bool) for table in near)
    assert counts[:, 2].sum() == (near_topic & near_summary).sum()
    assert counts[:, [0, 2]].sum() == near_topic.sum()
    assert counts[:, [1, 2]].sum() == near_summary.sum()
    if precision == "float64":
        at = count_categories(features, *values)[:, [0, 2]].sum()
        lost = ((similarities[0] == values[0]) & ~np.eye(len(rows), dtype=bool)).sum()
        assert near_topic.sum() == at - (lost if float(rounded[0]) > values[0] else 0)


def test_excluded_pairs_do_not_count():
    corpus = [(frozenset([0]), frozenset("ab"))] * 4
    features = packed(corpus, random_lin(0))
    counts = count_categories(features, 0.5, 0.5, excluded=[("p0", "p1"), ("p3", "gone")])
    assert counts[:, 2].tolist() == [2, 2, 3, 3]
    assert counts[:, :2].sum() == 0


def test_tokens_that_everyone_has_and_identical_sets():
    corpus = [(frozenset([i % 3]), frozenset(["all", f"own{i}"])) for i in range(9)]
    features = packed(corpus, random_lin(4))
    summary = summary_similarities(features, np.arange(9))
    off = ~np.eye(9, dtype=bool)
    assert set(summary[off]) == {1 / 3}
    topic = topic_similarities(features, np.arange(9))
    assert topic[0, 3] == topic[0, 6] == topic[0, 0] == 1.0


def test_a_corpus_without_topics_or_tokens():
    tree = pl.DataFrame({"node_id": [0, 1], "parent_id": [-1, 0], "depth": [0, 1]})
    features = build_features(["a", "b"], [[], []], ["", "the"], tree, empty_jaccard=1.0)
    rows = np.arange(2)
    assert (topic_similarities(features, rows) == 0).all()
    assert (summary_similarities(features, rows) == 1).all()
    assert count_categories(features, 0.5, 0.5).tolist() == [[0, 1, 0]] * 2


def test_build_features_reads_the_tree_in_any_order():
    tree = pl.DataFrame(
        {"node_id": [0, 1, 2, 3], "parent_id": [-1, 0, 1, 1], "depth": [0, 1, 2, 2]}
    )
    arguments = ["a", "b", "c"], [[2], [3, 2, 2], [1]], ["x y", "y z", "Z"]
    one = build_features(*arguments, tree)
    two = build_features(*arguments, tree.sample(fraction=1.0, shuffle=True, seed=3))
    rows = np.arange(3)
    topic = topic_similarities(one, rows)
    assert (topic == topic_similarities(two, rows)).all()
    # four assignments, all at or below node 1: it says nothing, and its children are unrelated
    assert topic[0].tolist() == [1.0, 2 / 3, 0.0]
    assert topic[2].tolist() == [0.0, 0.0, 0.0]
    assert summary_similarities(one, rows)[2].tolist() == [0.0, 0.5, 1.0]


def test_misuse_is_refused():
    lin = random_lin(0)
    with pytest.raises(ValueError, match="repeated"):
        pack_features(["a", "a"], [[], []], [frozenset()] * 2, range(NODES), lin)
    with pytest.raises(ValueError, match="equally many"):
        pack_features(["a"], [[], []], [frozenset()], range(NODES), lin)
    with pytest.raises(ValueError, match="node 99"):
        pack_features(["a"], [[99]], [frozenset()], range(NODES), lin)
    with pytest.raises(ValueError, match="empty_jaccard"):
        pack_features(["a"], [[1]], [frozenset()], range(NODES), lin, empty_jaccard=0.5)
    tree = pl.DataFrame({"node_id": [0], "parent_id": [-1], "depth": [0]})
    with pytest.raises(ValueError, match="node 5"):
        build_features(["a"], [[5]], [""], tree)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_float16_bins_are_float16_values(values):
    similarities = np.array([*values, 0.0, 1.0, 2.0**-14, 2.0**-25, -1.0])
    bins = np.empty(len(similarities), dtype=np.int32)
    bin_row(similarities, True, bins)
    assert bins[-1] == -1
    kept = as_stored(similarities[:-1], "float16")
    np.testing.assert_array_equal(bin_edges("float16")[bins[:-1]], kept)
    bin_row(similarities, False, bins)
    lower = bin_edges("float64")[bins[:-1]]
    assert ((lower <= similarities[:-1]) & (similarities[:-1] < lower + 2.0**-18)).all()


@pytest.mark.parametrize("precision", ["float64", "float16"])
@pytest.mark.parametrize("seed", range(3))
def test_capacities_equal_counts_at_each_pair(precision, seed):
    rng = np.random.default_rng(seed)
    corpus = [
        (frozenset(rng.integers(0, 7, 3).tolist()), frozenset(rng.choice(list(WORDS), 4).tolist()))
        for _ in range(60)
    ]
    features = packed(corpus, random_lin(seed))
    names = ["Algebra", "Geometry"]
    domains = [[names[i % 2]] if i % 3 else names for i in range(60)]
    histograms = similarity_histograms(features, domains, precision=precision, workers=2)
    assert histograms.counts.shape[2] == bin_count(precision)
    member = np.array([[name in listed for name in names] for listed in domains])
    bins = np.stack([histograms.quantile_bins(d, [0.3, 0.6, 0.9]) for d in range(2)])
    capacities = domain_capacities(features, member, bins, precision=precision)
    for domain in range(2):
        for step in range(3):
            taus = bin_edges(precision)[bins[domain, :, step]]
            counts = count_categories(features, *taus, precision=precision)
            expected = counts.min(axis=1)[member[:, domain]]
            assert sorted(capacities[domain][:, step]) == sorted(expected)


def test_threads_and_blocks_change_nothing_and_progress_is_told():
    rng = np.random.default_rng(5)
    corpus = [
        (frozenset(rng.integers(0, 7, 2).tolist()), frozenset(rng.choice(list(WORDS), 3).tolist()))
        for _ in range(300)
    ]
    features = packed(corpus, random_lin(5))
    told = []
    one = count_categories(features, 0.4, 0.3, workers=1)
    assert (count_categories(features, 0.4, 0.3, workers=4, progress=told.append) == one).all()
    assert told == [75] * 4
    domains = [["Algebra"]] * 300
    single = similarity_histograms(features, domains, workers=1).counts
    assert (similarity_histograms(features, domains, workers=3).counts == single).all()


def test_an_error_in_a_block_reaches_the_caller_and_stops_the_pass():
    begun = []

    def kernel(rows):
        begun.append(int(rows[0]))
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        list(over_blocks(np.arange(5000), kernel, block=1, workers=1))
    assert len(begun) < 5000
