"""Asset checks of the retrieval stage."""

from __future__ import annotations

import dagster as dg
import polars as pl

from saber_assets.candidates.tables import CANDIDATE_POOLS
from saber_assets.checks import Verdict, contract, table_check
from saber_assets.retrieval.tables import RETRIEVER_FAILURES, RETRIEVER_SCORES
from saber_resources.settings import Settings

KEY = ["retriever", "setting", "query_id"]


def checks(settings: Settings) -> list[dg.AssetChecksDefinition]:
    """Return the checks of this stage."""
    return [
        contract(settings, RETRIEVER_SCORES),
        contract(settings, RETRIEVER_FAILURES),
        table_check(
            settings,
            RETRIEVER_SCORES.name,
            "whole_pools",
            "Each retriever scored every pool whole in each of its settings, or failed by name.",
            _whole_pools,
            [CANDIDATE_POOLS.name, RETRIEVER_FAILURES.name],
        ),
    ]


def _whole_pools(scores: pl.DataFrame, pools: pl.DataFrame, failures: pl.DataFrame) -> Verdict:
    sizes = pools.group_by("query_id").len("size")
    scored = scores.group_by(KEY).len("scored").join(sizes, on="query_id", how="left")
    partial = scored.filter(pl.col("scored") != pl.col("size").fill_null(0)).height
    each = pl.concat([scored.select(KEY), failures.select(KEY)]).unique()
    expected = each.select("retriever", "setting").n_unique() * sizes.height
    done = each.height
    return partial == 0 and done >= expected, {
        "partial": partial,
        "done": done,
        "expected": expected,
    }
