"""What an annotator, the judge or a retriever could not do."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from saber_assets.annotation.tables import SUMMARY_FAILURES, TOPIC_FAILURES
from saber_assets.retrieval.tables import RETRIEVER_FAILURES, SETTINGS
from saber_assets.tournament.tables import JUDGMENT_FAILURES
from saber_services.report.release import MADE, Release
from saber_services.report.source import Source

MOST_ROWS = 20
MOST_GROUPS = 200
MOST_EXAMPLES = 3
TABLES = (TOPIC_FAILURES, SUMMARY_FAILURES, JUDGMENT_FAILURES)


@dataclass(frozen=True)
class FailureTable:
    """One table of failures that isn't empty; `rows` are its first ones."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    count: int


@dataclass(frozen=True)
class RetrieverFailures:
    """How often a retriever failed in a setting for one reason, and on which queries, the first."""

    retriever: str
    setting: str
    reason: str
    count: int
    queries: tuple[str, ...]


@dataclass(frozen=True)
class Failures:
    """What failed.

    Attributes:
        tables: those with failures.
        retrievers: the failures of retrievers, the commonest reasons first of each.
        retrievers_count: all failures of retrievers.
        groups: how many rows `retrievers` would have in full.
        empty: names of tables without any.
        lacking: names of tables that aren't made yet.
    """

    tables: tuple[FailureTable, ...]
    retrievers: tuple[RetrieverFailures, ...]
    retrievers_count: int
    groups: int
    empty: tuple[str, ...]
    lacking: tuple[str, ...]


def read_failures(source: Source, release: Release | None = None) -> Failures:
    """Return what failed anywhere; with a release, tables that are never made are not missed."""
    found: list[FailureTable] = []
    empty: list[str] = []
    for table in TABLES:
        if not source.has(table.name):
            continue
        frame = source.read(table.name, *table.columns)
        if frame.is_empty():
            empty.append(table.name)
            continue
        rows = frame.sort(table.key).head(MOST_ROWS).select(pl.all().cast(pl.String))
        found.append(FailureTable(table.name, tuple(table.columns), tuple(rows.rows()), len(frame)))
    grouped = _grouped(source)
    if grouped is not None and grouped.is_empty():
        empty.append(RETRIEVER_FAILURES.name)
    every = [table.name for table in (*TABLES, RETRIEVER_FAILURES)]
    awaited = [name for name in every if release is None or name in MADE]
    return Failures(
        tables=tuple(found),
        retrievers=()
        if grouped is None
        else tuple(
            RetrieverFailures(name, setting, reason, count, tuple(queries))
            for name, setting, reason, count, queries in grouped.head(MOST_GROUPS).iter_rows()
        ),
        retrievers_count=0 if grouped is None else int(grouped["count"].sum()),
        groups=0 if grouped is None else grouped.height,
        empty=tuple(empty),
        lacking=source.lacking(*awaited),
    )


def _grouped(source: Source) -> pl.DataFrame | None:
    """Return count and first queries by retriever, setting and reason; None without the table."""
    if not source.has(RETRIEVER_FAILURES.name):
        return None
    rows = source.read(RETRIEVER_FAILURES.name, "retriever", "setting", "reason", "query_id")
    places = {setting: place for place, setting in enumerate(SETTINGS)}
    return (
        rows.sort("query_id")
        .group_by("retriever", "setting", "reason", maintain_order=True)
        .agg(count=pl.len(), queries=pl.col("query_id").head(MOST_EXAMPLES))
        .with_columns(pl.col("retriever", "setting").cast(pl.String))
        .with_columns(place=pl.col("setting").replace_strict(places, default=len(places)))
        .sort("retriever", "place", "count", "reason", descending=[False, False, True, False])
        .drop("place")
    )
