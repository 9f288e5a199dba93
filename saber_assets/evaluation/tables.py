"""The tables of the evaluation stage."""

from __future__ import annotations

import polars as pl

from saber_assets.table import Column, Rule, Table

QUERY_MEASURES = Table(
    name="query_measures",
    description="The measure of each retriever on each query in each setting.",
    columns={
        "retriever": Column(pl.String, "name in the registry"),
        "setting": Column(pl.String, "what text each side showed"),
        "query_id": Column(pl.String, "the query"),
        "measure": Column(pl.String, "name of the measure, with all that changes its value"),
        "value": Column(pl.Float64, "[0, 1]; 0 for a query that the retriever failed on"),
        "failed": Column(pl.Boolean, "the retriever gave no usable scores for the query"),
    },
    key=("retriever", "setting", "query_id", "measure"),
    rules=(Rule("in range", "[0, 1]", pl.col("value").is_between(0, 1)),),
)

LEADERBOARD = Table(
    name="leaderboard",
    description="Mean measure of each retriever per setting and domain, with 95 % intervals.",
    columns={
        "setting": Column(pl.String, "what text each side showed"),
        "domain": Column(pl.String, "'all' or a domain"),
        "rank": Column(pl.Int32, "1 is best within setting and domain"),
        "retriever": Column(pl.String, "name in the registry"),
        "family": Column(pl.String, "kind of retriever"),
        "measure": Column(pl.String, "name of the measure, with all that changes its value"),
        "mean": Column(pl.Float64, "[0, 1]"),
        "low": Column(pl.Float64, "2.5 % percentile of the query bootstrap"),
        "high": Column(pl.Float64, "97.5 % percentile of the query bootstrap"),
        "queries": Column(pl.Int64, "queries averaged over"),
        "failed": Column(pl.Int64, "of them, queries that the retriever failed on"),
    },
    key=("setting", "domain", "retriever", "measure"),
    rules=(
        Rule("mean in range", "[0, 1]", pl.col("mean").is_between(0, 1)),
        Rule("interval", "low <= high", pl.col("low") <= pl.col("high")),
    ),
)
