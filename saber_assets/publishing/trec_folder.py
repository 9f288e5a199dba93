"""TREC files: topics, documents, qrels (gains), and a run for each retriever.

topics.tsv       id, tab, text on one line
topics.jsonl     {"id", "contents"}: the same with its line breaks
documents.jsonl  {"id", "contents"}, as Anserini reads it
domains.jsonl    {"id", "domains"}, which is ours: TREC tools don't look at it
qrels.txt        query, 0, document, gain
runs/NAME.txt    query, Q0, document, rank, score, NAME
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import orjson
import polars as pl

from saber_assets.errors import InputError
from saber_assets.publishing.benchmark import Benchmark
from saber_assets.publishing.gain_encoding import SCALE, encode
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
    lines_of,
    list_field,
    need_files,
    number_field,
    rows_of,
    text_field,
)
from saber_assets.publishing.safe_ids import restore, safe
from saber_assets.publishing.trec_topics import topics_of

FORMAT = "trec"
LEAST_STEP = np.float32(1e-30)
"""Between scores near 0: smaller numbers may be taken for 0."""
_ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".z", ".md")
LARGEST = 1e37
"""Far enough from the end of float32 for any number of steps."""


def write(benchmark: Benchmark, folder: Path, setting: str) -> None:
    """Write the files of one setting, and the manifest."""
    topics, documents = benchmark.query_texts(setting), benchmark.document_texts(setting)
    _write_texts(folder / "documents.jsonl", documents)
    _write_texts(folder / "topics.jsonl", topics)
    lines = [f"{safe(key)}\t{' '.join(text.split())}\n" for key, text in topics]
    (folder / "topics.tsv").write_text("".join(lines), encoding="utf-8")
    rated = benchmark.rated
    gains = encode(rated["rating"].to_numpy()).tolist()
    pairs = rated.select("query_id", "candidate_id").iter_rows()
    judged = [
        f"{safe(query)} 0 {safe(document)} {gain}\n"
        for (query, document), gain in zip(pairs, gains, strict=True)
    ]
    (folder / "qrels.txt").write_text("".join(judged), encoding="utf-8")
    runs = benchmark.runs.join(rated, on=["query_id", "candidate_id"], how="semi")
    for (name,), run in sorted(runs.group_by("retriever"), key=lambda item: str(item[0][0])):
        (folder / "runs").mkdir(exist_ok=True)
        text = "".join(run_lines(run, str(name)))
        (folder / "runs" / f"{name}.txt").write_text(text, encoding="utf-8")
    known = benchmark.domains
    if known.height:
        with (folder / "domains.jsonl").open("wb") as file:
            for query, domains in known.iter_rows():
                file.write(orjson.dumps({"id": safe(query), "domains": domains}) + b"\n")
    write_manifest(folder, Manifest(FORMAT, gain_scale=SCALE, safe_ids=True, setting=setting))


def run_lines(run: pl.DataFrame, name: str) -> Iterator[str]:
    """Yield the lines of a run, in our order: by score, equal ones by document id.

    TREC tools sort again, by score alone and by rules of their own where it ties, and keep scores
    as float32. So each score is written below the one before it, by the least step of float32
    where it isn't anyway.

    Args:
        run: columns query_id, candidate_id and score.
        name: the tag.
    """
    ordered = run.sort("query_id", pl.col("score").neg(), "candidate_id")
    for (query,), part in ordered.group_by("query_id", maintain_order=True):
        scores = descending(part["score"].to_numpy())
        for rank, (document, score) in enumerate(zip(part["candidate_id"], scores, strict=True), 1):
            yield f"{safe(str(query))} Q0 {safe(document)} {rank} {score:.9g} {name}\n"


def descending(scores: np.ndarray) -> list[float]:
    """Return scores, sorted from the highest, as float32 numbers that fall strictly.

    Where one is too large for that, all are replaced by how many ranks they are from the end.
    """
    if (np.abs(scores) > LARGEST).any():
        return [float(place) for place in range(len(scores), 0, -1)]
    found: list[np.float32] = []
    for score in scores.astype(np.float32):
        if found:
            last = found[-1]
            below = min(np.nextafter(last, np.float32(-np.inf)), np.float32(last - LEAST_STEP))
            score = min(score, below)
        found.append(score)
    return [float(score) for score in found]


def read(
    folder: Path,
    *,
    gain_scale: int | None = None,
    pools: PoolSource = "given",
    safe_ids: bool = False,
) -> Benchmark:
    """Return the benchmark of a folder; runs in it widen the pools to what they rank.

    Args:
        folder: with documents.jsonl, topics (see `trec_topics`), qrels, and perhaps domains.jsonl.
        gain_scale: see `to_benchmark`.
        pools: see `to_benchmark`.
        safe_ids: whether ids are percent-encoded, as `write` does it.

    Raises:
        InputError: with file and row, for whatever is missing, twice, or out of range.
    """
    back = restore if safe_ids else str
    found = Collection()
    for row in rows_of(need_files(folder, ("documents", "docs", "corpus"))):
        key = back(id_field(row, "id", "_id", "docno"))
        add_text(found.documents, row.place, key, text_field(row, "contents", "text"))
    for place, key, text in topics_of(_topic_file(folder)):
        add_text(found.queries, place, back(key), text)
    for row in rows_of(find_files(folder, ("domains",))):
        named = [str(domain) for domain in list_field(row, "domains")]
        add_domains(found, row.place, back(id_field(row, "id")), named)
    for path in _named(folder, ("qrels",)):
        for place, line in lines_of(path):
            query, _, document, relevance = _fields(place, line, 4)
            value = number_field(Row(place, {"relevance": relevance}), "relevance")
            found.add_relevance(place, _known(found, back(query)), back(document), value)
    if (folder / "runs").is_dir():
        found.candidates = _ranked(folder / "runs", found, safe_ids)
    return to_benchmark(found, gain_scale=gain_scale, pools=pools)


def _topic_file(folder: Path) -> Path:
    """Return the file of the topics: of several, the one of JSON lines, which keeps line breaks."""
    files = _named(folder, ("topics", "queries"))
    written = [path for path in files if path.name.endswith((".jsonl", ".jsonl.gz"))]
    return (written or files)[0]


def _named(folder: Path, names: tuple[str, ...]) -> list[Path]:
    """Return the files of a part, whose names may end in anything, such as topics.301-450."""
    found = find_files(folder, names)
    for name in names:
        found = found or [
            path
            for path in sorted(folder.glob(f"{name}.*"))
            if path.is_file() and not path.name.lower().endswith(_ARCHIVES)
        ]
    return found or need_files(folder, names)


def _known(found: Collection, query: str) -> str:
    """Return a query's id as the topics have it: numbers stand there without leading zeros."""
    return query if query in found.queries else query.lstrip("0") or query


def _ranked(runs: Path, collection: Collection, safe_ids: bool) -> dict[str, list[str]]:
    back = restore if safe_ids else str
    found: dict[str, dict[str, None]] = {}
    for query, document in collection.relevances:
        found.setdefault(query, {})[document] = None
    for path in sorted(path for path in runs.iterdir() if path.is_file()):
        for place, line in lines_of(path):
            query, _, document, _, score, _ = _fields(place, line, 6)
            number_field(Row(place, {"score": score}), "score")
            key = _known(collection, back(query))
            collection.know(place, key, back(document))
            found.setdefault(key, {})[back(document)] = None
    return {query: list(documents) for query, documents in found.items()}


def _fields(place: str, line: str, count: int) -> list[str]:
    fields = line.split()
    if len(fields) != count:
        raise InputError(
            f"{place} has {len(fields)} fields instead of {count}", "correct that line"
        )
    return fields


def _write_texts(path: Path, texts: list[tuple[str, str]]) -> None:
    with path.open("wb") as file:
        for key, text in texts:
            file.write(orjson.dumps({"id": safe(key), "contents": text}) + b"\n")
