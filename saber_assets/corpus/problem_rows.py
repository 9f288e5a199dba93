"""Records of all sources in one shape, cleaned: the rows of `raw_problems`."""

from __future__ import annotations

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

UNKNOWN_LANGUAGE = "und"
RECORD_SCHEMA: Mapping[str, Any] = {
    "source": pl.String,
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
"""What is known of a record before it is cleaned; `language` and `answer` may be null."""
ROW_SCHEMA = {
    name: column.dtype for name, column in RAW_PROBLEMS.columns.items() if name != "occurrence"
}


@dataclass(frozen=True)
class RecordPart:
    """Records in a Parquet file, and what holds for all of them.

    Attributes:
        file: columns `RECORD_SCHEMA`, except those given here.
        height: rows.
        constants: columns that are the same in every row, or fill in for nulls.
    """

    file: Path
    height: int
    constants: Mapping[str, Any]


@dataclass(frozen=True)
class CleaningPass:
    """Cleans records in blocks of row numbers that run through all parts.

    Calling it gives the kernel that `saber_resources.blocks` runs, in threads or processes.

    Attributes:
        parts: the records, in order.
        cleaning: whether texts are cleaned, or only described.
    """

    parts: tuple[RecordPart, ...]
    cleaning: bool

    @property
    def height(self) -> int:
        """Records in all parts."""
        return sum(part.height for part in self.parts)

    def __call__(self, threads: int) -> Callable[[NDArray[np.int64], Progress | None], pl.DataFrame]:
        """Return the kernel; it takes ascending row numbers without gaps."""
        return self.clean

    def clean(self, rows: NDArray[np.int64], progress: Progress | None = None) -> pl.DataFrame:
        """Return these records as rows of `RAW_PROBLEMS`, not numbered yet."""
        frames = [pl.DataFrame(schema=ROW_SCHEMA)]
        for records in self._records(int(rows[0]), int(rows[-1]) + 1):
            made = [raw_row(record, self.cleaning) for record in records.iter_rows(named=True)]
            frames.append(pl.DataFrame(made, schema=ROW_SCHEMA, orient="row"))
            if progress is not None:
                progress(records.height)
        return pl.concat(frames)

    def _records(self, start: int, end: int, at_once: int = 1000) -> Iterator[pl.DataFrame]:
        before = 0
        for part in self.parts:
            first, last = max(start - before, 0), min(end - before, part.height)
            for place in range(first, last, at_once):
                scan = pl.scan_parquet(part.file, hive_partitioning=False, glob=False)
                frame = scan.slice(place, min(at_once, last - place)).collect()
                yield with_constants(frame, part.constants)
            before += part.height


def with_constants(frame: pl.DataFrame, constants: Mapping[str, Any]) -> pl.DataFrame:
    """Return records with the columns of `RECORD_SCHEMA`; what a row says itself wins."""
    columns = []
    for name, dtype in RECORD_SCHEMA.items():
        value = pl.lit(constants.get(name), dtype=dtype)
        given = pl.col(name).cast(dtype) if name in frame.columns else pl.lit(None, dtype=dtype)
        columns.append(pl.coalesce(given, value).alias(name))
    return frame.select(columns)


def raw_row(record: Mapping[str, Any], cleaning: bool) -> dict[str, Any]:
    """Return a record as a row of `RAW_PROBLEMS`, not numbered yet.

    Args:
        record: of `RECORD_SCHEMA`.
        cleaning: whether its texts are changed; what is found in them is noted in any case.
    """
    problem, solutions = record["problem"] or "", [text for text in record["solutions"] or () if text]
    found = clean_record(problem, solutions)
    if cleaning:
        problem, solutions = found.problem, list(found.solutions)
    solution = solutions[0] if solutions else ""
    return {
        "problem_id": problem_id_of(problem, solution),
        "source": record["source"],
        "source_id": record["source_id"],
        "location": record["location"],
        "problem": problem,
        "solution": solution,
        "language": record["language"] or found.language or UNKNOWN_LANGUAGE,
        "answer": record["answer"] or found.answer,
        "alternatives": solutions[1:],
        "diagrams": list(found.diagrams) if cleaning else [],
        "images": found.images,
        "licence": record["licence"],
        "for_training": record["for_training"],
        "steps": list(found.steps) if cleaning else [],
        "flags": list(found.flags),
        "fault": record["fault"] or _fault(problem, solution, found),
        "detail": record["detail"],
    }


def _fault(problem: str, solution: str, found: Cleaned) -> str | None:
    if "figure_only" in found.flags:
        return "figure_only"
    return fault_of(problem, solution)


def number_occurrences(frame: pl.DataFrame) -> pl.DataFrame:
    """Return rows of all blocks as a frame of `RAW_PROBLEMS`."""
    numbered = frame.with_columns(
        pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over("problem_id").alias("occurrence")
    )
    return numbered.select(list(RAW_PROBLEMS.columns))
