"""Reads a person's problem files: JSON Lines, CSV and Parquet, into one frame.

Everything that a person can get wrong is found here, once, and said with file, line and mend.
A record has an id, a statement (`problem`), a `solution`, and optionally a `source`, a `licence`
and `for_training`, which counts where it is false; other columns are ignored.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from saber_assets.corpus.record_files import Record, read_csv, read_json_lines, read_parquet
from saber_assets.corpus.solution_check import is_real_solution
from saber_assets.corpus.tables import OWN_RECORDS
from saber_assets.corpus.tokens import INVISIBLE
from saber_assets.errors import InputError

BAD_ROWS = ("refuse", "set_aside")
_SUFFIXES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz", ".csv", ".parquet")
_SEPARATOR = "\x1f"  # str.split() takes it for whitespace, so no normalised text contains it


def normalise_content(text: str) -> str:
    """Return the text NFC-normalised, with each run of whitespace as one space, trimmed."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return " ".join(text.split())


def problem_id_of(problem: str, solution: str) -> str:
    """Return the content-derived id: "p" and 16 hexadecimal digits of BLAKE2b.

    It depends on nothing but the two texts up to whitespace and Unicode composition, so that
    another file name, source name or source id leaves it as it is.
    """
    content = normalise_content(problem) + _SEPARATOR + normalise_content(solution)
    return "p" + hashlib.blake2b(content.encode(), digest_size=8).hexdigest()


def fault_of(problem: str, solution: str) -> str | None:
    """Return why a record can't be used (a name of `DROP_REASONS`), or None."""
    if _is_blank(problem):
        return "empty_statement"
    if _is_blank(solution):
        return "empty_solution"
    return None if is_real_solution(solution) else "no_real_solution"


def _is_blank(text: str) -> bool:
    text = text.strip()
    return not text or (not text[0].isascii() and not INVISIBLE.sub("", text).strip())


def read_problems(path: Path, default_source: str | None = None) -> pl.DataFrame:
    """Read one problem file.

    Args:
        path: a file whose name ends in .jsonl, .ndjson, .jsonl.gz, .ndjson.gz, .csv or .parquet.
        default_source: the source of records that name none; by default the file's stem.

    Returns:
        A frame of `OWN_RECORDS` in file order; `fault` says why a record can't be used.

    Raises:
        InputError: for a file that can't be read, or records without id or with one id twice;
            the message names file, line or row, and how to mend it.
    """
    path = Path(path)
    frame = _read_unchecked(path, default_source or _stem(path))
    _refuse_repeated_ids(frame)
    return _number_occurrences(frame)


def read_corpus(paths: Sequence[Path], bad_rows: str = "refuse") -> pl.DataFrame:
    """Read several problem files into one frame.

    Args:
        paths: the files, in the order that numbers the occurrences of equal contents.
        bad_rows: "refuse" raises on the first record that can't be used; "set_aside" keeps such
            records with their `fault`, for `dropped_problems` to list, lets a record through that
            is repeated with the same id and the same content, and puts `#2`, `#3` behind an id
            that a source uses for other contents.

    Returns:
        A frame of `OWN_RECORDS`.

    Raises:
        InputError: as `read_problems`; where rows are refused, also for one id twice in a source
            across files.
        ValueError: for another value of `bad_rows`, or no path at all.
    """
    if bad_rows not in BAD_ROWS:
        raise ValueError(f"bad_rows is one of {BAD_ROWS}, got {bad_rows!r}")
    if not paths:
        raise ValueError("at least one file is needed")
    frame = pl.concat([_read_unchecked(Path(path), _stem(Path(path))) for path in paths])
    if bad_rows == "set_aside":
        return _number_occurrences(_number_ids(frame))
    _refuse_repeated_ids(frame)
    _refuse_faults(frame)
    return _number_occurrences(frame)


def _stem(path: Path) -> str:
    name = path.name[:-3] if path.name.lower().endswith(".gz") else path.name
    return Path(name).stem


def _read_unchecked(path: Path, default_source: str) -> pl.DataFrame:
    records = _records(path)
    if not records:
        raise InputError(f"{path} holds no record", "give a file with at least one problem")
    data: dict[str, Sequence[str | bool | None]] = {
        "problem_id": [problem_id_of(r.problem, r.solution) for r in records],
        "source": [r.source or default_source for r in records],
        "source_id": [r.record_id for r in records],
        "location": [f"{path.name} {r.place}" for r in records],
        "problem": [r.problem for r in records],
        "solution": [r.solution for r in records],
        "licence": [r.licence or None for r in records],
        "for_training": [False if r.for_training.lower() == "false" else None for r in records],
        "fault": [fault_of(r.problem, r.solution) for r in records],
    }
    schema = {name: OWN_RECORDS.columns[name].dtype for name in data}
    return pl.DataFrame(data, schema=schema)


def _records(path: Path) -> list[Record]:
    if not path.exists():
        raise InputError(f"{path} does not exist", "check the path")
    if path.is_dir():
        raise InputError(f"{path} is a folder", "name the files in it one by one")
    name = path.name.lower()
    if not name.endswith(_SUFFIXES):
        raise InputError(
            f"{path} has a suffix that is not known",
            f"give a file that ends in one of {', '.join(_SUFFIXES)}",
        )
    try:
        if path.stat().st_size == 0:
            raise InputError(f"{path} is empty", "give a file with at least one problem")
        if name.endswith(".csv"):
            return read_csv(path)
        if name.endswith(".parquet"):
            return read_parquet(path)
        return read_json_lines(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"{path} can't be read ({reason})", "check the file") from error


def _number_ids(frame: pl.DataFrame) -> pl.DataFrame:
    """Tell apart what has one id in one source and other contents, in the order of the rows."""
    key = ["source", "source_id"]
    contents = frame.unique([*key, "problem_id"], keep="first", maintain_order=True).select(
        *key, "problem_id", number=pl.int_range(1, pl.len() + 1).over(key)
    )
    numbered = frame.join(contents, on=[*key, "problem_id"], how="left", maintain_order="left")
    again = pl.format("{}#{}", "source_id", "number")
    named = pl.when(pl.col("number") > 1).then(again).otherwise("source_id")
    return numbered.with_columns(source_id=named).drop("number")


def _refuse_repeated_ids(frame: pl.DataFrame) -> None:
    key = ["source", "source_id"]
    repeated = frame.filter(pl.struct(key).is_duplicated())
    if repeated.is_empty():
        return
    first = repeated.row(0, named=True)
    second = repeated.filter(
        (pl.col("source") == first["source"]) & (pl.col("source_id") == first["source_id"])
    ).row(1, named=True)
    ids = repeated.select(key).unique().height
    more = f" (and {ids - 1} more ids are repeated)" if ids > 1 else ""
    raise InputError(
        f"the id {first['source_id']!r} of source {first['source']!r} is used twice, in "
        f"{first['location']} and {second['location']}{more}",
        "give each record of a source its own id",
    )


def _refuse_faults(frame: pl.DataFrame) -> None:
    faulted = frame.filter(pl.col("fault").is_not_null())
    if faulted.is_empty():
        return
    first = faulted.row(0, named=True)
    what = {
        "empty_statement": "has an empty statement",
        "empty_solution": "has an empty solution",
        "no_real_solution": f"has no solution but only the remark {first['solution'].strip()!r}",
    }[first["fault"]]
    rest = faulted.height - 1
    more = f" ({rest} more {'row has' if rest == 1 else 'rows have'} such faults)" if rest else ""
    raise InputError(
        f"{first['location']}: the record {first['source_id']!r} {what}{more}",
        "fill it in, remove the row, or build with --bad-rows set-aside to list such rows in "
        "dropped_problems",
    )


def _number_occurrences(frame: pl.DataFrame) -> pl.DataFrame:
    numbered = frame.with_columns(
        pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over("problem_id").alias("occurrence")
    )
    return numbered.select(list(OWN_RECORDS.columns))
