"""From a released benchmark to the tables that a build would have made."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from saber_assets.publishing.benchmark import Benchmark
from saber_assets.publishing.tables import (
    IMPORTED_CORPUS,
    IMPORTED_JUDGMENTS,
    IMPORTED_POOLS,
    IMPORTED_QUERIES,
    IMPORTED_RATINGS,
)
from saber_assets.table import Table

PRIVATE_SOURCE = "queries"
"""Source of queries that aren't among the documents."""
ACCORDING = "according to the release"
"""Said behind a name that a release states and nobody here has checked."""


def import_tables(
    benchmark: Benchmark, source: str, judges: Sequence[str] = ()
) -> list[tuple[Table, pl.DataFrame]]:
    """Return the tables of an imported benchmark, in the order of `IMPORTED`.

    What a release doesn't tell, such as categories, similarities and strengths, is null.

    Args:
        benchmark: as a format's `read` returns it.
        source: name of the documents' source.
        judges: who judged, as the release states it; none where it doesn't.
    """
    pairs = ["query_id", "candidate_id"]
    ordered = benchmark.pools.sort(pairs)
    return [
        (IMPORTED_CORPUS, _filled(IMPORTED_CORPUS, _corpus(benchmark, source))),
        (IMPORTED_QUERIES, _filled(IMPORTED_QUERIES, _queries(benchmark))),
        (IMPORTED_POOLS, _filled(IMPORTED_POOLS, ordered.select(pairs))),
        (IMPORTED_RATINGS, _filled(IMPORTED_RATINGS, ordered.select(*pairs, "rating"))),
        (IMPORTED_JUDGMENTS, _filled(IMPORTED_JUDGMENTS, _judgments(benchmark, source, judges))),
    ]


def _corpus(benchmark: Benchmark, source: str) -> pl.DataFrame:
    texts = ["problem_id", "problem", "solution"]
    documents = benchmark.documents.select(texts).with_columns(source=pl.lit(source))
    queries = (
        benchmark.queries.rename({"query_id": "problem_id"})
        .select(texts)
        .join(documents, on="problem_id", how="anti")
        .with_columns(source=pl.lit(f"{source} {PRIVATE_SOURCE}"))
    )
    return (
        pl.concat([documents, queries])
        .with_columns(source_id=pl.col("problem_id"))
        .sort("problem_id")
    )


def _queries(benchmark: Benchmark) -> pl.DataFrame:
    pooled = benchmark.pools.select("query_id")
    return (
        benchmark.queries.join(pooled, on="query_id", how="semi")
        .select("query_id", "domains", combination=pl.col("domains").list.join(" + "))
        .sort("query_id")
    )


def _judgments(benchmark: Benchmark, source: str, judges: Sequence[str]) -> pl.DataFrame:
    judge = f"{', '.join(judges)}, {ACCORDING}" if judges else f"judge of {source}"
    return benchmark.verdicts.with_columns(
        pair=pl.int_range(pl.len()).over("query_id"), judge=pl.lit(judge)
    )


def _filled(table: Table, frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame with null in the columns of a table that it lacks."""
    return frame.with_columns(
        pl.lit(None, dtype=dtype).alias(name)
        for name, dtype in table.schema.items()
        if name not in frame.columns
    )
