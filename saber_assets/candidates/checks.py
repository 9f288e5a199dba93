"""Asset checks of the candidates stage."""

from __future__ import annotations

import dagster as dg
import polars as pl

from saber_assets.candidates.tables import (
    BENCHMARK_QUERIES,
    CANDIDATE_POOLS,
    CATEGORIES,
    LISTED_DUPLICATES,
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

    def no_listed(pools: pl.DataFrame, listed: pl.DataFrame) -> Verdict:
        ends = {"first_id": "query_id", "second_id": "candidate_id"}
        turned = {"second_id": "query_id", "first_id": "candidate_id"}
        barred = pl.concat([listed.rename(way).select(ends.values()) for way in (ends, turned)])
        found = pools.join(barred, on=["query_id", "candidate_id"], how="semi")
        return found.is_empty(), {"listed pairs in pools": found.height}

    return [
        *(
            contract(settings, table)
            for table in (
                LISTED_DUPLICATES,
                RELEVANCE_THRESHOLDS,
                BENCHMARK_QUERIES,
                CANDIDATE_POOLS,
            )
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
        table_check(
            settings,
            CANDIDATE_POOLS.name,
            "no_listed_duplicates",
            "No query has a listed duplicate among its candidates.",
            no_listed,
            [LISTED_DUPLICATES.name],
        ),
    ]
