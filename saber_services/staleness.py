"""Which assets are fresh, stale (and why) or missing, read from what Dagster recorded."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import dagster as dg
import polars as pl
from dagster import AssetKey

from saber_assets.content_hash import content_hash
from saber_assets.evaluation.assets import PARTITIONS_KEY
from saber_assets.kept_scores import (
    DATA_TAG,
    INPUT_TAG,
    latest_and_when,
    scores_version,
    usable_scores,
)
from saber_assets.materialize import VALUES_KEY
from saber_assets.publishing.assets import ORIGIN_KEY
from saber_assets.retrieval.entry import Entry
from saber_assets.retrieval.registry import VERSION_KEY, inputs_of
from saber_assets.sources import source_versions
from saber_resources.settings import Settings
from saber_resources.warehouse import is_table_file, table_path
from saber_services.retries import read_retries, retry_reason

CLOCK_SLACK_SECONDS = 2.0
CODE_TAG = "dagster/code_version"

Status = Literal["fresh", "stale", "missing"]


@dataclass(frozen=True)
class AssetState:
    """The state of an asset or, where it is partitioned, of one of its partitions."""

    name: str
    partition: str | None
    status: Status
    reasons: tuple[str, ...] = ()
    rows: int | None = None
    made_at: float | None = None
    data_version: str | None = None
    origin: str | None = None
    """Where it was imported from; None where it was made."""


@dataclass
class Survey:
    """The states of all assets, in the order in which the data flows."""

    states: list[AssetState] = field(default_factory=list)
    lacking: frozenset[str] = frozenset()
    """Retrievers that can't run here, or didn't just now: the board waits for none of them."""
    usable: Mapping[str, str] = field(default_factory=dict)
    """Data versions of the scores that the board would show, by retriever."""

    def of(self, name: str) -> list[AssetState]:
        """Return the states of an asset: one, or one a partition."""
        return [state for state in self.states if state.name == name]

    def version(self, name: str) -> str | None:
        """Return the data version of an unpartitioned asset."""
        return self.of(name)[0].data_version

    def due(self, name: str) -> bool:
        """Tell whether an asset, or any partition of it, isn't fresh."""
        return any(state.status != "fresh" for state in self.of(name))


def survey(
    graph: Any,
    instance: dg.DagsterInstance,
    settings: Settings,
    entries: Mapping[str, Entry],
    unmade: Collection[str] = (),
) -> Survey:
    """Return the state of every asset.

    Args:
        graph: the asset graph of the definitions.
        instance: holds what was materialised, from what, by which code.
        settings: to find the files.
        entries: the retrievers that belong on the board.
        unmade: those whose scoring has just failed: what follows is made without new scores.
    """
    lacking = {name for name, entry in entries.items() if entry.missing()}
    found = Survey(
        lacking=frozenset({*lacking, *unmade}),
        usable=usable_scores(instance, entries, settings.workdir.tables),
    )
    built = settings.profile.imported.folder is None
    sources = source_versions(settings) if built else {}
    broken = _broken_promises(graph, instance)
    wishes = read_retries(settings.workdir)
    for key in graph.toposorted_asset_keys:
        node = graph.get(key)
        name = key.to_user_string()
        if name in sources:
            continue
        for partition in list(entries) if node.is_partitioned else [None]:
            state = _state(node, partition, found, sources, instance, settings, entries)
            if state.status == "fresh" and key in broken:
                state = replace(state, status="stale", reasons=(f"its check {broken[key]} failed",))
            together = sorted(
                one.to_user_string() for one in node.execution_set_asset_keys or {key}
            )
            again = retry_reason(wishes, together, state.made_at or 0.0)
            if again is not None and state.status != "missing":
                state = replace(state, status="stale", reasons=(*state.reasons, again))
            found.states.append(state)
    return found


def _broken_promises(graph: Any, instance: dg.DagsterInstance) -> dict[AssetKey, str]:
    """Return the assets that failed a check when they were made last, with the check's name.

    A build ends there; without this, the next one would take such an asset for good.
    """
    keys = list(graph.asset_check_keys)
    records = instance.event_log_storage.get_latest_asset_check_execution_by_key(keys)
    found = {}
    for key, record in records.items():
        evaluation = record.event and record.event.asset_check_evaluation
        if (
            evaluation is not None
            and not evaluation.passed
            and evaluation.severity == dg.AssetCheckSeverity.ERROR
        ):
            found[key.asset_key] = key.name
    return found


def _state(
    node: Any,
    partition: str | None,
    found: Survey,
    sources: Mapping[str, str],
    instance: dg.DagsterInstance,
    settings: Settings,
    entries: Mapping[str, Entry],
) -> AssetState:
    name = node.key.to_user_string()
    made = latest_and_when(instance, name, partition)
    if made is None:
        return AssetState(name, partition, "missing", ("never made",))
    event, made_at = made
    tags = dict(event.tags or {})
    rows = event.metadata.get("dagster/row_count")
    state = AssetState(
        name,
        partition,
        "fresh",
        rows=None if rows is None else int(rows.value),  # type: ignore[arg-type]
        made_at=made_at,
        data_version=tags.get(DATA_TAG),
        origin=_text(event, ORIGIN_KEY),
    )
    file = table_path(settings.workdir.tables, name, partition)
    if not is_table_file(file):
        reason = "its file is damaged" if file.exists() else "its file is gone"
        return replace(state, status="missing", reasons=(reason,))
    if _changed_outside(file, state):
        return replace(state, status="stale", reasons=("its file was changed after it was made",))
    reasons = [
        *_code_reasons(node, event),
        *_input_reasons(node, partition, tags, found, sources),
        *_partition_reasons(event, found),
    ]
    if partition is not None and _is_other(entries[partition], event):
        old = (
            ", the board has its old scores" if scores_version(instance, entries[partition]) else ""
        )
        reasons.append(f"retriever '{partition}' changed{old}")
    return replace(state, status="stale" if reasons else "fresh", reasons=tuple(reasons))


def _is_other(entry: Entry, event: dg.AssetMaterialization) -> bool:
    return entry.version_known and _text(event, VERSION_KEY) != entry.version


def _changed_outside(file: Path, state: AssetState) -> bool:
    """Tell whether a file holds other rows than were recorded.

    Only a file that is younger than its record is read: one that somebody else wrote, a copy, or
    what a killed build had written but not yet recorded.
    """
    if state.made_at is None or file.stat().st_mtime <= state.made_at + CLOCK_SLACK_SECONDS:
        return False
    try:
        frame = pl.read_parquet(file, hive_partitioning=False, glob=False)
    except (OSError, pl.exceptions.PolarsError):
        return True
    return content_hash(frame) != state.data_version


def _code_reasons(node: Any, event: dg.AssetMaterialization) -> list[str]:
    recorded = (event.tags or {}).get(CODE_TAG)
    if recorded == node.code_version:
        return []
    before = event.metadata.get(VALUES_KEY)
    now = node.metadata.get(VALUES_KEY)
    if before is None or now is None:
        return ["its code changed"]
    changes = changed_values(before.value, _plain(now))  # type: ignore[arg-type]
    return changes or ["its code changed"]


def changed_values(before: Mapping[str, Any], now: Mapping[str, Any], path: str = "") -> list[str]:
    """Return one phrase for each value that differs, such as `tournament.rounds: 20 -> 5`."""
    changes = []
    for key in sorted({*before, *now}):
        old, new = before.get(key), now.get(key)
        place = f"{path}{key}"
        if old == new:
            continue
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            changes += changed_values(old, new, f"{place}.")
        elif place.startswith("prompts."):
            changes.append(f"prompt '{key}' changed")
        else:
            changes.append(f"{place}: {old} -> {new}")
    return changes


def _input_reasons(
    node: Any,
    partition: str | None,
    tags: Mapping[str, str],
    found: Survey,
    sources: Mapping[str, str],
) -> list[str]:
    reasons = []
    parents = sorted(parent.to_user_string() for parent in node.parent_keys)
    for name in parents if partition is None else inputs_of(partition):
        recorded = tags.get(f"{INPUT_TAG}{name}")
        if name in sources:
            if recorded != sources[name]:
                reasons.append(f"{name} changed")
            continue
        states = [state for state in found.of(name) if state.partition not in found.lacking]
        if any(state.status != "fresh" for state in states):
            reasons.append(f"upstream {name} is {_worst(states)}")
        elif states and states[0].partition is None and recorded != states[0].data_version:
            reasons.append(f"{name} changed")
    return reasons


def _partition_reasons(event: dg.AssetMaterialization, found: Survey) -> list[str]:
    recorded = event.metadata.get(PARTITIONS_KEY)
    if recorded is None:
        return []
    now = found.usable
    before = dict(recorded.value)  # type: ignore[arg-type]
    changed = sorted(str(key) for key in {*before, *now} if before.get(key) != now.get(key))
    return [f"retriever '{name}' has new scores or came or went" for name in changed]


def _worst(states: list[AssetState]) -> Status:
    return "missing" if any(state.status == "missing" for state in states) else "stale"


def _text(event: dg.AssetMaterialization, key: str) -> str | None:
    value = event.metadata.get(key)
    return None if value is None else str(value.value)


def _plain(value: Any) -> Any:
    return value.value if hasattr(value, "value") else value
