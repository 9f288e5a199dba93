"""Asset checks of the candidates stage."""

from __future__ import annotations

import dagster as dg
import polars as pl

from saber_assets.candidates.tables import (
    BENCHMARK_QUERIES,
    CANDIDATE_POOLS,
    CATEGORIES,
    RELEVANCE_THRESHOLDS,
)
from saber_assets.checks import Verdict, contract, no_orphans, table_check
from saber_assets.corpus.tables import DEDUPED_CORPUS
from saber_resources.settings import Settings


def checks(settings: Settings) -> list[dg.AssetChecksDefinition]:
    """Return the checks of this stage."""
    k = settings.profile.thresholds.k

    def pool_sizes(pools: pl.DataFrame, queries: pl.DataFrame) -> Verdict:
        sizes = pools.group_by("query_id", "category").len()
        wrong = sizes.filter(pl.col("len") != k)
        complete = sizes.height == queries.height * len(CATEGORIES)
        return complete and wrong.is_empty(), {"wrong sizes": wrong.height, "k": k}

    return [
        *(
            contract(settings, table)
            for table in (RELEVANCE_THRESHOLDS, BENCHMARK_QUERIES, CANDIDATE_POOLS)
        ),
        no_orphans(settings, BENCHMARK_QUERIES.name, "query_id", DEDUPED_CORPUS.name, "problem_id"),
        no_orphans(
            settings, CANDIDATE_POOLS.name, "candidate_id", DEDUPED_CORPUS.name, "problem_id"
        ),
        no_orphans(settings, CANDIDATE_POOLS.name, "query_id", BENCHMARK_QUERIES.name, "query_id"),
        table_check(
            settings,
            CANDIDATE_POOLS.name,
            "pool_sizes",
            f"Every query has {k} candidates in each of the three categories.",
            pool_sizes,
            [BENCHMARK_QUERIES.name],
        ),
    ]
