"""The board under another judge's ratings."""

import numpy as np
import polars as pl
import pytest

from saber_assets.evaluation.judge_swap import judge_swap
from saber_assets.evaluation.ndcg import Ndcg

NO_FAILURES = pl.DataFrame(
    schema={"retriever": pl.String, "setting": pl.String, "query_id": pl.String}
)


def frames(queries=6, documents=20, seed=0):
    rng = np.random.default_rng(seed)
    ids = pl.DataFrame(
        [(f"q{q}", f"d{d:02d}") for q in range(queries) for d in range(documents)],
        schema=["query_id", "candidate_id"],
        orient="row",
    )
    rating = rng.uniform(0, 5, ids.height)
    scores = pl.concat(
        ids.with_columns(
            retriever=pl.lit(name),
            setting=pl.lit("statement-full"),
            score=pl.Series(sign * rating + rng.normal(0, noise, ids.height)),
        )
        for name, sign, noise in (("good", 1, 0.5), ("fair", 1, 3), ("bad", -1, 0.5))
    )
    return scores, ids.with_columns(rating=pl.Series(rating))


def test_the_same_judge_changes_nothing():
    scores, ratings = frames()
    found = judge_swap(scores, NO_FAILURES, ratings, ratings, Ndcg())
    assert found.systems["rank"].to_list() == found.systems["other_rank"].to_list() == [1, 2, 3]
    assert (found.systems["mean"] == found.systems["other_mean"]).all()
    assert found.orders["statement-full"].inversions == 0
    assert found.rating_correlation == pytest.approx(1)


def test_the_opposite_judge_turns_the_board_over():
    scores, ratings = frames()
    other = ratings.with_columns(rating=5 - pl.col("rating"))
    found = judge_swap(scores, NO_FAILURES, ratings, other, Ndcg())
    assert found.systems["retriever"].to_list() == ["good", "fair", "bad"]
    assert found.systems["other_rank"].to_list() == [3, 2, 1]
    assert found.orders["statement-full"].inversions == 3
    assert found.rating_correlation == pytest.approx(-1)


def test_only_shared_queries_count():
    scores, ratings = frames()
    other = ratings.filter(pl.col("query_id") != "q0")
    found = judge_swap(scores, NO_FAILURES, ratings, other, Ndcg())
    assert (found.queries, found.left_out) == (5, 1)
    with pytest.raises(ValueError, match="both judges"):
        judge_swap(scores, NO_FAILURES, ratings, other.clear(), Ndcg())
