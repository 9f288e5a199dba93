"""Example queries with their best and worst candidates, for a person to judge the ratings by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from saber_assets.corpus.formulas import formulas
from saber_assets.ontology.tables import DOMAINS
from saber_services.report.source import Source
from saber_services.report.typesetting import LONGEST_TEXT, end_outside

TABLES = ("benchmark_queries", "candidate_pools", "relevance_ratings", "deduped_corpus")
EXAMPLES = 3
BEST = 3
WORST = 2
LONGEST = 600
PREVIEW = 110
NAMES = {
    "topic_only": "similar topic",
    "summary_only": "similar core idea",
    "both": "similar topic and core idea",
}


Rated = tuple[str, float, str | None]
"""Candidate, rating, and why it is in the pool, where that is known."""


@dataclass(frozen=True)
class Text:
    """A problem's statement and solution, cut."""

    statement: str
    solution: str

    @property
    def preview(self) -> str:
        """The beginning of the statement, on one line."""
        return cut(" ".join(self.statement.split()), PREVIEW)


@dataclass(frozen=True)
class Candidate:
    """A candidate with its place among the rated ones of its query, from 1."""

    place: int
    rating: float
    category: str | None
    text: Text


@dataclass(frozen=True)
class Example:
    """A query with its best and worst candidates."""

    query_id: str
    domains: tuple[str, ...]
    text: Text
    core_idea: str
    rated: int
    best: tuple[Candidate, ...]
    worst: tuple[Candidate, ...]


def cut(text: str, longest: int = LONGEST) -> str:
    """Return a text cut near `longest` characters, with an ellipsis if it was.

    The cut is at a space where there is one, and outside formulas.
    """
    clean = text.strip()
    if len(clean) <= longest:
        return clean
    end = end_outside(clean, longest, list(formulas(clean[:LONGEST_TEXT])))
    return clean if end >= len(clean) else clean[:end].rstrip() + " …"


def read_examples(source: Source) -> tuple[Example, ...] | None:
    """Return example queries of different domains, or None where a table isn't made."""
    if source.lacking(*TABLES):
        return None
    queries = source.read("benchmark_queries", "query_id", "domains").sort("query_id")
    domains = {row[0]: tuple(row[1]) for row in queries.iter_rows()}
    rated = _rated(source, queries["query_id"])
    chosen = _choose({query: domains[query] for query in domains if query in rated})
    wanted = {identity for query in chosen for identity, _, _ in rated[query]} | set(chosen)
    texts = _texts(source, wanted)
    ideas = _ideas(source, chosen)
    return tuple(
        _example(query, domains[query], rated[query], texts, ideas.get(query, ""))
        for query in chosen
        if query in texts
    )


def _rated(source: Source, queries: pl.Series) -> dict[str, list[Rated]]:
    """Return (candidate, rating, category) of each query, best first."""
    ratings = source.read(
        "relevance_ratings",
        "query_id",
        "candidate_id",
        "rating",
        where=pl.col("rating").is_not_null(),
    )
    pools = source.read("candidate_pools", "query_id", "candidate_id", "category")
    rows = (
        ratings.filter(pl.col("query_id").is_in(queries.implode()))
        .join(pools, on=["query_id", "candidate_id"])
        .sort("query_id", "rating", "candidate_id", descending=[False, True, False])
    )
    found: dict[str, list[Rated]] = {}
    for query, candidate, rating, category in rows.iter_rows():
        found.setdefault(query, []).append((candidate, rating, category))
    return found


def _choose(domains: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return the first query of each of the first domains, then the first ones left."""
    chosen: list[str] = []
    for domain in DOMAINS:
        first = next((q for q in domains if domain in domains[q] and q not in chosen), None)
        if first is not None:
            chosen.append(first)
    chosen += [query for query in domains if query not in chosen]
    return chosen[:EXAMPLES]


def _texts(source: Source, wanted: set[str]) -> dict[str, Text]:
    rows = source.read(
        "deduped_corpus",
        "problem_id",
        "problem",
        "solution",
        where=pl.col("problem_id").is_in(sorted(wanted)),
    )
    return {
        identity: Text(cut(statement), cut(solution))
        for identity, statement, solution in rows.iter_rows()
    }


def _ideas(source: Source, chosen: list[str]) -> dict[str, str]:
    if not source.has("solution_summaries"):
        return {}
    rows = source.read(
        "solution_summaries",
        "problem_id",
        "core_idea",
        where=pl.col("problem_id").is_in(chosen),
    )
    return {identity: cut(idea) for identity, idea in rows.iter_rows()}


def _example(
    query: str,
    domains: tuple[str, ...],
    rated: list[Rated],
    texts: Mapping[str, Text],
    idea: str,
) -> Example:
    unknown = Text("(not in the corpus any more)", "")
    candidates = [
        Candidate(place, rating, NAMES.get(category or "", category), texts.get(identity, unknown))
        for place, (identity, rating, category) in enumerate(rated, start=1)
    ]
    best, rest = candidates[:BEST], candidates[BEST:]
    return Example(
        query, domains, texts[query], idea, len(rated), tuple(best), tuple(rest[-WORST:])
    )
