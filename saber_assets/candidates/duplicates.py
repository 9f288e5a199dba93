"""The list of known duplicates: pairs of problems that are never candidates of each other.

Deduplication decides which problems enter the corpus. This list holds what it can't know, such as a
problem and its translation, or one problem of two contests that both shall stay.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from saber_assets.candidates.tables import LISTED_DUPLICATES
from saber_assets.corpus.record_files import (
    LONGEST_FIELD,
    bytes_of,
    csv_rows,
    identifier,
    json_object,
)
from saber_assets.errors import InputError

COLUMNS = ("first", "second")
EXAMPLE = '{"first": ..., "second": ...}'
SUFFIXES = (".csv", ".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz", ".parquet")


class Listed(NamedTuple):
    """What a list says of a corpus.

    Attributes:
        pairs: rows of LISTED_DUPLICATES.
        lines: pairs that the file lists.
        outside: those of them with an id that no record has.
    """

    pairs: pl.DataFrame
    lines: int
    outside: int


class _Pair(NamedTuple):
    where: str
    first: str
    second: str


def read_listed(path: Path, corpus: pl.DataFrame, dropped: pl.DataFrame) -> Listed:
    """Return the pairs of a corpus that a file lists.

    Args:
        path: a file whose name ends in one of `SUFFIXES`, with the columns (keys) first and
            second; others are ignored. Each names a problem by its problem_id or its source_id.
            Pairs are taken as they are listed: of a - b and b - c it doesn't follow a - c.
        corpus: DEDUPED_CORPUS.
        dropped: DROPPED_PROBLEMS. A problem that was dropped as a duplicate of another stands for
            that one.

    Returns:
        The pairs and what was left out. An id that no record has is left out and counted: a list
        may speak of more problems than the corpus holds.

    Raises:
        InputError: for a file that can't be read, a row that is no pair, a source_id that several
            problems have, or a list of which no pair names a record.

    Source: SPEC section 2, "Selection".
    """
    problems = _names(corpus, dropped)
    found: set[tuple[str, str]] = set()
    listed, outside = _read(path), 0
    for pair in listed:
        one, two = (_problem(problems, pair.where, name) for name in pair[1:])
        if one is None or two is None:
            outside += 1
        elif one and two and one != two:
            found.add((min(one, two), max(one, two)))
    if listed and outside == len(listed):
        raise InputError(
            f"{path} lists {outside} pairs, and no record of the corpus has their ids "
            f"(first {listed[0].first!r} and {listed[0].second!r}, {listed[0].where})",
            "list problem_id or source_id of the problems, as the table deduped_corpus has them",
        )
    frame = pl.DataFrame(sorted(found), schema=LISTED_DUPLICATES.schema, orient="row")
    return Listed(LISTED_DUPLICATES.conform(frame), len(listed), outside)


def _names(corpus: pl.DataFrame, dropped: pl.DataFrame) -> dict[str, set[str]]:
    """Return which problems each id means; "" is one that was dropped as no problem at all."""
    names: dict[str, set[str]] = {}
    kept = corpus.select("problem_id", "source_id", pl.col("problem_id").alias("kept"))
    lost = dropped.select("problem_id", "source_id", pl.col("kept_problem_id").alias("kept"))
    for problem_id, source_id, means in lost.fill_null("").iter_rows():
        names.setdefault(source_id, set()).add(means)
        names.setdefault(problem_id, set()).add(means)
    for _, source_id, means in kept.iter_rows():
        names.setdefault(source_id, set()).add(means)
    # a problem_id always means that problem, even where it is another problem's source_id
    names.update({problem_id: {problem_id} for problem_id in corpus["problem_id"]})
    return names


def _problem(names: dict[str, set[str]], where: str, name: str) -> str | None:
    """Return the problem that an id means, "" for one that was dropped; None for no record."""
    found = names.get(name)
    if found is None:
        return None
    if len(found) > 1:
        raise InputError(
            f"{where}: {name!r} is the source_id of several problems", "give the problem_id"
        )
    return next(iter(found))


def _read(path: Path) -> list[_Pair]:
    if path.is_dir():
        raise InputError(f"the list of duplicates {path} is a folder", "name the file in it")
    name = path.name.lower()
    if not name.endswith(SUFFIXES):
        raise InputError(
            f"the list of duplicates {path} has a suffix that is not known",
            f"give a file that ends in one of {', '.join(SUFFIXES)}",
        )
    try:
        if name.endswith(".parquet"):
            return list(_parquet(path))
        return list(_csv(path) if name.endswith(".csv") else _json_lines(path))
    except OSError as error:
        raise InputError(
            f"the list of duplicates {path} can't be read ({error.strerror or error})",
            "check selection.duplicates and the file's permissions",
        ) from error


def _csv(path: Path) -> Iterator[_Pair]:
    csv.field_size_limit(LONGEST_FIELD)
    reader = csv.reader(io.StringIO(bytes_of(path).decode(), newline=""), strict=True)
    rows = csv_rows(path, reader)
    _, header = next(rows, (1, []))
    header = [name.strip() for name in header]
    _check_columns(path, header)
    repeated = next((name for name in COLUMNS if header.count(name) > 1), None)
    if repeated is not None:
        raise InputError(f"{path} has the column {repeated!r} twice", "keep one of them")
    places = [header.index(name) for name in COLUMNS]
    for line, row in rows:
        where = f"{path} line {line}"
        if len(row) != len(header):
            raise InputError(
                f"{where} has {len(row)} fields and the header has {len(header)}",
                "quote ids that hold commas, quotes or line breaks",
            )
        yield _pair(where, *(row[place] for place in places))


def _json_lines(path: Path) -> Iterator[_Pair]:
    for line, text in enumerate(bytes_of(path).split(b"\n"), start=1):
        if text.strip():
            row = json_object(path, line, text, EXAMPLE)
            where = f"{path} line {line}"
            _check_columns(where, list(row))
            yield _pair(where, *(row[name] for name in COLUMNS))


def _parquet(path: Path) -> Iterator[_Pair]:
    try:
        frame = pl.read_parquet(path, hive_partitioning=False, glob=False)
    except pl.exceptions.PolarsError as error:
        reason = str(error).partition("\n")[0]
        raise InputError(
            f"{path} is not a sound Parquet file ({reason})", "write it anew"
        ) from error
    _check_columns(path, frame.columns)
    for number, row in enumerate(frame.select(COLUMNS).iter_rows(), start=1):
        yield _pair(f"{path} row {number}", *row)


def _check_columns(where: object, found: Sequence[str]) -> None:
    missing = [name for name in COLUMNS if name not in found]
    if missing:
        raise InputError(
            f"{where} has no {' and no '.join(map(repr, missing))} "
            f"(but {', '.join(map(repr, found)) or 'nothing'})",
            "name the two ids of each pair first and second",
        )


def _pair(where: str, first: object, second: object) -> _Pair:
    return _Pair(where, identifier(where, first), identifier(where, second))
