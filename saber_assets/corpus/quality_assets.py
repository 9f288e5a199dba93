"""Assets of the quality report: the funnel of each source, groups, and what the texts are like."""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg
import polars as pl

from saber_assets.corpus.duplicate_groups import duplicate_groups
from saber_assets.corpus.quality import (
    CORPUS_FUNNEL,
    DROPPED,
    GROUP_SIZES,
    PROBLEM_FEATURES,
    PROBLEM_VALUES,
    TEXT_LENGTHS,
    funnel,
    report,
)
from saber_assets.corpus.source_tables import DOCUMENTS_FOR_REVIEW, DROPPED_DOCUMENTS
from saber_assets.corpus.tables import DUPLICATE_GROUPS
from saber_assets.materialize import declare, hand_over
from saber_assets.plots import bars, histogram, shown
from saber_assets.sources import sources_of
from saber_resources.settings import Settings

QUALITY_TABLES = (
    CORPUS_FUNNEL,
    DUPLICATE_GROUPS,
    TEXT_LENGTHS,
    PROBLEM_FEATURES,
    PROBLEM_VALUES,
    GROUP_SIZES,
)


def quality_assets(settings: Settings) -> list[dg.AssetsDefinition]:
    """Return the asset that describes the corpus, source by source."""
    with_documents = bool(sources_of(settings, "documents"))
    documents = (DOCUMENTS_FOR_REVIEW.name, DROPPED_DOCUMENTS.name) if with_documents else ()

    @dg.multi_asset(
        name="describe_corpus",
        ins={
            name: dg.AssetIn()
            for name in ("raw_problems", "deduped_corpus", "dropped_problems", *documents)
        },
        outs=declare(QUALITY_TABLES, group="corpus", version=1, values={}),
    )
    def corpus_quality(**tables: pl.DataFrame) -> Iterator[dg.Output[pl.DataFrame]]:
        raw, kept, dropped = (
            tables[name] for name in ("raw_problems", "deduped_corpus", "dropped_problems")
        )
        counted = funnel(raw, kept, dropped, *(tables[name] for name in documents))
        groups = duplicate_groups(kept, dropped)
        described = report(raw, kept, dropped, groups)
        frames = (
            counted,
            groups,
            described.lengths,
            described.features,
            described.values,
            described.group_sizes,
        )
        reasons = (
            counted.filter(pl.col("stage") == DROPPED)
            .group_by("reason")
            .agg(pl.col("records").sum())
            .sort("records", descending=True)
        )
        yield from hand_over(
            list(zip(QUALITY_TABLES, frames, strict=True)),
            {},
            {
                CORPUS_FUNNEL.name: {
                    "why dropped": shown(
                        bars(
                            reasons["reason"].to_list(),
                            reasons["records"].to_list(),
                            "Why records were dropped",
                            "records",
                        )
                    )
                },
                TEXT_LENGTHS.name: {
                    "statements": shown(
                        histogram(
                            kept["problem"].str.len_chars().log10(),
                            "Length of statements",
                            "log10 of characters",
                        )
                    )
                },
            },
        )

    return [corpus_quality]
