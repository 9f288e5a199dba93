"""The BEIR layout: corpus.jsonl, queries.jsonl and qrels/test.tsv, relevances as gains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import orjson

from saber_assets.publishing.benchmark import Benchmark
from saber_assets.publishing.gain_encoding import SCALE, encode
from saber_assets.publishing.manifest import Manifest, write_manifest
from saber_assets.publishing.mteb_folder import titled_text
from saber_assets.publishing.qrels_import import (
    Collection,
    PoolSource,
    add_text,
    to_benchmark,
)
from saber_assets.publishing.release_files import (
    Row,
    id_field,
    need_files,
    number_field,
    rows_of,
    text_field,
)
from saber_assets.publishing.safe_ids import restore, safe

FORMAT = "beir"
SPLIT = "test"
_HEADER = "query-id\tcorpus-id\tscore\n"


def write(benchmark: Benchmark, folder: Path, setting: str) -> None:
    """Write the folder: texts of one setting, gains of the rated pools, and the manifest.

    The qrels name every rated candidate, so that the pools are the judged documents.
    """
    domains = dict(benchmark.queries.select("query_id", "domains").iter_rows())
    documents = [
        {"_id": safe(key), "title": "", "text": text, "metadata": {}}
        for key, text in benchmark.document_texts(setting)
    ]
    queries = [
        {"_id": safe(key), "text": text, "metadata": {"domains": domains[key]}}
        for key, text in benchmark.query_texts(setting)
    ]
    _write_lines(folder / "corpus.jsonl", documents)
    _write_lines(folder / "queries.jsonl", queries)
    rated = benchmark.rated
    gains = encode(rated["rating"].to_numpy()).tolist()
    pairs = rated.select("query_id", "candidate_id").iter_rows()
    lines = [
        f"{safe(query)}\t{safe(document)}\t{gain}\n"
        for (query, document), gain in zip(pairs, gains, strict=True)
    ]
    (folder / "qrels").mkdir()
    (folder / "qrels" / f"{SPLIT}.tsv").write_text(_HEADER + "".join(lines), encoding="utf-8")
    write_manifest(folder, Manifest(FORMAT, gain_scale=SCALE, safe_ids=True, setting=setting))


def read(
    folder: Path,
    *,
    gain_scale: int | None = None,
    pools: PoolSource = "given",
    split: str = SPLIT,
    safe_ids: bool = False,
) -> Benchmark:
    """Return the benchmark of a folder.

    Args:
        folder: with corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv.
        gain_scale: see `to_benchmark`.
        pools: see `to_benchmark`; most BEIR folders judge relevant documents only.
        split: of the qrels.
        safe_ids: whether ids are percent-encoded, as `write` does it.

    Raises:
        InputError: with file and row, for whatever is missing, twice, or out of range.
    """
    back = restore if safe_ids else str
    found = Collection()
    for row in rows_of(need_files(folder, ("corpus",))):
        add_text(found.documents, row.place, back(id_field(row, "_id", "id")), titled_text(row))
    domains = {}
    for row in rows_of(need_files(folder, ("queries",))):
        key = back(id_field(row, "_id", "id"))
        add_text(found.queries, row.place, key, text_field(row, "text"))
        domains[key] = _domains(row)
    found.domains = domains
    for row in rows_of(need_files(folder, ("qrels",), split)):
        query, document = back(id_field(row, "query-id")), back(id_field(row, "corpus-id"))
        found.add_relevance(row.place, query, document, number_field(row, "score"))
    return to_benchmark(found, gain_scale=gain_scale, pools=pools)


def _domains(row: Row) -> list[str]:
    metadata = row.values.get("metadata")
    named = metadata.get("domains") if isinstance(metadata, dict) else None
    return [str(domain) for domain in named] if isinstance(named, list) else []


def _write_lines(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    with path.open("wb") as file:
        for row in rows:
            file.write(orjson.dumps(row) + b"\n")
