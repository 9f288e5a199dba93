"""From scores and ratings to the leaderboard (SPEC, section 2, 'Evaluation')."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from saber_assets.evaluation.bootstrap import intervals
from saber_assets.evaluation.rankings import (
    Measure,
    MeasureError,
    Pools,
    Rankings,
    refuse_relevance,
    refuse_repeated,
)
from saber_assets.evaluation.tables import LEADERBOARD, QUERY_MEASURES

ALL_DOMAINS = "all"
_UNKNOWN_FAMILY = "own"
_DOCUMENT = ["query_id", "candidate_id"]
_SYSTEM = ["retriever", "setting"]


@dataclass(frozen=True)
class _Judged:
    """Rated documents, ordered by (query_id, candidate_id)."""

    documents: pl.DataFrame
    query_ids: list[str]
    pools: Pools


def measure_queries(
    scores: pl.DataFrame, failures: pl.DataFrame, ratings: pl.DataFrame, measure: Measure
) -> pl.DataFrame:
    """Measure each retriever on each rated query, in each setting that it has taken part in.

    Candidates without a rating (flagged 'unjudged') are left out of the pool, of the ranking and
    of the ideal alike; a query without any rated candidate is left out. A query for which a
    retriever has no scores, or is listed among the failures, is worth 0 and marked `failed`.

    Args:
        scores: RETRIEVER_SCORES, of any number of retrievers.
        failures: RETRIEVER_FAILURES, or its columns retriever, setting and query_id.
        ratings: RELEVANCE_RATINGS, or its columns query_id, candidate_id and rating.
        measure: such as `Ndcg()`.

    Returns:
        QUERY_MEASURES, ordered by (retriever, setting, query_id).

    Raises:
        MeasureError: with the ids, on NaN scores, documents scored or rated twice, and a query of
            which a retriever scored some rated candidates but not all.
    """
    judged = _judged(ratings)
    refuse_repeated(scores, [*_SYSTEM, *_DOCUMENT], "scores of")
    nan = scores.filter(pl.col("score").is_nan() | pl.col("score").is_null())
    if nan.height:
        raise MeasureError("NaN scores of", nan.select(*_SYSTEM, *_DOCUMENT).rows())
    by_system = {(str(key[0]), str(key[1])): frame for key, frame in scores.group_by(_SYSTEM)}
    failed = {
        (str(key[0]), str(key[1])): set(frame["query_id"])
        for key, frame in failures.group_by(_SYSTEM)
    }
    systems = sorted({*by_system, *failed})
    if not systems or not judged.query_ids:
        return QUERY_MEASURES.empty()
    matrix = np.zeros((len(systems), judged.documents.height))
    missed = np.ones((len(systems), len(judged.query_ids)), dtype=np.bool_)
    for row, system in enumerate(systems):
        if system in by_system:
            matrix[row], missed[row] = _aligned(judged, by_system[system], system)
        listed = failed.get(system, set())
        missed[row] |= np.array([query in listed for query in judged.query_ids])
    rankings = Rankings(judged.pools.relevance, matrix, judged.pools.offsets)
    values = np.where(missed, 0.0, measure.values(rankings, judged.pools))
    return QUERY_MEASURES.conform(_long(systems, judged.query_ids, str(measure), values, missed))


def build_leaderboard(
    query_measures: pl.DataFrame,
    queries: pl.DataFrame,
    families: Mapping[str, str],
    resamples: int = 1000,
    seed: int = 0,
) -> pl.DataFrame:
    """Average over queries, overall and per domain, with 95 % query bootstrap intervals.

    A query of several domains counts in each of them; domains without queries have no rows. Each
    domain is resampled at its own size, all retrievers with the same resamples.

    Args:
        query_measures: QUERY_MEASURES; a retriever without a row for a query that others have
            in that setting has failed on it and is worth 0 there.
        queries: BENCHMARK_QUERIES, or its columns query_id and domains.
        families: kind of each retriever; one that is not named is its owner's "own".
        resamples: of the bootstrap.
        seed: of the bootstrap, not negative.

    Returns:
        LEADERBOARD, ordered by (setting, measure, domain with 'all' first, rank). Rank is by mean
        descending, then by name.

    Raises:
        ValueError: when a measured query is not among the queries.
    """
    strangers = query_measures.join(queries, on="query_id", how="anti")["query_id"].unique().sort()
    if len(strangers):
        raise ValueError(
            f"{len(strangers)} measured queries are not benchmark queries, first {strangers[0]}"
        )
    domains = dict(queries.select("query_id", "domains").iter_rows())
    rows: list[dict[str, object]] = []
    for key, frame in sorted(query_measures.group_by("setting", "measure"), key=lambda x: x[0]):
        retrievers, query_ids, values, failed = _wide(frame)
        for domain, members in _members(query_ids, domains):
            rows.extend(
                {
                    "setting": key[0],
                    "measure": key[1],
                    "domain": domain,
                    "family": families.get(str(row["retriever"]), _UNKNOWN_FAMILY),
                    **row,
                }
                for row in _ranked(
                    retrievers,
                    values[:, members],
                    failed[:, members],
                    resamples,
                    _domain_seed(seed, domain),
                )
            )
    return LEADERBOARD.conform(pl.DataFrame(rows, schema=LEADERBOARD.schema))


def _judged(ratings: pl.DataFrame) -> _Judged:
    refuse_repeated(ratings, _DOCUMENT, "ratings of")
    rated = ratings.select(*_DOCUMENT, "rating").drop_nulls("rating").sort(_DOCUMENT)
    relevance = rated["rating"].to_numpy().astype(np.float64)
    refuse_relevance(rated.select(_DOCUMENT).rows(), relevance)
    sizes = rated.group_by("query_id", maintain_order=True).len()
    offsets = np.concatenate([[0], sizes["len"].to_numpy().cumsum()]).astype(np.int64)
    return _Judged(rated.select(_DOCUMENT), sizes["query_id"].to_list(), Pools(relevance, offsets))


def _aligned(
    judged: _Judged, scores: pl.DataFrame, system: tuple[str, str]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the scores (N,) of the judged documents, and (Q,) which queries have none."""
    joined = judged.documents.join(
        scores.select(*_DOCUMENT, "score"), on=_DOCUMENT, how="left", maintain_order="left"
    )
    absent = joined["score"].is_null().to_numpy()
    sizes = np.diff(judged.pools.offsets)
    counts = np.add.reduceat(absent.astype(np.int64), judged.pools.offsets[:-1])
    partly = np.repeat((counts > 0) & (counts < sizes), sizes) & absent
    if partly.any():
        raise MeasureError(
            f"{system[0]} ({system[1]}) scored only a part of the pool, not",
            joined.filter(pl.Series(partly)).select(_DOCUMENT).rows(),
        )
    return joined["score"].fill_null(0.0).to_numpy(), counts > 0


def _long(
    systems: list[tuple[str, str]],
    query_ids: list[str],
    measure: str,
    values: NDArray[np.float64],
    failed: NDArray[np.bool_],
) -> pl.DataFrame:
    queries = len(query_ids)
    return pl.DataFrame(
        {
            "retriever": [retriever for retriever, _ in systems for _ in range(queries)],
            "setting": [setting for _, setting in systems for _ in range(queries)],
            "query_id": query_ids * len(systems),
            "measure": [measure] * (queries * len(systems)),
            "value": values.ravel(),
            "failed": failed.ravel(),
        }
    )


def _wide(
    frame: pl.DataFrame,
) -> tuple[list[str], list[str], NDArray[np.float64], NDArray[np.bool_]]:
    """Return retrievers and queries, ascending, and (S, Q) values and failures."""
    refuse_repeated(frame, ["retriever", "query_id"], "measures of")
    retrievers = sorted(frame["retriever"].unique())
    query_ids = sorted(frame["query_id"].unique())
    row = frame["retriever"].replace_strict(retrievers, range(len(retrievers))).to_numpy()
    column = frame["query_id"].replace_strict(query_ids, range(len(query_ids))).to_numpy()
    values = np.zeros((len(retrievers), len(query_ids)))
    failed = np.ones(values.shape, dtype=np.bool_)
    values[row, column] = frame["value"].to_numpy()
    failed[row, column] = frame["failed"].to_numpy()
    return retrievers, query_ids, values, failed


def _members(
    query_ids: list[str], domains: Mapping[str, list[str]]
) -> list[tuple[str, NDArray[np.intp]]]:
    """Return the places of each domain's queries: 'all', then the domains by name."""
    names = sorted({domain for query in query_ids for domain in domains[query]})
    return [
        (ALL_DOMAINS, np.arange(len(query_ids))),
        *(
            (name, np.flatnonzero([name in domains[query] for query in query_ids]))
            for name in names
        ),
    ]


def _ranked(
    retrievers: list[str],
    values: NDArray[np.float64],
    failed: NDArray[np.bool_],
    resamples: int,
    seed: int,
) -> list[dict[str, object]]:
    means = values.mean(axis=1)
    low, high = intervals(values, resamples, seed)
    order = sorted(range(len(retrievers)), key=lambda s: (-means[s], retrievers[s]))
    return [
        {
            "rank": rank,
            "retriever": retrievers[s],
            "mean": float(means[s]),
            "low": float(low[s]),
            "high": float(high[s]),
            "queries": values.shape[1],
            "failed": int(failed[s].sum()),
        }
        for rank, s in enumerate(order, start=1)
    ]


def _domain_seed(seed: int, domain: str) -> int:
    """Return a seed that does not depend on which other domains there are."""
    digest = hashlib.blake2b(f"{seed}\x1f{domain}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")
