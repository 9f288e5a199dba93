"""From scores and ratings to the board."""

import math

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from saber_assets.evaluation.alignment import Parts
from saber_assets.evaluation.bootstrap import interval
from saber_assets.evaluation.leaderboard import build_leaderboard, measure_queries
from saber_assets.evaluation.ndcg import Ndcg
from saber_assets.evaluation.rankings import MeasureError, of_query
from saber_assets.evaluation.tables import LEADERBOARD, QUERY_MEASURES

GENERATOR = np.random.default_rng(5)
QUERIES = [f"q{i}" for i in range(8)]
DOMAINS = [["Algebra"], ["Geometry"], ["Algebra", "Geometry"], []] * 2
BENCHMARK = pl.DataFrame({"query_id": QUERIES, "domains": DOMAINS})
RATINGS = pl.DataFrame(
    {
        "query_id": [q for q in QUERIES for _ in range(12)],
        "candidate_id": [f"{q}-d{i:02d}" for q in QUERIES for i in range(12)],
        "rating": GENERATOR.uniform(0, 5, 96),
    }
)
NO_FAILURES = pl.DataFrame(
    schema={"retriever": pl.String, "setting": pl.String, "query_id": pl.String}
)


def scored(retriever, score, setting="statement-full"):
    return RATINGS.select(
        pl.lit(retriever).alias("retriever"),
        pl.lit(setting).alias("setting"),
        "query_id",
        "candidate_id",
        score.cast(pl.Float64).alias("score"),
    )


NOISE = pl.Series(GENERATOR.normal(size=96))
SCORES = pl.concat(
    [
        scored("oracle", pl.col("rating")),
        scored("noise", NOISE),
        scored("noise", -NOISE, "full-full"),
        scored("flat", pl.lit(0.0)),
    ]
)


def test_measures_of_each_query():
    found = measure_queries(SCORES, NO_FAILURES, RATINGS, Ndcg())
    assert QUERY_MEASURES.faults(found) == []
    assert found.height == 4 * 8 and not found["failed"].any()
    assert set(found.filter(pl.col("retriever") == "oracle")["value"]) == {1.0}
    of_q3 = RATINGS.with_columns(score=NOISE).filter(pl.col("query_id") == "q3")
    expected = of_query(Ndcg(), of_q3["candidate_id"], of_q3["rating"], of_q3["score"])
    row = found.filter(retriever="noise", setting="statement-full", query_id="q3")
    assert row["value"].item() == expected
    assert row["measure"].item() == 'nDCG(gain="exp2")@10'


def test_storage_order_changes_nothing():
    expected = measure_queries(SCORES, NO_FAILURES, RATINGS, Ndcg())
    for seed in (1, 2):
        shuffled = [f.sample(fraction=1, shuffle=True, seed=seed) for f in (SCORES, RATINGS)]
        found = measure_queries(shuffled[0], NO_FAILURES, shuffled[1], Ndcg())
        assert_frame_equal(found, expected)


def test_failed_queries_are_worth_0_and_counted():
    lacking = SCORES.filter((pl.col("retriever") != "oracle") | (pl.col("query_id") != "q0"))
    failures = pl.DataFrame(
        {
            "retriever": ["oracle", "broken"],
            "setting": ["statement-full"] * 2,
            "query_id": ["q1", "q0"],
        }
    )
    found = measure_queries(lacking, failures, RATINGS, Ndcg())
    oracle = found.filter(retriever="oracle")
    assert oracle["failed"].to_list() == [True, True] + [False] * 6
    assert oracle["value"].to_list() == [0.0, 0.0] + [1.0] * 6
    assert found.filter(retriever="broken")["failed"].to_list() == [True] * 8
    board = build_leaderboard(found, BENCHMARK, {})
    row = board.filter(retriever="oracle", domain="all")
    assert (row["mean"].item(), row["queries"].item(), row["failed"].item()) == (0.75, 8, 2)


def test_unjudged_candidates_are_left_out_of_pool_and_ranking():
    best = RATINGS["rating"].arg_max()
    place = pl.int_range(pl.len())
    ratings = RATINGS.with_columns(
        rating=pl.when((place == best) | (pl.col("query_id") == "q7"))
        .then(None)
        .otherwise("rating")
    )
    found = measure_queries(SCORES, NO_FAILURES, ratings, Ndcg())
    without = measure_queries(
        SCORES.join(ratings.drop_nulls(), on=["query_id", "candidate_id"], how="semi"),
        NO_FAILURES,
        ratings.drop_nulls(),
        Ndcg(),
    )
    assert_frame_equal(found, without)
    assert found["query_id"].n_unique() == 7
    assert set(found.filter(pl.col("retriever") == "oracle")["value"]) == {1.0}


def test_unusable_input_is_refused_with_its_ids():
    with pytest.raises(MeasureError, match="repeated scores of.*q0-d00"):
        measure_queries(pl.concat([SCORES, SCORES.head(1)]), NO_FAILURES, RATINGS, Ndcg())
    with pytest.raises(MeasureError, match="repeated ratings of.*q0-d00"):
        measure_queries(SCORES, NO_FAILURES, pl.concat([RATINGS, RATINGS.head(1)]), Ndcg())
    with pytest.raises(MeasureError, match="oracle.*only a part of the pool.*q0-d00"):
        measure_queries(SCORES.slice(1), NO_FAILURES, RATINGS, Ndcg())
    nan = scored("nan", pl.lit(math.nan)).head(12)
    with pytest.raises(MeasureError, match="NaN scores of.*q0-d00"):
        measure_queries(pl.concat([SCORES, nan]), NO_FAILURES, RATINGS, Ndcg())
    measured = measure_queries(SCORES, NO_FAILURES, RATINGS, Ndcg())
    with pytest.raises(ValueError, match="not benchmark queries, first q5"):
        build_leaderboard(measured, BENCHMARK.head(5), {})


def test_leaderboard():
    measured = measure_queries(SCORES, NO_FAILURES, RATINGS, Ndcg())
    board = build_leaderboard(measured, BENCHMARK, {"flat": "baseline"}, 300, 9)
    assert LEADERBOARD.faults(board) == []
    assert board.filter(setting="statement-full")["domain"].to_list() == [
        *["all"] * 3,
        *["Algebra"] * 3,
        *["Geometry"] * 3,
    ]
    assert board.filter(domain="Algebra", retriever="oracle")["queries"].to_list() == [4]
    assert board.filter(retriever="oracle")["rank"].to_list() == [1, 1, 1]
    assert board.filter(domain="all")["queries"].to_list() == [8] * 4
    assert dict(board.select("retriever", "family").iter_rows()) == {
        "oracle": "own",
        "noise": "own",
        "flat": "baseline",
    }
    noise = measured.filter(retriever="noise", setting="statement-full")["value"]
    row = board.filter(retriever="noise", setting="statement-full", domain="all")
    assert row["mean"].item() == pytest.approx(noise.mean(), abs=1e-15)
    assert row["low"].item() < row["mean"].item() < row["high"].item()
    wide = interval(noise, 20_000, 1)
    assert (row["low"].item(), row["high"].item()) == pytest.approx(wide, abs=0.03)
    shuffled = measured.sample(fraction=1, shuffle=True, seed=3)
    assert_frame_equal(
        build_leaderboard(shuffled, BENCHMARK[::-1], {"flat": "baseline"}, 300, 9), board
    )


def test_equal_means_are_ranked_by_name_and_lacking_rows_count_as_failed():
    measured = pl.DataFrame(
        {
            "retriever": ["b", "b", "a", "a", "c"],
            "setting": ["statement-full"] * 5,
            "query_id": ["q0", "q1", "q0", "q1", "q0"],
            "measure": ["m"] * 5,
            "value": [0.5, 0.5, 0.4, 0.6, 0.8],
            "failed": [False] * 5,
        }
    )
    board = build_leaderboard(measured, BENCHMARK, {}).filter(domain="all")
    assert board["retriever"].to_list() == ["a", "b", "c"]
    assert board["mean"].to_list() == [0.5, 0.5, 0.4]
    assert board["failed"].to_list() == [0, 0, 1]


def test_nothing_measured():
    found = measure_queries(SCORES.head(0), NO_FAILURES, RATINGS, Ndcg())
    assert found.is_empty()
    assert build_leaderboard(found, BENCHMARK, {}).is_empty()


def test_scores_may_come_in_parts_of_which_one_is_held_at_a_time():
    held: list[str] = []

    def read(name: str) -> pl.DataFrame:
        held.append(name)
        return SCORES.filter(retriever=name)

    names = ("noise", "flat", "oracle")
    for _ in range(2):  # the parts can be read again
        found = measure_queries(Parts(names, read), NO_FAILURES, RATINGS, Ndcg())
        assert_frame_equal(found, measure_queries(SCORES, NO_FAILURES, RATINGS, Ndcg()))
    assert held == [*names, *names]
    nothing = measure_queries(Parts((), read), NO_FAILURES, RATINGS, Ndcg())
    assert nothing.is_empty() and nothing.schema == QUERY_MEASURES.schema


def test_a_system_in_two_parts_is_refused():
    parts = [SCORES.head(96), SCORES.slice(48, 48)]
    with pytest.raises(MeasureError, match=r"two parts.*oracle"):
        measure_queries(parts, NO_FAILURES, RATINGS, Ndcg())
