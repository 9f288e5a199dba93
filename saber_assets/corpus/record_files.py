"""The three file formats of problem records, with errors that name the line and the mend."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from saber_assets.errors import InputError

NEEDED_COLUMNS = ("id", "problem", "solution")
EXAMPLE = '{"id": ..., "problem": ..., "solution": ...}'
_BOM = b"\xef\xbb\xbf"
LONGEST_FIELD = 2**31 - 1
"""Of a CSV file; Python grants far less unless told."""


class Record(NamedTuple):
    """One record as it stands in its file; `source` is empty where the file names none."""

    place: str
    record_id: str
    problem: str
    solution: str
    source: str


def read_json_lines(path: Path) -> list[Record]:
    r"""Read JSON Lines, gzipped or not.

    Lines end at a line feed only (a carriage return before it is dropped): a JSON string may
    hold U+2028 and its like. Blank lines are skipped. A byte order mark is accepted.

    Raises:
        InputError: for text that is not UTF-8, and a line that is not one JSON object with the
            needed keys.
    """
    data = bytes_of(path)
    rows: list[tuple[int, dict[str, Any]]] = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        if line.strip():
            rows.append((number, json_object(path, number, line, EXAMPLE)))
    if not rows:
        return []
    found = {key for _, row in rows for key in row}
    _check_columns(path, found, "keys")
    records = []
    for number, row in rows:
        where = f"{path} line {number}"
        record = Record(
            f"line {number}",
            identifier(where, row.get("id")),
            _text(where, "problem", row.get("problem")),
            _text(where, "solution", row.get("solution")),
            _text(where, "source", row.get("source")),
        )
        _check_surrogates(where, record)
        records.append(record)
    return records


def read_csv(path: Path) -> list[Record]:
    """Read a comma-separated file with a header line; quoted fields may span lines.

    Raises:
        InputError: for text that is not UTF-8, missing columns, a row with more or fewer fields
            than the header, or a quote that is never closed.
    """
    data = bytes_of(path)
    if b"\0" in data:
        raise InputError(f"{path} holds a zero byte", "save it as text in UTF-8")
    csv.field_size_limit(LONGEST_FIELD)
    reader = csv.reader(io.StringIO(data.decode(), newline=""), strict=True)
    rows = csv_rows(path, reader)
    _, header = next(rows, (1, []))
    header = [name.strip() for name in header]
    _check_columns(path, header, "columns")
    repeated = sorted(
        {n for n in header if header.count(n) > 1 and n in (*NEEDED_COLUMNS, "source")}
    )
    if repeated:
        raise InputError(f"{path} has the column {repeated[0]!r} twice", "keep one of them")
    at = [header.index(name) for name in NEEDED_COLUMNS]
    source_at = header.index("source") if "source" in header else None
    records = []
    for line, row in rows:
        where = f"{path} line {line}"
        if len(row) != len(header):
            raise InputError(
                f"{where} has {len(row)} fields and the header has {len(header)}",
                "quote fields that hold commas, quotes or line breaks",
            )
        record_id, problem, solution = (row[column] for column in at)
        source = "" if source_at is None else row[source_at].strip()
        records.append(
            Record(f"line {line}", identifier(where, record_id), problem, solution, source)
        )
    return records


def read_parquet(path: Path) -> list[Record]:
    """Read a Parquet file.

    Raises:
        InputError: for a broken file, missing columns, or a column that holds no text.
    """
    try:
        schema = pl.read_parquet_schema(path)
        _check_columns(path, list(schema), "columns")
        wanted = [name for name in (*NEEDED_COLUMNS, "source") if name in schema]
        for name in wanted:
            _check_type(path, name, schema[name])
        frame = pl.read_parquet(path, columns=wanted, hive_partitioning=False, glob=False)
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"{path} is not a sound Parquet file ({reason})", "write it anew"
        ) from error
    frame = frame.select(pl.col(wanted).cast(pl.String))
    records = []
    for number, row in enumerate(frame.iter_rows(named=True), start=1):
        records.append(
            Record(
                f"row {number}",
                identifier(f"{path} row {number}", row["id"]),
                row["problem"] or "",
                row["solution"] or "",
                (row.get("source") or "").strip(),
            )
        )
    return records


def bytes_of(path: Path) -> bytes:
    """Return the UTF-8 text of a file, unpacked where its name ends in .gz, without its mark.

    Raises:
        InputError: for a broken gzip file, and text that is not UTF-8.
    """
    data = path.read_bytes()
    if path.name.lower().endswith(".gz"):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(
                f"{path} is not a sound gzip file ({error})", "compress it anew"
            ) from error
    _check_utf8(path, data)
    return data.removeprefix(_BOM)


def _check_utf8(path: Path, data: bytes) -> None:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path} is not UTF-8: byte {data[error.start]:#04x} at offset {error.start}, "
            f"line {line}",
            "save it in UTF-8",
        ) from error


def json_object(path: Path, number: int, line: bytes, example: str) -> dict[str, Any]:
    """Return the object on a line of JSON Lines.

    Raises:
        InputError: for anything else; it shows the example.
    """
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path} line {number} is not valid JSON ({error.msg} at column {error.colno})",
            "write one JSON object a line",
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{path} line {number} can't be read as JSON ({error})", "write one JSON object a line"
        ) from error
    if not isinstance(value, dict):
        raise InputError(
            f"{path} line {number} holds {_kind(value)} instead of an object",
            f"write one JSON object a line, as {example}",
        )
    return value


def csv_rows(path: Path, reader: Any) -> Iterator[tuple[int, list[str]]]:
    """Yield the line on which each row of a `csv.reader` starts, and its fields.

    Raises:
        InputError: for what is no CSV.
    """
    while True:
        start = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise InputError(
                f"{path} line {start} is not valid CSV ({error})",
                "put fields with commas or line breaks in quotes, and double each quote inside",
            ) from error
        if row:
            yield start, row


def _check_columns(path: Path, found: Sequence[str] | set[str], word: str) -> None:
    missing = [name for name in NEEDED_COLUMNS if name not in found]
    if missing:
        listed = ", ".join(
            repr(name) for name in (sorted(found) if isinstance(found, set) else found)
        )
        raise InputError(
            f"{path} has no {' and no '.join(repr(name) for name in missing)} among its {word} "
            f"({listed or 'none'})",
            "rename or add them: id, problem, solution and, if there are several, source",
        )


def _check_type(path: Path, name: str, dtype: pl.DataType) -> None:
    textual = dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null)
    if textual or (name == "id" and dtype.is_integer()):
        return
    raise InputError(
        f"{path}: the column {name!r} holds {dtype}, not text", f"store {name!r} as strings"
    )


def identifier(where: str, value: object) -> str:
    """Return an id, a text or a whole number, as text without blanks around it.

    Raises:
        InputError: for none, and for anything else.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and value.strip():
        return value.strip()
    if value is None or isinstance(value, str):
        raise InputError(f"{where} has no id", "give each record an id")
    raise InputError(f"{where}: the id is {_kind(value)}", "give it as a string or an integer")


def _text(where: str, name: str, value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value.strip() if name == "source" else value
    raise InputError(f"{where}: {name!r} is {_kind(value)}, not text", "write it as a string")


def _check_surrogates(where: str, record: Record) -> None:
    for name, value in zip(("id", "problem", "solution", "source"), record[1:], strict=True):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            bad = ord(value[error.start])
            raise InputError(
                f"{where} (id {record.record_id!a}): {name!r} holds the lone surrogate "
                f"\\u{bad:04x} at character {error.start + 1}",
                "replace it by the character that was meant",
            ) from error


_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "true or false"),
    ((int, float), "a number"),
    (str, "a string"),
    (list, "a list"),
    (dict, "an object"),
)


def _kind(value: object) -> str:
    kind = "null" if value is None else f"of type {type(value).__name__}"
    return next((name for kinds, name in _KINDS if isinstance(value, kinds)), kind)
