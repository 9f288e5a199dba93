"""What the site shows beside the tables: cards of the retrievers, latencies, recorded runs."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from saber_assets.errors import InputError
from saber_assets.kept_scores import DATA_TAG, latest
from saber_assets.materialize import VALUES_KEY
from saber_assets.retrieval.tables import RETRIEVER_SCORES
from saber_assets.tournament.tables import PAIRWISE_JUDGMENTS
from saber_resources.settings import Settings

SECTIONS = (
    *("corpus", "annotation", "judging", "thresholds", "selection", "tournament", "ratings"),
    *("retrieval", "evaluation"),
)
"""Sections of the profile that decide a number of the site."""
LLM_KEYS = ("model", "prompts")
UNTOLD = ("files", "sources", "file", "folder")
"""Keys whose values are places on a person's machine."""
_KIND = re.compile(r" \([^()]*\)$")
"""What a judge's name has behind that of its model."""


@dataclass(frozen=True)
class MadeTable:
    """How a table, or one of its partitions, was made.

    Attributes:
        table: its name, with the partition after a slash.
        rows: how many, or None where that isn't recorded.
        data_version: hash of its content.
        code_version: of the code that made it, prompts included.
        prompts: fingerprints of the prompts that were asked for it, by name.
        parity: what came of a retriever's parity gate; empty where it has none.
    """

    table: str
    rows: int | None
    data_version: str
    code_version: str
    prompts: Mapping[str, str]
    parity: str = ""


@dataclass(frozen=True)
class Reply:
    """A kept answer of a judge: what it wrote, which model, which prompt."""

    text: str
    model: str
    prompt: str
    fingerprint: str


@dataclass(frozen=True)
class Judged:
    """A verdict as the table of judgments has it.

    Attributes:
        judge: who judged: a model, with the kind of the judge in brackets unless it is pairwise.
        winner: 1 or 2, 0 for a tie, None without a verdict.
    """

    judge: str
    winner: int | None

    def fits(self, model: str, parsed: str | None) -> bool:
        """Whether an answer is of this judge, and was read as this verdict.

        Args:
            model: that answered.
            parsed: what was read from the answer, as JSON. Where that is no verdict, and where the
                verdict is a tie (of several votes), the model alone decides.
        """
        if model not in (self.judge, _KIND.sub("", self.judge)):
            return False
        try:
            read = json.loads(parsed or "null")
        except json.JSONDecodeError:
            return True
        said = read.get("winner") if isinstance(read, dict) else read
        return said not in (1, 2) or self.winner not in (1, 2) or said == self.winner


@dataclass(frozen=True)
class Outside:
    """What a report shows that no table holds; empty where only tables are at hand.

    Attributes:
        cards: what the registry states of each retriever, by name.
        seconds: median seconds a query, by retriever, as `saber analyse latency` wrote them.
        made: how each table was made, in the order in which the data flows.
        values: settings in force, as `section.key` and value.
        origin: where an imported benchmark comes from, or None.
        store: the file with the kept answers of language models, or None.
    """

    cards: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    made: tuple[MadeTable, ...] = ()
    values: tuple[tuple[str, str], ...] = ()
    origin: str | None = None
    store: Any = None

    def parity(self, retriever: str) -> str:
        """Return what came of a retriever's parity gate, or nothing where it has none."""
        own = f"{RETRIEVER_SCORES.name}/{retriever}"
        return next((one.parity for one in self.made if one.table == own), "")

    def replies(self, judged: Mapping[str, Judged]) -> dict[str, Reply]:
        """Return the newest kept answer that a verdict was read from, for each item.

        It is the judge's own: by its model, to a prompt that the judgments were asked with as
        their record says, and with the verdict that the table holds. Where no such record is at
        hand there are none. A store that can't be read gives none: the report doesn't depend on it.

        Args:
            judged: what the table says of each item, such as `query|first|second`.
        """
        prompts = self._judging_prompts()
        if self.store is None or not judged or not prompts:
            return {}
        found: dict[str, Reply] = {}
        try:
            address = f"{Path(self.store).absolute().as_uri()}?mode=ro"
            with closing(sqlite3.connect(address, uri=True)) as connection:
                for item, text, model, prompt, mark, parsed in connection.execute(
                    "SELECT item, response, model, prompt, prompt_fingerprint, parsed "
                    "FROM responses WHERE response IS NOT NULL AND error IS NULL "
                    "AND fault IS NULL AND item LIKE '%|%|%' ORDER BY id"
                ):
                    one = judged.get(item)
                    if one is not None and (prompt, mark) in prompts and one.fits(model, parsed):
                        found[item] = Reply(text, model, prompt, mark)
        except sqlite3.Error:
            return {}
        return found

    def _judging_prompts(self) -> set[tuple[str, str]]:
        """Return name and fingerprint of the prompts that the judgments were asked with."""
        made = (one for one in self.made if one.table == PAIRWISE_JUDGMENTS.name)
        return {pair for one in made for pair in one.prompts.items()}


def gather_outside(settings: Settings) -> Outside:
    """Return what a workdir has beside its tables.

    Raises:
        SetupError: when its record of runs can't be opened.
    """
    store = settings.workdir.responses
    imported = settings.profile.imported
    return Outside(
        cards=_cards(settings),
        seconds=_seconds(settings),
        made=_made(settings),
        values=tuple(_values(settings)),
        origin=None
        if imported.folder is None
        else f"a released benchmark ({imported.format}, content {imported.content})",
        store=store if store.is_file() else None,
    )


def _cards(settings: Settings) -> dict[str, Mapping[str, Any]]:
    from saber_services.retriever_list import retriever_rows, tell_all

    try:
        return dict(tell_all(retriever_rows(settings), settings))
    except InputError:  # a faulty list of own retrievers is told by the verbs that need it
        return {}


def _seconds(settings: Settings) -> dict[str, float]:
    from saber_services.analyses.user_table import read_user_table
    from saber_services.analyses.with_inputs import LATENCY_FILE

    path = settings.workdir.root / "analyses" / LATENCY_FILE
    if not path.is_file():
        return {}
    try:
        columns = {"retriever": pl.String, "seconds": pl.Float64}
        rows = read_user_table(path, columns, "retriever").filter(pl.col("seconds") >= 0)
    except InputError:
        return {}
    return dict(rows.iter_rows())


def _made(settings: Settings) -> tuple[MadeTable, ...]:
    # only here: Dagster, behind them, takes a second to import
    from saber_services.builder import open_board
    from saber_services.staleness import CODE_TAG

    if not settings.workdir.dagster_home.is_dir():
        return ()
    found = []
    with open_board(settings) as board:
        for key in board.graph.toposorted_asset_keys:
            node = board.graph.get(key)
            if not node.is_materializable:
                continue
            for partition in list(board.entries) if node.is_partitioned else [None]:
                made = latest(board.instance, key.to_user_string(), partition)
                if made is not None:
                    name = "/".join([key.to_user_string(), *([partition] if partition else [])])
                    rows = made.metadata.get("dagster/row_count")
                    tags = made.tags or {}
                    found.append(
                        MadeTable(
                            name,
                            None if rows is None else int(str(rows.value)),
                            tags.get(DATA_TAG, ""),
                            tags.get(CODE_TAG, ""),
                            prompts_of(made.metadata.get(VALUES_KEY)),
                            str(getattr(made.metadata.get("parity"), "value", "")),
                        )
                    )
    return tuple(found)


def prompts_of(values: Any) -> dict[str, str]:
    """Return the fingerprints of prompts, by name, that the recorded values of an asset hold."""
    plain = getattr(values, "value", values)
    prompts = plain.get("prompts") if isinstance(plain, Mapping) else None
    return {str(name): str(mark) for name, mark in (prompts or {}).items()}


def _values(settings: Settings) -> list[tuple[str, str]]:
    rows = []
    for section in SECTIONS:
        values = getattr(settings.profile, section).model_dump(mode="json")
        rows += [
            (f"{section}.{key}", value if isinstance(value, str) else json.dumps(value))
            for key, value in values.items()
            if value is not None and not any(key.startswith(word) for word in UNTOLD)
        ]
    llm = settings.profile.llm.model_dump(mode="json")
    return rows + [(f"llm.{key}", str(llm[key])) for key in LLM_KEYS if llm.get(key)]
