"""The texts of the problems that have a page of their own, and the beginnings of the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import polars as pl

from saber_services.report.pools import Pools
from saber_services.report.source import Source

MOST_PAGES = 5_000
"""Up to so many problems every one of the pools has a page; beyond, only the shown ones."""
BEST, WORST = 10, 5
PREVIEW = 90
_RAW_PREVIEW = 8 * PREVIEW


@dataclass(frozen=True)
class Problem:
    """A problem as its page shows it; empty texts where there is none."""

    identity: str
    statement: str
    solution: str
    source: str
    licence: str
    core_idea: str
    topics: tuple[str, ...]


@dataclass(frozen=True)
class ProblemTexts:
    """Problems with a page, the beginnings of all others, and where each problem is a candidate.

    Attributes:
        paged: by id.
        beginnings: of the statements of the others, by id.
        everyone: whether every problem of the pools has a page.
    """

    paged: Mapping[str, Problem]
    beginnings: Mapping[str, str]
    everyone: bool


def read_problem_texts(source: Source, pools: Pools, all_texts: bool = False) -> ProblemTexts:
    """Return the texts of the pools' problems.

    Args:
        source: the tables.
        pools: whose problems.
        all_texts: every problem gets a page, however many there are.
    """
    ids = {*pools.queries, *pools.rows["candidate_id"]}
    everyone = all_texts or len(ids) <= MOST_PAGES
    wanted = ids if everyone else _shown(pools)
    return ProblemTexts(
        _paged(source, wanted), {} if everyone else _beginnings(source, ids - wanted), everyone
    )


def _shown(pools: Pools) -> set[str]:
    """Return the queries, and the best and worst candidates of each."""
    grouped = pools.rows.group_by("query_id", maintain_order=True)
    return {
        *pools.queries,
        *grouped.head(BEST)["candidate_id"],
        *grouped.tail(WORST)["candidate_id"],
    }


def _paged(source: Source, wanted: Iterable[str]) -> dict[str, Problem]:
    ids = pl.col("problem_id").is_in(sorted(wanted))
    if not source.has("deduped_corpus"):
        return {}
    rows = source.read(
        "deduped_corpus", "problem_id", "problem", "solution", "source", "licence", where=ids
    ).sort("problem_id")
    ideas: dict[str, str] = {}
    if source.has("solution_summaries"):
        ideas = dict(
            source.read("solution_summaries", "problem_id", "core_idea", where=ids).iter_rows()
        )
    topics: dict[str, list[str]] = {}
    if source.has("topic_sets"):
        topics = dict(source.read("topic_sets", "problem_id", "paths", where=ids).iter_rows())
    return {
        identity: Problem(
            identity,
            statement or "",
            solution or "",
            origin or "",
            licence or "",
            ideas.get(identity) or "",
            tuple(topics.get(identity) or ()),
        )
        for identity, statement, solution, origin, licence in rows.iter_rows()
    }


def _beginnings(source: Source, wanted: set[str]) -> dict[str, str]:
    if not source.has("deduped_corpus"):
        return {}
    rows = source.read(
        "deduped_corpus",
        "problem_id",
        "problem",
        where=pl.col("problem_id").is_in(sorted(wanted)),
    )
    return dict(rows.with_columns(pl.col("problem").str.slice(0, _RAW_PREVIEW)).iter_rows())
