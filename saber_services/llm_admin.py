"""The response store as people use it: statistics, failures, and asking these again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import dagster as dg
import numpy as np

from saber_assets.definitions import build_definitions
from saber_assets.materialize import VALUES_KEY
from saber_assets.tournament.journal import Journal
from saber_resources.errors import SetupError
from saber_resources.lock import hold
from saber_resources.response_admin import delete_responses, latencies, lost_requests
from saber_resources.response_store import PromptStats, ResponseStore, Select
from saber_resources.settings import Settings
from saber_resources.warehouse import is_table_file, read_table, table_path
from saber_services.retries import SUFFIX, ask_again

PERCENTILES = (50, 90, 99)
JUDGMENT_FAILURES = "judgment_failures"


@dataclass(frozen=True)
class PromptReport:
    """Sums of one version of one prompt, and the percentiles of its calls' seconds."""

    stats: PromptStats
    seconds: dict[int, float]


@dataclass(frozen=True)
class LostItem:
    """Something that was asked in vain.

    Attributes:
        item: what it was about.
        prompt: name of the prompt.
        model: name of the model.
        reason: the last one, in one sentence.
        attempts: calls that were made.
        unusable: whether an answer came that can't be used.
    """

    item: str
    prompt: str
    model: str
    reason: str
    attempts: int
    unusable: bool


@dataclass(frozen=True)
class Retried:
    """What is asked again at the next build.

    Attributes:
        responses: failed or useless responses that were removed.
        verdicts: failures that the verdict journal has forgotten.
        assets: failures by the table that lists them; the next build makes these anew.
    """

    responses: int
    verdicts: int
    assets: dict[str, int]


@contextmanager
def open_responses(settings: Settings) -> Iterator[ResponseStore]:
    """Open a workdir's response store for looking into it.

    Raises:
        SetupError: when there is none.
    """
    path = settings.workdir.responses
    if not path.is_file():
        raise SetupError(
            f"no language model was asked in {settings.workdir.root}, so there are no responses",
            "build with --annotator llm first, or name another --workdir",
        )
    with ResponseStore(path) as store:
        yield store


def report_prompts(store: ResponseStore, select: Select) -> list[PromptReport]:
    """Return sums and latencies per model, prompt and prompt version."""
    seconds: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for model, prompt, fingerprint, latency in latencies(store, select):
        seconds[model, prompt, fingerprint].append(latency)
    reports = []
    for stats in store.stats(select):
        measured = seconds.get((stats.model, stats.prompt, stats.prompt_fingerprint), [])
        values = np.percentile(measured, PERCENTILES) if measured else ()
        reports.append(
            PromptReport(stats, {p: float(v) for p, v in zip(PERCENTILES, values, strict=False)})
        )
    return reports


def lost_items(store: ResponseStore, select: Select) -> list[LostItem]:
    """Return what was asked in vain, each item once, with the last reason and all its calls."""
    found: dict[tuple[str, str, str], LostItem] = {}
    for key, response in lost_requests(store, select):
        subject = (response.model, response.prompt, response.item or key.hex())
        before = found.get(subject)
        found[subject] = LostItem(
            subject[2],
            response.prompt,
            response.model,
            response.error or response.fault or "",
            response.attempts + (before.attempts if before else 0),
            response.error is None,
        )
    return list(found.values())


def retry_failures(settings: Settings, prompt: str | None = None) -> Retried:
    """Let the next build ask again for what failed.

    Args:
        settings: the workdir and its profile.
        prompt: only what was asked with this prompt; None: everything.

    Raises:
        SetupError: when a build is going on, or nothing asks such a prompt.
    """
    tables = _failure_tables(settings, prompt)
    removed = forgotten = 0
    with hold(settings.workdir.root):
        if settings.workdir.responses.is_file():
            with ResponseStore(settings.workdir.responses) as store:
                keys = [key for key, _ in lost_requests(store, Select(prompt=prompt))]
                removed = delete_responses(store, keys)
        if JUDGMENT_FAILURES in tables and settings.workdir.judgments.is_file():
            with Journal(settings.workdir.judgments) as journal:
                forgotten = journal.forget_failures()
        counts = {name: _rows(settings, name) for name in tables}
        listed = {name: count for name, count in counts.items() if count}
        if listed:
            ask_again(settings.workdir, listed)
    return Retried(removed, forgotten, listed)


def _failure_tables(settings: Settings, prompt: str | None) -> list[str]:
    """Return the failure tables of the assets that a model makes, or that ask one prompt."""
    asking = prompts_by_asset(build_definitions(settings))
    tables = {name: prompts for name, prompts in asking.items() if name.endswith(SUFFIX)}
    if prompt is None:
        return sorted(tables)
    known = sorted({name for prompts in tables.values() for name in prompts})
    if prompt not in known:
        raise SetupError(
            f"no asset asks the prompt '{prompt}' with the present settings",
            f"use one of {', '.join(known)}" if known else "set annotation.annotator=llm first",
        )
    return sorted(name for name, prompts in tables.items() if prompt in prompts)


def prompts_by_asset(definitions: dg.Definitions) -> dict[str, Sequence[str]]:
    """Return the names of the prompts that each asset asks; assets that ask none are left out."""
    graph = definitions.resolve_asset_graph()
    found: dict[str, Sequence[str]] = {}
    for key in graph.toposorted_asset_keys:
        values = graph.get(key).metadata.get(VALUES_KEY)
        prompts = () if values is None else dict(values.value).get("prompts", ())
        if prompts:
            found[key.to_user_string()] = sorted(prompts)
    return found


def _rows(settings: Settings, table: str) -> int:
    tables = settings.workdir.tables
    if not is_table_file(table_path(tables, table)):
        return 0
    return read_table(tables, table).height
