"""What an annotator, the judge or a retriever could not do."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from saber_assets.annotation.tables import SUMMARY_FAILURES, TOPIC_FAILURES
from saber_assets.retrieval.tables import RETRIEVER_FAILURES
from saber_assets.tournament.tables import JUDGMENT_FAILURES
from saber_services.report.source import Source

MOST_ROWS = 20
TABLES = (TOPIC_FAILURES, SUMMARY_FAILURES, JUDGMENT_FAILURES, RETRIEVER_FAILURES)


@dataclass(frozen=True)
class FailureTable:
    """One table of failures that isn't empty; `rows` are its first ones."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    count: int


@dataclass(frozen=True)
class Failures:
    """Tables with failures, and the names of those without any and of those not made yet."""

    tables: tuple[FailureTable, ...]
    empty: tuple[str, ...]
    lacking: tuple[str, ...]


def read_failures(source: Source) -> Failures:
    """Return what failed anywhere."""
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
    return Failures(tuple(found), tuple(empty), source.lacking(*(table.name for table in TABLES)))
