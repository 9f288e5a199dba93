"""The pools in rating order, and the rank that each retriever gave each candidate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from saber_assets.retrieval.tables import SETTINGS
from saber_resources.warehouse import table_files
from saber_services.report.source import Source

TOP_RATING = 5.0
NEEDED = ("benchmark_queries", "candidate_pools")


@dataclass(frozen=True)
class Pools:
    """All pools, query after query, each from the best candidate to the worst.

    Attributes:
        queries: ids, ascending.
        domains: of each query.
        offsets: int64 (Q + 1,); query q owns rows offsets[q] to offsets[q + 1].
        rows: (N,) columns query_id, candidate_id, category, rating, error (of the rating, on its
            scale from 0 to 5), wins, losses, flag; null where there are no ratings.
    """

    queries: tuple[str, ...]
    domains: tuple[tuple[str, ...], ...]
    offsets: NDArray[np.int64]
    rows: pl.DataFrame

    def of(self, query: int) -> pl.DataFrame:
        """Return the rows of a query."""
        start, stop = self.offsets[query : query + 2]
        return self.rows[int(start) : int(stop)]


@dataclass(frozen=True)
class Ranks:
    """What place each retriever gave each candidate.

    Attributes:
        retrievers: (R,) names, by name.
        settings: (S,) names.
        values: uint16 (R, S, N), from 1 in the order of the scores; 0 where there is no score.
            Equal scores are ranked by candidate id, as in the measures.
        versions: of each retriever whose scores are kept.
    """

    retrievers: tuple[str, ...]
    settings: tuple[str, ...]
    values: NDArray[np.uint16]
    versions: Mapping[str, str]


def read_pools(source: Source) -> Pools | None:
    """Return the pools, or None where they aren't made or are empty."""
    if source.lacking(*NEEDED):
        return None
    queries = source.read("benchmark_queries", "query_id", "domains").sort("query_id")
    pools = source.read("candidate_pools", "query_id", "candidate_id", "category")
    rows = (
        _rated(source, pools)
        .filter(pl.col("query_id").is_in(queries["query_id"].implode()))
        .sort(
            "query_id", "rating", "candidate_id", descending=[False, True, False], nulls_last=True
        )
    )
    if queries.is_empty() or rows.is_empty():
        return None
    counts = dict(rows.group_by("query_id").len().iter_rows())
    ids = tuple(queries["query_id"].to_list())
    offsets = np.cumsum([0, *(counts.get(query, 0) for query in ids)])
    return Pools(ids, tuple(map(tuple, queries["domains"].to_list())), offsets, rows)


def _rated(source: Source, pools: pl.DataFrame) -> pl.DataFrame:
    columns = ("strength", "standard_error", "rating", "wins", "losses", "flag")
    if not source.has("relevance_ratings"):
        return pools.with_columns(
            rating=pl.lit(None, pl.Float64),
            error=pl.lit(None, pl.Float64),
            wins=pl.lit(None, pl.Int32),
            losses=pl.lit(None, pl.Int32),
            flag=pl.lit(None, pl.String),
        )
    ratings = source.read("relevance_ratings", "query_id", "candidate_id", *columns)
    if ratings["wins"].null_count() == ratings.height and source.has("pairwise_judgments"):
        ratings = _counted(source, ratings)
    strength = pl.col("strength").filter(pl.col("rating").is_not_null())
    spread = (strength.max() - strength.min()).over("query_id")
    return (
        pools.join(ratings, on=["query_id", "candidate_id"], how="left")
        .with_columns(
            error=pl.when(spread > 0).then(pl.col("standard_error") * TOP_RATING / spread)
        )
        .drop("strength", "standard_error")
    )


def _counted(source: Source, ratings: pl.DataFrame) -> pl.DataFrame:
    """Return ratings with wins and losses counted from judgments; null in queries without any."""
    columns = ("query_id", "first_id", "second_id", "winner")
    rows = source.read("pairwise_judgments", *columns)
    sides = [
        rows.select(
            "query_id",
            candidate_id=side,
            wins=pl.col("winner") == won,
            losses=pl.col("winner") == 3 - won,
        )
        for won, side in ((1, "first_id"), (2, "second_id"))
    ]
    sums = pl.concat(sides).group_by("query_id", "candidate_id").agg(
        pl.col("wins", "losses").sum().cast(pl.Int32)
    )  # fmt: skip
    is_judged = pl.col("query_id").is_in(rows["query_id"].unique().implode())
    return (
        ratings.drop("wins", "losses")
        .join(sums, on=["query_id", "candidate_id"], how="left")
        .with_columns(pl.when(is_judged).then(pl.col("wins", "losses").fill_null(0)))
    )


def read_ranks(
    source: Source, pools: Pools, progress: Callable[[int], None] | None = None
) -> Ranks:
    """Return the ranks from the kept scores, one retriever's file after the other.

    Args:
        source: the tables.
        pools: what is ranked.
        progress: called with the number of newly read files.

    Raises:
        SetupError: when a file of scores can't be read.
    """
    keys = pools.rows.select("query_id", "candidate_id").with_columns(
        place=pl.int_range(pl.len(), dtype=pl.Int64),
        by_id=pl.col("candidate_id").rank("dense").cast(pl.Int64),
    )
    found: dict[str, NDArray[np.uint16]] = {}
    versions: dict[str, str] = {}
    for file in table_files(source.folder, "retriever_scores"):
        scores = source.read_file(
            file, "retriever", "version", "setting", "query_id", "candidate_id", "score"
        )
        placed = scores.join(keys, on=["query_id", "candidate_id"])
        for (name,), part in placed.group_by("retriever", maintain_order=True):
            found[str(name)] = _ranked(part, len(keys))
            versions[str(name)] = ", ".join(part["version"].unique().sort().to_list())
        if progress is not None:
            progress(1)
    names = tuple(sorted(found))
    shape = (len(names), len(SETTINGS), len(keys))
    values = np.stack([found[name] for name in names]) if names else np.zeros(shape, np.uint16)
    return Ranks(names, SETTINGS, values, versions)


def _ranked(part: pl.DataFrame, size: int) -> NDArray[np.uint16]:
    """Return (S, N) ranks from the joined scores of one retriever."""
    values = np.zeros((len(SETTINGS), size), np.uint16)
    for number, setting in enumerate(SETTINGS):
        one = part.filter(pl.col("setting") == setting).select(
            "place",
            rank=pl.struct(-pl.col("score"), "by_id").rank("ordinal").over("query_id"),
        )
        values[number, one["place"].to_numpy()] = one["rank"].to_numpy().astype(np.uint16)
    return values
