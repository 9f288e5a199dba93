"""Integer gains reproduce exponential nDCG in tools that know linear gain only."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.evaluation.leaderboard import measure_queries
from saber_assets.evaluation.ndcg import Ndcg
from saber_assets.publishing.gain_encoding import SCALE, decode, encode

GOLDEN = Path(__file__).parents[1] / "golden"


def oracle(name: str):
    return json.loads((GOLDEN / name).read_text())


def ndcg(relevance: list[list[float]], scores: list[list[float]], gain: str) -> np.ndarray:
    rows = [
        (f"q{q:03d}", f"d{d:03d}", float(value), float(scores[q][d]))
        for q, pool in enumerate(relevance)
        for d, value in enumerate(pool)
    ]
    frame = pl.DataFrame(rows, ["query_id", "candidate_id", "rating", "score"], orient="row")
    scored = frame.with_columns(retriever=pl.lit("r"), setting=pl.lit("s"))
    failures = pl.DataFrame(schema=dict.fromkeys(("retriever", "setting", "query_id"), pl.String))
    found = measure_queries(scored, failures, frame, Ndcg(gain=gain))
    return found.sort("query_id")["value"].to_numpy()


@pytest.mark.parametrize("scale", [1, 10, 100, 1000, 10000])
def test_the_oracle_of_each_scale(scale: int) -> None:
    expected = oracle("05_gain_encoded_export.json")["expected"][str(scale)]
    inputs = oracle("05_ndcg_continuous.json")["input"]
    relevance, scores = inputs["relevance"], inputs["scores"]
    gains = [encode(pool, scale).tolist() for pool in relevance]
    # pytrec_eval breaks ties of its gains no otherwise: the scores are distinct
    found = ndcg(gains, scores, "linear")
    assert found == pytest.approx(expected["per_query"], abs=1e-9)
    official = ndcg(relevance, scores, "exp2")
    assert np.abs(found - official).max() == pytest.approx(
        expected["max_abs_error_vs_official_exponential"], abs=1e-9
    )


def test_our_scale_is_within_the_promise_and_int32() -> None:
    expected = oracle("05_gain_encoded_export.json")["expected"][str(SCALE)]
    assert expected["max_abs_error_vs_official_exponential"] < 2e-5
    assert encode([0.0, 5.0]).tolist() == [0, 31_000]
    assert encode([0.0]).dtype == np.int32


@settings(max_examples=50)
@given(st.lists(st.floats(0, 5), min_size=1, max_size=30))
def test_decoding_is_near_and_keeps_the_order(ratings: list[float]) -> None:
    back = decode(encode(ratings))
    assert np.abs(back - np.array(ratings)).max() < 0.5 / SCALE / np.log(2) + 1e-9
    order = np.argsort(ratings, kind="stable")
    assert (np.diff(back[order]) >= 0).all()


@pytest.mark.parametrize("rating", [-0.1, 5.01, np.nan, np.inf])
def test_ratings_out_of_range_are_refused(rating: float) -> None:
    with pytest.raises(ValueError, match="ratings must lie"):
        encode([1.0, rating])


def test_a_scale_beyond_int32_and_negative_gains_are_refused() -> None:
    with pytest.raises(ValueError, match="scale"):
        encode([1.0], 10**8)
    with pytest.raises(ValueError, match="negative"):
        decode([-1])
