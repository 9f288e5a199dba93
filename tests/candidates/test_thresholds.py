"""Thresholds, eligible queries and memberships against numbers computed elsewhere."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from saber_assets.candidates.categories import count_categories
from saber_assets.candidates.features import build_features
from saber_assets.candidates.histograms import similarity_histograms
from saber_assets.candidates.jaccard_join import summary_similarities
from saber_assets.candidates.precision import as_stored, bin_edges, cutoff
from saber_assets.candidates.tables import RELEVANCE_THRESHOLDS
from saber_assets.candidates.thresholds import search_thresholds
from saber_assets.candidates.topic_join import topic_similarities
from saber_assets.errors import InputError
from saber_assets.ontology.tables import DOMAINS

GOLDEN = Path(__file__).parents[1] / "golden" / "03_thresholds_selection.json"


def tree_of(paths):
    """Return a tree frame that holds all paths and their ancestors, and node_ids by path."""
    nodes = {""}
    for path in paths:
        parts = path.strip("/").split("/")
        nodes.update("/" + "/".join(parts[: i + 1]) for i in range(len(parts)))
    nodes.discard("")
    ordered = sorted(nodes, key=lambda path: path.split("/"))
    number = {path: i for i, path in enumerate(ordered)}
    frame = pl.DataFrame(
        {
            "node_id": range(len(ordered)),
            "parent_id": [number.get(path.rpartition("/")[0], -1) for path in ordered],
            "depth": [path.count("/") - 1 for path in ordered],
        },
        schema={"node_id": pl.Int32, "parent_id": pl.Int32, "depth": pl.Int32},
    )
    return frame, number


@pytest.fixture(scope="module")
def golden():
    return json.loads(GOLDEN.read_text())


@pytest.fixture(scope="module")
def corpus(golden):
    given = golden["input"]
    frame, number = tree_of(given["topic_paths"])
    topics = [[number[given["topic_paths"][i]] for i in items] for items in given["items_topics"]]
    branch = given["observed_domain_of_top_branch"]
    domain_of = [branch[path.split("/")[2]] for path in given["topic_paths"]]
    domains = [sorted({domain_of[i] for i in items} - {None}) for items in given["items_topics"]]
    ids = [str(i) for i in range(len(topics))]
    return build_features(ids, topics, given["items_tokens"], frame), domains


@pytest.fixture(scope="module")
def found(golden, corpus):
    parameters = golden["input"]["parameters"]
    return search_thresholds(
        *corpus,
        k=parameters["K_per_group"],
        min_queries=parameters["M_queries_per_domain"],
        quantiles=parameters["percentile_grid"],
        precision="float16",
    )


def test_similarities_at_spot_checks(golden, corpus):
    key = "similarity_spot_checks [i,j,bma64,jaccard64,bma16,jaccard16]"
    checks = np.array(golden["expected"][key])
    rows, columns = checks[:, 0].astype(int), checks[:, 1].astype(int)
    at = np.arange(len(checks)), columns
    topic = topic_similarities(corpus[0], rows)[at]
    summary = summary_similarities(corpus[0], rows)[at]
    np.testing.assert_allclose(topic, checks[:, 2], atol=1e-9)
    np.testing.assert_allclose(summary, checks[:, 3], atol=1e-12)
    np.testing.assert_array_equal(as_stored(topic, "float16"), as_stored(checks[:, 4], "float16"))
    np.testing.assert_array_equal(as_stored(summary, "float16"), as_stored(checks[:, 5], "float16"))


def test_percentile_table_of_every_domain(golden, found):
    for domain in DOMAINS:
        expected = golden["expected"]["percentile_table"][domain]
        rows = found.search.filter(pl.col("domain") == domain).reverse()
        assert rows["problems"].unique().to_list() == [expected["n_problems"]]
        table = np.array(expected["rows"])
        np.testing.assert_array_equal(rows["quantile"], table[:, 0])
        np.testing.assert_allclose(rows["tau_topic"], table[:, 1], atol=1e-9)
        np.testing.assert_allclose(rows["tau_summary"], table[:, 2], atol=1e-9)
        np.testing.assert_array_equal(rows["eligible"], table[:, 3])


def test_exact_order_statistics(golden, corpus):
    histograms = similarity_histograms(*corpus, precision="float16")
    edges = bin_edges("float16")
    expected = golden["expected"]["exact_order_statistic [p, bma, jaccard]"]
    for position, domain in enumerate(DOMAINS):
        quantiles, topic, summary = np.array(expected[domain]).T
        bins = histograms.quantile_bins(position, list(quantiles))
        np.testing.assert_allclose(edges[bins], [topic, summary], rtol=1e-9)


def test_pick_of_every_domain_and_the_final_pair(golden, found):
    expected = golden["expected"]
    rows = {row["domain"]: row for row in found.thresholds.to_dicts()}
    for domain, (quantile, tau_topic, tau_summary, eligible) in expected["domain_pick"].items():
        row = rows[domain]
        assert (row["quantile"], row["eligible"]) == (quantile, eligible)
        assert row["tau_topic"] == pytest.approx(tau_topic, abs=1e-9)
        assert row["tau_summary"] == pytest.approx(tau_summary, abs=1e-9)
    final = rows["final"]
    assert final["tau_topic"] == pytest.approx(expected["tau_topic"], abs=1e-9)
    assert final["tau_summary"] == pytest.approx(expected["tau_summ"], abs=1e-9)
    assert final["eligible"] == len(expected["eligible"])
    assert found.notes == ()
    assert RELEVANCE_THRESHOLDS.faults(found.thresholds) == []


@pytest.mark.parametrize("source", ["found", "published"])
def test_category_counts_and_eligible_queries(golden, corpus, found, source):
    expected = golden["expected"]
    counts = found.counts
    if source == "published":  # a float16 value plus half a bucket of the published search
        taus = expected["tau_topic"], expected["tau_summ"]
        counts = count_categories(corpus[0], *taus, precision="float16")
    np.testing.assert_array_equal(counts, expected["category_counts"])
    assert np.flatnonzero(counts.min(axis=1) >= 10).tolist() == expected["eligible"]


def test_membership_of_every_query(golden, corpus):
    expected = golden["expected"]
    cut_topic = cutoff(expected["tau_topic"], "float16")
    cut_summary = cutoff(expected["tau_summ"], "float16")
    rows = np.arange(len(corpus[0]))
    topic = topic_similarities(corpus[0], rows) >= cut_topic
    summary = summary_similarities(corpus[0], rows) >= cut_summary
    np.fill_diagonal(topic, False)
    np.fill_diagonal(summary, False)
    categories = topic & ~summary, summary & ~topic, topic & summary
    members = [[np.flatnonzero(c[row]).tolist() for c in categories] for row in rows]
    for row, listed in expected["membership_of_eligible_queries"].items():
        assert members[int(row)] == [listed[c] for c in ("topic_only", "summary_only", "both")]
    digest = hashlib.sha256(json.dumps(members, separators=(",", ":")).encode()).hexdigest()
    assert digest == expected["membership_sha256_all"]


def test_thresholds_on_a_value(golden, corpus):
    expected = golden["expected"]["on_value_thresholds"]
    taus = np.float16(expected["tau_topic"]), np.float16(expected["tau_summ"])
    counts = count_categories(corpus[0], *map(float, taus), precision="float16")
    eligible = np.flatnonzero(counts.min(axis=1) >= 10).tolist()
    assert eligible == expected["eligible_ge_ids"]
    above = [float(np.nextafter(tau, np.float16(1))) for tau in taus]
    counts = count_categories(corpus[0], *above, precision="float16")
    eligible = np.flatnonzero(counts.min(axis=1) >= 10).tolist()
    assert eligible == expected["eligible_gt_ids"]


def test_float64_reading_of_the_published_thresholds_loses_queries(golden, corpus):
    taus = golden["expected"]["tau_topic"], golden["expected"]["tau_summ"]
    counts = count_categories(corpus[0], *taus, precision="float64")
    assert (counts.min(axis=1) >= 10).sum() == 309


def test_float64_thresholds_are_order_statistics_rounded_down(corpus):
    features, domains = corpus
    histograms = similarity_histograms(features, domains, precision="float64")
    rows = np.array([row for row, listed in enumerate(domains) if "Geometry" in listed])
    position = DOMAINS.index("Geometry")
    quantiles = [0.5, 0.9, 0.97, 0.999]
    bins = histograms.quantile_bins(position, quantiles)
    for signal, similarities in enumerate((topic_similarities, summary_similarities)):
        values = np.sort(similarities(features, rows).ravel())
        for step, quantile in enumerate(quantiles):
            exact = values[int(np.ceil(np.round(quantile * values.size, 6))) - 1]
            tau = bin_edges("float64")[bins[signal, step]]
            assert tau <= exact < tau + 2.0**-18


def test_self_pairs_are_counted_only_when_asked(corpus):
    features, domains = corpus
    with_self = similarity_histograms(features, domains, self_pairs=True)
    without = similarity_histograms(features, domains, self_pairs=False)
    difference = with_self.counts - without.counts
    assert difference.min() == 0
    sizes = [sum(domain in listed for listed in domains) for domain in DOMAINS]
    for position, size in enumerate(sizes):
        assert difference[position].sum(axis=1).tolist() == [size, size]
        assert difference[position, 1, -1] == size  # a summary equals itself
    plotted = with_self.frame(50)
    assert plotted["pairs"].sum() == with_self.counts.sum()
    edges, pairs = with_self.coarse(1, 50)
    summed = plotted.filter(similarity="summary").group_by("lower").agg(pl.sum("pairs"))
    assert pairs.tolist() == summed.sort("lower")["pairs"].to_list()
    assert edges[0] == 0.0
    assert edges[-1] == 1.0


def test_a_corpus_too_small_for_k_says_what_it_reaches(corpus):
    with pytest.raises(InputError) as caught:
        search_thresholds(*corpus, k=200, min_queries=30, quantiles=[0.9, 0.95])
    message = str(caught.value)
    assert "K = 200" in message
    assert all(domain in message for domain in DOMAINS)
    best = int(message.split("only up to K = ")[1].split(";")[0])
    algebra = search_thresholds(*corpus, k=1, min_queries=1, quantiles=[0.9, 0.95])
    assert best >= 1
    assert algebra.search.height == 10


def test_the_reported_k_is_the_largest_that_works(corpus):
    features, domains = corpus
    only = [[d for d in listed if d == "Algebra"] for listed in domains]
    grid = [0.9, 0.95]
    with pytest.raises(InputError) as caught:
        search_thresholds(features, only, k=300, min_queries=30, quantiles=grid)
    best = int(str(caught.value).split("only up to K = ")[1].split(":")[0])
    found = search_thresholds(features, only, k=best, min_queries=30, quantiles=grid)
    assert found.thresholds["domain"].to_list() == ["Algebra", "final"]
    assert len(found.notes) == 4
    with pytest.raises(InputError):
        search_thresholds(features, only, k=best + 1, min_queries=30, quantiles=grid)


def test_mistakes_are_refused(corpus):
    features, domains = corpus
    with pytest.raises(InputError, match="no problem has a domain"):
        search_thresholds(features, [[] for _ in domains])
    with pytest.raises(ValueError, match="quantiles"):
        search_thresholds(features, domains, quantiles=[0.9, 0.9])
    with pytest.raises(ValueError, match="at least 1"):
        search_thresholds(features, domains, k=0)
    with pytest.raises(ValueError, match="unknown domain"):
        search_thresholds(features, [["Alchemy"] for _ in domains])


@pytest.mark.parametrize("tau", [0.0, 1.0, 0.25, 1 / 3, 0.5405273437505, 2.0**-24, 1e-9, 3e-8])
def test_cutoff_is_the_smallest_number_that_float16_accepts(tau):
    cut = cutoff(tau, "float16")
    assert np.float16(cut) >= np.float16(tau)
    if cut > 0:
        assert np.float16(np.nextafter(cut, 0.0)) < np.float16(tau)
