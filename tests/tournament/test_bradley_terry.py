"""Strengths and ratings against the published code, choix and scikit-learn."""

import csv
import json
from pathlib import Path

import choix
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from sklearn.linear_model import LogisticRegression

from saber_assets.tournament.bradley_terry import fit, rate
from saber_assets.tournament.connectivity import components
from saber_assets.tournament.tables import RELEVANCE_RATINGS

GOLDEN = Path(__file__).parents[1] / "golden"
CASES = json.loads((GOLDEN / "04_bradley_terry_cases.json").read_text())
SWISS = json.loads((GOLDEN / "04_swiss_tournament.json").read_text())
TIGHT = "official_tight (tol=1e-10, max_iter=100000)"


def arrays(items, matches):
    place = {item: i for i, item in enumerate(items)}
    first = np.array([place[a] for a, _, _ in matches])
    second = np.array([place[b] for _, b, _ in matches])
    winner = np.array([1 if w == a else 2 if w == b else 0 for a, b, w in matches])
    return first, second, winner


def case_arrays(name):
    case = CASES["input"][name]
    return case["items"], arrays(case["items"], case["matches [a,b,winner or tie]"])


def frames(items, matches, query_id="q"):
    pools = pl.DataFrame({"query_id": [query_id] * len(items), "candidate_id": items})
    first, second, winner = arrays(items, matches)
    judgments = pl.DataFrame(
        {
            "query_id": [query_id] * len(matches),
            "first_id": [items[i] for i in first],
            "second_id": [items[i] for i in second],
            "winner": winner,
        }
    )
    return judgments, pools


@pytest.mark.parametrize("name", list(CASES["input"]))
def test_optimum_of_the_published_objective(name):
    items, verdicts = case_arrays(name)
    fitted = fit(len(items), *verdicts)
    golden = CASES["expected"][name][TIGHT]
    expected = [golden.get(item, 0.0) for item in items]
    assert np.abs(fitted.strengths - expected).max() < 1e-5
    assert np.isfinite(fitted.standard_errors).all()


@pytest.mark.parametrize("penalty_inverse", ["0.1", "1.0", "10.0", "100.0"])
def test_other_penalties(penalty_inverse):
    items, verdicts = case_arrays("round_robin_12_twice")
    fitted = fit(len(items), *verdicts, penalty=1 / float(penalty_inverse))
    golden = CASES["C_values_on_round_robin_12_twice"][f"C={penalty_inverse}"]
    assert np.abs(fitted.strengths - [golden[item] for item in items]).max() < 1e-5


@pytest.mark.parametrize(
    "name", [k for k, v in CASES["expected"].items() if v["mle_choix_ilsr alpha=0"]]
)
def test_vanishing_penalty_gives_the_unpenalised_optimum(name):
    items, verdicts = case_arrays(name)
    golden = CASES["expected"][name]["mle_choix_ilsr alpha=0"]
    strengths = fit(len(items), *verdicts, penalty=1e-8).strengths
    expected = np.array([golden[item] for item in items])
    assert np.abs(strengths - (expected - expected.mean())).max() < 1e-6


def test_ratings_of_the_cases():
    for name, case in CASES["input"].items():
        ratings = rate(*frames(case["items"], case["matches [a,b,winner or tie]"]))
        golden = CASES["expected"][name]["official_scaled_0_5_over_played"]
        found = dict(zip(ratings["candidate_id"], ratings["rating"], strict=True))
        if golden == "ZeroDivisionError":
            assert set(ratings["flag"]) == {"all_equal"} and set(ratings["rating"]) == {0.0}
        else:  # the published solver stops short of the optimum
            assert max(abs(found[item] - golden[item]) for item in golden) < 0.01


def test_fixed_swiss_matches():
    with (GOLDEN / "04_swiss_matches.csv").open() as file:
        rows = list(csv.DictReader(file))
    items = SWISS["input"]["ids"]
    matches = [
        (row["model_a"], row["model_b"], row["model_a"] if row["winner"] == "1" else row["model_b"])
        for row in rows
    ]
    expected = SWISS["expected"]["fixed"]
    ratings = rate(*frames(items, matches))
    assert RELEVANCE_RATINGS.faults(ratings) == []
    exact = expected["ratings_map_exact (choix.opt_pairwise alpha=0.5)"]
    assert np.abs(ratings["strength"].to_numpy() - exact).max() < 1e-5
    relevance = expected["relevance_0_5_in_order_of_ids"]
    assert np.abs(ratings["rating"].to_numpy() - relevance).max() < 0.06
    assert ratings["rating"].min() == 0.0 and ratings["rating"].max() == 5.0
    assert ratings["flag"].null_count() == 150 and ratings["component"].max() == 0
    assert ratings["wins"].sum() == ratings["losses"].sum() == 1491


def test_position_term_is_the_extra_column_of_the_regression():
    golden = CASES["position_term_on_round_robin_12_twice"]["result"]
    items, verdicts = case_arrays("round_robin_12_twice")
    fitted = fit(len(items), *verdicts, position_term=True)
    first, second, winner = verdicts
    columns = np.zeros((len(first), len(items) + 1))
    columns[np.arange(len(first)), first] = 1
    columns[np.arange(len(first)), second] = -1
    columns[:, -1] = 1
    model = LogisticRegression(C=1, fit_intercept=False, tol=1e-10, max_iter=10_000)
    coefficients = model.fit(columns, winner == 1).coef_[0]
    assert np.abs(fitted.strengths - coefficients[:-1]).max() < 1e-5
    assert fitted.position == pytest.approx(coefficients[-1], abs=1e-5)
    assert fitted.position == pytest.approx(golden["bias_coefficient_first"], abs=1e-2)
    assert (
        max(abs(golden["ratings"][k] - s) for k, s in zip(items, fitted.strengths, strict=True))
        < 1e-2
    )


def test_position_term_stays_finite_when_the_first_always_wins():
    _, verdicts = case_arrays("every_first_side_wins")
    fitted = fit(4, *verdicts, position_term=True)
    assert 0 < fitted.position < 5


def test_against_choix_on_random_matches():
    generator = np.random.default_rng(3)
    n, m = 60, 500
    first = generator.integers(0, n, m)
    second = (first + generator.integers(1, n, m)) % n
    winner = generator.integers(1, 3, m)
    pairs = [(a, b) if w == 1 else (b, a) for a, b, w in zip(first, second, winner, strict=True)]
    expected = choix.opt_pairwise(n, pairs, alpha=0.5, tol=1e-12, max_iter=1000)
    assert np.abs(fit(n, first, second, winner).strengths - expected).max() < 1e-5


def test_standard_errors_are_those_of_the_inverse_hessian():
    _, (first, second, winner) = case_arrays("sparse_40")
    fitted = fit(40, first, second, winner)
    columns = np.zeros((len(first), 40))
    columns[np.arange(len(first)), first] = 1
    columns[np.arange(len(first)), second] = -1
    p = 1 / (1 + np.exp(-columns @ fitted.strengths))
    hessian = columns.T @ (columns * (p * (1 - p))[:, None]) + np.eye(40)
    slope = columns.T @ (p - (winner == 1)) + fitted.strengths
    assert np.abs(slope).max() < 1e-10
    expected = np.sqrt(np.diag(np.linalg.inv(hessian)))
    assert np.abs(fitted.standard_errors - expected).max() < 1e-10


def test_components_and_flags():
    assert components(5, np.array([3, 1]), np.array([4, 2])).tolist() == [0, 1, 1, 2, 2]
    case = CASES["input"]["two_disconnected_triangles"]
    ratings = rate(*frames(case["items"], case["matches [a,b,winner or tie]"]))
    assert ratings["component"].to_list() == [0, 0, 0, 1, 1, 1]
    assert set(ratings["flag"]) == {"disconnected"}
    by_part = ratings.group_by("component").agg(pl.col("strength").sum())
    assert by_part["strength"].abs().max() < 1e-12


def test_unjudged_candidates_have_no_rating():
    judgments = pl.DataFrame(
        {
            "query_id": ["q", "q"],
            "first_id": ["a", "a"],
            "second_id": ["b", "c"],
            "winner": [1, None],
        }
    )
    pools = pl.DataFrame({"query_id": ["q"] * 3 + ["r"], "candidate_id": ["c", "b", "a", "z"]})
    ratings = rate(judgments, pools)
    assert ratings["candidate_id"].to_list() == ["a", "b", "c", "z"]
    assert ratings["rating"].to_list() == [5.0, 0.0, None, None]
    assert ratings["standard_error"].null_count() == 2
    assert ratings["flag"].to_list() == [None, None, "unjudged", "unjudged"]


def test_misuse_is_refused():
    judgments, pools = frames(["a", "b"], [("a", "b", "a")])
    with pytest.raises(ValueError, match="outside their query's pool.*'b'"):
        rate(judgments, pools.head(1))
    with pytest.raises(ValueError, match="more than once"):
        rate(judgments, pl.concat([pools, pools]))
    one = np.array([0]), np.array([1]), np.array([1])
    with pytest.raises(ValueError, match="penalty"):
        fit(2, *one, penalty=0.0)
    with pytest.raises(ValueError, match="winner"):
        fit(2, one[0], one[1], np.array([3]))
    with pytest.raises(ValueError, match="itself"):
        fit(2, one[0], one[0], one[2])
    assert rate(judgments.head(0), pools.head(0)).is_empty()


match = st.tuples(st.integers(0, 7), st.integers(1, 7), st.sampled_from([0, 1, 2]))


@settings(max_examples=40, deadline=None)
@given(drawn=st.lists(match, min_size=1, max_size=40), shuffle=st.randoms(use_true_random=False))
def test_properties(drawn, shuffle):
    matches = [(a, (a + step) % 8, w) for a, step, w in drawn]
    fitted = fit(8, *map(np.array, zip(*matches, strict=True)))
    assert np.isfinite(fitted.strengths).all()
    assert (fitted.standard_errors <= 1 + 1e-12).all()
    turned = [(b, a, (3 - w) % 3) if shuffle.random() < 0.5 else (a, b, w) for a, b, w in matches]
    shuffle.shuffle(turned)
    again = fit(8, *map(np.array, zip(*turned, strict=True)))
    assert np.array_equal(again.strengths, fitted.strengths)
    swapped = [(a, b, (3 - w) % 3) for a, b, w in matches]
    mirrored = fit(8, *map(np.array, zip(*swapped, strict=True)))
    assert np.abs(mirrored.strengths + fitted.strengths).max() < 1e-8


def test_rows_in_any_order_give_the_same_frame():
    case = CASES["input"]["sparse_40"]
    judgments, pools = frames(case["items"], case["matches [a,b,winner or tie]"])
    other, more = frames(case["items"], case["matches [a,b,winner or tie]"], "p")
    judgments, pools = pl.concat([judgments, other]), pl.concat([pools, more])
    finished = []
    expected = rate(judgments, pools, progress=finished.append)
    assert finished == [1, 1]
    shuffled = rate(
        judgments.sample(fraction=1, shuffle=True, seed=1),
        pools.sample(fraction=1, shuffle=True, seed=2),
    )
    assert_frame_equal(shuffled, expected)
