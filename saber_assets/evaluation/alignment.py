"""Scores and measures of several systems brought onto the same queries and documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from saber_assets.evaluation.ndcg import Ndcg, Places
from saber_assets.evaluation.rankings import (
    Measure,
    MeasureError,
    Pools,
    Rankings,
    refuse_relevance,
    refuse_repeated,
)

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
System = tuple[str, str]
"""A retriever and a setting."""

_DOCUMENT = ["query_id", "candidate_id"]
_SYSTEM = ["retriever", "setting"]
_READ = [*_SYSTEM, *_DOCUMENT, "score"]


@dataclass(frozen=True)
class Parts:
    """Frames that are read one after the other, anew each time: none stays in memory.

    Attributes:
        names: of the parts, in order.
        read: returns the part of a name.
    """

    names: Sequence[str]
    read: Callable[[str], pl.DataFrame]

    def __iter__(self) -> Iterator[pl.DataFrame]:
        return map(self.read, self.names)


Scores = pl.DataFrame | Iterable[pl.DataFrame]
"""RETRIEVER_SCORES, whole or in parts; a system is wholly in one of them."""


@dataclass(frozen=True)
class Aligned:
    """Scores of S systems on the rated candidates of Q queries.

    Attributes:
        systems: (retriever, setting), ascending.
        query_ids: ascending.
        documents: query_id and candidate_id of the N rated candidates, in the order of `pools`.
        rankings: their ratings and the scores, float64 (S, N).
        pools: their ratings; with `rankings.offsets` as offsets.
        missed: (S, Q), where a system has no scores for a query, or is listed as failed.
    """

    systems: list[System]
    query_ids: list[str]
    documents: pl.DataFrame
    rankings: Rankings
    pools: Pools
    missed: Flags

    def values(self, measure: Measure) -> Floats:
        """Return float64 (S, Q), the measure, 0 where a system missed a query."""
        return np.where(self.missed, 0.0, measure.values(self.rankings, self.pools))

    def values_at(self, measure: Ndcg, places: Places, relevance: Floats) -> Floats:
        """Return float64 (S, Q), nDCG by other relevances, 0 where a system missed a query.

        Args:
            measure: with its gain and cutoff.
            places: from `best_places` of the same rankings.
            relevance: (N,) other relevances of the same documents.
        """
        pools = Pools(relevance, self.pools.offsets)
        return np.where(self.missed, 0.0, measure.values_at(places, relevance, pools))


@dataclass(frozen=True)
class MeasureMatrix:
    """One measure of S retrievers on the same Q queries.

    Attributes:
        retrievers: ascending.
        query_ids: ascending.
        values: float64 (S, Q); 0 where a retriever has no row for a query.
        failed: (S, Q); also where there is no row.
    """

    retrievers: list[str]
    query_ids: list[str]
    values: Floats
    failed: Flags


def align(scores: Scores, failures: pl.DataFrame, ratings: pl.DataFrame) -> Aligned:
    """Bring scores onto the rated candidates.

    Candidates without a rating are left out, and queries without any rated candidate. Of scores in
    parts only one part is held at a time, beside the S x N numbers that are returned.

    Args:
        scores: RETRIEVER_SCORES, of any number of retrievers and settings.
        failures: RETRIEVER_FAILURES, or its columns retriever, setting and query_id.
        ratings: RELEVANCE_RATINGS, or its columns query_id, candidate_id and rating.

    Raises:
        MeasureError: with the ids, on NaN scores, documents scored or rated twice, a system in two
            parts, and a query of which a retriever scored some rated candidates but not all.
    """
    documents, query_ids, pools = _judged(ratings)
    placed = documents.with_row_index("place")
    rows: dict[System, tuple[Floats, Flags]] = {}
    for part in [scores] if isinstance(scores, pl.DataFrame) else scores:
        for system, frame in _by_system(part, placed):
            if system in rows:
                raise MeasureError("scores in two parts of", [system])
            rows[system] = _scored(documents, pools, frame, system)
    failed = {
        (str(key[0]), str(key[1])): set(frame["query_id"])
        for key, frame in failures.group_by(_SYSTEM)
    }
    systems = sorted({*rows, *failed}) if query_ids else []
    matrix = np.zeros((len(systems), documents.height))
    missed = np.ones((len(systems), len(query_ids)), dtype=np.bool_)
    for row, system in enumerate(systems):
        if system in rows:
            matrix[row], missed[row] = rows.pop(system)  # both are never whole at once
        listed = failed.get(system, set())
        missed[row] |= np.array([query in listed for query in query_ids])
    rankings = Rankings(pools.relevance, matrix, pools.offsets)
    return Aligned(systems, query_ids, documents, rankings, pools, missed)


def measure_matrix(measures: pl.DataFrame) -> MeasureMatrix:
    """Return measures as a matrix.

    Args:
        measures: QUERY_MEASURES of one setting and one measure.

    Raises:
        MeasureError: when a retriever has two rows for a query.
    """
    refuse_repeated(measures, ["retriever", "query_id"], "measures of")
    retrievers = sorted(measures["retriever"].unique())
    query_ids = sorted(measures["query_id"].unique())
    row = measures["retriever"].replace_strict(retrievers, range(len(retrievers))).to_numpy()
    column = measures["query_id"].replace_strict(query_ids, range(len(query_ids))).to_numpy()
    values = np.zeros((len(retrievers), len(query_ids)))
    failed = np.ones(values.shape, dtype=np.bool_)
    values[row, column] = measures["value"].to_numpy()
    failed[row, column] = measures["failed"].to_numpy()
    return MeasureMatrix(retrievers, query_ids, values, failed)


def _judged(ratings: pl.DataFrame) -> tuple[pl.DataFrame, list[str], Pools]:
    """Return the rated documents ordered by (query_id, candidate_id), the queries, the pools."""
    refuse_repeated(ratings, _DOCUMENT, "ratings of")
    rated = ratings.select(*_DOCUMENT, "rating").drop_nulls("rating").sort(_DOCUMENT)
    relevance = rated["rating"].to_numpy().astype(np.float64)
    refuse_relevance(rated.select(_DOCUMENT).rows(), relevance)
    sizes = rated.group_by("query_id", maintain_order=True).len()
    offsets = np.concatenate([[0], sizes["len"].to_numpy().cumsum()]).astype(np.int64)
    return rated.select(_DOCUMENT), sizes["query_id"].to_list(), Pools(relevance, offsets)


def _by_system(scores: pl.DataFrame, placed: pl.DataFrame) -> Iterator[tuple[System, pl.DataFrame]]:
    """Yield each system's scores with `place`, the row of the rated document."""
    nan = scores.filter(pl.col("score").is_nan() | pl.col("score").is_null())
    if nan.height:
        raise MeasureError("NaN scores of", nan.select(*_SYSTEM, *_DOCUMENT).rows())
    known = placed.select(_DOCUMENT)
    for key, frame in scores.select(_READ).group_by(_SYSTEM, maintain_order=True):
        in_order = frame.select(_DOCUMENT).equals(known)  # as kept tables are: no join is needed
        places = (
            placed
            if in_order
            else frame.join(placed, on=_DOCUMENT, how="left", maintain_order="left")
        )
        yield (str(key[0]), str(key[1])), frame.with_columns(places["place"])


def _scored(
    documents: pl.DataFrame, pools: Pools, scores: pl.DataFrame, system: System
) -> tuple[Floats, Flags]:
    """Return the scores (N,) of the rated documents, and (Q,) which queries have none.

    Args:
        documents: the N rated ones.
        pools: their offsets.
        scores: of the system, with `place`, the row of `documents`, null for unrated ones.
        system: for the error's sentence.
    """
    known = scores.filter(pl.col("place").is_not_null())
    places = known["place"].to_numpy()
    times = np.bincount(places, minlength=documents.height)
    if (times > 1).any() or known.height < scores.height:
        refuse_repeated(scores, [*_SYSTEM, *_DOCUMENT], "scores of")
    found = np.zeros(documents.height)
    found[places] = known["score"].to_numpy()
    absent = times == 0
    sizes = np.diff(pools.offsets)
    counts = np.add.reduceat(absent.astype(np.int64), pools.offsets[:-1])
    partly = np.repeat((counts > 0) & (counts < sizes), sizes) & absent
    if partly.any():
        raise MeasureError(
            f"{system[0]} ({system[1]}) scored only a part of the pool, not",
            documents.filter(pl.Series(partly)).select(_DOCUMENT).rows(),
        )
    return found, counts > 0
