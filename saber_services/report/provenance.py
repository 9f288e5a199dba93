"""From which table each number of the site comes, and which prompts were asked for it."""

from __future__ import annotations

from collections.abc import Iterable

from saber_services.report.outside import MadeTable
from saber_services.report.release import GIVEN, MADE

ORIGINS = (
    (
        "Means, intervals, ranks, failure counts",
        ("leaderboard", "query_measures"),
        "measure, resamples and seed of the evaluation",
    ),
    (
        "Values and ranks on single queries",
        ("query_measures", "retriever_scores"),
        "the retrievers' versions, and the ratings",
    ),
    ("Letters under Alike, p of pairs", ("paired_tests",), "resamples and seed of the evaluation"),
    ("Ratings and their errors", ("relevance_ratings",), "judgments and penalty of the fit"),
    (
        "Judgments",
        ("pairwise_judgments",),
        "judge, its prompt, rounds and seed of the tournaments",
    ),
    ("Candidates and why they are there", ("candidate_pools",), "thresholds and sampling seed"),
    ("Queries", ("benchmark_queries",), "thresholds and selection seed"),
    ("Thresholds", ("relevance_thresholds",), "both similarities, K and the least queries"),
    ("Topics and core ideas", ("topic_sets", "solution_summaries"), "annotator and its prompts"),
    ("Records, reasons and sources", ("raw_problems", "dropped_problems", "deduped_corpus"),
     "sources and cleaning"),
    ("Seconds a query", (), "saber analyse latency, in analyses/latency.csv"),
)  # fmt: skip


def origins_of(*, is_released: bool) -> list[tuple[str, tuple[str, ...], str]]:
    """Return what is shown, its tables and what decided it; of a release only what can be there."""
    if not is_released:
        return list(ORIGINS)
    found = []
    for what, tables, decided in ORIGINS:
        made = tuple(name for name in tables if name in MADE)
        if made or not tables:
            found.append(
                (what, made, "the release" if GIVEN.issuperset(made) and made else decided)
            )
    return found


def prompts_asked(made: Iterable[MadeTable]) -> list[tuple[str, str, list[str]]]:
    """Return each prompt's name and fingerprint with the tables that it was asked for."""
    found: dict[tuple[str, str], list[str]] = {}
    for table in made:
        for name, mark in table.prompts.items():
            found.setdefault((name, mark), []).append(table.table)
    return [(*key, tables) for key, tables in sorted(found.items())]
