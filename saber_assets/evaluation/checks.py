"""Asset checks of the evaluation stage."""

from __future__ import annotations

import dagster as dg
import polars as pl

from saber_assets.checks import Verdict, contract, no_orphans, table_check
from saber_assets.evaluation.tables import LEADERBOARD, QUERY_MEASURES
from saber_assets.tournament.tables import RELEVANCE_RATINGS
from saber_resources.settings import Settings

RATINGS = "ratings"
"""The sanity row."""


def checks(settings: Settings) -> list[dg.AssetChecksDefinition]:
    """Return the checks of this stage."""
    return [
        contract(settings, QUERY_MEASURES),
        contract(settings, LEADERBOARD),
        no_orphans(settings, QUERY_MEASURES.name, "query_id", RELEVANCE_RATINGS.name, "query_id"),
        table_check(
            settings,
            LEADERBOARD.name,
            "ratings_are_perfect",
            "The ratings themselves, used as scores, reach 1 (where any rating is above 0).",
            _ratings_are_perfect,
        ),
    ]


def _ratings_are_perfect(board: pl.DataFrame) -> Verdict:
    rows = board.filter((pl.col("retriever") == RATINGS) & (pl.col("domain") == "all"))
    means = rows["mean"].to_list()
    return all(mean > 1 - 1e-9 for mean in means), {"means": str(means)}
