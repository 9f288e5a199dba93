"""Judged pools and scored documents as flat arrays, in the one order in which ties are broken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Offsets = NDArray[np.int64]


class MeasureError(ValueError):
    """Scores or relevances that no measure can be computed from.

    Attributes:
        ids: the ids at fault.
    """

    def __init__(self, fault: str, ids: Sequence[Hashable]) -> None:
        self.ids = list(ids)
        more = f" and {len(self.ids) - 10} more" if len(self.ids) > 10 else ""
        super().__init__(f"{fault}: {', '.join(map(str, self.ids[:10]))}{more}")


@dataclass(frozen=True)
class Pools:
    """What is judged: the relevance of every document of every query's pool.

    Attributes:
        relevance: float64 (N,), finite and >= 0, query after query.
        offsets: int64 (Q + 1,); query q owns relevance[offsets[q]:offsets[q + 1]].
    """

    relevance: Floats
    offsets: Offsets


@dataclass(frozen=True)
class Rankings:
    """What S systems scored, with the documents of each query in ascending order of their ids.

    Equal scores are ranked in that order: by document id, never by storage order.

    Attributes:
        relevance: float64 (M,), of each scored document; 0 for one outside the pool.
        scores: float64 (S, M), higher is better; infinite is allowed, NaN is not.
        offsets: int64 (Q + 1,); query q owns columns offsets[q] to offsets[q + 1].
    """

    relevance: Floats
    scores: Floats
    offsets: Offsets


class Measure(Protocol):
    """A measure is a value whose name says everything that changes the number."""

    def __str__(self) -> str:
        """Return the name, in the style of ir_measures."""
        ...

    def values(self, rankings: Rankings, pools: Pools) -> Floats:
        """Return float64 (S, Q), the measure of each system on each query."""
        ...


def of_query(
    measure: Measure, ids: Sequence[str], relevance: Sequence[float], scores: Sequence[float]
) -> float:
    """Return the measure of one ranking of one pool.

    Args:
        measure: which one.
        ids: (n,) distinct document ids.
        relevance: (n,) finite and >= 0.
        scores: (n,) higher is better.

    Raises:
        MeasureError: on repeated ids, NaN scores, and relevances that are negative or not finite.
        ValueError: when the lengths differ.
    """
    qrels = dict(zip(ids, relevance, strict=True))
    if len(qrels) < len(ids):
        raise MeasureError("repeated document ids", _repeated(ids))
    return of_run(measure, {"": qrels}, {"": dict(zip(ids, scores, strict=True))})[""]


def of_run(
    measure: Measure,
    qrels: Mapping[str, Mapping[str, float]],
    run: Mapping[str, Mapping[str, float]],
) -> dict[str, float]:
    """Return the measure on each query of the qrels.

    Args:
        measure: which one.
        qrels: relevance of the judged documents of each query.
        run: scores of the retrieved documents of each query. Retrieved documents without a
            judgment count as relevance 0; a query that is missing here scores 0.

    Raises:
        MeasureError: on NaN scores, and relevances that are negative or not finite.
    """
    relevance: list[float] = []
    found: list[tuple[float, float]] = []
    ends, found_ends = [0], [0]
    for query_id, judged in qrels.items():
        retrieved = sorted(run.get(query_id, {}).items())
        refuse_nan([doc for doc, _ in retrieved], np.array([s for _, s in retrieved], dtype=float))
        refuse_relevance(list(judged), np.array(list(judged.values()), dtype=float))
        relevance.extend(judged.values())
        found.extend((judged.get(document, 0.0), score) for document, score in retrieved)
        ends.append(len(relevance))
        found_ends.append(len(found))
    pairs = np.array(found, dtype=np.float64).reshape(-1, 2)
    values = measure.values(
        Rankings(pairs[:, 0].copy(), pairs[None, :, 1].copy(), np.array(found_ends)),
        Pools(np.array(relevance, dtype=np.float64), np.array(ends)),
    )
    return dict(zip(qrels, values[0].tolist(), strict=True))


def refuse_nan(ids: Sequence[Hashable], scores: Floats) -> None:
    """Raise MeasureError naming the ids whose scores are NaN."""
    bad = np.flatnonzero(np.isnan(scores)).tolist()
    if bad:
        raise MeasureError("NaN scores cannot be ranked", [ids[i] for i in bad])


def refuse_relevance(ids: Sequence[Hashable], relevance: Floats) -> None:
    """Raise MeasureError naming the ids whose relevance is negative or not finite."""
    bad = np.flatnonzero(~(np.isfinite(relevance) & (relevance >= 0))).tolist()
    if bad:
        raise MeasureError("relevance must be finite and >= 0", [ids[i] for i in bad])


def refuse_repeated(frame: pl.DataFrame, key: Sequence[str], what: str) -> None:
    """Raise MeasureError naming the values of the key that occur more than once."""
    repeated = frame.select(key).filter(frame.select(key).is_duplicated())
    if repeated.height:
        raise MeasureError(f"repeated {what}", repeated.unique().sort(key).rows())


def _repeated(ids: Sequence[str]) -> list[str]:
    return sorted(document for document, times in Counter(ids).items() if times > 1)
