"""Records of all sources in one shape, cleaned: the rows of `raw_problems`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from saber_assets.corpus.cleaning.clean import Cleaned, clean_record
from saber_assets.corpus.readers import fault_of, problem_id_of
from saber_assets.corpus.tables import RAW_PROBLEMS

Progress = Callable[[int], None]
Kernel = Callable[[NDArray[np.int64], Progress | None], pl.DataFrame]

UNKNOWN_LANGUAGE = "und"
AT_ONCE = 1000
"""Records in memory at a time."""
RECORD_SCHEMA: Mapping[str, Any] = {
    "source": pl.String,
    "origin": pl.String,
    "source_id": pl.String,
    "location": pl.String,
    "problem": pl.String,
    "solutions": pl.List(pl.String),
    "answer": pl.String,
    "language": pl.String,
    "licence": pl.String,
    "for_training": pl.Boolean,
    "fault": pl.String,
    "detail": pl.String,
}
"""What a table may know of a record before it is cleaned; what it doesn't know is null."""
ROW_SCHEMA = {
    name: column.dtype for name, column in RAW_PROBLEMS.columns.items() if name != "occurrence"
}


@dataclass(frozen=True)
class Facts:
    """What holds for the records of a source that don't say otherwise themselves.

    Attributes:
        licence: SPDX identifier, or None.
        for_training: whether models may be trained on them, as far as the source is concerned.
        language: as the settings declare it, or None.
        by_origin: whether the origin that a record names takes the place of the source.
    """

    licence: str | None = None
    for_training: bool = True
    language: str | None = None
    by_origin: bool = False


@dataclass(frozen=True)
class RecordPart:
    """Records in a Parquet file.

    Attributes:
        file: some columns of `RECORD_SCHEMA`.
        height: rows.
        source: of all of them, or None where each row names its own.
    """

    file: Path
    height: int
    source: str | None


def record_part(table: pl.LazyFrame, file: Path, source: str | None) -> tuple[RecordPart, str]:
    """Write a table's records to a file of their own, piece by piece.

    Returns:
        The part, and a hash of what is in it.
    """
    names = table.collect_schema().names()
    columns = [pl.col(name) for name in names if name in RECORD_SCHEMA]
    if "metadata" in names and "detail" not in names:  # readers say there what a fault is about
        reason = pl.col("metadata").str.json_path_match("$.reason")
        columns.append(pl.when(pl.col("fault").is_not_null()).then(reason).alias("detail"))
    table.select(columns).sink_parquet(file, row_group_size=AT_ONCE)
    digest = hashlib.blake2b(str(source).encode(), digest_size=12)
    with file.open("rb") as opened:
        while block := opened.read(1 << 20):
            digest.update(block)
    height = pl.scan_parquet(file, hive_partitioning=False, glob=False).select(pl.len()).collect()
    return RecordPart(file, int(height.item()), source), digest.hexdigest()


@dataclass(frozen=True)
class CleaningPass:
    """Cleans records in blocks of row numbers that run through all parts.

    Calling it gives the kernel that `saber_resources.blocks` runs, in threads or processes.

    Attributes:
        parts: the records, in order.
        cleaning: whether texts are cleaned, or only described.
        facts: of sources, by name.
    """

    parts: tuple[RecordPart, ...]
    cleaning: bool
    facts: Mapping[str, Facts]

    def __call__(self, threads: int) -> Kernel:
        """Return the kernel; it takes ascending row numbers without gaps."""
        return self.clean

    def clean(self, rows: NDArray[np.int64], progress: Progress | None = None) -> pl.DataFrame:
        """Return these records as rows of `RAW_PROBLEMS`, not numbered yet."""
        frames = [pl.DataFrame(schema=ROW_SCHEMA)]
        for records in self._records(int(rows[0]), int(rows[-1]) + 1) if len(rows) else ():
            made = [
                raw_row(record, self.cleaning, self.facts.get(record["source"], Facts()))
                for record in records.iter_rows(named=True)
            ]
            frames.append(pl.DataFrame(made, schema=ROW_SCHEMA, orient="row"))
            if progress is not None:
                progress(records.height)
        return pl.concat(frames)

    def _records(self, start: int, end: int) -> Iterator[pl.DataFrame]:
        """Yield the records from one row number to another, some at a time."""
        before = 0
        for part in self.parts:
            first, last = max(start - before, 0), min(end - before, part.height)
            for place in range(first, last, AT_ONCE):
                scan = pl.scan_parquet(part.file, hive_partitioning=False, glob=False)
                frame = scan.slice(place, min(AT_ONCE, last - place)).collect()
                yield as_records(frame, part.source)
            before += part.height


def as_records(frame: pl.DataFrame, source: str | None) -> pl.DataFrame:
    """Return records with all columns of `RECORD_SCHEMA`."""
    known = {name: pl.col(name) for name in frame.columns}
    if source is not None:
        known["source"] = pl.lit(source)
    return frame.select(
        known.get(name, pl.lit(None)).cast(dtype).alias(name)
        for name, dtype in RECORD_SCHEMA.items()
    )


def raw_row(record: Mapping[str, Any], cleaning: bool, facts: Facts) -> dict[str, Any]:
    """Return a record as a row of `RAW_PROBLEMS`, not numbered yet.

    Args:
        record: of `RECORD_SCHEMA`.
        cleaning: whether its texts are changed; what is found in them is noted in any case.
        facts: of its source; what the record says itself wins.
    """
    problem = record["problem"] or ""
    solutions = [text for text in record["solutions"] or () if text]
    found = clean_record(problem, solutions)
    if cleaning:
        problem, solutions = found.problem, list(found.solutions)
    solution = solutions[0] if solutions else ""
    allowed = record["for_training"]
    return {
        "problem_id": problem_id_of(problem, solution),
        "source": (record["origin"] if facts.by_origin else "") or record["source"],
        "source_id": record["source_id"],
        "location": record["location"],
        "problem": problem,
        "solution": solution,
        "language": record["language"] or facts.language or found.language,
        "answer": record["answer"] or found.answer,
        "alternatives": solutions[1:],
        "diagrams": list(found.diagrams) if cleaning else [],
        "images": found.images,
        "licence": record["licence"] or facts.licence,
        "for_training": facts.for_training if allowed is None else allowed,
        "steps": list(found.steps) if cleaning else [],
        "flags": list(found.flags),
        "fault": record["fault"] or _fault(problem, solution, found),
        "detail": record["detail"],
    }


def _fault(problem: str, solution: str, found: Cleaned) -> str | None:
    return "figure_only" if "figure_only" in found.flags else fault_of(problem, solution)


def number_occurrences(frame: pl.DataFrame) -> pl.DataFrame:
    """Return rows of all blocks as a frame of `RAW_PROBLEMS`."""
    numbered = frame.with_columns(
        pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over("problem_id").alias("occurrence")
    )
    return numbered.select(list(RAW_PROBLEMS.columns))
