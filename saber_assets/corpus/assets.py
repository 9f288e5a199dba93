"""Assets of the corpus stage: every record that was read, and the deduplicated problems."""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg
import polars as pl

from saber_assets.corpus.dedup import deduplicate
from saber_assets.corpus.readers import read_corpus
from saber_assets.corpus.tables import DEDUPED_CORPUS, DROPPED_PROBLEMS, RAW_PROBLEMS
from saber_assets.materialize import declare, hand_over
from saber_assets.plots import bars, histogram, shown
from saber_assets.sources import CORPUS_FILES, corpus_files
from saber_resources.progress import progress
from saber_resources.settings import Settings


def assets(settings: Settings) -> list[dg.AssetsDefinition]:
    """Return the assets of this stage, configured."""
    corpus = settings.profile.corpus
    read_values = {"corpus": {"bad_rows": corpus.bad_rows}}
    dedup_values = {
        "corpus": corpus.model_dump(
            include={
                "source_priority",
                "dedup_threshold",
                "dedup_permutations",
                "dedup_shingle",
                "dedup_seed",
            }
        )
    }

    @dg.multi_asset(
        name="read_corpus",
        outs=declare([RAW_PROBLEMS], group="corpus", version=1, values=read_values),
        deps=[CORPUS_FILES],
    )
    def raw_problems() -> Iterator[dg.Output[pl.DataFrame]]:
        frame = read_corpus(corpus_files(settings), bad_rows=corpus.bad_rows)
        sources = frame["source"].value_counts(sort=True, name="records")
        yield from hand_over(
            [(RAW_PROBLEMS, frame)],
            read_values,
            {
                RAW_PROBLEMS.name: {
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
            },
        )

    @dg.multi_asset(
        name="deduplicate",
        outs=declare(
            [DEDUPED_CORPUS, DROPPED_PROBLEMS],
            group="corpus",
            version=1,
            values=dedup_values,
            kinds=("datasketch",),
        ),
    )
    def deduped_corpus(raw_problems: pl.DataFrame) -> Iterator[dg.Output[pl.DataFrame]]:
        with progress("deduplicating", raw_problems.height) as advance:
            kept, dropped = deduplicate(
                raw_problems,
                source_priority=corpus.source_priority,
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
            dedup_values,
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

    return [raw_problems, deduped_corpus]
