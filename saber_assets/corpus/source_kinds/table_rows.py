"""Rows of JSON Lines, CSV and Parquet files, one after the other in bounded memory.

JSON Lines are read line by line, CSV row by row, Parquet by row groups in batches, so that memory
depends on the longest row and not on the file.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from saber_assets.corpus.record_files import csv_rows, json_object
from saber_assets.corpus.source_kinds.source_files import check_regular
from saber_assets.errors import InputError

JSON_SUFFIXES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
CSV_SUFFIXES = (".csv", ".csv.gz")
PARQUET_SUFFIXES = (".parquet",)
SUFFIXES = (*JSON_SUFFIXES, *CSV_SUFFIXES, *PARQUET_SUFFIXES)

LONGEST_LINE = 64 << 20
"""Bytes that a line may have: far beyond any problem, and little enough to hold."""

_BEGINNING = 1 << 20
_FIRST_ROWS = 20
_PARQUET_BATCH = 256
_BOM = b"\xef\xbb\xbf"
_KEY = re.compile(r'"((?:[^"\\]|\\.){1,64})"\s*:')


class Row(NamedTuple):
    """One row: where it stands in its file ("line 3", "row 3"), and its values by column."""

    place: str
    values: dict[str, Any]


def rows_of(path: Path, columns: Sequence[str] | None = None) -> Iterator[Row]:
    """Yield the rows of a file in its order.

    Lines of JSON end at a line feed only, since a JSON string may hold U+2028 and its like;
    blank lines are skipped; a byte order mark is accepted. A row of CSV or Parquet has all
    columns of its file; one of JSON has the keys of its object.

    Args:
        path: a file whose name ends in one of `SUFFIXES`.
        columns: those to read from Parquet, where the file has them; None for all. A file that
            has one of them twice is refused.

    Raises:
        InputError: for a file that isn't there, is no regular file, can't be read, has another
            suffix, is not UTF-8, is empty, or breaks the rules of its format; names the line or
            row, and the mend.
    """
    check_regular(path)
    name = path.name.lower()
    if not name.endswith(SUFFIXES):
        raise InputError(
            f"{path} has a suffix that is not known",
            f"give a file that ends in one of {', '.join(SUFFIXES)}",
        )
    try:
        if path.stat().st_size == 0:
            raise InputError(f"{path} is empty", "give a file with at least one problem")
        if name.endswith(PARQUET_SUFFIXES):
            yield from _parquet_rows(path, columns)
        elif name.endswith(CSV_SUFFIXES):
            yield from _csv_table(path, columns)
        else:
            yield from _json_rows(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"{path} can't be read ({reason})", "check the file") from error


def count_rows(paths: Iterable[Path]) -> int | None:
    """Return the number of rows of Parquet files from their footers; None for other files."""
    total = 0
    for path in paths:
        if not path.name.lower().endswith(PARQUET_SUFFIXES):
            return None
        with _parquet_errors(path), pq.ParquetFile(pa.OSFile(str(path))) as file:
            total += file.metadata.num_rows
    return total


def columns_of(path: Path) -> frozenset[str]:
    """Return the columns that the beginning of a file shows; none where it can't be read.

    Never raises. Of JSON Lines the first twenty objects within a megabyte are looked at.
    """
    name = path.name.lower()
    try:
        if not path.is_file() or not name.endswith(SUFFIXES):
            return frozenset()
        if name.endswith(PARQUET_SUFFIXES):
            with pq.ParquetFile(pa.OSFile(str(path))) as file:
                return frozenset(file.schema_arrow.names)
        with _opened(path) as stream:
            beginning = stream.read(_BEGINNING).removeprefix(_BOM)
        whole = len(beginning) < _BEGINNING
        if name.endswith(CSV_SUFFIXES):
            header = next(csv.reader(io.StringIO(beginning.decode(errors="replace"))), [])
            return frozenset(column.strip() for column in header)
        return _keys_of(beginning, whole)
    except (OSError, EOFError, zlib.error, ValueError, csv.Error, pa.ArrowException):
        return frozenset()


def _keys_of(beginning: bytes, whole: bool) -> frozenset[str]:
    lines = beginning.decode(errors="replace").split("\n")
    found: set[str] = set()
    seen = 0
    for at, line in enumerate(lines):
        if not line.strip():
            continue
        cut_off = not whole and at == len(lines) - 1
        if cut_off and seen == 0:
            return frozenset(_KEY.findall(line))
        if cut_off or seen == _FIRST_ROWS:
            break
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            return frozenset(found)
        if not isinstance(value, dict):
            return frozenset(found)
        found.update(value)
        seen += 1
    return frozenset(found)


def _opened(path: Path) -> IO[bytes] | gzip.GzipFile:
    if path.name.lower().endswith(".gz"):
        return gzip.open(path, "rb")
    return path.open("rb")


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines with their numbers; each keeps its line feed."""
    with path.open("rb"):  # a file that can't be opened is told as such, not as broken gzip
        pass
    try:
        with _opened(path) as stream:
            number = 0
            while line := stream.readline(LONGEST_LINE + 1):
                number += 1
                if len(line) > LONGEST_LINE:
                    raise InputError(
                        f"{path} line {number} is longer than {LONGEST_LINE >> 20} MiB",
                        "write one record a line, each line ended by a line feed",
                    )
                yield number, line
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(
            f"{path} is not a sound gzip file ({error})", "compress it anew"
        ) from error


def _decoded(path: Path) -> Iterator[tuple[int, str]]:
    offset = 0
    for number, line in _lines(path):
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            raise InputError(
                f"{path} is not UTF-8: byte {line[error.start]:#04x} at offset "
                f"{offset + error.start}, line {number}",
                "save it in UTF-8",
            ) from error
        offset += len(line)
        yield number, text.removeprefix("\ufeff")


def _json_rows(path: Path) -> Iterator[Row]:
    for number, text in _decoded(path):
        if not text.isspace() and text:
            yield Row(f"line {number}", json_object(path, number, text))


def _csv_table(path: Path, columns: Sequence[str] | None) -> Iterator[Row]:
    csv.field_size_limit(LONGEST_LINE)
    rows = csv_rows(path, csv.reader(_csv_lines(path), strict=True))
    _, header = next(rows, (1, []))
    header = [name.strip() for name in header]
    _refuse_twins(path, header, columns)
    for line, row in rows:
        if len(row) != len(header):
            raise InputError(
                f"{path} line {line} has {len(row)} fields and the header has {len(header)}",
                "quote fields that hold commas, quotes or line breaks",
            )
        yield Row(f"line {line}", dict(zip(header, row, strict=True)))


def _refuse_twins(path: Path, names: Sequence[str], columns: Sequence[str] | None) -> None:
    for name in sorted(set(names)):
        if name and names.count(name) > 1 and (columns is None or name in columns):
            raise InputError(f"{path} has the column {name!r} twice", "keep one of them")


def _csv_lines(path: Path) -> Iterator[str]:
    for _, text in _decoded(path):
        if "\0" in text:
            raise InputError(f"{path} holds a zero byte", "save it as text in UTF-8")
        if "\r" in text[:-2]:
            yield from io.StringIO(text, newline="")
        else:
            yield text


def _parquet_rows(path: Path, columns: Sequence[str] | None) -> Iterator[Row]:
    with (
        _parquet_errors(path),
        pq.ParquetFile(pa.OSFile(str(path)), buffer_size=1 << 20, pre_buffer=False) as file,
    ):
        names = file.schema_arrow.names
        _refuse_twins(path, names, columns)
        wanted = [name for name in names if columns is None or name in columns]
        number = 0
        for group in range(file.num_row_groups):
            for batch in file.iter_batches(
                _PARQUET_BATCH, row_groups=[group], columns=wanted, use_threads=False
            ):
                for values in _values(path, batch):
                    number += 1
                    yield Row(f"row {number}", values)


def _values(path: Path, batch: pa.RecordBatch) -> list[dict[str, Any]]:
    try:
        rows: list[dict[str, Any]] = batch.to_pylist()
    except UnicodeDecodeError as error:
        raise InputError(f"{path} holds text that is not UTF-8", "write it anew") from error
    return rows


class _parquet_errors:  # noqa: N801  (used as a function)
    """Turns the errors of pyarrow into one that names the file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, pa.ArrowException | OSError):
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InputError(
                f"{self.path} is not a sound Parquet file ({reason})", "write it anew"
            ) from error
