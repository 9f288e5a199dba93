"""What the overview pages show, gathered from the tables."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from importlib import metadata

from saber_services.report.corpus import DomainCount, Funnel, read_domains, read_funnel
from saber_services.report.examples import TABLES as EXAMPLE_TABLES
from saber_services.report.examples import Example, read_examples
from saber_services.report.failures import Failures, read_failures
from saber_services.report.headline import Headline, read_headline
from saber_services.report.judging import (
    Judgments,
    Ratings,
    ThresholdRow,
    read_judgments,
    read_ratings,
    read_thresholds,
)
from saber_services.report.release import Absence, Release, absence
from saber_services.report.source import Source

DISTRIBUTION = "saber-platform"


@dataclass(frozen=True)
class Colophon:
    """What the report was made with and from.

    Attributes:
        version: of the installed package.
        newest: when the newest table file was written, in UTC.
        values: settings that the tables themselves carry, in words.
    """

    version: str
    newest: datetime | None
    values: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Content:
    """The sections of the pages; None where a table isn't made or is empty.

    Attributes:
        lacking: for each section, why it has nothing to show where that is so.
    """

    headline: Headline
    funnel: Funnel | None
    domains: tuple[DomainCount, ...] | None
    thresholds: tuple[ThresholdRow, ...] | None
    ratings: Ratings | None
    judgments: Judgments | None
    examples: tuple[Example, ...] | None
    failures: Failures
    colophon: Colophon
    lacking: dict[str, Absence]


def gather(source: Source, release: Release | None = None) -> Content:
    """Return the content of the overview pages.

    Args:
        source: the tables; may lack any of them.
        release: that was imported; None: the benchmark was built.

    Raises:
        SetupError: when a table can't be read.
    """
    needed: dict[str, tuple[str, ...]] = {
        "standings": ("leaderboard",),
        "funnel": ("raw_problems", "deduped_corpus", "dropped_problems"),
        "domains": ("topic_sets",),
        "thresholds": ("relevance_thresholds",),
        "ratings": ("relevance_ratings",),
        "judgments": ("pairwise_judgments",),
        "examples": EXAMPLE_TABLES,
    }
    return Content(
        headline=read_headline(source, release),
        funnel=read_funnel(source),
        domains=read_domains(source),
        thresholds=read_thresholds(source),
        ratings=read_ratings(source),
        judgments=read_judgments(source, is_released=release is not None),
        examples=read_examples(source),
        failures=read_failures(source, release),
        colophon=Colophon(_version(), source.newest(), tuple(_values(source))),
        lacking={section: absence(source, release, *names) for section, names in needed.items()},
    )


def _version() -> str:
    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return "of a checkout"


def _values(source: Source) -> list[tuple[str, str]]:
    wanted = (
        ("Seed of the query selection", "benchmark_queries", "seed"),
        ("Seed of the candidate sampling", "candidate_pools", "seed"),
        ("Seed of the tournaments", "pairwise_judgments", "seed"),
        ("Rounds", "pairwise_judgments", "round"),
        ("Penalty of the rating fit", "relevance_ratings", "penalty"),
    )
    found: list[tuple[str, str]] = []
    for label, table, column in wanted:
        if not source.has(table):
            continue
        values = source.read(table, column)[column].drop_nulls().unique().sort().to_list()
        if not values:
            continue
        shown = values[-1:] if column == "round" else values
        found.append((label, ", ".join(f"{value:g}" for value in shown)))
    return found
