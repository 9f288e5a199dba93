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

GAIN_VARIANTS = Table(
    name="gain_variants",
    description="Mean nDCG of each retriever under other gains and ranges of the ratings.",
    columns={
        "retriever": Column(pl.String, "name in the registry"),
        "setting": Column(pl.String, "what text each side showed"),
        "variant": Column(pl.String, "range of the ratings and gain"),
        "mean": Column(pl.Float64, "[0, 1]"),
    },
    key=("setting", "variant", "retriever"),
    rules=(Rule("mean in range", "[0, 1]", pl.col("mean").is_between(0, 1)),),
)

BINARY_MEASURES = Table(
    name="binary_measures",
    description="Mean P, R, RR and AP of each retriever, relevant from a rating on.",
    columns={
        "retriever": Column(pl.String, "name in the registry"),
        "setting": Column(pl.String, "what text each side showed"),
        "measure": Column(pl.String, "name of the measure, with threshold and cutoff"),
        "threshold": Column(pl.Float64, "lowest rating that counts as relevant"),
        "mean": Column(pl.Float64, "[0, 1]"),
        "low": Column(pl.Float64, "2.5 % percentile of the query bootstrap"),
        "high": Column(pl.Float64, "97.5 % percentile of the query bootstrap"),
    },
    key=("setting", "measure", "retriever"),
    rules=(
        Rule("mean in range", "[0, 1]", pl.col("mean").is_between(0, 1)),
        Rule("interval", "low <= high", pl.col("low") <= pl.col("high")),
    ),
)

_P_VALUES = ("p_bootstrap", "p_randomisation", "adjusted_bootstrap", "adjusted_randomisation")

PAIRED_TESTS = Table(
    name="paired_tests",
    description="Every pair of retrievers tested on the same queries, p adjusted over all pairs.",
    columns={
        "setting": Column(pl.String, "what text each side showed"),
        "first": Column(pl.String, "the retriever with the higher mean"),
        "second": Column(pl.String, "the other one"),
        "difference": Column(pl.Float64, "mean of first minus mean of second"),
        "low": Column(pl.Float64, "2.5 % percentile of the paired bootstrap"),
        "high": Column(pl.Float64, "97.5 % percentile of the paired bootstrap"),
        "p_bootstrap": Column(pl.Float64, "two-sided, of the paired bootstrap"),
        "p_randomisation": Column(pl.Float64, "two-sided, of Fisher's randomisation test"),
        "adjusted_bootstrap": Column(pl.Float64, "Holm over the pairs of the setting"),
        "adjusted_randomisation": Column(pl.Float64, "Holm over the pairs of the setting"),
        "seed": Column(pl.Int64, "of the resamples"),
    },
    key=("setting", "first", "second"),
    rules=tuple(
        Rule(f"{name} in range", "[0, 1]", pl.col(name).is_between(0, 1)) for name in _P_VALUES
    ),
)

RATING_NOISE = Table(
    name="rating_noise",
    description="Intervals of the board with the ratings' standard errors; empty without any.",
    columns={
        "retriever": Column(pl.String, "name in the registry"),
        "setting": Column(pl.String, "what text each side showed"),
        "mean": Column(pl.Float64, "of the board"),
        "drawn_mean": Column(pl.Float64, "mean over draws of the ratings"),
        "sd_ratings": Column(pl.Float64, "deviation over draws of the ratings"),
        "sd_queries": Column(pl.Float64, "deviation over the query bootstrap"),
        "low_queries": Column(pl.Float64, "2.5 % percentile of the query bootstrap"),
        "high_queries": Column(pl.Float64, "97.5 % percentile of the query bootstrap"),
        "low": Column(pl.Float64, "2.5 % percentile, ratings and queries drawn together"),
        "high": Column(pl.Float64, "97.5 % percentile, ratings and queries drawn together"),
        "seed": Column(pl.Int64, "of all that is drawn"),
    },
    key=("setting", "retriever"),
    rules=(Rule("interval", "low <= high", pl.col("low") <= pl.col("high")),),
)

SIGNAL_EFFECT = Table(
    name="signal_effect",
    description="How much of each category of candidates is among the top r of its queries.",
    columns={
        "category": Column(pl.String, "which similarity brought the candidates in"),
        "rank": Column(pl.Int64, "r, from 1"),
        "within": Column(pl.Int64, "candidates of the category ranked r or better"),
        "candidates": Column(pl.Int64, "rated candidates of the category"),
        "share": Column(pl.Float64, "within / candidates"),
        "topped": Column(pl.Float64, "share of the category among all ranked r or better"),
    },
    key=("category", "rank"),
    rules=(Rule("share in range", "[0, 1]", pl.col("share").is_between(0, 1)),),
)

ANALYSES = (GAIN_VARIANTS, BINARY_MEASURES, PAIRED_TESTS, RATING_NOISE, SIGNAL_EFFECT)
"""Tables that say more about the board and the pools; nothing is made from them."""
