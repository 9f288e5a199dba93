"""The tables of the retrieval stage."""

from __future__ import annotations

import polars as pl

from saber_assets.table import Column, Rule, Table

SETTINGS = ("statement-full", "full-full", "statement-statement")

RETRIEVER_SCORES = Table(
    name="retriever_scores",
    description="The score of every pool member, in each setting; one partition a retriever.",
    columns={
        "retriever": Column(pl.String, "name in the registry"),
        "version": Column(pl.String, "hash of what decides the retriever's scores"),
        "setting": Column(pl.String, f"one of {', '.join(SETTINGS)}"),
        "query_id": Column(pl.String, "the query"),
        "candidate_id": Column(pl.String, "the candidate"),
        "score": Column(pl.Float64, "higher is better; finite"),
    },
    key=("retriever", "setting", "query_id", "candidate_id"),
    rules=(
        Rule("finite", "no NaN or infinity", pl.col("score").is_finite()),
        Rule("known setting", "one of three", pl.col("setting").is_in(list(SETTINGS))),
    ),
)

RETRIEVER_FAILURES = Table(
    name="retriever_failures",
    description="Queries for which a retriever gave no usable scores, with the reason.",
    columns={
        "retriever": Column(pl.String, "name in the registry"),
        "setting": Column(pl.String, "the setting"),
        "query_id": Column(pl.String, "the query"),
        "reason": Column(pl.String, "what went wrong, in one sentence"),
    },
    key=("retriever", "setting", "query_id"),
)
