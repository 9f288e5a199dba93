"""The steps of a build that decide what is asked, run in memory and without a model."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dagster as dg
import polars as pl

from saber_assets.corpus.source_tables import DOCUMENT_PROBLEMS, THREAD_PROBLEMS
from saber_assets.errors import InputError
from saber_assets.materialize import VALUES_KEY
from saber_assets.streamed import height_of
from saber_resources.chat_source import use_chat
from saber_resources.profiles import Profile
from saber_resources.settings import Settings, Workdir
from saber_resources.warehouse import ROWS_OF_A_GROUP, read_table, table_path
from saber_services.builder import Board, steps
from saber_services.planning.lookup import Calls, KnownAnnotator, LookupModel
from saber_services.staleness import AssetState, Survey

MODEL_KIND = "ai"
"""The kind that assets have when a language model makes them."""
SOURCE = "source_"
"""Begins the name of a source's table."""
STREAMED = (THREAD_PROBLEMS.name, DOCUMENT_PROBLEMS.name)
"""Other tables that whoever reads them takes piece by piece."""


@dataclass(frozen=True)
class ShadowWorkdir(Workdir):
    """A workdir of which nothing is changed: what steps write on the side goes elsewhere.

    Attributes:
        scratch: a folder for copies.
    """

    scratch: Path = Path()

    @cached_property
    def judgments(self) -> Path:
        """A copy of the journal of pairwise verdicts."""
        copy = self.scratch / "judgments.journal"
        original = Workdir(self.root).judgments
        if original.is_file() and not copy.exists():
            shutil.copyfile(original, copy)
        return copy

    @cached_property
    def reviews(self) -> Path:
        """A copy of the documents that a person has cut."""
        copy = self.scratch / "reviews"
        original = Workdir(self.root).reviews
        if original.is_dir() and not copy.exists():
            shutil.copytree(original, copy)
        return copy

    @property
    def blocks(self) -> Path:
        """A place for blocks of passes that are run here."""
        return self.scratch / "blocks"


@contextmanager
def shadow_settings(settings: Settings) -> Iterator[Settings]:
    """Yield settings whose workdir is read and never written."""
    with TemporaryDirectory(prefix="saber-plan-") as scratch:
        workdir = ShadowWorkdir(settings.workdir.root, scratch=Path(scratch))
        yield Settings(workdir, settings.profile)


@dataclass
class Step:
    """What would become of the assets that one step makes.

    Attributes:
        assets: their names.
        states: of each, or of each partition.
        asks_model: whether a language model makes them.
        prompts: names of the prompts that decide their content.
        ran: whether the step was run in memory, as all that it reads was known.
        calls: look-ups that it made, by the prompt's name.
        annotators: who stood for the model.
        pairings: pairings of the tournament, for the step that judges.
        stop: why a build would stop here, or None.
    """

    assets: list[str]
    states: list[AssetState]
    asks_model: bool
    prompts: tuple[str, ...] = ()
    ran: bool = False
    calls: dict[str, Calls] = field(default_factory=dict)
    annotators: list[KnownAnnotator] = field(default_factory=list)
    pairings: int = 0
    stop: str | None = None

    @property
    def due(self) -> bool:
        """Whether any of its assets isn't fresh."""
        return any(state.status != "fresh" for state in self.states)

    @property
    def missing(self) -> int:
        """Requests without an answer."""
        return sum(calls.missing for calls in self.calls.values())

    @property
    def replayed(self) -> int:
        """Pairings whose outcome is in the verdict journal."""
        return self.pairings - sum(judge.compared for judge in self.annotators)

    def prompts_asked(self) -> list[str]:
        """Return the prompts of its calls; where it didn't run, those that it would ask."""
        return sorted({*self.calls, *self.prompts}) or [""]

    def main_prompt(self) -> str:
        """Return the prompt of the calls that there are most of."""
        return max(
            self.prompts_asked(),
            key=lambda prompt: self.calls[prompt].missing if prompt in self.calls else 0,
        )


class Shadow:
    """Runs due steps in memory, as far as what they read is known.

    Args:
        board: of settings from `shadow_settings`.
        chat: answers from the store alone.
    """

    def __init__(self, board: Board, chat: LookupModel) -> None:
        self._board, self._chat = board, chat
        self._frames: dict[str, pl.DataFrame | pl.LazyFrame] = {}
        self._unknown: set[str] = set()
        self._survey: Survey = board.survey()
        self._makers = {
            key.to_user_string(): made
            for made in board.definitions.assets or ()
            if isinstance(made, dg.AssetsDefinition)
            for key in made.keys
        }

    def run(self, only: str | None = None) -> list[Step]:
        """Return all steps in the order of a build; those that decide what is asked have run.

        Args:
            only: an asset; nothing but what its step needs is run. None: what all steps that ask
                a model need.
        """
        found = [self._step(names) for names in steps(self._board.graph)]
        wanted = self._wanted(found, only)
        for step in found:
            if step.due:
                self._run(step, wanted)
        return found

    def table(self, name: str) -> pl.DataFrame | None:
        """Return a table as a build would leave it, or None where that isn't known."""
        found = self.rows(name)
        return None if found is None else found.lazy().collect()

    def rows(self, name: str) -> pl.DataFrame | pl.LazyFrame | None:
        """Return the same; a table that may be too large for memory comes as a scan."""
        if name in self._frames:
            return self._frames[name]
        if name in self._unknown or self._survey.due(name):
            return None
        tables = self._board.settings.workdir.tables
        if name in STREAMED or name.startswith(SOURCE):
            return pl.scan_parquet(table_path(tables, name), hive_partitioning=False, glob=False)
        return read_table(tables, name)

    def asking(self, prompt: str) -> str | None:
        """Return an asset that asks a prompt, or None."""
        for names in steps(self._board.graph):
            if prompt in self._step(names).prompts:
                return names[0]
        return None

    def prompts(self) -> list[str]:
        """Return the names of all prompts that are asked."""
        return sorted(
            {name for names in steps(self._board.graph) for name in self._step(names).prompts}
        )

    def _step(self, names: Sequence[str]) -> Step:
        states = [state for name in names for state in self._survey.of(name)]
        node = self._node(names[0])
        values = node.metadata[VALUES_KEY].value
        return Step(
            list(names), states, MODEL_KIND in node.kinds, tuple(sorted(values.get("prompts", ())))
        )

    def _node(self, name: str) -> Any:
        return self._board.graph.get(dg.AssetKey(name))

    def _wanted(self, found: Sequence[Step], only: str | None) -> set[str]:
        """Return the assets that are run: those that ask a model, and what these are made from."""
        wanted: set[str] = set()
        for step in reversed(found):
            chosen = step.asks_model and step.due and only in (None, *step.assets)
            if chosen or wanted.intersection(step.assets):
                wanted.update(step.assets)
                wanted.update(self._parents(step))
        return wanted

    def _parents(self, step: Step) -> list[str]:
        keys = {key for name in step.assets for key in self._node(name).parent_keys}
        return sorted(key.to_user_string() for key in keys if self._node_is_made(key))

    def _node_is_made(self, key: dg.AssetKey) -> bool:
        return bool(self._board.graph.get(key).is_materializable)

    def _run(self, step: Step, wanted: set[str]) -> None:
        inputs = {name: self.rows(name) for name in self._parents(step)}
        known = all(frame is not None for frame in inputs.values()) and not self._outside(step)
        if not known or not wanted.intersection(step.assets):
            self._unknown.update(step.assets)
            return
        before, self._chat.calls = self._chat.calls, step.calls
        try:
            with use_chat(lambda llm, store: _opened(self._chat), self._known_by(step)):
                frames = self._call(step.assets[0], inputs)  # type: ignore[arg-type]
        except InputError as error:
            step.stop = str(error)
            self._unknown.update(step.assets)
            return
        finally:
            self._chat.calls = before
        self._name_calls(step)
        step.ran = True
        if "pairwise_judgments" in frames:
            step.pairings = height_of(frames["pairwise_judgments"])
        if step.missing:
            self._unknown.update(step.assets)
        else:
            self._frames.update(frames)

    def _name_calls(self, step: Step) -> None:
        """Give calls whose requests don't name their prompt the name that the step states."""
        nameless = step.calls.pop("", None)
        if nameless is not None:
            name = step.prompts[0] if step.prompts else ""
            step.calls.setdefault(name, Calls()).add(nameless)

    def _known_by(self, step: Step) -> Any:
        def wrap(annotator: Any) -> KnownAnnotator:
            step.annotators.append(KnownAnnotator(annotator))
            return step.annotators[-1]

        return wrap

    def _outside(self, step: Step) -> bool:
        """Tell whether a step downloads a dataset or runs a command on each PDF."""
        by_table = {f"{SOURCE}{one.name}": one for one in self._profile.corpus.sources}
        source = by_table.get(step.assets[0])
        return source is not None and (
            source.kind == "huggingface" or not {"hub", "ocr_command"}.isdisjoint(source.options)
        )

    @property
    def _profile(self) -> Profile:
        return self._board.settings.profile

    def _call(
        self, name: str, inputs: Mapping[str, pl.DataFrame | pl.LazyFrame]
    ) -> dict[str, pl.DataFrame | pl.LazyFrame]:
        outputs: Iterable[dg.Output[Any]] = self._makers[name](**inputs)  # type: ignore[assignment]
        return {output.output_name: self._kept(output) for output in outputs}

    def _kept(self, output: dg.Output[Any]) -> pl.DataFrame | pl.LazyFrame:
        """Return a frame for later steps; one in parts, which are about to go, as a scan."""
        if not isinstance(output.value, pl.LazyFrame):
            return output.value  # type: ignore[no-any-return]
        file = self._board.settings.workdir.scratch / f"{output.output_name}.parquet"  # type: ignore[attr-defined]
        output.value.sink_parquet(file, row_group_size=ROWS_OF_A_GROUP)
        return pl.scan_parquet(file, hive_partitioning=False, glob=False)


@contextmanager
def _opened(chat: LookupModel) -> Iterator[LookupModel]:
    yield chat
