"""A benchmark as the formats exchange it: documents, queries, rated pools, verdicts and runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from saber_assets.retrieval.texts import document_text, query_text

Schema = dict[str, pl.DataType | type[pl.DataType]]

DOCUMENTS: Schema = {"problem_id": pl.String, "problem": pl.String, "solution": pl.String}
QUERIES: Schema = {
    "query_id": pl.String,
    "problem": pl.String,
    "solution": pl.String,
    "domains": pl.List(pl.String),
}
POOLS: Schema = {"query_id": pl.String, "candidate_id": pl.String, "rating": pl.Float64}
VERDICTS: Schema = {
    "query_id": pl.String,
    "first_id": pl.String,
    "second_id": pl.String,
    "winner": pl.Int8,
}
RUNS: Schema = {
    "retriever": pl.String,
    "query_id": pl.String,
    "candidate_id": pl.String,
    "score": pl.Float64,
}


@dataclass(frozen=True)
class Benchmark:
    """Everything of a benchmark that is released, or was.

    Attributes:
        documents: `DOCUMENTS` and further columns, by id.
        queries: `QUERIES`, by id; a query's text may differ from that of the document of its id.
        pools: `POOLS`; rating in [0, 5], null where a candidate was never judged.
        verdicts: `VERDICTS`, where they are known: 1 or 2 won, 0 is a tie, null is none.
        runs: `RUNS`, scores of retrievers; finite.
        made_by: annotators and judges by part, see `Manifest`.
        notes: what was left out or assumed, for people: a name and a number or a phrase.
    """

    documents: pl.DataFrame
    queries: pl.DataFrame
    pools: pl.DataFrame
    verdicts: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=VERDICTS))
    runs: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=RUNS))
    made_by: Mapping[str, Sequence[str]] = field(default_factory=dict)
    notes: Mapping[str, object] = field(default_factory=dict)

    @property
    def rated(self) -> pl.DataFrame:
        """The rated part of the pools, by query and candidate: what the measures are over."""
        return self.pools.drop_nulls("rating").sort("query_id", "candidate_id")

    @property
    def domains(self) -> pl.DataFrame:
        """query_id and domains of the queries with a rated pool, of those that have any."""
        kept = self.queries.join(self.rated.select("query_id"), on="query_id", how="semi")
        return kept.select("query_id", "domains").filter(pl.col("domains").list.len() > 0)

    def only_pooled(self) -> Benchmark:
        """Return the benchmark with no other documents than those in pools."""
        members = self.pools.select(problem_id="candidate_id").unique()
        return replace(self, documents=self.documents.join(members, on="problem_id", how="semi"))

    def document_texts(self, setting: str) -> list[tuple[str, str]]:
        """Return id and text of every document as a retriever sees it in a setting."""
        rows = self.documents.select(list(DOCUMENTS)).iter_rows()
        return [(key, document_text(problem, solution, setting)) for key, problem, solution in rows]

    def query_texts(self, setting: str) -> list[tuple[str, str]]:
        """Return id and text of every query with a rated pool, as a retriever sees it."""
        kept = self.queries.join(self.rated.select("query_id"), on="query_id", how="semi")
        rows = kept.select("query_id", "problem", "solution").iter_rows()
        return [(key, query_text(problem, solution, setting)) for key, problem, solution in rows]


def from_tables(
    corpus: pl.DataFrame,
    queries: pl.DataFrame,
    pools: pl.DataFrame,
    ratings: pl.DataFrame,
    judgments: pl.DataFrame | None = None,
    scores: pl.DataFrame | None = None,
) -> Benchmark:
    """Return the benchmark that the tables of a workdir hold.

    Args:
        corpus: DEDUPED_CORPUS.
        queries: BENCHMARK_QUERIES.
        pools: CANDIDATE_POOLS.
        ratings: RELEVANCE_RATINGS.
        judgments: PAIRWISE_JUDGMENTS, or None.
        scores: RETRIEVER_SCORES of one setting, or None.
    """
    texts = corpus.select(query_id="problem_id", problem="problem", solution="solution")
    rated = ratings.select("query_id", "candidate_id", "rating", "standard_error")
    return Benchmark(
        documents=corpus.sort("problem_id"),
        queries=queries.join(texts, on="query_id").select(list(QUERIES)).sort("query_id"),
        pools=pools.select("query_id", "candidate_id", "category")
        .join(rated, on=["query_id", "candidate_id"], how="left")
        .select(*POOLS, "category", "standard_error")
        .sort("query_id", "candidate_id"),
        verdicts=pl.DataFrame(schema=VERDICTS) if judgments is None else judgments,
        runs=pl.DataFrame(schema=RUNS) if scores is None else scores.select(list(RUNS)),
    )
