"""The MTEB reranking layout: configs corpus, queries, default (qrels) and top_ranked.

A task of several subsets has configs SUBSET-corpus, SUBSET-queries, SUBSET-qrels and
SUBSET-top_ranked for each. A further config, domains, is ours: MTEB doesn't look at it.

MTEB casts relevances to int32 and takes them for gains, so they are written as
round(1000 (2^rating - 1)): its nDCG@10 is then ours within 2e-5.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from saber_assets.errors import InputError
from saber_assets.publishing.benchmark import Benchmark
from saber_assets.publishing.gain_encoding import SCALE, encode
from saber_assets.publishing.hf_dataset import SPLIT, write_config
from saber_assets.publishing.manifest import Manifest, write_manifest
from saber_assets.publishing.qrels_import import (
    Collection,
    PoolSource,
    add_domains,
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
    subsets_of,
    text_field,
)

FORMAT = "mteb"
QRELS = "default"
DOMAINS = "domains"
ALL = "all"
"""The name that stands for all subsets together."""
_BETWEEN = ":"
"""Between a subset's name and an id, where all are read together."""


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
    known = benchmark.domains
    if known.height:
        write_config(folder, DOMAINS, known.rename({"query_id": "query-id"}))
    write_manifest(folder, Manifest(FORMAT, gain_scale=SCALE, setting=setting))


def read(
    folder: Path,
    *,
    gain_scale: int | None = None,
    pools: PoolSource = "given",
    split: str = SPLIT,
    subset: str = "",
) -> Benchmark:
    """Return the benchmark of a folder.

    Args:
        folder: with parts corpus, queries, default or qrels, and perhaps top_ranked and domains.
        gain_scale: see `to_benchmark`.
        pools: see `to_benchmark`.
        split: that is read, where there are several.
        subset: that is read, where there are several; `ALL` for all of them: then ids begin with
            the subset's name, and the subset is its queries' domain.

    Raises:
        InputError: with file and row, for whatever is missing, twice, or out of range; where there
            are several subsets and none is chosen.
    """
    found = Collection()
    for name in _chosen(folder, subset):
        before = f"{name}{_BETWEEN}" if subset == ALL and name else ""
        _add(found, folder, f"{name}-" if name else "", before, split)
        if before:
            mine = [query for query in found.queries if query not in found.domains]
            found.domains |= {query: [name] for query in mine}
    return to_benchmark(found, gain_scale=gain_scale, pools=pools)


def _chosen(folder: Path, subset: str) -> list[str]:
    """Return the names of the subsets to read; "" for that of a folder without subsets."""
    names = subsets_of(folder, "corpus")
    if subset == ALL and names:
        return names
    if subset not in ("", ALL):
        if subset not in names:
            raise InputError(
                f"{folder} has no subset '{subset}'",
                f"give --subset with one of {', '.join(names)}, or {ALL}"
                if names
                else "leave out --subset: the folder has one collection",
            )
        return [subset]
    if not names or find_files(folder, ("corpus", "documents")):
        return [""]
    if len(names) > 1:
        raise InputError(
            f"{folder} has {len(names)} subsets",
            f"give --subset with one of {', '.join(names)}, or {ALL}",
        )
    return names


def _add(found: Collection, folder: Path, prefix: str, before: str, split: str) -> None:
    """Add a subset to a collection.

    Args:
        found: the collection.
        folder: of the task.
        prefix: of the names of its parts.
        before: what its ids begin with.
        split: that is read.
    """

    def parts(*names: str) -> tuple[str, ...]:
        return tuple(f"{prefix}{name}" for name in names)

    for row in rows_of(need_files(folder, parts("corpus", "documents"), split)):
        key = before + id_field(row, "_id", "id")
        add_text(found.documents, row.place, key, titled_text(row))
    for row in rows_of(need_files(folder, parts("queries", "query"), split)):
        key = before + id_field(row, "_id", "id")
        add_text(found.queries, row.place, key, text_field(row, "text"))
    for row in rows_of(need_files(folder, parts(QRELS, "qrels"), split)):
        query, document = before + id_field(row, "query-id"), before + id_field(row, "corpus-id")
        found.add_relevance(row.place, query, document, number_field(row, "score"))
    for row in rows_of(find_files(folder, parts(DOMAINS), split)):
        named = [str(domain) for domain in list_field(row, "domains")]
        add_domains(found, row.place, before + id_field(row, "query-id"), named)
    listed = find_files(folder, parts("top_ranked"), split)
    if listed:
        found.candidates = (found.candidates or {}) | _candidates(found, listed, before)


def titled_text(row: Row) -> str:
    """Return a document's text after its title, as retrievers are given it."""
    text = text_field(row, "text")
    title = row.values.get("title")
    return f"{title} {text}" if isinstance(title, str) and title.strip() else text


def _candidates(collection: Collection, files: Sequence[Path], before: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in rows_of(files):
        query = before + id_field(row, "query-id")
        documents = [f"{before}{document}" for document in list_field(row, "corpus-ids")]
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
