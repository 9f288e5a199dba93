"""The tables of the candidates stage."""

from __future__ import annotations

import polars as pl

from saber_assets.table import Column, Rule, Table

CATEGORIES = ("topic_only", "summary_only", "both")

LISTED_DUPLICATES = Table(
    name="listed_duplicates",
    description="Pairs that a person listed as duplicates: never candidates of each other.",
    columns={
        "first_id": Column(pl.String, "problem_id, the smaller of the two"),
        "second_id": Column(pl.String, "problem_id of its duplicate"),
    },
    key=("first_id", "second_id"),
    rules=(Rule("ordered", "first_id < second_id", pl.col("first_id") < pl.col("second_id")),),
)

RELEVANCE_THRESHOLDS = Table(
    name="relevance_thresholds",
    description="Thresholds of both similarities per domain; the row 'final' is what counts.",
    columns={
        "domain": Column(pl.String, "a domain, or 'final' for the minimum over the domains"),
        "problems": Column(pl.Int64, "problems of that domain"),
        "quantile": Column(pl.Float64, "common upper quantile, null for 'final'", nullable=True),
        "tau_topic": Column(pl.Float64, "threshold of the topic similarity, [0, 1]"),
        "tau_summary": Column(pl.Float64, "threshold of the summary similarity, [0, 1]"),
        "eligible": Column(pl.Int64, "problems with K or more candidates in each category"),
        "k": Column(pl.Int32, "K, candidates per category"),
    },
    key=("domain",),
    rules=(
        Rule("tau_topic in range", "[0, 1]", pl.col("tau_topic").is_between(0, 1)),
        Rule("tau_summary in range", "[0, 1]", pl.col("tau_summary").is_between(0, 1)),
    ),
)

BENCHMARK_QUERIES = Table(
    name="benchmark_queries",
    description="The query problems of the benchmark and how many candidates each category had.",
    columns={
        "query_id": Column(pl.String, "problem_id of the query"),
        "domains": Column(pl.List(pl.String), "sorted domains of its topics"),
        "combination": Column(pl.String, "the domains joined by ' + ': the sampling stratum"),
        "topic_only": Column(pl.Int64, "problems similar in topic only"),
        "summary_only": Column(pl.Int64, "problems similar in summary only"),
        "both": Column(pl.Int64, "problems similar in both"),
        "seed": Column(pl.Int64, "seed of the selection"),
    },
    key=("query_id",),
)

CANDIDATE_POOLS = Table(
    name="candidate_pools",
    description="K candidates of each category for each query, with both similarities.",
    columns={
        "query_id": Column(pl.String, "problem_id of the query"),
        "candidate_id": Column(pl.String, "problem_id of the candidate"),
        "category": Column(pl.String, f"one of {', '.join(CATEGORIES)}"),
        "topic_similarity": Column(pl.Float64, "best-match average over Lin, [0, 1]"),
        "summary_similarity": Column(pl.Float64, "Jaccard of summary tokens, [0, 1]"),
        "tau_topic": Column(pl.Float64, "threshold in force"),
        "tau_summary": Column(pl.Float64, "threshold in force"),
        "seed": Column(pl.Int64, "seed of the sampling"),
    },
    key=("query_id", "candidate_id"),
    rules=(
        Rule("known category", "one of three", pl.col("category").is_in(list(CATEGORIES))),
        Rule("not itself", "a query is no candidate", pl.col("query_id") != pl.col("candidate_id")),
        Rule("topic in range", "[0, 1]", pl.col("topic_similarity").is_between(0, 1)),
        Rule("summary in range", "[0, 1]", pl.col("summary_similarity").is_between(0, 1)),
    ),
)
