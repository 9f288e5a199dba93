"""What each retriever reached on each query."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from saber_services.report.board import WholeBoard
from saber_services.report.source import Source
from saber_services.report.standings import CONTROL_FAMILY

EXTREMES = 10


@dataclass(frozen=True)
class QueryValues:
    """The measure of the board on single queries.

    Attributes:
        measure: its name.
        retrievers: (R,) names, best first on the first board.
        settings: (S,) names.
        queries: (Q,) ids, ascending.
        values: float64 (R, S, Q); NaN where nothing is kept.
        failed: bool (R, S, Q).
        competitors: (R,) false for the rows that only check the measure.
    """

    measure: str
    retrievers: tuple[str, ...]
    settings: tuple[str, ...]
    queries: tuple[str, ...]
    values: NDArray[np.float64]
    failed: NDArray[np.bool_]
    competitors: NDArray[np.bool_]

    def means(self) -> NDArray[np.float64]:
        """Return (Q,) the mean over competitors in the first setting; NaN without any."""
        chosen = self.values[self.competitors, 0]
        known = ~np.isnan(chosen)
        counts = known.sum(axis=0)
        sums = np.where(known, chosen, 0.0).sum(axis=0)
        return np.divide(sums, counts, out=np.full(len(counts), np.nan), where=counts > 0)

    def best(self, query: int) -> str | None:
        """Return the competitor with the highest value in the first setting, or None."""
        column = np.where(self.competitors, self.values[:, 0, query], np.nan)
        return None if np.isnan(column).all() else self.retrievers[int(np.nanargmax(column))]

    def extremes(self, retriever: str, setting: int) -> tuple[list[int], list[int]]:
        """Return the queries with the highest and with the lowest values, the extreme one first.

        Equal values are ordered by query id. The two lists have no query in common.
        """
        row = self.values[self.retrievers.index(retriever), setting]
        known = np.flatnonzero(~np.isnan(row))
        order = known[np.lexsort((known, -row[known]))].tolist()
        count = min(EXTREMES, len(order) // 2) if len(order) > 1 else len(order)
        return order[:count], order[::-1][: min(EXTREMES, len(order) - count)]


def read_query_values(source: Source, board: WholeBoard | None) -> QueryValues | None:
    """Return the values, or None where the table isn't made or there is no board."""
    if board is None or not source.has("query_measures"):
        return None
    first = board.standings.boards[0]
    rows = source.read(
        "query_measures",
        "retriever",
        "setting",
        "query_id",
        "value",
        "failed",
        where=pl.col("measure") == first.measure,
    )
    names = tuple(board.retrievers)
    settings = tuple(dict.fromkeys(one.setting for one in board.standings.boards))
    queries = tuple(rows["query_id"].unique().sort())
    shape = (len(names), len(settings), len(queries))
    values, failed = np.full(shape, np.nan), np.zeros(shape, dtype=np.bool_)
    places = [
        {name: place for place, name in enumerate(known)} for known in (names, settings, queries)
    ]
    kept = rows.filter(pl.col("retriever").is_in(list(names)) & pl.col("setting").is_in(settings))
    index = (
        tuple(
            kept[column].replace_strict(known, return_dtype=pl.Int64).to_numpy()
            for column, known in zip(("retriever", "setting", "query_id"), places, strict=True)
        )
        if kept.height
        else ((), (), ())
    )
    if kept.height:
        values[index] = kept["value"].to_numpy()
        failed[index] = kept["failed"].to_numpy()
    competitors = np.array([board.retrievers[name] != CONTROL_FAMILY for name in names])
    return QueryValues(first.measure, names, settings, queries, values, failed, competitors)
