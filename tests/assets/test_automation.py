"""The sensor of new retrievers: what could not be requested at first is requested later, once."""

import dagster as dg
import polars as pl

from saber_assets.automation import retriever_sensor
from saber_assets.definitions import build_definitions
from saber_assets.retrieval.assets import RETRIEVERS
from saber_resources.settings import save_settings


def test_retrievers_are_requested_when_there_are_ratings_and_until_they_have_scores(tmp_path):
    settings = save_settings(
        tmp_path / "work", "sample", {"retrieval": {"retrievers": ["bm25", "random"]}}
    )
    sensor = retriever_sensor(settings)
    with dg.DagsterInstance.ephemeral() as instance:

        def tick() -> list[str]:
            context = dg.build_sensor_context(
                instance=instance, definitions=build_definitions(settings)
            )
            result = sensor(context)
            for request in result.dynamic_partitions_requests:
                instance.add_dynamic_partitions(str(RETRIEVERS.name), list(request.partition_keys))
            return [request.partition_key for request in result.run_requests]

        assert tick() == []
        settings.workdir.tables.mkdir(parents=True)
        pl.DataFrame({"rating": [1.0]}).write_parquet(
            settings.workdir.tables / "relevance_ratings.parquet"
        )
        assert tick() == ["bm25", "random"], "the partitions were there before the ratings"
        instance.report_runless_asset_event(
            dg.AssetMaterialization("retriever_scores", partition="bm25")
        )
        assert tick() == ["random"]
