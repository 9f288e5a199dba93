"""Asset checks of the corpus stage."""

from __future__ import annotations

import dagster as dg
import polars as pl

from saber_assets.checks import Verdict, contract, table_check
from saber_assets.corpus.tables import DEDUPED_CORPUS, DROPPED_PROBLEMS, RAW_PROBLEMS
from saber_resources.settings import Settings


def checks(settings: Settings) -> list[dg.AssetChecksDefinition]:
    """Return the checks of this stage."""
    return [
        *(contract(settings, table) for table in (RAW_PROBLEMS, DEDUPED_CORPUS, DROPPED_PROBLEMS)),
        table_check(
            settings,
            DEDUPED_CORPUS.name,
            "nothing_lost",
            "Every record that was read is kept or dropped with a reason.",
            _nothing_lost,
            [DROPPED_PROBLEMS.name, RAW_PROBLEMS.name],
        ),
    ]


def _nothing_lost(kept: pl.DataFrame, dropped: pl.DataFrame, raw: pl.DataFrame) -> Verdict:
    counts = {"kept": kept.height, "dropped": dropped.height, "read": raw.height}
    return kept.height + dropped.height == raw.height, counts
