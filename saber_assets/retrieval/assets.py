"""Asset of the retrieval stage: the scores of every retriever, one partition each."""

import time
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from typing import Any

import dagster as dg
import polars as pl

from saber_assets.errors import InputError
from saber_assets.kept_scores import input_versions, latest, why_to_score
from saber_assets.materialize import NOTE_KEY, declare, hand_over
from saber_assets.request_policy import key_of
from saber_assets.retrieval.encoding.gate import (
    PARITY_KEY,
    PLACE,
    Gated,
    Outcome,
    pass_gate,
    passed,
    told,
)
from saber_assets.retrieval.entry import Entry
from saber_assets.retrieval.own.precomputed import PrecomputedScores
from saber_assets.retrieval.partial_scores import PartialScores
from saber_assets.retrieval.protocol import Retriever
from saber_assets.retrieval.registry import VERSION_KEY
from saber_assets.retrieval.scoring import score_pools, setting_texts
from saber_assets.retrieval.tables import RETRIEVER_FAILURES, RETRIEVER_SCORES, SETTINGS
from saber_assets.retrievers import retrievers_of
from saber_assets.run_tags import BUILD_TAG, RUNTIME_TAG, may_find_nothing_to_do
from saber_resources.lock import hold_models, hold_scoring
from saber_resources.progress import progress
from saber_resources.settings import Settings

POOL = "retrievers"
"""Its slots are scorings at once; of those that run a model, one at a time has the machine."""

LONGEST_RUN = 24 * 3_600
"""Seconds after which a scoring is ended: a retriever that hangs must not hold up the others."""

RETRIEVERS = dg.DynamicPartitionsDefinition(name="retrievers")


def assets(settings: Settings) -> list[dg.AssetsDefinition]:
    """Return the assets of this stage, configured."""
    values = {"settings": list(SETTINGS)}

    @dg.multi_asset(
        name="score_retriever",
        outs=declare(
            [RETRIEVER_SCORES, RETRIEVER_FAILURES],
            group="retrieval",
            version=1,
            values=values,
            always=False,
        ),
        partitions_def=RETRIEVERS,
        pool=POOL,
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
        # held until the scores are recorded, so that a run that waits for it finds them
        with hold_scoring(settings.workdir.root, name):
            if _is_done(context, settings, entry):
                context.log.info(f"{name} was scored while this run waited")
                return
            kept = _kept(context, settings, entry)
            with kept or nullcontext():
                frames, made = _scored(
                    context,
                    settings,
                    entry,
                    candidate_pools,
                    deduped_corpus,
                    relevance_ratings,
                    kept,
                )
            yield from hand_over(
                list(zip((RETRIEVER_SCORES, RETRIEVER_FAILURES), frames, strict=True)),
                values,
                {RETRIEVER_SCORES.name: made, RETRIEVER_FAILURES.name: _origin(entry)},
            )
            if kept is not None:
                kept.remove()

    return [retriever_scores]


def _scored(
    context: dg.AssetExecutionContext,
    settings: Settings,
    entry: Entry,
    pools: pl.DataFrame,
    corpus: pl.DataFrame,
    ratings: pl.DataFrame,
    kept: PartialScores | None,
) -> tuple[tuple[pl.DataFrame, pl.DataFrame], dict[str, Any]]:
    """Return scores and failures of a retriever, and what is to be kept with the scores."""
    name = entry.name
    queries = pools["query_id"].n_unique()
    alone = nullcontext() if entry.is_light() else hold_models(settings.workdir.root)
    with alone, progress(f"scoring with {name}", queries * len(entry.settings)) as advance:
        _limit_from_now(context)
        retriever = entry.make()
        parity = _parity(context, settings, entry, retriever, pools, corpus)
        frames = score_pools(
            name,
            entry.version,
            retriever,
            pools,
            corpus,
            entry.settings,
            ratings,
            progress=advance,
            kept=kept,
            own=entry.own,
        )
    made = _origin(entry)
    if isinstance(retriever, PrecomputedScores) and retriever.note():
        made[NOTE_KEY] = f"{name}: {retriever.note()}"
    if parity is not None:
        made |= {PARITY_KEY: {**parity, PLACE: entry.place}, "parity": told(parity)}
    return frames, made


def _kept(
    context: dg.AssetExecutionContext, settings: Settings, entry: Entry
) -> PartialScores | None:
    """Return where finished queries are kept while a model scores.

    Nobody can tell whether a person's own retriever is the same still in the next try.
    """
    versions = input_versions(context.instance, entry.name)
    if entry.is_light() or entry.own or None in versions.values():
        return None
    key = key_of(entry.name, {"version": entry.version, "place": entry.place, **versions})
    return PartialScores(settings.workdir.partial_scores / f"{entry.name}.jsonl", key)


def _origin(entry: Entry) -> dict[str, Any]:
    return {VERSION_KEY: entry.version, "family": entry.family}


def _is_done(context: dg.AssetExecutionContext, settings: Settings, entry: Entry) -> bool:
    """Tell whether what a run was requested for has been made while it waited."""
    if not may_find_nothing_to_do(context.run.tags):
        return False
    return why_to_score(context.instance, entry, settings.workdir.tables) is None


def _limit_from_now(context: dg.AssetExecutionContext) -> None:
    """Have Dagster's daemon end this run when it scores for too long; its waits don't count."""
    run = context.run
    if BUILD_TAG in run.tags:
        return
    record = context.instance.get_run_record_by_id(run.run_id)
    started = record.start_time if record is not None else None
    if started is not None:
        limit = time.time() - started + LONGEST_RUN
        context.instance.add_run_tags(run.run_id, {RUNTIME_TAG: f"{limit:.0f}"})


def _parity(
    context: dg.AssetExecutionContext,
    settings: Settings,
    entry: Entry,
    retriever: Retriever,
    pools: pl.DataFrame,
    corpus: pl.DataFrame,
) -> Outcome | None:
    """Return what came of the parity gate, at this scoring or at an earlier one of this version.

    An endpoint that moved to another address is compared anew: it may serve another model.

    Raises:
        BlockedError: when the row must not be scored.
    """
    if not isinstance(retriever, Gated):
        return None
    earlier = _earlier_parity(context.instance, entry)
    if passed(earlier):
        return earlier
    queries, documents = setting_texts(pools, corpus, SETTINGS[0])
    required = settings.profile.retrieval.parity == "required"
    return pass_gate(entry.name, retriever, queries, documents, required=required)


def _earlier_parity(instance: dg.DagsterInstance, entry: Entry) -> Mapping[str, Any] | None:
    """Return the outcome that is kept with scores of this version of a retriever, at this place."""
    event = latest(instance, RETRIEVER_SCORES.name, entry.name)
    if event is None:
        return None
    version, kept = (event.metadata.get(name) for name in (VERSION_KEY, PARITY_KEY))
    if version is None or version.value != entry.version or kept is None:
        return None
    found = kept.value if isinstance(kept.value, Mapping) else {}
    return found if found.get(PLACE, "") == entry.place else None
