"""The tables of the corpus stage."""

from __future__ import annotations

import polars as pl

from saber_assets.corpus.source_kinds.protocol import READER_FAULTS
from saber_assets.corpus.thread_funnel import THREAD_DROP_REASONS
from saber_assets.table import Column, Rule, Table

_ID = {
    "source": Column(pl.String, "name of the source, which decides the priority"),
    "source_id": Column(pl.String, "the id that the record has in its source"),
    "location": Column(pl.String, "file name and line or row"),
}

OWN_RECORDS = Table(
    name="own_records",
    description="The records of a person's problem files as they were read.",
    columns={
        "problem_id": Column(pl.String, "content-derived: a hash of statement and solution"),
        "occurrence": Column(pl.Int32, "1 for the first record with this content, 2 for the next"),
        **_ID,
        "problem": Column(pl.String, "the statement"),
        "solution": Column(pl.String, "the solution"),
        "licence": Column(pl.String, "as the record says, or null", nullable=True),
        "for_training": Column(
            pl.Boolean, "false where the record says so, else null", nullable=True
        ),
        "fault": Column(pl.String, "why the record can't be used, or null", nullable=True),
    },
    key=("problem_id", "occurrence"),
)

_FOUND = {
    "language": Column(pl.String, "ISO 639-1 as declared or detected, or und"),
    "answer": Column(pl.String, "short answer: the source's own or the last box", nullable=True),
    "alternatives": Column(pl.List(pl.String), "further solutions"),
    "diagrams": Column(pl.List(pl.String), "code of drawings, set aside from the texts"),
    "images": Column(pl.Int32, "images that the texts point at"),
    "licence": Column(pl.String, "SPDX identifier of the record"),
    "for_training": Column(pl.Boolean, "whether models may be trained on it"),
}

RAW_PROBLEMS = Table(
    name="raw_problems",
    description="Every record of every source, cleaned, before any is dropped.",
    columns={
        "problem_id": Column(pl.String, "content-derived: a hash of cleaned statement, solution"),
        "occurrence": Column(pl.Int32, "1 for the first record with this content, 2 for the next"),
        **_ID,
        "problem": Column(pl.String, "the statement"),
        "solution": Column(pl.String, "the solution"),
        **_FOUND,
        "steps": Column(pl.List(pl.String), "cleaning steps that changed the texts"),
        "flags": Column(pl.List(pl.String), "oddities that cleaning saw and left"),
        "fault": Column(pl.String, "why the record can't be used, or null", nullable=True),
        "detail": Column(pl.String, "more about the fault, or null", nullable=True),
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
        **_FOUND,
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
    "figure_only",
    *READER_FAULTS,
    *THREAD_DROP_REASONS,
    "exact_duplicate",
    "near_duplicate",
)

SCOPES = {
    "within": "the duplicate that was kept is of the same source",
    "across": "the duplicate that was kept is of another source",
}
"""Where the duplicate of a dropped problem is, with what each means."""

EVIDENCE = {
    "equal_text": "the statements are equal up to white space",
    "equal_tokens": "the statements are equal but for their typesetting",
    "similar_tokens": "all that is decisive is equal, and the shingles are similar",
}
"""What shows that two problems are duplicates, with what each means."""

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
        "scope": Column(pl.String, "where the duplicate is: within or across", nullable=True),
        "evidence": Column(pl.String, f"one of {', '.join(EVIDENCE)}, or null", nullable=True),
    },
    key=("problem_id", "occurrence"),
    rules=(
        Rule("known reason", "reason is listed", pl.col("reason").is_in(list(DROP_REASONS))),
        Rule("known scope", "scope is listed", pl.col("scope").is_in(list(SCOPES))),
        Rule("known evidence", "evidence is listed", pl.col("evidence").is_in(list(EVIDENCE))),
    ),
)

DUPLICATE_GROUPS = Table(
    name="duplicate_groups",
    description="Each kept problem that displaced others, and those; one row a member.",
    columns={
        "kept_problem_id": Column(pl.String, "the problem that was kept, which names the group"),
        "size": Column(pl.Int32, "members, the kept one too; at least 2"),
        "problem_id": Column(pl.String, "the member"),
        "occurrence": Column(pl.Int32, "which record with this content"),
        "is_kept": Column(pl.Boolean, "whether it is the one that was kept"),
        "source": Column(pl.String, "name of its source"),
        "source_id": Column(pl.String, "the id that it has in its source"),
        "similarity": Column(pl.Float64, "with the kept one, [0, 1]; 1 for itself"),
        "scope": Column(pl.String, "as in dropped_problems; null for the kept", nullable=True),
        "evidence": Column(pl.String, "as in dropped_problems; null for the kept", nullable=True),
    },
    key=("problem_id", "occurrence"),
)
