"""Leaving out what may not be passed on under any terms, and counting what that breaks."""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from saber_assets.corpus.licences import permissive
from saber_assets.errors import InputError
from saber_assets.publishing.benchmark import Benchmark

LICENCE = "licence"


@dataclass(frozen=True)
class LeftOut:
    """What leaving documents out has cost.

    Attributes:
        documents: left out, for their licence.
        queries: left out, because the query itself is, or none of its candidates is left.
        pools: of the queries that stay, those that have lost candidates.
        candidates: lost by these.
    """

    documents: int
    queries: int
    pools: int
    candidates: int

    @property
    def sentence(self) -> str:
        """The same in words."""
        return (
            f"{self.documents} documents are left out for their licence; that takes "
            f"{self.queries} queries, and {self.candidates} candidates from {self.pools} of the "
            f"pools that stay"
        )


def keep_permissive(benchmark: Benchmark) -> tuple[Benchmark, LeftOut]:
    """Return the benchmark without documents that aren't permissively licensed.

    Ratings stay as they were judged: a smaller pool has another ideal ranking, so that its nDCG
    can't be compared with that of the whole pool.

    Args:
        benchmark: with a column `licence` among its documents; null is not permissive.

    Raises:
        InputError: when the documents have no such column, or nothing would be left.
    """
    documents = benchmark.documents
    if LICENCE not in documents.columns:
        raise InputError(
            "the corpus of this benchmark has no column 'licence'",
            "export without --permissive, or build from sources that state licences",
        )
    stated = documents[LICENCE].drop_nulls().unique().to_list()
    kept = documents.filter(pl.col(LICENCE).is_in([name for name in stated if permissive(name)]))
    ids = kept["problem_id"].implode()
    pools = benchmark.pools.filter(
        pl.col("query_id").is_in(ids) & pl.col("candidate_id").is_in(ids)
    )
    queries = benchmark.queries.join(pools.select("query_id"), on="query_id", how="semi")
    if queries.is_empty():
        raise InputError(
            "no query of this benchmark is permissively licensed with any of its candidates",
            "export without --permissive",
        )
    before = benchmark.pools.join(queries.select("query_id"), on="query_id", how="semi")
    lost = before.join(pools, on=["query_id", "candidate_id"], how="anti")
    found = LeftOut(
        documents=documents.height - kept.height,
        queries=benchmark.queries.height - queries.height,
        pools=lost["query_id"].n_unique(),
        candidates=lost.height,
    )
    return _within(replace(benchmark, documents=kept, queries=queries, pools=pools)), found


def _within(benchmark: Benchmark) -> Benchmark:
    """Return the benchmark with no verdicts and scores but of members of its pools."""
    members = benchmark.pools.select("query_id", "candidate_id")
    verdicts = benchmark.verdicts
    for side in ("first_id", "second_id"):
        pairs = members.rename({"candidate_id": side})
        verdicts = verdicts.join(pairs, on=["query_id", side], how="semi", maintain_order="left")
    runs = benchmark.runs.join(members, on=["query_id", "candidate_id"], how="semi")
    return replace(benchmark, verdicts=verdicts, runs=runs)
