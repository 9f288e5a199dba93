"""Runs what is missing or stale, in order, and records every run in the workdir's instance."""

from __future__ import annotations

import shlex
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import dagster as dg
import polars as pl

from saber_assets.corpus.quality import CORPUS_FUNNEL, DROPPED, IN_REVIEW, KEPT, READ
from saber_assets.definitions import build_definitions
from saber_assets.errors import InputError
from saber_assets.materialize import NOTE_KEY
from saber_assets.retrieval.assets import RETRIEVERS
from saber_assets.retrieval.entry import Entry
from saber_assets.retrievers import retrievers_of
from saber_assets.run_tags import BUILD_TAG
from saber_assets.sources import source_events
from saber_resources.errors import CheckError, SetupError
from saber_resources.lock import hold
from saber_resources.settings import Settings
from saber_resources.warehouse import read_table, refresh_catalog, table_files
from saber_resources.worker_hold import hold_workers
from saber_services.causes import causes
from saber_services.instance import close_dead_runs, open_instance
from saber_services.prompt_texts import keep_used
from saber_services.staleness import Survey, survey

FUNNEL = CORPUS_FUNNEL.name
RUN_TAG = "saber/run"
RUN_CONFIG = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}

Announce = Callable[[str], None]


@dataclass
class Outcome:
    """What a build did."""

    made: list[str] = field(default_factory=list)
    fresh: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    """Retrievers that could not run, with the reason."""
    failed_checks: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What assets that were made have to say, see `NOTE_KEY`."""


@dataclass(frozen=True)
class Board:
    """An opened workdir: its graph, its instance and its retrievers."""

    settings: Settings
    definitions: dg.Definitions
    instance: dg.DagsterInstance
    entries: Mapping[str, Entry]

    @property
    def graph(self) -> Any:
        """The asset graph."""
        return self.definitions.resolve_asset_graph()

    def survey(self, unmade: Collection[str] = ()) -> Survey:
        """Return the state of every asset, see `survey`."""
        return survey(self.graph, self.instance, self.settings, self.entries, unmade)


@contextmanager
def open_board(settings: Settings) -> Iterator[Board]:
    """Open a workdir for reading states or building."""
    with open_instance(settings.workdir) as instance:
        entries = retrievers_of(settings)
        yield Board(settings, build_definitions(settings), instance, entries)


def build(
    settings: Settings,
    announce: Announce = lambda line: None,
    groups: Collection[str] | None = None,
) -> Outcome:
    """Make everything that is missing or stale.

    Args:
        settings: the workdir and its profile.
        announce: is told, line by line, what is about to be made and why.
        groups: stages that are made; None: all.

    Raises:
        InputError, SetupError: for a person's mistakes.
        CheckError: when something that was made fails one of its checks.
    """
    outcome = Outcome()
    with (
        hold(settings.workdir.root),
        hold_workers(announce),
        open_board(settings) as board,
    ):
        close_dead_runs(board.instance, RUN_TAG)
        if settings.profile.imported.folder is None:
            for event in source_events(settings, board.instance):
                board.instance.report_runless_asset_event(event)
        keep_used(settings, board.definitions)
        tags = {RUN_TAG: "build", BUILD_TAG: uuid.uuid4().hex[:12]}
        for step in steps(board.graph):
            if groups is None or board.graph.get(dg.AssetKey(step[0])).group_name in groups:
                _run_step(board, step, tags, outcome, announce)
            if FUNNEL in step and groups is None:
                _require_problems(settings)
        if groups is None:
            for name, entry in board.entries.items():
                lacking = entry.missing()
                if lacking is not None:  # also of one whose last scores still count
                    outcome.skipped.setdefault(name, lacking)
        if outcome.made or not settings.workdir.catalog.is_file():
            refresh_catalog(settings.workdir.catalog, settings.workdir.tables)
    return outcome


def _require_problems(settings: Settings) -> None:
    """Refuse to go on with a corpus of which nothing is left.

    Raises:
        InputError: with what became of most records.
    """
    counted = read_table(settings.workdir.tables, FUNNEL)
    if counted.filter(stage=KEPT)["records"].sum() or counted.is_empty():
        return
    lost = counted.filter(pl.col("stage").is_in([DROPPED, IN_REVIEW])).sort(
        "records", "reason", descending=[True, False]
    )
    most = lost.row(0, named=True)
    read = counted.filter(stage=READ)["records"].sum()
    raise InputError(
        f"none of the {read} records that were read can be used ({most['records']} of them: "
        f"{most['reason'].replace('_', ' ')})",
        "see `saber corpus funnel`, and add problems with solutions",
    )


def steps(graph: Any) -> list[list[str]]:
    """Return the asset names by step, in the order in which the data flows."""
    steps: dict[Any, list[str]] = {}
    for key in graph.toposorted_asset_keys:
        node = graph.get(key)
        if node.is_materializable:
            together = frozenset(node.execution_set_asset_keys) or frozenset([key])
            steps.setdefault(together, []).append(key.to_user_string())
    return list(steps.values())


def _run_step(
    board: Board, step: list[str], tags: Mapping[str, str], outcome: Outcome, announce: Announce
) -> None:
    found = board.survey(outcome.skipped)
    states = [state for name in step for state in found.of(name)]
    if not any(state.status != "fresh" for state in states):
        outcome.fresh.extend(step)
        return
    if states[0].partition is None:
        reasons = sorted({reason for state in states for reason in state.reasons})
        announce(f"making {', '.join(step)} ({'; '.join(reasons)})")
        _execute(board, step, None, tags, outcome)
        outcome.made.extend(step)
        return
    due = dict.fromkeys(str(state.partition) for state in states if state.status != "fresh")
    for name in due:
        _run_retriever(board, step, name, tags, outcome, announce)


def _run_retriever(
    board: Board,
    step: list[str],
    name: str,
    tags: Mapping[str, str],
    outcome: Outcome,
    announce: Announce,
) -> None:
    lacking = board.entries[name].missing()
    if lacking is not None:
        outcome.skipped[name] = lacking
        return
    announce(f"scoring with {name}")
    board.instance.add_dynamic_partitions(str(RETRIEVERS.name), [name])
    try:
        _execute(board, step, name, tags, outcome)
    except CheckError:
        raise
    except Exception as error:
        # one that can't be made, or whose endpoint is gone, doesn't stop the others
        reason = _own_fault(error)
        if reason is None:
            raise
        outcome.skipped[name] = reason
        return
    outcome.made.append(f"{step[0]}[{name}]")


def _own_fault(error: BaseException) -> str | None:
    """Return the sentence of a retriever's own fault, None where the fault is another."""
    found = (link for link in causes(error) if isinstance(link, InputError))
    return next(map(str, found), None)


def _execute(
    board: Board,
    step: list[str],
    partition: str | None,
    tags: Mapping[str, str],
    outcome: Outcome,
) -> None:
    job = board.definitions.resolve_implicit_global_asset_job_def()
    try:
        result = job.execute_in_process(
            instance=board.instance,
            asset_selection=[dg.AssetKey(name) for name in step],
            partition_key=partition,
            run_config=RUN_CONFIG,
            tags=dict(tags),
        )
    except dg.DagsterExecutionInterruptedError as error:
        raise KeyboardInterrupt from error
    for event in result.get_asset_materialization_events():
        made = event.materialization
        if NOTE_KEY in made.metadata:
            note = made.metadata[NOTE_KEY].value
            outcome.notes.append(f"{made.asset_key.to_user_string()}: {note}")
    failed = [check for check in result.get_asset_check_evaluations() if not check.passed]
    outcome.failed_checks.extend(_check_text(check) for check in failed)
    errors = [check for check in failed if check.severity == dg.AssetCheckSeverity.ERROR]
    if errors:
        promise = board.graph.get_check_spec(errors[0].asset_check_key).description
        raise CheckError(
            f"the check {'; '.join(_check_text(check) for check in errors)} failed",
            f'change the settings or data that break its promise "{str(promise).rstrip(".")}"',
        )


def _check_text(check: dg.AssetCheckEvaluation) -> str:
    found = ", ".join(f"{key} {value.value}" for key, value in check.metadata.items())
    return f"{check.check_name} of {check.asset_key.to_user_string()} ({found})"


def require_workdir(settings: Settings) -> None:
    """Refuse a folder in which nothing was ever built, for verbs that only read.

    Raises:
        SetupError: when there is no workdir.
    """
    if not settings.workdir.settings.is_file():
        raise _unbuilt(settings)


def require_built(settings: Settings) -> None:
    """Refuse a workdir without a leaderboard.

    Raises:
        SetupError: when there is none.
    """
    if not is_built(settings):
        raise _unbuilt(settings)


def _unbuilt(settings: Settings) -> SetupError:
    root = settings.workdir.root
    return SetupError(
        f"there is no benchmark in {root}",
        f"make it first with `saber build --workdir {shlex.quote(str(root))}`",
    )


def is_built(settings: Settings) -> bool:
    """Tell whether the workdir has a leaderboard."""
    return bool(table_files(settings.workdir.tables, "leaderboard"))
