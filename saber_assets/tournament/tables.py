"""The tables of the tournament stage."""

from __future__ import annotations

import polars as pl

from saber_assets.annotation.tables import failures_table
from saber_assets.table import Column, Rule, Table

PAIRWISE_JUDGMENTS = Table(
    name="pairwise_judgments",
    description="Who was preferred in each pairing of each round, and who was shown first.",
    columns={
        "query_id": Column(pl.String, "the query"),
        "round": Column(pl.Int32, "1 for the first round"),
        "pair": Column(pl.Int32, "number of the pair within the round, from 0"),
        "first_id": Column(pl.String, "candidate shown first"),
        "second_id": Column(pl.String, "candidate shown second"),
        "winner": Column(
            pl.Int8, "1 or 2: which was preferred; 0: a tie; null: no verdict", nullable=True
        ),
        "confidence": Column(
            pl.Float64, "the judge's probability of its verdict, [0.5, 1], if known", nullable=True
        ),
        "judge": Column(pl.String, "who judged; a heuristic says so in its name"),
        "seed": Column(pl.Int64, "seed of pairing and of the order shown"),
    },
    key=("query_id", "round", "pair"),
    rules=(
        Rule(
            "two candidates", "first and second differ", pl.col("first_id") != pl.col("second_id")
        ),
        Rule("verdict", "winner is 1, 2 or 0 (a tie)", pl.col("winner").is_in([0, 1, 2])),
        Rule("sureness", "confidence in [0.5, 1]", pl.col("confidence").is_between(0.5, 1)),
    ),
)

JUDGMENT_FAILURES = failures_table("judgment_failures", "judgment")

RELEVANCE_RATINGS = Table(
    name="relevance_ratings",
    description="How useful each candidate is for its query: Bradley-Terry strength, and 0 to 5.",
    columns={
        "query_id": Column(pl.String, "the query"),
        "candidate_id": Column(pl.String, "the candidate"),
        "strength": Column(pl.Float64, "log strength, mean 0 per component", nullable=True),
        "standard_error": Column(pl.Float64, "of the strength", nullable=True),
        "rating": Column(pl.Float64, "[0, 5] within the query; null if unjudged", nullable=True),
        "wins": Column(pl.Int32, "judgments won"),
        "losses": Column(pl.Int32, "judgments lost"),
        "component": Column(pl.Int32, "connected part of the comparison graph, from 0"),
        "penalty": Column(pl.Float64, "L2 penalty lambda of the fit"),
        "flag": Column(pl.String, "null, 'unjudged', 'all_equal' or 'disconnected'", nullable=True),
    },
    key=("query_id", "candidate_id"),
    rules=(Rule("rating in range", "[0, 5]", pl.col("rating").is_between(0, 5)),),
)
