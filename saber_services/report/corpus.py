"""What became of the records that were read, and how the problems spread over the domains."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from saber_assets.corpus.tables import DROP_REASONS
from saber_assets.ontology.tables import DOMAINS
from saber_services.report.source import Source

REASONS = {
    "empty_statement": "no statement",
    "empty_solution": "no solution",
    "no_real_solution": "a solution that solves nothing",
    "exact_duplicate": "exact duplicate",
    "near_duplicate": "near duplicate",
}


@dataclass(frozen=True)
class Step:
    """A bar of the funnel: how many records, and their share of those read.

    Attributes:
        label: what these records are.
        count: how many.
        share: of the records read, [0, 1].
        kind: `kept` or `dropped`, which decides the colour.
    """

    label: str
    count: int
    share: float
    kind: str


@dataclass(frozen=True)
class SourceRow:
    """A source with the records read from it and kept of it."""

    name: str
    read: int
    kept: int


@dataclass(frozen=True)
class Funnel:
    """The steps from records read to queries, and the same by source."""

    steps: tuple[Step, ...]
    sources: tuple[SourceRow, ...]


@dataclass(frozen=True)
class DomainCount:
    """Problems and queries of a domain; `share` is of all problems, [0, 1]."""

    domain: str
    problems: int
    share: float
    queries: int | None


def read_funnel(source: Source) -> Funnel | None:
    """Return the funnel, or None where the corpus isn't made."""
    if source.lacking("raw_problems", "deduped_corpus", "dropped_problems"):
        return None
    read, kept = (
        _counts(source.read(name, "source")["source"])
        for name in ("raw_problems", "deduped_corpus")
    )
    dropped = _counts(source.read("dropped_problems", "reason")["reason"])
    total = sum(read.values())
    reasons = [*DROP_REASONS, *sorted(set(dropped) - set(DROP_REASONS))]
    steps = [
        ("records read", total, "kept"),
        *(
            (
                f"dropped: {REASONS.get(reason, reason.replace('_', ' '))}",
                dropped[reason],
                "dropped",
            )
            for reason in reasons
            if reason in dropped
        ),
        ("kept: the corpus", sum(kept.values()), "kept"),
        *((label, count, "kept") for label, count in _later_steps(source)),
    ]
    return Funnel(
        tuple(
            Step(label, count, count / total if total else 0.0, kind)
            for label, count, kind in steps
        ),
        tuple(
            SourceRow(name, read.get(name, 0), kept.get(name, 0)) for name in sorted({*read, *kept})
        ),
    )


def _later_steps(source: Source) -> Iterable[tuple[str, int]]:
    if source.has("topic_sets"):
        yield "with topics", source.count("topic_sets", pl.col("node_ids").list.len() > 0)
    if source.has("solution_summaries"):
        yield "with a core idea", source.count("solution_summaries", ~pl.col("no_core_idea"))
    if source.has("benchmark_queries"):
        yield "chosen as queries", source.count("benchmark_queries")


def read_domains(source: Source) -> tuple[DomainCount, ...] | None:
    """Return the problems of each domain, or None where topics aren't assigned.

    A problem of several domains counts in each; one without any is counted apart.
    """
    if not source.has("topic_sets"):
        return None
    domains = source.read("topic_sets", "domains")["domains"]
    problems = _counts(domains.explode().drop_nulls())
    queries = None
    if source.has("benchmark_queries"):
        queries = _counts(source.read("benchmark_queries", "domains")["domains"].explode())
    names = [*DOMAINS, *sorted(set(problems) - set(DOMAINS))]
    total = max(len(domains), 1)
    rows = [
        DomainCount(
            name,
            problems.get(name, 0),
            problems.get(name, 0) / total,
            None if queries is None else queries.get(name, 0),
        )
        for name in names
    ]
    none = int((domains.list.len() == 0).sum())
    if none:
        rows.append(DomainCount("none", none, none / total, None if queries is None else 0))
    return tuple(rows)


def _counts(values: pl.Series) -> dict[str, int]:
    counted = values.drop_nulls().value_counts().sort(values.name)
    return {str(name): int(count) for name, count in counted.iter_rows()}
