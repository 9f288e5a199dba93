"""What the analyses read: the kept tables of a workdir, cut to one setting and to its board."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path

import polars as pl

from saber_assets.errors import InputError
from saber_assets.evaluation.alignment import Parts
from saber_assets.evaluation.ndcg import Ndcg
from saber_assets.retrieval.entry import Entry
from saber_assets.retrieval.sanity import RATINGS
from saber_assets.retrieval.systems import shipped_systems
from saber_assets.retrieval.tables import RETRIEVER_FAILURES
from saber_assets.retrievers import retrievers_of
from saber_resources.settings import Settings
from saber_resources.warehouse import read_table, table_files

SANITY = "sanity"


@dataclass(frozen=True)
class Kept:
    """The kept tables of a workdir, as seen from one setting.

    Attributes:
        settings: the workdir and its profile.
        setting: what text each side shows.
        with_sanity: whether the rows that show the ends of the scale take part.
    """

    settings: Settings
    setting: str
    with_sanity: bool = False

    @cached_property
    def board(self) -> pl.DataFrame:
        """LEADERBOARD of this setting over all domains, by rank."""
        rows = self._table("leaderboard").filter(
            (pl.col("setting") == self.setting) & (pl.col("domain") == "all")
        )
        return self._taking_part(rows).sort("rank")

    @cached_property
    def retrievers(self) -> list[str]:
        """Those that take part, by rank."""
        return self.board["retriever"].to_list()

    @property
    def means(self) -> dict[str, float]:
        """Mean of each retriever that takes part."""
        return dict(self.board.select("retriever", "mean").iter_rows())

    @cached_property
    def measures(self) -> pl.DataFrame:
        """QUERY_MEASURES of this setting and of those that take part."""
        return self._table("query_measures").filter(
            (pl.col("setting") == self.setting) & pl.col("retriever").is_in(self.retrievers)
        )

    @property
    def scores(self) -> Parts:
        """RETRIEVER_SCORES of this setting and of those that take part, one in memory at a time."""
        return self._partitions("retriever_scores")

    @cached_property
    def failures(self) -> pl.DataFrame:
        """RETRIEVER_FAILURES of this setting and of those that take part."""
        return pl.concat([RETRIEVER_FAILURES.empty(), *self._partitions("retriever_failures")])

    @cached_property
    def ratings(self) -> pl.DataFrame:
        """RELEVANCE_RATINGS."""
        return self._table("relevance_ratings")

    @cached_property
    def pools(self) -> pl.DataFrame:
        """CANDIDATE_POOLS."""
        return self._table("candidate_pools")

    @cached_property
    def corpus(self) -> pl.DataFrame:
        """DEDUPED_CORPUS: problem_id, problem, solution."""
        return self._table("deduped_corpus").select("problem_id", "problem", "solution")

    @cached_property
    def entries(self) -> dict[str, Entry]:
        """The registry's entries in force, by name."""
        return retrievers_of(self.settings)

    @cached_property
    def type_codes(self) -> dict[str, str]:
        """Type code of each retriever that has one."""
        described = {name: system.type_code for name, system in shipped_systems().items()}
        stated = {name: entry.type_code for name, entry in self.entries.items()}
        return described | {name: code for name, code in stated.items() if code}

    @property
    def release_dates(self) -> dict[str, date]:
        """Day of release of each system of the field, where it is known."""
        return {
            name: system.released
            for name, system in shipped_systems().items()
            if system.released is not None
        }

    @property
    def measure(self) -> Ndcg:
        """The board's measure."""
        evaluation = self.settings.profile.evaluation
        return Ndcg(gain=evaluation.gain, cutoff=evaluation.cutoff)

    @property
    def resamples(self) -> int:
        """Of the board's bootstrap."""
        return self.settings.profile.evaluation.resamples

    @property
    def seed(self) -> int:
        """Of the board's bootstrap."""
        return self.settings.profile.evaluation.seed

    @property
    def folder(self) -> Path:
        """Where the analyses' own files go."""
        return self.settings.workdir.root / "analyses"

    def runnable(self, names: Sequence[str]) -> tuple[dict[str, Entry], dict[str, str]]:
        """Return the entries that can be asked anew, and why the others can't.

        Args:
            names: retrievers; none for all on the board.

        Raises:
            InputError: for a name that isn't in the registry.
        """
        unknown = [name for name in names if name not in self.entries]
        if unknown:
            raise InputError(
                f"there is no retriever '{unknown[0]}' here",
                f"use one of {', '.join(self.entries)}",
            )
        able, unable = {}, {}
        for name in names or [name for name in self.retrievers if name in self.entries]:
            entry = self.entries[name]
            reason = entry.missing()
            if name == RATINGS:
                reason = "it ranks by the ratings and reads no text"
            if reason is None and entry.precomputed:
                reason = "its scores were computed elsewhere, so that it can't be asked anew"
            if reason is None:
                able[name] = entry
            else:
                unable[name] = reason
        return able, unable

    def _table(self, name: str) -> pl.DataFrame:
        return read_table(self.settings.workdir.tables, name)

    def _taking_part(self, rows: pl.DataFrame) -> pl.DataFrame:
        return rows if self.with_sanity else rows.filter(pl.col("family") != SANITY)

    def _partitions(self, name: str) -> Parts:
        places = self.settings.workdir.tables
        made = {file.stem for file in table_files(places, name)}

        def read(partition: str) -> pl.DataFrame:
            return read_table(places, name, partition).filter(pl.col("setting") == self.setting)

        return Parts([one for one in self.retrievers if one in made], read)
