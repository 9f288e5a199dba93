"""Assets of the evaluation stage: the measure on every query, and the leaderboard."""

from collections.abc import Iterator

import dagster as dg
import polars as pl
from dagster import AssetExecutionContext

from saber_assets.evaluation import analysis_assets
from saber_assets.evaluation.leaderboard import build_leaderboard, measure_queries
from saber_assets.evaluation.ndcg import Ndcg
from saber_assets.evaluation.tables import LEADERBOARD, QUERY_MEASURES
from saber_assets.materialize import declare, hand_over
from saber_assets.plots import histogram, intervals, shown
from saber_assets.retrieval.entry import Entry
from saber_assets.retrieval.registry import VERSION_KEY, inputs_of, registry
from saber_assets.retrieval.tables import (
    RETRIEVER_FAILURES,
    RETRIEVER_SCORES,
    SETTINGS,
)
from saber_assets.table import Table
from saber_resources.settings import Settings
from saber_resources.warehouse import table_path

PARTITIONS_KEY = "saber/partitions"
DATA_TAG = "dagster/data_version"
INPUT_TAG = "dagster/input_data_version/"


def assets(settings: Settings) -> list[dg.AssetsDefinition]:
    """Return the assets of this stage, configured."""
    evaluation = settings.profile.evaluation
    measure_values = {"evaluation": {"gain": evaluation.gain, "cutoff": evaluation.cutoff}}
    board_values = {
        "evaluation": {"resamples": evaluation.resamples, "seed": evaluation.seed},
    }
    measure = Ndcg(gain=evaluation.gain, cutoff=evaluation.cutoff)

    @dg.multi_asset(
        name="measure_queries",
        outs=declare([QUERY_MEASURES], group="evaluation", version=1, values=measure_values),
        deps=[RETRIEVER_SCORES.name, RETRIEVER_FAILURES.name],
    )
    def query_measures(
        context: AssetExecutionContext, relevance_ratings: pl.DataFrame
    ) -> Iterator[dg.Output[pl.DataFrame]]:
        versions = {
            name: version
            for name, entry in _entries(settings).items()
            if (version := _current_version(context.instance, entry)) is not None
        }
        measured = measure_queries(
            _partitions(settings, RETRIEVER_SCORES, versions),
            _partitions(settings, RETRIEVER_FAILURES, versions),
            relevance_ratings,
            measure,
        )
        yield from hand_over(
            [(QUERY_MEASURES, measured)],
            measure_values,
            {
                QUERY_MEASURES.name: {
                    PARTITIONS_KEY: dg.MetadataValue.json(versions),
                    "values": shown(histogram(measured["value"], f"{measure}", "value")),
                }
            },
        )

    @dg.multi_asset(
        name="rank_retrievers",
        outs=declare([LEADERBOARD], group="evaluation", version=1, values=board_values),
    )
    def leaderboard(
        query_measures: pl.DataFrame, benchmark_queries: pl.DataFrame
    ) -> Iterator[dg.Output[pl.DataFrame]]:
        board = build_leaderboard(
            query_measures,
            benchmark_queries,
            {name: entry.family for name, entry in _entries(settings).items()},
            resamples=evaluation.resamples,
            seed=evaluation.seed,
        )
        main = board.filter((pl.col("setting") == SETTINGS[0]) & (pl.col("domain") == "all"))
        plot = intervals(
            main["retriever"].to_list(),
            main["mean"].to_list(),
            main["low"].to_list(),
            main["high"].to_list(),
            f"{measure}, {SETTINGS[0]}, 95 % intervals",
            str(measure),
        )
        yield from hand_over(
            [(LEADERBOARD, board)], board_values, {LEADERBOARD.name: {"board": shown(plot)}}
        )

    return [query_measures, leaderboard, *analysis_assets.assets(settings)]


def _entries(settings: Settings) -> dict[str, Entry]:
    return registry(settings.profile.retrieval.retrievers, settings.workdir.own_retrievers)


def _current_version(instance: dg.DagsterInstance, entry: Entry) -> str | None:
    """Return the data version of a retriever's scores, None where they are not comparable.

    Those of another version of the retriever or of other pools may lie there still, when it can't
    run here any more.
    """
    event = _latest(instance, RETRIEVER_SCORES.name, entry.name)
    stated = event and event.metadata.get(VERSION_KEY)
    if event is None or stated is None or stated.value != entry.version:
        return None
    tags = event.tags or {}
    for name in inputs_of(entry.name):
        made = _latest(instance, name)
        if made is None or (made.tags or {}).get(DATA_TAG) != tags.get(f"{INPUT_TAG}{name}"):
            return None
    return tags.get(DATA_TAG)


def _latest(
    instance: dg.DagsterInstance, name: str, partition: str | None = None
) -> dg.AssetMaterialization | None:
    wanted = dg.AssetRecordsFilter(
        asset_key=dg.AssetKey(name), asset_partitions=None if partition is None else [partition]
    )
    records = instance.fetch_materializations(wanted, limit=1).records
    return records[0].asset_materialization if records else None


def _partitions(settings: Settings, table: Table, names: dict[str, str]) -> pl.DataFrame:
    paths = [table_path(settings.workdir.tables, table.name, name) for name in names]
    frames = [pl.read_parquet(path, hive_partitioning=False, glob=False) for path in paths]
    return pl.concat(frames) if frames else table.empty()
