"""Sensors: notice changed source files, and evaluate retrievers that joined the registry."""

from __future__ import annotations

import dagster as dg

from saber_assets.retrieval.assets import RETRIEVERS
from saber_assets.retrieval.tables import RETRIEVER_FAILURES, RETRIEVER_SCORES
from saber_assets.retrievers import retrievers_of
from saber_assets.sources import source_events
from saber_resources.settings import Settings
from saber_resources.warehouse import table_files

SCORES = dg.AssetSelection.assets(RETRIEVER_SCORES.name, RETRIEVER_FAILURES.name)


def source_sensor(settings: Settings) -> dg.SensorDefinition:
    """Return the sensor that reports a new version of a corpus or ontology file."""

    @dg.sensor(name="changed_sources", target=None, minimum_interval_seconds=60)
    def changed_sources(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        return dg.SensorResult(asset_events=source_events(settings, context.instance))

    return changed_sources


def retriever_sensor(settings: Settings) -> dg.SensorDefinition:
    """Return the sensor that makes a partition of each registered retriever, and requests it.

    A version of a retriever is requested once: a failure is shown, not repeated for ever.
    """

    @dg.sensor(name="new_retrievers", target=SCORES, minimum_interval_seconds=30)
    def new_retrievers(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        entries = retrievers_of(settings)
        present = set(context.instance.get_dynamic_partitions(str(RETRIEVERS.name)))
        scored = context.instance.get_materialized_partitions(dg.AssetKey(RETRIEVER_SCORES.name))
        new = [name for name in entries if name not in present]
        ready = bool(table_files(settings.workdir.tables, "relevance_ratings"))
        requests = [
            dg.RunRequest(run_key=f"{name}@{entries[name].version}", partition_key=name)
            for name in entries
            if ready and name not in scored and entries[name].missing() is None
        ]
        return dg.SensorResult(
            run_requests=requests,
            dynamic_partitions_requests=[RETRIEVERS.build_add_request(new)] if new else [],
        )

    return new_retrievers
