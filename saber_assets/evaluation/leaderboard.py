"""From scores and ratings to the leaderboard (SPEC, section 2, 'Evaluation')."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from saber_assets.evaluation.alignment import Scores, align, measure_matrix
from saber_assets.evaluation.bootstrap import intervals
from saber_assets.evaluation.rankings import Measure
from saber_assets.evaluation.tables import LEADERBOARD, QUERY_MEASURES

ALL_DOMAINS = "all"
_UNKNOWN_FAMILY = "own"


def measure_queries(
    scores: Scores, failures: pl.DataFrame, ratings: pl.DataFrame, measure: Measure
) -> pl.DataFrame:
    """Measure each retriever on each rated query, in each setting that it has taken part in.

    Candidates without a rating (flagged 'unjudged') are left out of the pool, of the ranking and
    of the ideal alike; a query without any rated candidate is left out. A query for which a
    retriever has no scores, or is listed among the failures, is worth 0 and marked `failed`.

    Args:
        scores: RETRIEVER_SCORES, of any number of retrievers; see `Scores`.
        failures: RETRIEVER_FAILURES, or its columns retriever, setting and query_id.
        ratings: RELEVANCE_RATINGS, or its columns query_id, candidate_id and rating.
        measure: such as `Ndcg()`.

    Returns:
        QUERY_MEASURES, ordered by (retriever, setting, query_id).

    Raises:
        MeasureError: with the ids, on NaN scores, documents scored or rated twice, and a query of
            which a retriever scored some rated candidates but not all.
    """
    aligned = align(scores, failures, ratings)
    if not aligned.systems:
        return QUERY_MEASURES.empty()
    values = aligned.values(measure)
    return QUERY_MEASURES.conform(
        _long(aligned.systems, aligned.query_ids, str(measure), values, aligned.missed)
    )


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
        matrix = measure_matrix(frame)
        for domain, members in _members(matrix.query_ids, domains):
            rows.extend(
                {
                    "setting": key[0],
                    "measure": key[1],
                    "domain": domain,
                    "family": families.get(str(row["retriever"]), _UNKNOWN_FAMILY),
                    **row,
                }
                for row in _ranked(
                    matrix.retrievers,
                    matrix.values[:, members],
                    matrix.failed[:, members],
                    resamples,
                    _domain_seed(seed, domain),
                )
            )
    return LEADERBOARD.conform(pl.DataFrame(rows, schema=LEADERBOARD.schema))


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
