"""Asset of the retrieval stage: the scores of every retriever, one partition each."""

from collections.abc import Iterator

import dagster as dg
import polars as pl

from saber_assets.errors import InputError
from saber_assets.materialize import declare, hand_over
from saber_assets.retrieval.registry import VERSION_KEY
from saber_assets.retrieval.scoring import score_pools
from saber_assets.retrieval.tables import RETRIEVER_FAILURES, RETRIEVER_SCORES, SETTINGS
from saber_assets.retrievers import retrievers_of
from saber_resources.progress import progress
from saber_resources.settings import Settings

RETRIEVERS = dg.DynamicPartitionsDefinition(name="retrievers")


def assets(settings: Settings) -> list[dg.AssetsDefinition]:
    """Return the assets of this stage, configured."""
    values = {"settings": list(SETTINGS)}

    @dg.multi_asset(
        name="score_retriever",
        outs=declare(
            [RETRIEVER_SCORES, RETRIEVER_FAILURES], group="retrieval", version=1, values=values
        ),
        partitions_def=RETRIEVERS,
        pool="retrievers",
    )
    def retriever_scores(
        context: dg.AssetExecutionContext,
        candidate_pools: pl.DataFrame,
        deduped_corpus: pl.DataFrame,
        relevance_ratings: pl.DataFrame,
    ) -> Iterator[dg.Output[pl.DataFrame]]:
        name = context.partition_key
        entries = retrievers_of(settings)
        if name not in entries:
            raise InputError(
                f"there is no retriever '{name}' in the registry",
                "add it to retrieval.retrievers in saber.toml, or with `saber evaluate`",
            )
        entry = entries[name]
        lacking = entry.missing()
        if lacking is not None:
            raise InputError(f"retriever '{name}' can't run here", lacking)
        queries = candidate_pools["query_id"].n_unique()
        with progress(f"scoring with {name}", queries * len(SETTINGS)) as advance:
            scores, failures = score_pools(
                name,
                entry.version,
                entry.make(),
                candidate_pools,
                deduped_corpus,
                SETTINGS,
                relevance_ratings,
                progress=advance,
            )
        yield from hand_over(
            [(RETRIEVER_SCORES, scores), (RETRIEVER_FAILURES, failures)],
            values,
            {
                table.name: {VERSION_KEY: entry.version, "family": entry.family}
                for table in (RETRIEVER_SCORES, RETRIEVER_FAILURES)
            },
        )

    return [retriever_scores]
