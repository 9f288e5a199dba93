"""Answers of language models in a Parquet file, to be shared with others and used by them.

Answers are found by what was asked, so that an imported one is a hit wherever the same model would
be asked the same. Addresses of endpoints stay out of the file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from saber_assets.errors import InputError
from saber_resources.atomic import replacing
from saber_resources.response_store import Response, ResponseStore, Row, Select

SCHEMA = pa.schema(
    [
        pa.field("key", pa.string(), nullable=False),
        pa.field("model", pa.string(), nullable=False),
        pa.field("prompt", pa.string(), nullable=False),
        pa.field("prompt_fingerprint", pa.string(), nullable=False),
        pa.field("sample", pa.int64(), nullable=False),
        pa.field("item", pa.string(), nullable=False),
        pa.field("response", pa.string(), nullable=False),
        pa.field("parsed", pa.string()),
        pa.field("fault", pa.string()),
        pa.field("logprobs", pa.string()),
        pa.field("finish_reason", pa.string()),
        pa.field("tokens_in", pa.int64(), nullable=False),
        pa.field("tokens_out", pa.int64(), nullable=False),
        pa.field("cached_tokens", pa.int64()),
        pa.field("latency", pa.float64(), nullable=False),
        pa.field("price", pa.float64()),
        pa.field("attempts", pa.int64(), nullable=False),
        pa.field("created", pa.string(), nullable=False),
    ]
)
"""Columns of the file. `key` is the hash of model, messages, schema, sampling and sample index."""
BATCH = 1000
MOST_COUNT = 1 << 53
_KEY = re.compile(r"[0-9a-f]{64}")
_CREATED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+\-0-9:.Z]{0,20}")


@dataclass(frozen=True)
class Imported:
    """What became of a file's answers: how many there are, were taken, and were there already."""

    rows: int
    taken: int

    @property
    def present(self) -> int:
        """Answers that stayed as they were."""
        return self.rows - self.taken


def export_responses(store: ResponseStore, path: Path, select: Select) -> int:
    """Write answers to a Parquet file, atomically, and return how many; failures stay out.

    Raises:
        InputError: when the file can't be written.
    """
    count = 0
    try:
        with (
            replacing(path) as temporary,
            pq.ParquetWriter(temporary, SCHEMA, compression="zstd") as writer,
        ):
            for rows in store.rows(select):
                answers = [_plain(key, one) for key, one in rows if one.text is not None]
                if answers:
                    writer.write_table(pa.Table.from_pylist(answers, SCHEMA))
                    count += len(answers)
    except OSError as error:
        raise InputError(
            f"{path} can't be written ({error.strerror or error})", "choose another place"
        ) from error
    return count


def import_responses(store: ResponseStore, path: Path) -> Imported:
    """Take over the answers of a file; those that the store has stay, failures make way.

    The whole file is checked before anything is taken.

    Raises:
        InputError: in one sentence, when the file is not what `saber llm export` writes.
    """
    rows = check_responses(path)
    return Imported(rows, store.insert_missing(_rows(path)))


def check_responses(path: Path) -> int:
    """Return how many answers a file holds.

    Raises:
        InputError: as `import_responses`.
    """
    return sum(1 for _ in _rows(path))


def _plain(key: bytes, response: Response) -> dict[str, Any]:
    values = {
        name: getattr(response, "text" if name == "response" else name)
        for name in SCHEMA.names
        if name != "key"
    }
    return {"key": key.hex(), **values}


def _rows(path: Path) -> Iterator[Row]:
    try:
        with pq.ParquetFile(path) as file:
            _check_columns(file.schema_arrow, path)
            number = 0
            for batch in file.iter_batches(BATCH, columns=SCHEMA.names):
                for values in batch.cast(SCHEMA).to_pylist():
                    number += 1
                    yield _row(values, path, number)
    except OSError as error:
        raise InputError(f"{path} can't be read ({error})", "check the path") from error
    except (pa.ArrowException, ValueError, UnicodeDecodeError) as error:
        if isinstance(error, InputError):
            raise
        reason = " ".join(str(error).split())[:200]
        raise InputError(
            f"{path} is no file of answers ({reason})", "give a file of `saber llm export`"
        ) from error


def _check_columns(found: pa.Schema, path: Path) -> None:
    missing = [name for name in SCHEMA.names if name not in found.names]
    if missing:
        raise InputError(
            f"{path} lacks the column '{missing[0]}'", "give a file of `saber llm export`"
        )
    for field in SCHEMA:
        if len(found.get_all_field_indices(field.name)) > 1:
            raise InputError(
                f"{path} has the column '{field.name}' twice", "give a file of `saber llm export`"
            )
        given = found.field(field.name).type
        if not _fits(given, field.type):
            raise InputError(
                f"the column '{field.name}' of {path} is {given} and must be {field.type}",
                "give a file of `saber llm export`",
            )


def _fits(given: pa.DataType, wanted: pa.DataType) -> bool:
    if pa.types.is_string(wanted):
        return bool(pa.types.is_string(given) or pa.types.is_large_string(given))
    if pa.types.is_int64(wanted):
        return bool(pa.types.is_integer(given))
    return bool(pa.types.is_floating(given))


def _row(values: Mapping[str, Any], path: Path, number: int) -> Row:
    fault = _fault(values)
    if fault is not None:
        raise InputError(f"row {number} of {path}: {fault}", "give a file of `saber llm export`")
    rest = {name: value for name, value in values.items() if name not in ("key", "response")}
    return bytes.fromhex(values["key"]), Response(text=values["response"], **rest)


def _fault(values: Mapping[str, Any]) -> str | None:
    """Return what is wrong with a row, or None."""
    if not _KEY.fullmatch(values["key"]):
        return "'key' must be 64 hexadecimal digits"
    for name in ("model", "response"):
        if not values[name].strip():
            return f"'{name}' is empty"
    for name in ("sample", "tokens_in", "tokens_out", "cached_tokens", "attempts"):
        if values[name] is not None and not 0 <= values[name] < MOST_COUNT:
            return f"'{name}' is {values[name]}"
    for name in ("latency", "price"):
        value = values[name]
        if value is not None and not (math.isfinite(value) and value >= 0):
            return f"'{name}' is {value}"
    if not _CREATED.fullmatch(values["created"]):
        return "'created' is no time in ISO format"
    return _json_fault(values)


def _json_fault(values: Mapping[str, Any]) -> str | None:
    for name in ("parsed", "logprobs"):
        if values[name] is None:
            continue
        try:
            content = orjson.loads(values[name])
        except orjson.JSONDecodeError:
            return f"'{name}' is no JSON"
        if name == "logprobs" and not _are_logprobs(content):
            return "'logprobs' is no list of tokens"
    return None


def _are_logprobs(content: Any) -> bool:
    return isinstance(content, list) and all(
        isinstance(entry, dict)
        and isinstance(entry.get("token"), str)
        and isinstance(entry.get("logprob"), (int, float))
        and isinstance(entry.get("top", {}), dict)
        and all(isinstance(value, (int, float)) for value in entry.get("top", {}).values())
        for entry in content
    )
