"""Which kept scores count: those on these pools and texts, by this version of a retriever.

Those by the version before count as well while the new one has none: a server that is down, or a
scoring that is under way, takes no row off the board.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import dagster as dg

from saber_assets.retrieval.entry import Entry
from saber_assets.retrieval.registry import VERSION_KEY, inputs_of
from saber_assets.retrieval.tables import RETRIEVER_SCORES
from saber_resources.warehouse import is_table_file, table_path

DATA_TAG = "dagster/data_version"
INPUT_TAG = "dagster/input_data_version/"


def usable_scores(
    instance: dg.DagsterInstance, entries: Mapping[str, Entry], tables: Path
) -> dict[str, str]:
    """Return the data versions of the scores that the board shows, by retriever."""
    inputs = {
        table: data_version(instance, table)
        for table in {table for name in entries for table in inputs_of(name)}
    }
    found = {name: scores_version(instance, entry, inputs) for name, entry in entries.items()}
    return {
        name: version
        for name, version in found.items()
        if version is not None and is_table_file(table_path(tables, RETRIEVER_SCORES.name, name))
    }


def scores_version(
    instance: dg.DagsterInstance, entry: Entry, inputs: Mapping[str, str | None] | None = None
) -> str | None:
    """Return the data version of a retriever's scores, None where they are not comparable.

    Those of other pools or texts never are. Those of another version are while this one could run
    here but has no scores yet; one that can't, such as a file with an error, has no row.

    Args:
        instance: holds what was materialised.
        entry: the retriever.
        inputs: the data versions of the tables that decide scores; None: they are looked up.
    """
    event = latest(instance, RETRIEVER_SCORES.name, entry.name)
    if event is None:
        return None
    now = input_versions(instance, entry.name) if inputs is None else inputs
    if _changed_inputs(entry, event, now):
        return None
    if _is_other(entry, event) and entry.missing() is not None:
        return None
    return (event.tags or {}).get(DATA_TAG)


def why_due(instance: dg.DagsterInstance, entry: Entry) -> str | None:
    """Return why a retriever is to be scored, or None where its scores count."""
    event = latest(instance, RETRIEVER_SCORES.name, entry.name)
    return "never scored" if event is None else why_stale(instance, entry, event)


def why_to_score(instance: dg.DagsterInstance, entry: Entry, tables: Path) -> str | None:
    """Return why a retriever is to be scored, or None where its scores count and are there."""
    reason = why_due(instance, entry)
    if reason is None and not is_table_file(table_path(tables, RETRIEVER_SCORES.name, entry.name)):
        return "its file is gone"
    return reason


def why_stale(
    instance: dg.DagsterInstance, entry: Entry, event: dg.AssetMaterialization
) -> str | None:
    """Return what changed since scores were made, or None."""
    if _is_other(entry, event):
        return "its version changed"
    changed = _changed_inputs(entry, event, input_versions(instance, entry.name))
    return f"{' and '.join(changed)} changed" if changed else None


def _is_other(entry: Entry, event: dg.AssetMaterialization) -> bool:
    """Tell whether another version of a retriever made its scores."""
    stated = event.metadata.get(VERSION_KEY)
    return stated is None or (entry.version_known and stated.value != entry.version)


def _changed_inputs(
    entry: Entry, event: dg.AssetMaterialization, now: Mapping[str, str | None]
) -> list[str]:
    tags = event.tags or {}
    return [
        name
        for name in inputs_of(entry.name)
        if now[name] is None or tags.get(f"{INPUT_TAG}{name}") != now[name]
    ]


def input_versions(instance: dg.DagsterInstance, retriever: str) -> dict[str, str | None]:
    """Return the data versions of the tables that decide a retriever's scores, None if unmade."""
    return {name: data_version(instance, name) for name in inputs_of(retriever)}


def data_version(instance: dg.DagsterInstance, name: str) -> str | None:
    """Return the data version of an unpartitioned table, None where it was never made."""
    made = latest(instance, name)
    return None if made is None else (made.tags or {}).get(DATA_TAG)


def latest(
    instance: dg.DagsterInstance, name: str, partition: str | None = None
) -> dg.AssetMaterialization | None:
    """Return how a table, or one of its partitions, was made last."""
    made = latest_and_when(instance, name, partition)
    return None if made is None else made[0]


def latest_and_when(
    instance: dg.DagsterInstance, name: str, partition: str | None = None
) -> tuple[dg.AssetMaterialization, float] | None:
    """Return the same, and when that was, in seconds since 1970."""
    wanted = dg.AssetRecordsFilter(
        asset_key=dg.AssetKey(name), asset_partitions=None if partition is None else [partition]
    )
    records = instance.fetch_materializations(wanted, limit=1).records
    if not records or records[0].asset_materialization is None:
        return None
    return records[0].asset_materialization, records[0].timestamp
