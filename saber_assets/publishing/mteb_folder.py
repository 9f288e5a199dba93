"""The MTEB reranking layout: configs corpus, queries, default (qrels) and top_ranked.

MTEB casts relevances to int32 and takes them for gains, so they are written as
round(1000 (2^rating - 1)): its nDCG@10 is then ours within 2e-5.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from saber_assets.publishing.benchmark import Benchmark
from saber_assets.publishing.gain_encoding import SCALE, encode
from saber_assets.publishing.hf_dataset import SPLIT, write_config
from saber_assets.publishing.manifest import Manifest, write_manifest
from saber_assets.publishing.qrels_import import (
    Collection,
    PoolSource,
    add_text,
    to_benchmark,
)
from saber_assets.publishing.release_files import (
    Row,
    find_files,
    id_field,
    list_field,
    need_files,
    number_field,
    rows_of,
    text_field,
)

FORMAT = "mteb"
QRELS = "default"


def write(benchmark: Benchmark, folder: Path, setting: str) -> None:
    """Write the folder: texts of one setting, gains of the rated pools, and the manifest."""
    _write_texts(folder, "corpus", benchmark.document_texts(setting), with_title=True)
    _write_texts(folder, "queries", benchmark.query_texts(setting), with_title=False)
    rated = benchmark.rated
    qrels = pl.DataFrame(
        {
            "query-id": rated["query_id"],
            "corpus-id": rated["candidate_id"],
            "score": encode(rated["rating"].to_numpy()),
        }
    )
    write_config(folder, QRELS, qrels)
    pools = qrels.group_by("query-id", maintain_order=True).agg(pl.col("corpus-id"))
    write_config(folder, "top_ranked", pools.rename({"corpus-id": "corpus-ids"}))
    write_manifest(folder, Manifest(FORMAT, gain_scale=SCALE, setting=setting))


def read(
    folder: Path,
    *,
    gain_scale: int | None = None,
    pools: PoolSource = "given",
    split: str = SPLIT,
) -> Benchmark:
    """Return the benchmark of a folder; of a task with several subsets, give one's folder.

    Args:
        folder: with parts corpus, queries, default or qrels, and perhaps top_ranked.
        gain_scale: see `to_benchmark`.
        pools: see `to_benchmark`.
        split: that is read, where there are several.

    Raises:
        InputError: with file and row, for whatever is missing, twice, or out of range.
    """
    found = Collection()
    for row in rows_of(need_files(folder, ("corpus", "documents"), split)):
        add_text(found.documents, row.place, id_field(row, "_id", "id"), titled_text(row))
    for row in rows_of(need_files(folder, ("queries", "query"), split)):
        add_text(found.queries, row.place, id_field(row, "_id", "id"), text_field(row, "text"))
    for row in rows_of(need_files(folder, (QRELS, "qrels"), split)):
        query, document = id_field(row, "query-id"), id_field(row, "corpus-id")
        found.add_relevance(row.place, query, document, number_field(row, "score"))
    listed = find_files(folder, ("top_ranked",), split)
    if listed:
        found.candidates = _candidates(found, rows_of(listed))
    return to_benchmark(found, gain_scale=gain_scale, pools=pools)


def titled_text(row: Row) -> str:
    """Return a document's text after its title, as retrievers are given it."""
    text = text_field(row, "text")
    title = row.values.get("title")
    return f"{title} {text}" if isinstance(title, str) and title.strip() else text


def _candidates(collection: Collection, rows: object) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in rows:  # type: ignore[attr-defined]
        query = id_field(row, "query-id")
        documents = [str(document) for document in list_field(row, "corpus-ids")]
        for document in documents:
            collection.know(row.place, query, document)
        found.setdefault(query, []).extend(documents)
    return found


def _write_texts(
    folder: Path, name: str, texts: list[tuple[str, str]], *, with_title: bool
) -> None:
    frame = pl.DataFrame(texts, {"_id": pl.String, "text": pl.String}, orient="row")
    if with_title:
        frame = frame.select("_id", pl.lit("").alias("title"), "text")
    write_config(folder, name, frame)
