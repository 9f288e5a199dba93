"""The headline: how large the benchmark is, and who annotated and judged it."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from saber_services.report.discreet import discreet
from saber_services.report.release import Release
from saber_services.report.source import Source

HEURISTIC = "heuristic"
"""A heuristic says so in its name (contracts of `annotator` and `judge`)."""

_WORKERS = (
    ("Topics", "Topics assigned", "topic_sets", "annotator"),
    ("Summaries", "Solutions summarised", "solution_summaries", "annotator"),
    ("Judgments", "Judged", "pairwise_judgments", "judge"),
)


@dataclass(frozen=True)
class Figure:
    """A number of the headline; `value` is None where its table isn't made yet."""

    label: str
    value: str | None


@dataclass(frozen=True)
class Worker:
    """Who did a part of the work; no names where it isn't done yet."""

    part: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Headline:
    """Figures, workers, and a warning for each part that a heuristic did, the judging first."""

    figures: tuple[Figure, ...]
    workers: tuple[Worker, ...]
    warnings: tuple[str, ...]


def read_headline(source: Source, release: Release | None = None) -> Headline:
    """Return the headline of whatever is made; of a release, with who made it by its own word."""
    workers: list[Worker] = []
    warnings: list[str] = []
    for part, verb, table, column in _WORKERS:
        stated = () if release is None else release.names(part.lower())
        names = tuple(map(discreet, stated or _names(source, table, column)))
        workers.append(Worker(part, names))
        warnings += [f"{verb} by the {name}" for name in names if HEURISTIC in name.casefold()]
    figures = (
        Figure("problems in the corpus", _count(source, "deduped_corpus")),
        Figure("queries", _count(source, "benchmark_queries")),
        Figure("candidates per query", _pool_size(source)),
        Figure("pairwise judgments", _count(source, "pairwise_judgments")),
    )
    return Headline(figures, tuple(workers), tuple(reversed(warnings)))


def _names(source: Source, table: str, column: str) -> tuple[str, ...]:
    if not source.has(table):
        return ()
    return tuple(sorted(source.read(table, column)[column].drop_nulls().unique()))


def _count(source: Source, table: str) -> str | None:
    return f"{source.count(table):,}" if source.has(table) else None


def _pool_size(source: Source) -> str | None:
    if not source.has("candidate_pools"):
        return None
    pools = source.read("candidate_pools", "query_id").group_by("query_id").agg(pl.len())
    sizes: list[int] = pools["len"].to_list()
    if not sizes:
        return "0"
    low, high = min(sizes), max(sizes)
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"
