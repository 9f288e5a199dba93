"""A person's own table for an analysis: CSV, JSON lines or Parquet, checked column by column."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from saber_assets.errors import InputError

DType = pl.DataType | type[pl.DataType]


def read_user_table(path: Path, columns: Mapping[str, DType], key: str) -> pl.DataFrame:
    """Return the wanted columns of a file; others are ignored.

    Args:
        path: ends in .csv, .jsonl, .ndjson or .parquet.
        columns: names and types; values are trimmed, empty ones are not allowed.
        key: the column whose values may not repeat.

    Raises:
        InputError: when the file can't be read, a column is missing, or a value is empty, of
            another type or repeated; with the row.
    """
    frame = _read(path)
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise InputError(
            f"{path} has no column '{missing[0]}'", f"its columns must be {', '.join(columns)}"
        )
    typed = frame.select(
        pl.col(name).cast(pl.String).str.strip_chars().alias(name) for name in columns
    )
    for name, dtype in columns.items():
        typed = typed.with_columns(_converted(path, typed[name], dtype))
    repeated = typed.filter(pl.col(key).is_duplicated())
    if repeated.height:
        raise InputError(
            f"{path} has several rows for {key} '{repeated[key][0]}'", "keep one of them"
        )
    return typed


def _read(path: Path) -> pl.DataFrame:
    suffix = path.suffix.lower()
    try:
        if suffix == ".csv":
            return pl.read_csv(path, infer_schema=False, encoding="utf8")
        if suffix in (".jsonl", ".ndjson"):
            return pl.read_ndjson(path, infer_schema_length=None)
        if suffix == ".parquet":
            return pl.read_parquet(path, hive_partitioning=False, glob=False)
    except FileNotFoundError as error:
        raise InputError(f"there is no file {path}", "give the path of a table") from error
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).split("\n", 1)[0].rstrip(". ")
        raise InputError(f"{path} can't be read ({reason})", "mend the file") from error
    raise InputError(
        f"{path} is neither CSV, JSON lines nor Parquet",
        "give a file whose name ends in .csv, .jsonl or .parquet",
    )


def _converted(path: Path, column: pl.Series, dtype: DType) -> pl.Series:
    text = column.replace({"": None})
    if text.null_count():
        row = int(text.is_null().arg_true()[0]) + 1
        raise InputError(f"row {row} of {path} has no {column.name}", "fill it in, or drop the row")
    if dtype == pl.Date:
        typed = text.str.to_date("%Y-%m-%d", strict=False)
    else:
        typed = text.cast(dtype, strict=False)
    wrong = typed.is_null()
    if dtype == pl.Float64:
        wrong = wrong | ~typed.is_finite().fill_null(False)
    if wrong.any():
        row = int(wrong.arg_true()[0])
        kind = "a date like 2025-03-31" if dtype == pl.Date else "a number"
        raise InputError(
            f"row {row + 1} of {path} has '{text[row]}' as {column.name}", f"write {kind}"
        )
    return typed.alias(column.name)
