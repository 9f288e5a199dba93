"""Assets of the corpus stage: every record that was read, and the deduplicated problems."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import dagster as dg
import numpy as np
import polars as pl

from saber_assets.corpus.cleaning.steps import REVISION
from saber_assets.corpus.dedup import deduplicate
from saber_assets.corpus.duplicate_groups import duplicate_groups
from saber_assets.corpus.licences import spdx
from saber_assets.corpus.problem_rows import (
    CleaningPass,
    Facts,
    number_occurrences,
    record_part,
)
from saber_assets.corpus.quality import (
    CORPUS_FUNNEL,
    DROPPED,
    QUALITY_TABLES,
    TEXT_LENGTHS,
    funnel,
    report,
)
from saber_assets.corpus.readers import read_corpus
from saber_assets.corpus.rights import with_rights
from saber_assets.corpus.source_kinds.assets import lazy_inputs, source_assets
from saber_assets.corpus.source_kinds.registry import kind
from saber_assets.corpus.source_tables import (
    DOCUMENT_PROBLEMS,
    DOCUMENTS_FOR_REVIEW,
    DROPPED_DOCUMENTS,
    THREAD_PROBLEMS,
)
from saber_assets.corpus.tables import DEDUPED_CORPUS, DROPPED_PROBLEMS, RAW_PROBLEMS
from saber_assets.materialize import code_version, declare, hand_over
from saber_assets.plots import bars, histogram, shown
from saber_assets.sources import CORPUS_FILES, corpus_files, sources_of
from saber_assets.streamed import height_of
from saber_resources.blocks import record_blocks
from saber_resources.profiles import Source
from saber_resources.progress import progress
from saber_resources.settings import Settings

GROUP = "corpus"


def assets(settings: Settings) -> list[dg.AssetsDefinition]:
    """Return the assets of this stage, configured."""
    return [*source_assets(settings), _raw(settings), _deduped(settings), _quality(settings)]


def facts_of(source: Source) -> Facts:
    """Return what holds for the records of a source that don't say otherwise themselves.

    Raises:
        InputError: for a licence that isn't known.
    """
    reader = kind(source.kind)
    stated = source.licence or reader.licence
    return Facts(
        licence=None if stated is None else spdx(stated),
        for_training=reader.for_training if source.for_training is None else source.for_training,
        language=source.language,
        by_origin=source.kind == "records",
    )


def priority_of(settings: Settings) -> list[str]:
    """Return the names of sources, highest priority first; a kind stands for all its sources."""
    corpus = settings.profile.corpus
    named = []
    for wanted in corpus.source_priority:
        kin = [source.name for source in corpus.sources if source.kind == wanted]
        named += [wanted, *kin]
    return list(dict.fromkeys(named))


def _raw(settings: Settings) -> dg.AssetsDefinition:
    corpus = settings.profile.corpus
    facts = {source.name: facts_of(source) for source in corpus.sources}
    values = {
        "corpus": {
            "bad_rows": corpus.bad_rows,
            "cleaning": corpus.cleaning,
            "sources": {name: asdict(known) for name, known in facts.items()},
        },
        "revision": REVISION,
    }
    records = {f"source_{source.name}": source.name for source in sources_of(settings, "records")}
    made = [
        *([THREAD_PROBLEMS.name] if sources_of(settings, "threads") else []),
        *([DOCUMENT_PROBLEMS.name] if sources_of(settings, "documents") else []),
    ]

    @dg.multi_asset(
        name="clean_problems",
        ins=lazy_inputs([*records, *made]),
        outs=declare([RAW_PROBLEMS], group=GROUP, version=2, values=values),
        deps=[CORPUS_FILES],
    )
    def raw_problems(**tables: pl.LazyFrame) -> Iterator[dg.Output[pl.DataFrame]]:
        files = corpus_files(settings)
        if files:
            own = read_corpus(files, bad_rows=corpus.bad_rows)
            tables["own"] = own.with_columns(solutions=pl.concat_list("solution")).lazy()
        rows = sum(map(height_of, tables.values()))
        with (
            record_blocks(settings, RAW_PROBLEMS.name, rows) as blocks,
            progress("cleaning", rows) as advance,
        ):
            parts = [
                record_part(table.lazy(), blocks.place(f"{name}.parquet"), records.get(name))
                for name, table in tables.items()
            ]
            cleaning = CleaningPass(tuple(part for part, _ in parts), corpus.cleaning, facts)
            key = code_version(1, {**values, "parts": [version for _, version in parts]})
            frames = [*blocks.run(key, cleaning, np.arange(rows), advance)]
        frame = with_rights(number_occurrences(pl.concat(frames)))
        described = {RAW_PROBLEMS.name: _described(frame)}
        yield from hand_over([(RAW_PROBLEMS, frame)], values, described)

    return raw_problems


def _described(frame: pl.DataFrame) -> dict[str, Any]:
    sources = frame["source"].value_counts(sort=True, name="records")
    return {
        "faulted": frame["fault"].is_not_null().sum(),
        "by source": shown(
            bars(
                sources["source"].to_list(),
                sources["records"].to_list(),
                "Records by source",
                "records",
            )
        ),
    }


def _deduped(settings: Settings) -> dg.AssetsDefinition:
    corpus = settings.profile.corpus
    keys = {"dedup_threshold", "dedup_permutations", "dedup_shingle", "dedup_seed"}
    priority = priority_of(settings)
    values = {"corpus": {"source_priority": priority, **corpus.model_dump(include=keys)}}

    @dg.multi_asset(
        name="deduplicate",
        outs=declare(
            [DEDUPED_CORPUS, DROPPED_PROBLEMS],
            group=GROUP,
            version=2,
            values=values,
            kinds=("datasketch",),
        ),
    )
    def deduped_corpus(raw_problems: pl.DataFrame) -> Iterator[dg.Output[pl.DataFrame]]:
        with progress("deduplicating", raw_problems.height) as advance:
            kept, dropped = deduplicate(
                raw_problems,
                source_priority=priority,
                threshold=corpus.dedup_threshold,
                num_perm=corpus.dedup_permutations,
                shingle=corpus.dedup_shingle,
                seed=corpus.dedup_seed,
                progress=advance,
            )
        reasons = dropped["reason"].value_counts(sort=True)
        lengths = kept["solution"].str.len_chars().log10()
        yield from hand_over(
            [(DEDUPED_CORPUS, kept), (DROPPED_PROBLEMS, dropped)],
            values,
            {
                DEDUPED_CORPUS.name: {
                    "read": raw_problems.height,
                    "kept": kept.height,
                    "solution lengths": shown(
                        histogram(lengths, "Length of solutions", "log10 of characters")
                    ),
                },
                DROPPED_PROBLEMS.name: {
                    str(reason): count for reason, count in reasons.iter_rows()
                },
            },
        )

    return deduped_corpus


def _quality(settings: Settings) -> dg.AssetsDefinition:
    """Return the asset that describes the corpus, source by source."""
    with_documents = bool(sources_of(settings, "documents"))
    documents = (DOCUMENTS_FOR_REVIEW.name, DROPPED_DOCUMENTS.name) if with_documents else ()

    @dg.multi_asset(
        name="describe_corpus",
        ins={
            name: dg.AssetIn()
            for name in ("raw_problems", "deduped_corpus", "dropped_problems", *documents)
        },
        outs=declare(QUALITY_TABLES, group=GROUP, version=1, values={}),
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

    return corpus_quality
