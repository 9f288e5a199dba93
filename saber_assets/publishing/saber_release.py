"""The SABER release: queries with candidates by row and ratings, documents, matches."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from saber_assets.errors import InputError
from saber_assets.publishing.benchmark import (
    DOCUMENTS,
    POOLS,
    QUERIES,
    VERDICTS,
    Benchmark,
)
from saber_assets.publishing.gain_encoding import LARGEST_RATING
from saber_assets.publishing.manifest import Manifest, write_manifest
from saber_assets.publishing.qrels_import import add_text, query_names
from saber_assets.publishing.release_files import (
    Row,
    field,
    find_files,
    id_field,
    list_field,
    need_files,
    number_field,
    rows_of,
    text_field,
)

FORMAT = "saber"
MATCHES = "matches.csv"


def write(benchmark: Benchmark, folder: Path) -> None:
    """Write `queries.parquet`, `documents.parquet`, `matches.csv` and the manifest.

    Candidates are rows of the documents, from 0; matches hold wins only, for the format knows no
    tie. Documents have further columns where the benchmark has, such as `licence`.
    """
    documents = release_documents(benchmark)
    documents.write_parquet(folder / "documents.parquet", compression="zstd")
    release_queries(benchmark, documents["id"]).write_parquet(
        folder / "queries.parquet", compression="zstd"
    )
    release_matches(benchmark).write_csv(folder / MATCHES)
    write_manifest(folder, Manifest(FORMAT))


def release_documents(benchmark: Benchmark) -> pl.DataFrame:
    """Return the documents with the release's names: id, problem, solution, and what else is."""
    return benchmark.documents.rename({"problem_id": "id"}).select("id", pl.exclude("id"))


def release_queries(benchmark: Benchmark, ids: pl.Series) -> pl.DataFrame:
    """Return the queries that have a rated pool, with candidates as rows of `ids`, and ratings.

    Raises:
        ValueError: when a candidate is not among the ids.
    """
    rows = pl.DataFrame({"candidate_id": ids, "row": range(len(ids))}, schema_overrides=_ROW)
    pools = benchmark.rated.join(rows, on="candidate_id", how="left", maintain_order="left")
    if pools["row"].null_count():
        raise ValueError("a candidate is no document")
    lists = pools.group_by("query_id", maintain_order=True).agg(
        candidates="row", relevance_scores="rating"
    )
    return benchmark.queries.join(lists, on="query_id", how="inner", maintain_order="left").rename(
        {"query_id": "id"}
    )


def release_matches(benchmark: Benchmark) -> pl.DataFrame:
    """Return the verdicts that somebody won: target_id, model_a, model_b, winner."""
    return benchmark.verdicts.filter(pl.col("winner").is_in([1, 2])).select(
        target_id="query_id", model_a="first_id", model_b="second_id", winner="winner"
    )


def read(folder: Path) -> Benchmark:
    """Return the benchmark of a release: Parquet or JSON lines, matches where there are any.

    Candidates may also be ids of documents.

    Raises:
        InputError: with file and row, for whatever is missing, twice, or out of range.
    """
    documents, order = _documents(folder)
    texts, pools, domains = _queries(folder, documents, order)
    statements = {key: problem for key, (problem, _) in documents.items()}
    names = query_names({key: problem for key, (problem, _) in texts.items()}, statements)
    own = [(names[query], document) for query, document, _ in pools]
    kept = [(*pair, rating) for pair, (_, _, rating) in zip(own, pools, strict=True) if _two(*pair)]
    return Benchmark(
        documents=pl.DataFrame(
            [(key, *both) for key, both in sorted(documents.items())], DOCUMENTS, orient="row"
        ),
        queries=pl.DataFrame(
            [(names[key], *both, domains[key]) for key, both in texts.items()],
            QUERIES,
            orient="row",
        ).sort("query_id"),
        pools=pl.DataFrame(kept, POOLS, orient="row").sort("query_id", "candidate_id"),
        verdicts=_verdicts(folder, names, set(own)),
        notes={"candidates that are their query": len(pools) - len(kept)},
    )


_ROW = {"row": pl.Int64}


def _two(query: str, document: str) -> bool:
    return query != document


def _documents(folder: Path) -> tuple[dict[str, tuple[str, str]], list[str]]:
    statements: dict[str, str] = {}
    documents: dict[str, tuple[str, str]] = {}
    for row in rows_of(need_files(folder, ("documents", "corpus"))):
        key = id_field(row, "id", "_id")
        add_text(statements, row.place, key, text_field(row, "problem"))
        documents[key] = (statements[key], _solution(row))
    return documents, list(documents)


def _solution(row: Row) -> str:
    return "" if row.values.get("solution") is None else text_field(row, "solution")


def _queries(
    folder: Path, documents: Mapping[str, object], order: list[str]
) -> tuple[dict[str, tuple[str, str]], list[tuple[str, str, float]], dict[str, list[str]]]:
    statements: dict[str, str] = {}
    texts: dict[str, tuple[str, str]] = {}
    pools: list[tuple[str, str, float]] = []
    domains: dict[str, list[str]] = {}
    for row in rows_of(need_files(folder, ("queries",))):
        key = id_field(row, "id", "_id")
        add_text(statements, row.place, key, text_field(row, "problem"))
        texts[key] = (statements[key], _solution(row))
        domains[key] = _domains(row)
        pools += [(key, *pair) for pair in _pool(row, documents, order)]
    if not pools:
        raise InputError(f"{folder} has no query with candidates", "check its queries")
    return texts, pools, domains


def _domains(row: Row) -> list[str]:
    if row.values.get("domains") is None:
        return []
    return sorted({str(domain) for domain in list_field(row, "domains")})


def _pool(row: Row, documents: Mapping[str, object], order: list[str]) -> list[tuple[str, float]]:
    candidates = list_field(row, "candidates")
    scores = list_field(row, "relevance_scores", "relevance")
    if len(candidates) != len(scores):
        raise InputError(
            f"{row.place} has {len(candidates)} candidates and {len(scores)} relevance_scores",
            "give one score a candidate",
        )
    pool: dict[str, float] = {}
    for place, (candidate, score) in enumerate(zip(candidates, scores, strict=True), start=1):
        document = _document(row, candidate, documents, order)
        rating = number_field(Row(f"{row.place}, score {place}", {"score": score}), "score")
        if not 0 <= rating <= LARGEST_RATING:
            raise InputError(
                f"{row.place}: the relevance score {rating:g} of candidate {place} is not in "
                f"[0, {LARGEST_RATING:g}]",
                "scale the ratings",
            )
        if document in pool:
            raise InputError(f"{row.place} has candidate {candidate!r} twice", "give it once")
        pool[document] = rating
    return list(pool.items())


def _document(row: Row, candidate: Any, documents: Mapping[str, object], order: list[str]) -> str:
    if isinstance(candidate, int) and not isinstance(candidate, bool):
        if 0 <= candidate < len(order):
            return order[candidate]
        raise InputError(
            f"{row.place}: candidate {candidate} is no row of the {len(order)} documents",
            "count rows from 0, and give all documents",
        )
    if isinstance(candidate, str) and candidate in documents:
        return candidate
    raise InputError(
        f"{row.place}: candidate {candidate!r} is no document",
        "give rows of the documents, from 0, or their ids",
    )


def _verdicts(
    folder: Path, names: Mapping[str, str], members: set[tuple[str, str]]
) -> pl.DataFrame:
    found = []
    for row in rows_of(find_files(folder, ("matches",))):
        query = id_field(row, "target_id")
        sides = [id_field(row, side) for side in ("model_a", "model_b")]
        if query not in names or any((names[query], side) not in members for side in sides):
            raise InputError(
                f"{row.place}: {sides[0]!r} and {sides[1]!r} are not both candidates of query "
                f"{query!r}",
                "give ids of the queries and documents",
            )
        winner = str(field(row, "winner")).strip()
        if winner not in ("1", "2"):
            raise InputError(f"{row.place}: the winner is {winner!r}", "give 1 or 2")
        found.append((names[query], *sides, int(winner)))
    return pl.DataFrame(found, VERDICTS, orient="row")
