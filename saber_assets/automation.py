"""Sensors and the schedule that keep the board current; see docs/keeping-current.md."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

import dagster as dg

from saber_assets.errors import InputError
from saber_assets.evaluation.assets import PARTITIONS_KEY
from saber_assets.evaluation.tables import LEADERBOARD, QUERY_MEASURES
from saber_assets.kept_scores import (
    INPUT_TAG,
    data_version,
    input_versions,
    latest,
    usable_scores,
    why_due,
    why_to_score,
)
from saber_assets.request_policy import (
    Attempt,
    Due,
    decide,
    key_of,
    read_attempts,
    write_attempts,
)
from saber_assets.retrieval.assets import POOL, RETRIEVERS
from saber_assets.retrieval.entry import Entry
from saber_assets.retrieval.tables import RETRIEVER_FAILURES, RETRIEVER_SCORES
from saber_assets.retrievers import retrievers_of
from saber_assets.run_tags import (
    BOARD_TAG,
    BUILD_TAG,
    KEY_TAG,
    LANE_TAG,
    PARTITION_TAG,
    REASON_TAG,
)
from saber_assets.sources import source_events
from saber_assets.tournament.tables import RELEVANCE_RATINGS
from saber_resources.errors import SetupError
from saber_resources.lock import is_held
from saber_resources.settings import Settings, load_settings
from saber_resources.warehouse import table_files

SCORES = dg.AssetSelection.assets(RETRIEVER_SCORES.name, RETRIEVER_FAILURES.name)
BOARD = dg.AssetSelection.assets(QUERY_MEASURES.name).downstream()

SLOTS = 3
"""Of the pool of retrievers, where nobody has set another limit: a model and two light ones."""
QUIET_AT_LATEST = 600.0
"""Seconds after which the board is made although scores still change."""

SEEN = "seen"
"""In the cursor of the board's sensor: what it saw last, and since when that has been changing."""

UNFINISHED = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.MANAGED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
Clock = Callable[[], float]


def source_sensor(settings: Settings) -> dg.SensorDefinition:
    """Return the sensor that reports a new version of a corpus or ontology file."""

    @dg.sensor(
        name="changed_sources",
        target=None,
        minimum_interval_seconds=max(60, settings.profile.dagster.sensor_seconds),
        default_status=dg.DefaultSensorStatus.RUNNING,
    )
    def changed_sources(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        return dg.SensorResult(asset_events=source_events(settings, context.instance))

    return changed_sources


def retriever_sensor(settings: Settings, clock: Clock = time.time) -> dg.SensorDefinition:
    """Return the sensor that has new and changed retrievers scored.

    It makes a partition of each retriever of the registry and removes those of others. A retriever
    is due when it has no scores, when its version changed, and when the benchmark did; an attempt
    that fails is repeated as `request_policy` says.
    """

    @dg.sensor(
        name="new_retrievers",
        target=SCORES,
        minimum_interval_seconds=settings.profile.dagster.sensor_seconds,
        default_status=dg.DefaultSensorStatus.RUNNING,
    )
    def new_retrievers(
        context: dg.SensorEvaluationContext,
    ) -> dg.SensorResult | dg.SkipReason:
        entries = _entries(settings)
        if isinstance(entries, dg.SkipReason):
            return entries
        instance = context.instance
        _open_pool(instance)
        partitions = _partition_requests(instance, entries)
        blocked = _blocked(settings)
        if blocked is not None:
            return dg.SensorResult(skip_reason=blocked, dynamic_partitions_requests=partitions)
        due = _due(settings, instance, entries)
        known = read_attempts(context.cursor)
        under_way = _under_way(instance)
        ended = {item.name: _ended(instance, {KEY_TAG: item.key}) for item in due}
        found = decide(due, known, under_way, ended, clock())
        for line in found.told:
            context.log.info(line)
        return dg.SensorResult(
            run_requests=[_request(item, entries[item.name]) for item in found.requests],
            skip_reason=None if found.requests else "; ".join(found.told) or "all are current",
            cursor=write_attempts(found.attempts),
            dynamic_partitions_requests=partitions,
        )

    return new_retrievers


def board_sensor(settings: Settings, clock: Clock = time.time) -> dg.SensorDefinition:
    """Return the sensor that has the board and its analyses made when scores or ratings changed.

    Once it is quiet: when nothing changed between two looks, or `QUIET_AT_LATEST` after the first
    change.
    """

    @dg.sensor(
        name="stale_board",
        target=BOARD,
        minimum_interval_seconds=settings.profile.dagster.sensor_seconds,
        default_status=dg.DefaultSensorStatus.RUNNING,
    )
    def stale_board(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        entries = _entries(settings)
        if isinstance(entries, dg.SkipReason):
            return entries
        blocked = _blocked(settings)
        if blocked is not None:
            return dg.SkipReason(blocked)
        due = _due_board(context.instance, entries, settings.workdir.tables)
        if due is None:
            return dg.SensorResult(skip_reason="the board is current", cursor="{}")
        return _board_result(context, due, _rescored(context.instance, entries), clock())

    return stale_board


def re_evaluation(settings: Settings) -> dg.ScheduleDefinition:
    """Return the schedule that has everything scored that is due, also what was given up.

    It is stopped unless a person starts it: the sensors do the same at once.
    """

    @dg.schedule(
        name="re_evaluate",
        target=SCORES,
        cron_schedule=settings.profile.dagster.re_evaluate,
        default_status=dg.DefaultScheduleStatus.STOPPED,
    )
    def re_evaluate(
        context: dg.ScheduleEvaluationContext,
    ) -> list[dg.RunRequest] | dg.SkipReason:
        entries = _entries(settings)
        if isinstance(entries, dg.SkipReason):
            return entries
        blocked = _blocked(settings)
        if blocked is not None:
            return dg.SkipReason(blocked)
        instance = context.instance
        _open_pool(instance)
        instance.add_dynamic_partitions(str(RETRIEVERS.name), list(entries))
        under_way = _under_way(instance)
        due = [item for item in _due(settings, instance, entries) if item.name not in under_way]
        if not due:
            return dg.SkipReason("all are current or under way")
        return [_request(item, entries[item.name]) for item in due]

    return re_evaluate


def _entries(settings: Settings) -> dict[str, Entry] | dg.SkipReason:
    """Return the retrievers in force as the workdir has them now, or why nobody can tell."""
    try:
        return retrievers_of(load_settings(settings.workdir.root))
    except (InputError, SetupError) as error:
        return dg.SkipReason(str(error))


def _blocked(settings: Settings) -> str | None:
    """Return why nothing can be requested now, or None."""
    if not table_files(settings.workdir.tables, RELEVANCE_RATINGS.name):
        return "there are no ratings yet"
    return "a build is under way" if is_held(settings.workdir.root) else None


def _partition_requests(
    instance: dg.DagsterInstance, entries: Collection[str]
) -> list[dg.AddDynamicPartitionsRequest | dg.DeleteDynamicPartitionsRequest]:
    present = instance.get_dynamic_partitions(str(RETRIEVERS.name))
    new = [name for name in entries if name not in present]
    gone = [name for name in present if name not in entries]
    return [
        *([RETRIEVERS.build_add_request(new)] if new else []),
        *([RETRIEVERS.build_delete_request(gone)] if gone else []),
    ]


def _due(
    settings: Settings, instance: dg.DagsterInstance, entries: Mapping[str, Entry]
) -> list[Due]:
    """Return the retrievers that can be scored here and have no scores that count."""
    found = []
    for name, entry in entries.items():
        if entry.missing() is not None:
            continue
        reason = why_to_score(instance, entry, settings.workdir.tables)
        if reason is not None:
            made_from = {"version": entry.version, **input_versions(instance, name)}
            found.append(Due(name, key_of(name, made_from), reason))
    return found


def _request(due: Due, entry: Entry) -> dg.RunRequest:
    tags = {
        KEY_TAG: due.key,
        LANE_TAG: "light" if entry.is_light() else "model",
        REASON_TAG: due.reason,
    }
    return dg.RunRequest(partition_key=due.name, tags=tags)


def _under_way(instance: dg.DagsterInstance) -> set[str]:
    """Return the retrievers of which a run hasn't ended.

    Those of `saber build` don't count: none goes on while its workdir isn't held.
    """
    runs = instance.get_runs(dg.RunsFilter(statuses=UNFINISHED))
    return {
        run.tags[PARTITION_TAG]
        for run in runs
        if PARTITION_TAG in run.tags and BUILD_TAG not in run.tags
    }


def _ended(instance: dg.DagsterInstance, tags: Mapping[str, str]) -> float:
    """Return when the last run with these tags ended, 0 where none did."""
    records = instance.get_run_records(dg.RunsFilter(tags=dict(tags)), limit=1)
    return (records[0].end_time or 0.0) if records else 0.0


def _open_pool(instance: dg.DagsterInstance) -> None:
    """Give the pool of retrievers its slots, unless a person has set a limit."""
    storage = instance.event_log_storage
    if storage.supports_global_concurrency_limits:
        limits = {limit.name for limit in storage.get_pool_limits() if not limit.from_default}
        if POOL not in limits:
            storage.set_concurrency_slots(POOL, SLOTS)


def _due_board(
    instance: dg.DagsterInstance, entries: Mapping[str, Entry], tables: Path
) -> Due | None:
    """Return the board where it was made from other scores or ratings than there are."""
    scores = usable_scores(instance, entries, tables)
    ratings = data_version(instance, RELEVANCE_RATINGS.name)
    measured = latest(instance, QUERY_MEASURES.name)
    due = Due("board", key_of("board", {**scores, "": ratings}), "scores or ratings changed")
    if not scores:
        return None
    if measured is None:
        return due
    tags, stated = measured.tags or {}, measured.metadata.get(PARTITIONS_KEY)
    before = None if stated is None else stated.value
    if before != scores or tags.get(f"{INPUT_TAG}{RELEVANCE_RATINGS.name}") != ratings:
        return due
    ranked = latest(instance, LEADERBOARD.name)
    made_from = (ranked.tags or {}).get(f"{INPUT_TAG}{QUERY_MEASURES.name}") if ranked else None
    return None if made_from == data_version(instance, QUERY_MEASURES.name) else due


def _rescored(instance: dg.DagsterInstance, entries: Mapping[str, Entry]) -> list[str]:
    """Return the retrievers on the board that will be scored anew, so that it can wait for them."""
    measured = latest(instance, QUERY_MEASURES.name)
    stated = None if measured is None else measured.metadata.get(PARTITIONS_KEY)
    on_board = stated.value if stated is not None and isinstance(stated.value, Mapping) else {}
    return [
        name
        for name, entry in entries.items()
        if name in on_board and entry.missing() is None and why_due(instance, entry) is not None
    ]


def _board_result(
    context: dg.SensorEvaluationContext, due: Due, rescored: Sequence[str], now: float
) -> dg.SensorResult:
    """Request the board, or wait until it is quiet."""
    known = read_attempts(context.cursor)
    seen = known.get(SEEN, Attempt("", 0, now))
    noted = Attempt(due.key, 0, seen.at)
    if (rescored or seen.key != due.key) and now - seen.at <= QUIET_AT_LATEST:
        what = f"{', '.join(rescored)} has new scores" if rescored else "no more do"
        return dg.SensorResult(
            skip_reason=f"{due.reason}, waiting until {what}",
            cursor=write_attempts({**known, SEEN: noted}),
        )
    ended = {due.name: _ended(context.instance, {BOARD_TAG: due.key})}
    under_way = [due.name] if _board_under_way(context.instance) else []
    found = decide([due], known, under_way, ended, now)
    requested = [
        dg.RunRequest(tags={BOARD_TAG: due.key, REASON_TAG: due.reason}) for _ in found.requests
    ]
    noted = Attempt(due.key, 0, now) if requested else noted
    return dg.SensorResult(
        run_requests=requested,
        skip_reason=None if requested else "; ".join(found.told),
        cursor=write_attempts({**found.attempts, SEEN: noted}),
    )


def _board_under_way(instance: dg.DagsterInstance) -> bool:
    key = dg.AssetKey(QUERY_MEASURES.name)
    runs = instance.get_runs(dg.RunsFilter(statuses=UNFINISHED))
    return any(
        BOARD_TAG in run.tags or (BUILD_TAG not in run.tags and key in (run.asset_selection or ()))
        for run in runs
    )
