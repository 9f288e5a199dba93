"""The tables of an imported benchmark: those of the stages that weren't run, with gaps allowed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from saber_assets.candidates.tables import BENCHMARK_QUERIES, CANDIDATE_POOLS
from saber_assets.corpus.tables import DEDUPED_CORPUS
from saber_assets.table import Table
from saber_assets.tournament.tables import PAIRWISE_JUDGMENTS, RELEVANCE_RATINGS


def with_gaps(table: Table, given: Collection[str], without: Collection[str] = ()) -> Table:
    """Return a table's contract, with null allowed in what a release doesn't tell.

    Args:
        table: the contract of the stage that makes it in a build.
        given: columns that every release gives.
        without: names of rules that don't hold for releases.
    """
    return replace(
        table,
        description=f"{table.description.removesuffix('.')}; imported from a release.",
        columns={
            name: replace(column, nullable=column.nullable or name not in given)
            for name, column in table.columns.items()
        },
        rules=tuple(rule for rule in table.rules if rule.name not in without),
    )


IMPORTED_CORPUS = with_gaps(
    DEDUPED_CORPUS,
    ("problem_id", "source", "source_id", "problem", "solution"),
    without=("solution present",),
)
IMPORTED_QUERIES = with_gaps(BENCHMARK_QUERIES, ("query_id", "domains", "combination"))
IMPORTED_POOLS = with_gaps(CANDIDATE_POOLS, ("query_id", "candidate_id"))
IMPORTED_RATINGS = with_gaps(RELEVANCE_RATINGS, ("query_id", "candidate_id", "rating"))
IMPORTED_JUDGMENTS = with_gaps(
    PAIRWISE_JUDGMENTS, ("query_id", "pair", "first_id", "second_id", "judge")
)

IMPORTED = (
    IMPORTED_CORPUS,
    IMPORTED_QUERIES,
    IMPORTED_POOLS,
    IMPORTED_RATINGS,
    IMPORTED_JUDGMENTS,
)
"""In the order in which they are handed over."""
