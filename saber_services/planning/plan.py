"""The plan of a build: what is made and why, which calls that takes, and what they cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import dagster as dg

from saber_assets.candidates.tables import CANDIDATE_POOLS
from saber_assets.definitions import build_definitions
from saber_assets.retrieval.registry import field_systems
from saber_assets.retrieval.tables import RETRIEVER_SCORES
from saber_assets.retrievers import retrievers_of
from saber_resources.settings import Settings
from saber_services.builder import Board, open_board
from saber_services.planning.estimates import Rates, rates_of
from saber_services.planning.lookup import Calls, LookupModel, OnMissing, open_lookup
from saber_services.planning.reading import Remaining
from saber_services.planning.remaining import mean_characters, remaining_calls
from saber_services.planning.retriever_calls import retriever_calls
from saber_services.planning.shadow import Shadow, Step, shadow_settings

UPSTREAM = "upstream "
SCORES = RETRIEVER_SCORES.name


@dataclass(frozen=True)
class PlannedAsset:
    """What becomes of an asset.

    Attributes:
        name: of the asset.
        partitions: those that are due, where it has partitions.
        action: `make`; `follow`, which is made if what it is made from turns out different; or
            `keep`.
        reasons: why it isn't fresh.
        stop: why a build would stop there, or None.
    """

    name: str
    partitions: tuple[str, ...]
    action: str
    reasons: tuple[str, ...]
    stop: str | None


@dataclass
class PlannedCalls:
    """The calls of one prompt.

    Attributes:
        prompt: its name.
        step: the asset that needs them.
        cached: answered already.
        missing: known to be asked.
        estimated: asked besides, by the stated rule.
        rule: how `estimated` was found, or "".
        tokens_in: prompt tokens of missing and estimated calls.
        tokens_out: completion tokens likewise.
        gpu_hours: of one GPU.
        price: money, or None where no price is stated.
    """

    prompt: str
    step: str
    cached: int
    missing: int
    estimated: int
    rule: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    gpu_hours: float = 0.0
    price: float | None = None


@dataclass
class Plan:
    """The plan of a build.

    Attributes:
        assets: in the order of a build.
        calls: by step and prompt.
        rates: what tokens, hours and money were reckoned with.
        model: name of the model.
        retriever_calls: most questions of each retriever that asks a model of its own, not in
            `calls`; None where they can't be counted yet.
    """

    assets: list[PlannedAsset]
    calls: list[PlannedCalls]
    rates: Rates
    model: str
    retriever_calls: dict[str, int | None] = field(default_factory=dict)

    def total(self) -> PlannedCalls:
        """Return the sums over all calls."""
        prices = [calls.price for calls in self.calls if calls.price is not None]
        return PlannedCalls(
            "total",
            "",
            sum(calls.cached for calls in self.calls),
            sum(calls.missing for calls in self.calls),
            sum(calls.estimated for calls in self.calls),
            "",
            sum(calls.tokens_in for calls in self.calls),
            sum(calls.tokens_out for calls in self.calls),
            sum(calls.gpu_hours for calls in self.calls),
            sum(prices) if prices else None,
        )


def plan_build(settings: Settings) -> Plan:
    """Return what a build with these settings would do; nothing is written or asked.

    Raises:
        InputError, SetupError: for mistakes that would end the build before it begins.
    """
    with shadow_run(settings) as (shadow, chat):
        steps = shadow.run()
        stats = [] if chat.store is None else chat.store.stats()
        calls = _all_calls(settings, steps, shadow)
        pools = shadow.table(CANDIDATE_POOLS.name)
    rates = rates_of(
        settings.profile.llm,
        {planned.prompt for planned, _ in calls},
        [counted for step in steps for counted in step.calls.values()],
        stats,
    )
    for planned, characters in calls:
        _price(planned, characters, rates)
    assets = [asset for step in steps for asset in _assets(step)]
    due = [part for asset in assets if asset.name == SCORES for part in asset.partitions]
    return Plan(
        assets,
        [planned for planned, _ in calls],
        rates,
        settings.profile.llm.model,
        retriever_calls(due, field_systems(settings.workdir.own_retrievers), pools),
    )


@contextmanager
def shadow_run(
    settings: Settings, on_missing: OnMissing | None = None
) -> Iterator[tuple[Shadow, LookupModel]]:
    """Yield what runs steps in memory, and the model that looks answers up for it."""
    llm = settings.profile.llm
    with (
        shadow_settings(settings) as shadow,
        _open(shadow) as board,
        open_lookup(llm, settings.workdir.responses, on_missing) as chat,
    ):
        yield Shadow(board, chat), chat


@contextmanager
def _open(settings: Settings) -> Iterator[Board]:
    """Open the workdir's board; one that was never built gets an instance that leaves no trace."""
    if settings.workdir.dagster_home.is_dir():
        with open_board(settings) as board:
            yield board
        return
    entries = retrievers_of(settings)
    with dg.DagsterInstance.ephemeral() as instance:
        yield Board(settings, build_definitions(settings), instance, entries)


def _assets(step: Step) -> Iterator[PlannedAsset]:
    for name in step.assets:
        due = [state for state in step.states if state.name == name and state.status != "fresh"]
        reasons = tuple(dict.fromkeys(reason for state in due for reason in state.reasons))
        own = [reason for reason in reasons if not reason.startswith(UPSTREAM)]
        action = "keep" if not due else "make" if own else "follow"
        partitions = tuple(state.partition for state in due if state.partition is not None)
        yield PlannedAsset(name, partitions, action, reasons, step.stop if due else None)


def _all_calls(
    settings: Settings, steps: Sequence[Step], shadow: Shadow
) -> list[tuple[PlannedCalls, float]]:
    """Return the calls of each step and prompt, with the characters of all that are to be made."""
    found: list[tuple[PlannedCalls, float]] = []
    for step in steps:
        if step.asks_model and step.due:
            remaining = remaining_calls(settings, step, shadow)
            found += [
                _calls(settings, step, prompt, remaining.get(prompt), shadow)
                for prompt in sorted({*step.prompts_asked(), *remaining})
            ]
    return found


def _calls(
    settings: Settings, step: Step, prompt: str, remaining: Remaining | None, shadow: Shadow
) -> tuple[PlannedCalls, float]:
    counted = step.calls.get(prompt, Calls())
    more = 0 if remaining is None else remaining.calls
    characters = float(counted.characters)
    if remaining is not None and more:
        # what is not known yet is taken to be as long as what is, or else as a mean problem
        mean = (
            characters / counted.missing
            if counted.missing
            else mean_characters(settings, prompt, shadow, remaining.characters)
        )
        characters += more * mean
    cached = counted.cached + (step.replayed if prompt == step.main_prompt() else 0)
    rule = "" if remaining is None else remaining.rule
    return PlannedCalls(prompt, step.assets[0], cached, counted.missing, more, rule), characters


def _price(planned: PlannedCalls, characters: float, rates: Rates) -> None:
    """Add tokens, hours and money."""
    calls = planned.missing + planned.estimated
    planned.tokens_in = round(characters / rates.characters_per_token)
    planned.tokens_out = round(calls * rates.tokens_out[planned.prompt])
    planned.gpu_hours = rates.speed.hours(planned.tokens_in, planned.tokens_out)
    planned.price = rates.price(planned.tokens_in, planned.tokens_out)
