"""Asset checks of the tournament stage."""

from __future__ import annotations

import dagster as dg
import polars as pl

from saber_assets.candidates.tables import CANDIDATE_POOLS
from saber_assets.checks import Verdict, contract, table_check
from saber_assets.tournament.tables import (
    JUDGMENT_FAILURES,
    PAIRWISE_JUDGMENTS,
    RELEVANCE_RATINGS,
)
from saber_resources.settings import Settings


def checks(settings: Settings) -> list[dg.AssetChecksDefinition]:
    """Return the checks of this stage."""
    most = settings.profile.checks.max_failure_share

    def few_without_verdict(judgments: pl.DataFrame) -> Verdict:
        share = judgments["winner"].null_count() / max(1, judgments.height)
        return share <= most, {"share": share, "limit": most}

    return [
        *(
            contract(settings, table)
            for table in (PAIRWISE_JUDGMENTS, JUDGMENT_FAILURES, RELEVANCE_RATINGS)
        ),
        table_check(
            settings,
            PAIRWISE_JUDGMENTS.name,
            "few_failures",
            f"At most {most:.0%} of the judgments failed.",
            few_without_verdict,
        ),
        table_check(
            settings,
            PAIRWISE_JUDGMENTS.name,
            "no_rematch",
            "No two candidates of a query meet twice.",
            _no_rematch,
        ),
        table_check(
            settings,
            PAIRWISE_JUDGMENTS.name,
            "pools_only",
            "Only candidates of the query's pool are judged.",
            _pools_only,
            [CANDIDATE_POOLS.name],
        ),
        table_check(
            settings,
            RELEVANCE_RATINGS.name,
            "every_candidate_judged",
            "Every candidate of every pool has a rating.",
            _every_candidate_judged,
            [CANDIDATE_POOLS.name],
        ),
        table_check(
            settings,
            RELEVANCE_RATINGS.name,
            "graph_connected",
            "The comparisons of each query link its candidates; more tournament.rounds link more.",
            _graph_connected,
            severity=dg.AssetCheckSeverity.WARN,
        ),
    ]


def _no_rematch(judgments: pl.DataFrame) -> Verdict:
    first, second = pl.col("first_id"), pl.col("second_id")
    pairs = judgments.select(
        "query_id", pl.min_horizontal(first, second), pl.max_horizontal(first, second).alias("b")
    )
    again = pairs.height - pairs.n_unique()
    return again == 0, {"rematches": again}


def _pools_only(judgments: pl.DataFrame, pools: pl.DataFrame) -> Verdict:
    judged = pl.concat(
        [
            judgments.select("query_id", candidate_id=pl.col(side))
            for side in ("first_id", "second_id")
        ]
    ).unique()
    strangers = judged.join(pools, on=["query_id", "candidate_id"], how="anti")
    return strangers.is_empty(), {"strangers": strangers.height}


def _every_candidate_judged(ratings: pl.DataFrame, pools: pl.DataFrame) -> Verdict:
    rated = ratings.filter(pl.col("rating").is_not_null())
    missing = pools.join(rated, on=["query_id", "candidate_id"], how="anti")
    queries = missing["query_id"].unique().sort().head(5).to_list()
    return missing.is_empty(), {"unrated": missing.height, "queries": ", ".join(queries) or "none"}


def _graph_connected(ratings: pl.DataFrame) -> Verdict:
    parts = ratings.group_by("query_id").agg(pl.col("component").n_unique().alias("parts"))
    apart = parts.filter(pl.col("parts") > 1).sort("query_id")
    queries = ", ".join(apart["query_id"].head(5).to_list())
    return apart.is_empty(), {"disconnected": apart.height, "queries": queries or "none"}
