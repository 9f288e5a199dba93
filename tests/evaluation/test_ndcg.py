"""nDCG against the published evaluation and standard tools, and its properties."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.evaluation.ndcg import Ndcg
from saber_assets.evaluation.rankings import MeasureError, Pools, Rankings, of_query, of_run

GOLDEN = Path(__file__).parents[1] / "golden"
CONTINUOUS = json.loads((GOLDEN / "05_ndcg_continuous.json").read_text())
SPECIAL = json.loads((GOLDEN / "05_ndcg_special.json").read_text())
EXPORT = json.loads((GOLDEN / "05_gain_encoded_export.json").read_text())
GAINS = {"exponent": "exp2", "linear": "linear"}


def ids(n):
    return [f"d{i:03d}" for i in range(n)]


def many(measure, relevance, scores):
    """The flat arrays of queries whose documents are in id order."""
    offsets = np.cumsum([0, *map(len, relevance)])
    flat = np.concatenate(relevance).astype(float)
    rankings = Rankings(flat, np.concatenate(scores).astype(float)[None, :], offsets)
    return measure.values(rankings, Pools(flat, offsets))[0]


def test_names_say_the_gain():
    assert str(Ndcg()) == 'nDCG(gain="exp2")@10'
    assert str(Ndcg("linear", 20)) == 'nDCG(gain="linear")@20'
    with pytest.raises(ValueError, match="gain"):
        Ndcg("exponential")
    with pytest.raises(ValueError, match="cutoff"):
        Ndcg(cutoff=0)


@pytest.mark.parametrize("name", list(CONTINUOUS["expected"]))
def test_continuous_relevance(name):
    gain, cutoff = name.split("@")
    expected = CONTINUOUS["expected"][name]
    found = many(
        Ndcg(GAINS[gain], int(cutoff)),
        CONTINUOUS["input"]["relevance"],
        CONTINUOUS["input"]["scores"],
    )
    assert np.abs(found - expected["per_query"]).max() < 1e-9
    assert found.mean() == pytest.approx(expected["mean"], abs=1e-9)
    for domain, mean in expected["by_domain"].items():
        members = [domain in domains for domains in CONTINUOUS["input"]["domains"]]
        assert found[members].mean() == pytest.approx(mean, abs=1e-9)


@pytest.mark.parametrize("gain", list(GAINS))
@pytest.mark.parametrize("name", [k for k in SPECIAL["input"] if k != "unscored_None"])
def test_special_inputs(name, gain):
    case, expected = SPECIAL["input"][name], SPECIAL["expected"][name]
    relevance = case["relevance"]
    scores = [float(score) for score in case["scores"]]
    measure = Ndcg(GAINS[gain])
    if any(map(math.isnan, scores)):
        bad = [d for d, score in zip(ids(len(scores)), scores, strict=True) if math.isnan(score)]
        with pytest.raises(MeasureError, match="NaN") as caught:
            of_query(measure, ids(len(scores)), relevance, scores)
        assert caught.value.ids == bad
        return
    found = of_query(measure, ids(len(scores)), relevance, scores)
    # ids ascend with the input here, so the rule for ties is the stable input order
    assert found == pytest.approx(expected[f"{gain}@10 stable input order"], abs=1e-9)
    lowest, average, highest = expected[f"{gain}@10 [lowest, average, highest over tie orders]"]
    turned = of_query(measure, ids(len(scores))[::-1], relevance, scores)
    assert all(lowest - 1e-9 <= value <= highest + 1e-9 for value in (found, turned))
    if not expected["tied"]:
        assert found == turned == pytest.approx(average, abs=1e-9)


def test_a_query_without_scores_is_worth_0_where_the_released_code_leaves_it_out():
    relevance = SPECIAL["input"]["unscored_None"]["relevance"]
    qrels = {"q": dict(zip(ids(3), relevance, strict=True))}
    assert SPECIAL["expected"]["unscored_None"]["exponent@10 official on this machine"] is None
    assert of_run(Ndcg(), qrels, {}) == {"q": 0.0}


@pytest.mark.parametrize("scale", [key for key in EXPORT["expected"] if key.isdigit()])
def test_gain_encoded_integers_make_linear_gain_exponential(scale):
    relevance = [np.array(r) for r in CONTINUOUS["input"]["relevance"]]
    encoded = [np.round(int(scale) * (2**r - 1)) for r in relevance]
    found = many(Ndcg("linear"), encoded, CONTINUOUS["input"]["scores"])
    expected = EXPORT["expected"][scale]
    assert np.abs(found - expected["per_query"]).max() < 1e-9
    ours = many(Ndcg(), relevance, CONTINUOUS["input"]["scores"])
    assert np.abs(found - ours).max() <= expected["max_abs_error_vs_official_exponential"] + 1e-9


def test_truncated_grades():
    truncated = [np.floor(r) for r in CONTINUOUS["input"]["relevance"]]
    found = many(Ndcg("linear"), truncated, CONTINUOUS["input"]["scores"])
    expected = EXPORT["expected"]["truncated_grades_linear"]["per_query"]
    assert np.abs(found - expected).max() < 1e-9


def test_repeated_ids_and_bad_relevance_are_refused_with_the_ids():
    with pytest.raises(MeasureError, match="repeated document ids: a, c") as caught:
        of_query(Ndcg(), ["c", "a", "a", "b", "c"], [0] * 5, [0] * 5)
    assert caught.value.ids == ["a", "c"]
    for bad in (-1.0, math.nan, math.inf):
        with pytest.raises(MeasureError, match="relevance must be finite and >= 0: b"):
            of_query(Ndcg(), ["a", "b"], [1.0, bad], [1.0, 2.0])
    with pytest.raises(ValueError, match="zip"):
        of_query(Ndcg(), ["a", "b"], [1.0], [1.0, 2.0])


def test_missing_query_is_worth_0_and_an_empty_pool_too():
    qrels = {"a": {"x": 1.0}, "b": {"x": 1.0}, "c": {}}
    found = of_run(Ndcg(), qrels, {"a": {"x": 0.5}, "c": {"x": 1.0}})
    assert found == {"a": 1.0, "b": 0.0, "c": 0.0}


relevances = st.floats(0, 5) | st.sampled_from([0.0, 1.0, 2.5, 5.0])
documents = st.lists(st.tuples(relevances, st.integers(-20, 20)), min_size=1, max_size=40)
measures = st.builds(Ndcg, st.sampled_from(["exp2", "linear"]), st.integers(1, 45))


@settings(max_examples=80, deadline=None)
@given(drawn=documents, measure=measures, shuffle=st.randoms(use_true_random=False))
def test_properties(drawn, measure, shuffle):
    relevance = [r for r, _ in drawn]
    scores = [float(s) for _, s in drawn]
    names = ids(len(drawn))
    found = of_query(measure, names, relevance, scores)
    assert 0 <= found <= 1
    stored = list(range(len(drawn)))
    shuffle.shuffle(stored)
    columns = [[values[i] for i in stored] for values in (names, relevance, scores)]
    assert of_query(measure, *columns) == found
    for transform in (lambda s: 3 * s - 7, math.atan, lambda s: s**3):
        assert of_query(measure, names, relevance, list(map(transform, scores))) == found
    tied = of_query(measure, names, relevance, [0.0] * len(drawn))
    assert of_query(measure, columns[0], columns[1], [0.0] * len(drawn)) == tied
    perfect = of_query(measure, names, relevance, relevance)
    assert perfect == (1.0 if measure.gains(np.array(relevance)).any() else 0.0)


@settings(max_examples=40, deadline=None)
@given(drawn=documents, measure=measures)
def test_against_the_definition(drawn, measure):
    relevance = [r for r, _ in drawn]
    gains = [2**r - 1 if measure.gain == "exp2" else r for r in relevance]
    order = sorted(range(len(drawn)), key=lambda i: (-drawn[i][1], i))

    def dcg(ranked):
        return sum(g / math.log2(k + 2) for k, g in enumerate(ranked[: measure.cutoff]))

    ideal = dcg(sorted(gains, reverse=True))
    expected = dcg([gains[i] for i in order]) / ideal if ideal else 0.0
    scores = [float(s) for _, s in drawn]
    assert of_query(measure, ids(len(drawn)), relevance, scores) == pytest.approx(
        expected, abs=1e-12
    )
