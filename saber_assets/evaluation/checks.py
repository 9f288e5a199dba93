"""Asset checks of the evaluation stage."""

from __future__ import annotations

import dagster as dg
import polars as pl

from saber_assets.checks import Verdict, contract, no_orphans, table_check
from saber_assets.evaluation.tables import ANALYSES, LEADERBOARD, QUERY_MEASURES
from saber_assets.retrieval.sanity import RATINGS
from saber_assets.tournament.tables import RELEVANCE_RATINGS
from saber_resources.settings import Settings

TOLERANCE = 1e-9


def checks(settings: Settings) -> list[dg.AssetChecksDefinition]:
    """Return the checks of this stage."""
    return [
        contract(settings, QUERY_MEASURES),
        contract(settings, LEADERBOARD),
        *(contract(settings, table) for table in ANALYSES),
        no_orphans(settings, QUERY_MEASURES.name, "query_id", RELEVANCE_RATINGS.name, "query_id"),
        table_check(
            settings,
            QUERY_MEASURES.name,
            "ratings_are_perfect",
            "The ratings themselves, used as scores, reach 1 on each query with a rating above 0.",
            _ratings_are_perfect,
            [RELEVANCE_RATINGS.name],
        ),
    ]


def _ratings_are_perfect(measures: pl.DataFrame, ratings: pl.DataFrame) -> Verdict:
    rated = ratings.filter(pl.col("rating") > 0).select("query_id").unique()
    rows = measures.filter(pl.col("retriever") == RATINGS).join(rated, on="query_id")
    short = rows.filter(pl.col("value") < 1 - TOLERANCE)
    return short.is_empty(), {"short of 1": short.height, "checked": rows.height}
