"""The leaderboard of each setting, and the means of each domain there."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Any

import polars as pl

from saber_assets.evaluation.leaderboard import ALL_DOMAINS
from saber_assets.ontology.tables import DOMAINS
from saber_assets.retrieval.tables import SETTINGS

CONTROL_FAMILY = "sanity"
"""Retrievers that only check the measure: chance, and the ratings themselves."""

SHADES = 10

SHOWN_TEXTS = {
    "statement-full": "Queries show their statement; candidates show statement and solution.",
    "full-full": "Queries and candidates both show statement and solution.",
    "statement-statement": "Queries and candidates both show their statement only.",
}


@dataclass(frozen=True)
class Row:
    """A retriever on the board; `mean`, `low` and `high` are in [0, 1]."""

    rank: int
    retriever: str
    family: str
    mean: float
    low: float
    high: float
    queries: int
    failed: int

    @property
    def is_control(self) -> bool:
        """Whether the row only checks the measure."""
        return self.family == CONTROL_FAMILY


@dataclass(frozen=True)
class Board:
    """The retrievers in one setting by one measure, best first.

    Attributes:
        setting: what text each side shows.
        measure: its name.
        rows: best first.
        alone: whether the setting has no board by another measure.
    """

    setting: str
    measure: str
    rows: tuple[Row, ...]
    alone: bool = True

    @property
    def label(self) -> str:
        """The setting, with the measure where there are boards of several measures."""
        return self.setting if self.alone else f"{self.setting} · {self.measure}"

    @property
    def shown_texts(self) -> str:
        """What text each side shows, in one sentence."""
        return SHOWN_TEXTS.get(self.setting, "")


@dataclass(frozen=True)
class Cell:
    """A mean of the domain table with its shade, 0 for the palest and 10 for the darkest."""

    mean: float | None
    shade: int


@dataclass(frozen=True)
class DomainRow:
    """A retriever's mean over all queries and in each domain."""

    retriever: str
    is_control: bool
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class DomainTable:
    """Retrievers by domains in one setting."""

    setting: str
    measure: str
    domains: tuple[str, ...]
    queries: tuple[int, ...]
    rows: tuple[DomainRow, ...]


@dataclass(frozen=True)
class Standings:
    """Boards and domain tables, the main setting first."""

    boards: tuple[Board, ...]
    domain_tables: tuple[DomainTable, ...]


def boards_of(means: pl.DataFrame) -> Standings | None:
    """Return the standings of LEADERBOARD, or None where it has no rows."""
    settings = [*SETTINGS, *sorted(set(means["setting"]) - set(SETTINGS))]
    order = pl.col("setting").replace_strict(
        settings, list(range(len(settings))), return_dtype=pl.Int32
    )
    rows = means.with_columns(place=order).sort("place", "measure", "rank", "retriever")
    groups = [
        (key, list(group))
        for key, group in groupby(
            rows.iter_rows(named=True), lambda row: (row["setting"], row["measure"])
        )
    ]
    alone = len({key[1] for key, _ in groups}) == 1
    boards = tuple(board for key, group in groups if (board := _board(key, group, alone)).rows)
    tables = tuple(_domain_table(key, group) for key, group in groups)
    return Standings(boards, tables) if boards else None


def _board(key: tuple[str, str], group: list[dict[str, Any]], alone: bool) -> Board:
    names = Row.__dataclass_fields__
    rows = [Row(**{name: row[name] for name in names}) for row in _overall(group)]
    return Board(*key, tuple(rows), alone)


def _overall(group: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in group if row["domain"] == ALL_DOMAINS]


def _domain_table(key: tuple[str, str], group: list[dict[str, Any]]) -> DomainTable:
    present = {row["domain"] for row in group}
    known = [domain for domain in (ALL_DOMAINS, *DOMAINS) if domain in present]
    domains = (*known, *sorted(present - set(known)))
    means = {(row["retriever"], row["domain"]): float(row["mean"]) for row in group}
    controls = {row["retriever"] for row in group if row["family"] == CONTROL_FAMILY}
    scale = [mean for (retriever, _), mean in means.items() if retriever not in controls]
    low, high = (min(scale), max(scale)) if scale else (0.0, 1.0)
    rows = [
        DomainRow(
            row["retriever"],
            row["retriever"] in controls,
            tuple(
                Cell(mean, _shade(mean, low, high))
                for mean in (means.get((row["retriever"], domain)) for domain in domains)
            ),
        )
        for row in _overall(group)
    ]
    queries = tuple(
        max(row["queries"] for row in group if row["domain"] == domain) for domain in domains
    )
    return DomainTable(*key, domains, queries, tuple(rows))


def _shade(mean: float | None, low: float, high: float) -> int:
    if mean is None or high <= low:
        return 0
    return round(SHADES * min(1.0, max(0.0, (mean - low) / (high - low))))
