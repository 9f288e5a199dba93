"""The tables of the annotation stage."""

from __future__ import annotations

import polars as pl

from saber_assets.table import Column, Rule, Table

TOPIC_SETS = Table(
    name="topic_sets",
    description="The topics of each problem: tree nodes, none an ancestor of another.",
    columns={
        "problem_id": Column(pl.String, "the problem"),
        "node_ids": Column(pl.List(pl.Int32), "ascending node_ids of ontology_tree, may be empty"),
        "paths": Column(pl.List(pl.String), "their paths, in the same order"),
        "domains": Column(pl.List(pl.String), "sorted distinct domains of the topics"),
        "calls": Column(pl.Int32, "scoring calls that the walk made"),
        "depth": Column(pl.Int32, "depth of the deepest topic; 0 when there is none"),
        "annotator": Column(pl.String, "who scored; a heuristic says so in its name"),
    },
    key=("problem_id",),
    rules=(Rule("calls counted", "calls >= 0", pl.col("calls") >= 0),),
)

SOLUTION_SUMMARIES = Table(
    name="solution_summaries",
    description="The core idea of each solution, at most 30 words.",
    columns={
        "problem_id": Column(pl.String, "the problem"),
        "no_core_idea": Column(pl.Boolean, "the solution shows no idea worth a summary"),
        "core_idea": Column(pl.String, "imperative sentence; empty when no_core_idea"),
        "supporting_ideas": Column(pl.List(pl.String), "at most three"),
        "keywords": Column(pl.List(pl.String), "technique words"),
        "confidence": Column(pl.Float64, "the annotator's own, [0, 1]"),
        "annotator": Column(pl.String, "who summarised; a heuristic says so in its name"),
    },
    key=("problem_id",),
    rules=(
        Rule("confidence in range", "[0, 1]", pl.col("confidence").is_between(0, 1)),
        Rule("few supporting ideas", "<= 3", pl.col("supporting_ideas").list.len() <= 3),
    ),
)


def failures_table(name: str, of: str) -> Table:
    """Return the contract of a table that lists what an annotator could not do.

    Args:
        name: the asset key.
        of: the column that identifies the failed item, such as `problem_id`.
    """
    return Table(
        name=name,
        description="Items that failed after their retries, with the reason; never guessed.",
        columns={
            of: Column(pl.String, "the item"),
            "reason": Column(pl.String, "what went wrong, in one sentence"),
        },
        key=(of,),
    )


TOPIC_FAILURES = failures_table("topic_failures", "problem_id")
SUMMARY_FAILURES = failures_table("summary_failures", "problem_id")
