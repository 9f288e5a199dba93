"""The tables of the corpus stage."""

from __future__ import annotations

import polars as pl

from saber_assets.table import Column, Rule, Table

RAW_PROBLEMS = Table(
    name="raw_problems",
    description="Every record that was read, with its place of origin, before any is dropped.",
    columns={
        "problem_id": Column(pl.String, "content-derived: a hash of statement and solution"),
        "occurrence": Column(pl.Int32, "1 for the first record with this content, 2 for the next"),
        "source": Column(pl.String, "name of the source, which decides the priority"),
        "source_id": Column(pl.String, "the id that the record has in its source"),
        "location": Column(pl.String, "file name and line or row"),
        "problem": Column(pl.String, "the statement"),
        "solution": Column(pl.String, "the solution"),
        "fault": Column(pl.String, "why the record can't be used, or null", nullable=True),
    },
    key=("problem_id", "occurrence"),
)

DEDUPED_CORPUS = Table(
    name="deduped_corpus",
    description="The problems that the benchmark is built from, one of each near-duplicate group.",
    columns={
        "problem_id": Column(pl.String, "content-derived id"),
        "source": Column(pl.String, "name of the source"),
        "source_id": Column(pl.String, "the id that the record has in its source"),
        "problem": Column(pl.String, "the statement"),
        "solution": Column(pl.String, "the solution"),
    },
    key=("problem_id",),
    rules=(
        Rule("statement present", "no empty statement", pl.col("problem").str.len_chars() > 0),
        Rule("solution present", "no empty solution", pl.col("solution").str.len_chars() > 0),
    ),
)

DROP_REASONS = (
    "empty_statement",
    "empty_solution",
    "no_real_solution",
    "exact_duplicate",
    "near_duplicate",
)

DROPPED_PROBLEMS = Table(
    name="dropped_problems",
    description="Each record that did not make it into the corpus, with the reason and evidence.",
    columns={
        "problem_id": Column(pl.String, "content-derived id"),
        "occurrence": Column(pl.Int32, "which record with this content"),
        "source": Column(pl.String, "name of the source"),
        "source_id": Column(pl.String, "the id that the record has in its source"),
        "location": Column(pl.String, "file name and line or row"),
        "reason": Column(pl.String, f"one of {', '.join(DROP_REASONS)}"),
        "kept_problem_id": Column(pl.String, "the duplicate that was kept", nullable=True),
        "similarity": Column(
            pl.Float64, "exact Jaccard of shingles with it, [0, 1]", nullable=True
        ),
    },
    key=("problem_id", "occurrence"),
    rules=(Rule("known reason", "reason is listed", pl.col("reason").is_in(list(DROP_REASONS))),),
)
