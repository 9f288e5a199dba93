"""Asset checks of an imported benchmark."""

from __future__ import annotations

import dagster as dg
import polars as pl

from saber_assets.checks import Verdict, contract, no_orphans, table_check
from saber_assets.publishing.tables import (
    IMPORTED,
    IMPORTED_CORPUS,
    IMPORTED_POOLS,
    IMPORTED_QUERIES,
    IMPORTED_RATINGS,
)
from saber_resources.settings import Settings


def checks(settings: Settings) -> list[dg.AssetChecksDefinition]:
    """Return the checks of the imported tables."""
    corpus = IMPORTED_CORPUS.name
    return [
        *(contract(settings, table) for table in IMPORTED),
        no_orphans(settings, IMPORTED_QUERIES.name, "query_id", corpus, "problem_id"),
        no_orphans(settings, IMPORTED_POOLS.name, "candidate_id", corpus, "problem_id"),
        no_orphans(settings, IMPORTED_POOLS.name, "query_id", IMPORTED_QUERIES.name, "query_id"),
        table_check(
            settings,
            IMPORTED_RATINGS.name,
            "every_candidate_judged",
            "Every candidate of every pool has a rating.",
            _every_candidate_judged,
            [IMPORTED_POOLS.name],
        ),
    ]


def _every_candidate_judged(ratings: pl.DataFrame, pools: pl.DataFrame) -> Verdict:
    rated = ratings.filter(pl.col("rating").is_not_null())
    missing = pools.join(rated, on=["query_id", "candidate_id"], how="anti")
    return missing.is_empty(), {"unrated": missing.height}
