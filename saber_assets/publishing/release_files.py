"""Finding and reading the files of a release; every fault names its file and row."""

from __future__ import annotations

import csv
import gzip
import io
import math
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import polars as pl
import yaml

from saber_assets.errors import InputError

SUFFIXES = (".parquet", ".jsonl", ".jsonl.gz", ".json", ".csv", ".tsv", ".txt")
README = "README.md"
_LONGEST_FIELD = 2**31 - 1


class Row(NamedTuple):
    """A row as it stands in its file."""

    place: str
    values: dict[str, Any]


def find_files(folder: Path, names: Sequence[str], split: str | None = None) -> list[Path]:
    """Return the files of one part of a release, such as its queries; none where it has none.

    The data card's `configs` are asked first, as Hugging Face libraries do; then a folder of one
    of the names, then files whose name begins with one of them, also in `data/`.

    Args:
        folder: of the release.
        names: of the part, the preferred one first.
        split: the split that is wanted, where a part has several; None: all.

    Raises:
        InputError: when a card is broken, or the split isn't among those there are.
    """
    configs = _configs(folder)
    for name in names:
        if name in configs:
            return _config_files(folder, name, configs[name], split)
    for name in names:
        below = folder / name
        if below.is_dir():
            found = [path for path in sorted(below.iterdir()) if _is_data(path)]
            return _of_split(below, {path: _stem(path) for path in found}, split)
    for place in (folder, folder / "data"):
        for name in names:
            found = [path for path in sorted(place.glob(f"{name}*")) if _is_data(path)]
            found = [path for path in found if _stem(path)[len(name) :][:1] in ("", "-", "_")]
            if found:
                return _of_split(place, {path: _stem(path)[len(name) :] for path in found}, split)
    return []


def need_files(folder: Path, names: Sequence[str], split: str | None = None) -> list[Path]:
    """Return what `find_files` does, but never nothing.

    Raises:
        InputError: as there, and when the release has no such part.
    """
    found = find_files(folder, names, split)
    if not found:
        raise InputError(
            f"{folder} has no {' or '.join(names)} ({', '.join(SUFFIXES[:3])}, a folder of such "
            "files, or a part of its README's configs)",
            "check the folder and the format that you named",
        )
    return found


def subsets_of(folder: Path, part: str) -> list[str]:
    """Return the names of the subsets that each have such a part: X where there is X-corpus.

    Args:
        folder: of the release.
        part: such as corpus.
    """
    named = [*_configs(folder)]
    for place in (folder, folder / "data"):
        named += [path.name for path in place.glob(f"*-{part}") if path.is_dir()]
        named += [
            f"{path.name.split(f'-{part}')[0]}-{part}"
            for path in place.glob(f"*-{part}*")
            if _is_data(path)
        ]
    return sorted({name.removesuffix(f"-{part}") for name in named if name.endswith(f"-{part}")})


def rows_of(files: Sequence[Path]) -> Iterator[Row]:
    """Yield the rows of Parquet, JSON lines, CSV and TSV files with a header.

    Raises:
        InputError: for a file or line that can't be read.
    """
    for path in files:
        name = path.name.lower()
        if name.endswith(".parquet"):
            yield from _parquet_rows(path)
        elif name.endswith((".csv", ".tsv")):
            yield from _csv_rows(path, "\t" if name.endswith(".tsv") else ",")
        else:
            yield from _json_rows(path)


def lines_of(path: Path) -> Iterator[tuple[str, str]]:
    """Yield place and content of the lines of a text file that aren't blank.

    Raises:
        InputError: when it can't be read, or isn't UTF-8.
    """
    for number, line in enumerate(text_of(path).split("\n"), start=1):
        if line.strip():
            yield f"{path} line {number}", line.rstrip("\r")


def field(row: Row, *names: str) -> Any:
    """Return the value of the first of several columns that a row has.

    Raises:
        InputError: when it has none of them, or null there.
    """
    for name in names:
        if row.values.get(name) is not None:
            return row.values[name]
    raise InputError(
        f"{row.place} has no {' or '.join(repr(name) for name in names)} "
        f"(it has {', '.join(row.values) or 'nothing'})",
        "check that the folder is of the format that you named",
    )


def text_field(row: Row, *names: str) -> str:
    """Return a text, or InputError as `field`, and where it isn't one."""
    value = field(row, *names)
    if isinstance(value, str):
        return value
    raise InputError(f"{row.place}: {names[0]!r} is not a text", "store it as a string")


def id_field(row: Row, *names: str) -> str:
    """Return an id, given as text or whole number; InputError as `field`, and for others."""
    value = field(row, *names)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and value:
        return value
    raise InputError(
        f"{row.place}: {names[0]!r} is no id", "give a text that isn't empty, or a whole number"
    )


def number_field(row: Row, *names: str) -> float:
    """Return a finite number, also where it is written as text; InputError for others."""
    value = field(row, *names)
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if math.isfinite(number):
        return number
    raise InputError(f"{row.place}: {names[0]!r} is {value!r}, no finite number", "correct it")


def list_field(row: Row, *names: str) -> list[Any]:
    """Return a list; InputError as `field`, and where it isn't one."""
    value = field(row, *names)
    if isinstance(value, list):
        return value
    raise InputError(f"{row.place}: {names[0]!r} is not a list", "store it as a list")


def _is_data(path: Path) -> bool:
    return path.is_file() and path.name.lower().endswith(SUFFIXES)


def _stem(path: Path) -> str:
    name = path.name
    for suffix in sorted(SUFFIXES, key=len, reverse=True):
        if name.lower().endswith(suffix):
            return name[: -len(suffix)]
    return name


def _of_split(place: Path, stems: dict[Path, str], split: str | None) -> list[Path]:
    """Return the files of a split: by their name's first word, or all where none names one."""
    words = {path: stem.strip("-_").split("-")[0].split(".")[0] for path, stem in stems.items()}
    named = {word for word in words.values() if not word.isdigit()}
    if split is None or len(named) <= 1:
        return list(stems)
    chosen = [path for path, word in words.items() if word == split]
    if not chosen:
        raise InputError(
            f"{place} has no split '{split}'",
            f"give --split with one of {', '.join(sorted(named))}",
        )
    return chosen


def _configs(folder: Path) -> dict[str, Any]:
    """Return the data files of each config in the head of a folder's README."""
    path = folder / README
    if not path.is_file():
        return {}
    text = text_of(path)
    if not text.startswith("---"):
        return {}
    try:
        head = yaml.safe_load(text[3:].split("\n---", 1)[0]) or {}
        return {
            str(config["config_name"]): config["data_files"]
            for config in head.get("configs") or []
            if config.get("data_files")
        }
    except (yaml.YAMLError, AttributeError, KeyError, TypeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(
            f"the head of {path} is no sound data card ({reason})", "mend it, or delete the file"
        ) from error


def _config_files(folder: Path, name: str, given: Any, split: str | None) -> list[Path]:
    splits: dict[str, Any] = {}
    for item in given if isinstance(given, list) else [given]:
        if isinstance(item, dict):
            splits[str(item.get("split"))] = item.get("path")
        else:
            splits.setdefault("", []).append(item)
    chosen = split if split in splits else next(iter(splits))
    if split is not None and chosen != split and len(splits) > 1:
        raise InputError(
            f"{folder}: '{name}' has no split '{split}'",
            f"give --split with one of {', '.join(sorted(splits))}",
        )
    wanted = splits.values() if split is None else [splits[chosen]]
    patterns = [
        str(one) for value in wanted for one in (value if isinstance(value, list) else [value])
    ]
    found = sorted({path for pattern in patterns for path in _inside(folder, pattern)})
    if not found:
        raise InputError(
            f"{folder / README} names {', '.join(patterns)} for '{name}', which isn't there",
            "download the folder completely",
        )
    return found


def _inside(folder: Path, pattern: str) -> list[Path]:
    if Path(pattern).is_absolute() or ".." in Path(pattern).parts:
        raise InputError(
            f"{folder / README} names {pattern}, which is outside its folder", "correct it"
        )
    return [path for path in folder.glob(pattern) if path.is_file()]


def _parquet_rows(path: Path) -> Iterator[Row]:
    try:
        frame = pl.read_parquet(path, hive_partitioning=False, glob=False)
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(
            f"{path} is not a sound Parquet file ({reason})", "download it again"
        ) from error
    for number, values in enumerate(frame.iter_rows(named=True), start=1):
        yield Row(f"{path} row {number}", values)


def _json_rows(path: Path) -> Iterator[Row]:
    for place, line in lines_of(path):
        try:
            values = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise InputError(
                f"{place} is not valid JSON ({error})", "give one JSON object a line"
            ) from error
        if not isinstance(values, dict):
            raise InputError(f"{place} is not a JSON object", "give one JSON object a line")
        yield Row(place, values)


def _csv_rows(path: Path, delimiter: str) -> Iterator[Row]:
    csv.field_size_limit(_LONGEST_FIELD)
    reader = csv.reader(io.StringIO(text_of(path), newline=""), delimiter=delimiter)
    header = next(reader, [])
    try:
        for cells in reader:
            place = f"{path} line {reader.line_num}"
            if not cells:
                continue
            if len(cells) != len(header):
                raise InputError(
                    f"{place} has {len(cells)} fields and the header has {len(header)}",
                    "correct that line",
                )
            yield Row(place, dict(zip(header, cells, strict=True)))
    except csv.Error as error:
        raise InputError(f"{path} line {reader.line_num}: {error}", "correct that line") from error


def text_of(path: Path) -> str:
    """Return a text file's content, also of a compressed one.

    Raises:
        InputError: when it can't be read, or isn't UTF-8.
    """
    try:
        data = path.read_bytes()
        if path.name.lower().endswith(".gz"):
            data = gzip.decompress(data)
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path} line {line} is not UTF-8", "save it in UTF-8") from error
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} can't be read ({error})", "check the file") from error
