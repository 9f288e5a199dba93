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
_OPTIONAL = ("source", "licence", "for_training")
EXAMPLE = '{"id": ..., "problem": ..., "solution": ...}'
_BOM = b"\xef\xbb\xbf"
LONGEST_FIELD = 2**31 - 1
"""Of a CSV file; Python grants far less unless told."""


class Record(NamedTuple):
    """One record as it stands in its file; what is optional is empty where it names none."""

    place: str
    record_id: str
    problem: str
    solution: str
    source: str
    licence: str = ""
    for_training: str = ""


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
            text_value(where, "problem", row.get("problem")),
            text_value(where, "solution", row.get("solution")),
            text_value(where, "source", row.get("source")),
            _licence(row.get("licence")),
            _word(row.get("for_training")),
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
        {n for n in header if header.count(n) > 1 and n in (*NEEDED_COLUMNS, *_OPTIONAL)}
    )
    if repeated:
        raise InputError(f"{path} has the column {repeated[0]!r} twice", "keep one of them")
    at = [header.index(name) for name in NEEDED_COLUMNS]
    more_at = [header.index(name) if name in header else None for name in _OPTIONAL]
    records = []
    for line, row in rows:
        where = f"{path} line {line}"
        if len(row) != len(header):
            raise InputError(
                f"{where} has {len(row)} fields and the header has {len(header)}",
                "quote fields that hold commas, quotes or line breaks",
            )
        record_id, problem, solution = (row[column] for column in at)
        more = ["" if column is None else row[column].strip() for column in more_at]
        records.append(
            Record(f"line {line}", identifier(where, record_id), problem, solution, *more)
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
        wanted += [name for name in ("licence",) if schema.get(name) == pl.String]
        wanted += [
            name for name in ("for_training",) if schema.get(name) in (pl.Boolean, pl.String)
        ]
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
                (row.get("licence") or "").strip(),
                (row.get("for_training") or "").strip(),
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


def json_object(
    path: Path, number: int, line: bytes | str, example: str = EXAMPLE
) -> dict[str, Any]:
    """Return the JSON object that one line holds; InputError, with the example, for others."""
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
            f"{path} line {number} holds {kind_of_value(value)} instead of an object",
            f"write one JSON object a line, as {example}",
        )
    return value


def csv_rows(path: Path, reader: Any) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that aren't empty, each with its first line; InputError for bad CSV."""
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
    """Return an id as text: a string that isn't blank, or an integer; InputError else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and value.strip():
        return value.strip()
    if value is None or isinstance(value, str):
        raise InputError(f"{where} has no id", "give each record an id")
    raise InputError(
        f"{where}: the id is {kind_of_value(value)}", "give it as a string or an integer"
    )


def text_value(where: str, name: str, value: object) -> str:
    """Return a text as it stands, "" for null; InputError for what is no text."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value.strip() if name == "source" else value
    raise InputError(
        f"{where}: {name!r} is {kind_of_value(value)}, not text", "write it as a string"
    )


def _licence(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _word(value: object) -> str:
    """Return true or false as text, and "" for what is neither."""
    if isinstance(value, bool):
        return str(value).lower()
    return value.strip() if isinstance(value, str) else ""


def _check_surrogates(where: str, record: Record) -> None:
    for name, value in zip(("id", *Record._fields[2:]), record[1:], strict=True):
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


def kind_of_value(value: object) -> str:
    """Say in words what a value is, as "a list"."""
    kind = "null" if value is None else f"of type {type(value).__name__}"
    return next((name for kinds, name in _KINDS if isinstance(value, kinds)), kind)
