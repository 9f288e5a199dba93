"""Asset checks of the corpus stage."""

from __future__ import annotations

import dagster as dg
import polars as pl

from saber_assets.checks import Verdict, contract, table_check
from saber_assets.corpus.quality import CORPUS_FUNNEL, QUALITY_TABLES, funnel_faults
from saber_assets.corpus.source_tables import (
    DOCUMENT_PROBLEMS,
    DOCUMENTS_FOR_REVIEW,
    DROPPED_DOCUMENTS,
    source_table,
)
from saber_assets.corpus.tables import DEDUPED_CORPUS, DROPPED_PROBLEMS, RAW_PROBLEMS
from saber_assets.sources import sources_of
from saber_assets.table import Table
from saber_resources.settings import Settings


def checks(settings: Settings) -> list[dg.AssetChecksDefinition]:
    """Return the checks of this stage."""
    return [
        *(contract(settings, table) for table in tables(settings)),
        table_check(
            settings,
            DEDUPED_CORPUS.name,
            "nothing_lost",
            "Every record that was read is kept or dropped with a reason.",
            _nothing_lost,
            [DROPPED_PROBLEMS.name, RAW_PROBLEMS.name],
        ),
        table_check(
            settings,
            CORPUS_FUNNEL.name,
            "funnel_adds_up",
            "Of each source, as many records were read as are kept, dropped and in review.",
            _adds_up,
        ),
    ]


def tables(settings: Settings) -> list[Table]:
    """Return the contracts of this stage's tables, as far as the settings make them."""
    documents = (DOCUMENT_PROBLEMS, DOCUMENTS_FOR_REVIEW, DROPPED_DOCUMENTS)
    return [
        *(source_table(source.name, "records") for source in sources_of(settings, "records")),
        *(source_table(source.name, "documents") for source in sources_of(settings, "documents")),
        *(documents if sources_of(settings, "documents") else ()),
        RAW_PROBLEMS,
        DEDUPED_CORPUS,
        DROPPED_PROBLEMS,
        *QUALITY_TABLES,
    ]


def _nothing_lost(kept: pl.DataFrame, dropped: pl.DataFrame, raw: pl.DataFrame) -> Verdict:
    counts = {"kept": kept.height, "dropped": dropped.height, "read": raw.height}
    return kept.height + dropped.height == raw.height, counts


def _adds_up(funnel: pl.DataFrame) -> Verdict:
    faults = funnel_faults(funnel)
    return not faults, {"faults": "; ".join(faults) or "none"}
