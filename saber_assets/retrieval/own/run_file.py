"""Files of precomputed scores: TREC runs, JSON, JSONL, CSV, TSV and Parquet.

* TREC: `query Q0 document rank score tag` a line, at blanks; the rank is not read.
* JSON: {query: {document: score}}, as pytrec_eval takes it.
* JSONL, CSV, TSV, Parquet: `query_id`, `document_id` (`doc_id`, `candidate_id`) and `score`.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl

from saber_assets.errors import InputError, shown

TREC_FIELDS = 6
LARGEST = 1e300
MOST_DIGITS = 400
DOCUMENT_COLUMNS = ("document_id", "doc_id", "candidate_id")
_FORMS = "a TREC line reads: query Q0 document rank score tag"

Run = dict[str, dict[str, float]]
Row = tuple[str, str, str, float]
"""Place in the file, query, document, score."""


def read_run(path: Path) -> Run:
    """Return the scores of a file by query and document.

    Raises:
        InputError: when it can't be read or is malformed, a score isn't a finite number, or a pair
            occurs twice; with file and line.
    """
    run: Run = {}
    for place, query, document, score in _rows(path):
        if not math.isfinite(score) or abs(score) > LARGEST:
            raise InputError(
                f"{path} {place}: the score of document '{shown(document)}' for query "
                f"'{shown(query)}' is {score}, not a finite number",
                "mend that line",
            )
        scores = run.setdefault(query, {})
        if document in scores:
            raise InputError(
                f"{path} {place}: document '{shown(document)}' occurs a second time for query "
                f"'{shown(query)}'",
                "keep one line of each pair",
            )
        scores[document] = score
    if not run:
        raise InputError(f"{path} holds no scores", _FORMS)
    return run


def check_ids(path: Path, queries: Collection[str], documents: Collection[str]) -> None:
    """Check that a file speaks of a benchmark's queries and documents.

    Args:
        path: the file.
        queries: ids of all benchmark queries.
        documents: ids of the corpus; those outside a query's pool are fine.

    Raises:
        InputError: for the first unknown id, with file and line.
    """
    for place, query, document, _ in _rows(path):
        for kind, given, known in (("query", query, queries), ("document", document, documents)):
            if given not in known and unquote(given, errors="surrogatepass") not in known:
                raise InputError(
                    f"{path} {place}: the benchmark has no {kind} '{shown(given)}'",
                    "use its ids (`saber query 'FROM candidate_pools'`, or an export's)",
                )


def score_of(scores: Mapping[str, float], document: str, encode: Callable[[str], str]) -> float:
    """Return a document's score, NaN where it wasn't retrieved.

    Args:
        scores: of one query.
        document: its id in the benchmark.
        encode: writes an id as exports do.
    """
    found = scores.get(document)
    if found is None:
        found = scores.get(encode(document))
    return math.nan if found is None else found


def digest_of(path: Path) -> str:
    """Return a hash of a file's content.

    Raises:
        InputError: when it can't be read.
    """
    try:
        state = path.stat()
        return _digest(path, state.st_mtime_ns, state.st_size)
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error


@lru_cache(maxsize=64)
def _digest(path: Path, modified: int, size: int) -> str:
    digest = hashlib.blake2b(digest_size=8)
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _rows(path: Path) -> Iterator[Row]:
    reader = {
        ".json": _json_rows,
        ".jsonl": _jsonl_rows,
        ".csv": _csv_rows,
        ".tsv": _csv_rows,
        ".parquet": _parquet_rows,
    }.get(path.suffix.lower(), _trec_rows)
    try:
        yield from reader(path)
    except UnicodeDecodeError as error:
        raise _unreadable(path, "it isn't UTF-8 text") from error
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    except pl.exceptions.PolarsError as error:
        raise _unreadable(path, shown(str(error).split("\n", 1)[0])) from error
    except RecursionError as error:
        raise _unreadable(path, "it is nested too deeply") from error


def _trec_rows(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, 1):
            parts = line.split()
            if not parts:
                continue
            place = f"line {number}"
            if len(parts) != TREC_FIELDS:
                raise InputError(
                    f"{path} {place} has {len(parts)} fields instead of {TREC_FIELDS}", _FORMS
                )
            yield place, parts[0], parts[2], _number(path, place, parts[4])


def _json_rows(path: Path) -> Iterator[Row]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise InputError(
                f"{path}: '{shown(twice)}' occurs twice in one object", "keep one of them"
            )
        return found

    try:
        text = path.read_text(encoding="utf-8-sig")
        content = json.loads(text, object_pairs_hook=once, parse_int=_integer)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path} line {error.lineno} is not JSON ({error.msg})",
            'it reads {"query": {"document": score}}',
        ) from error
    if not isinstance(content, dict):
        raise InputError(f"{path} is no JSON object", 'it reads {"query": {"document": score}}')
    for query, scores in content.items():
        place = f"query '{shown(query)}'"
        if not isinstance(scores, dict):
            raise InputError(
                f"{path} {place} has no object of scores", 'it reads {"query": {"document": score}}'
            )
        for document, score in scores.items():
            yield place, query, document, _number(path, place, score)


def _jsonl_rows(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8-sig", newline="\n") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            place = f"line {number}"
            try:
                item = json.loads(line, parse_int=_integer)
            except json.JSONDecodeError as error:
                raise InputError(f"{path} {place} is not JSON ({error.msg})", _columns()) from error
            if not isinstance(item, dict):
                raise InputError(f"{path} {place} is no JSON object", _columns())
            document = next((item[name] for name in DOCUMENT_COLUMNS if name in item), None)
            if "query_id" not in item or document is None or "score" not in item:
                raise InputError(f"{path} {place} lacks a key", _columns())
            score = _number(path, place, item["score"])
            yield place, str(item["query_id"]), str(document), score


def _csv_rows(path: Path) -> Iterator[Row]:
    separator = "\t" if path.suffix.lower() == ".tsv" else ","
    with path.open("rb") as file:  # given as a path, it would be read as a pattern
        frame = pl.read_csv(file, separator=separator, infer_schema=False)
    return _frame_rows(path, frame, first=2)


def _parquet_rows(path: Path) -> Iterator[Row]:
    return _frame_rows(path, pl.read_parquet(path, hive_partitioning=False, glob=False), first=1)


def _frame_rows(path: Path, frame: pl.DataFrame, first: int) -> Iterator[Row]:
    document = next((name for name in DOCUMENT_COLUMNS if name in frame.columns), None)
    if document is None or not {"query_id", "score"} <= set(frame.columns):
        raise InputError(f"{path} has the columns {shown(', '.join(frame.columns))}", _columns())
    rows: Iterable[tuple[Any, Any, Any]] = frame.select("query_id", document, "score").iter_rows()
    for number, (query, found, score) in enumerate(rows, first):
        place = f"row {number}"
        if query is None or found is None:
            raise InputError(f"{path} {place} has no id", _columns())
        yield place, str(query), str(found), _number(path, place, score)


def _columns() -> str:
    return "give query_id, document_id and score"


def _number(path: Path, place: str, value: object) -> float:
    try:
        if isinstance(value, bool):
            raise TypeError
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError) as error:
        given = shown(ascii(value))
        raise InputError(f"{path} {place}: {given} is no number", "mend the score") from error


def _integer(digits: str) -> int | float:
    """Return an integer of a JSON text; one that is far too large for a score is infinite."""
    return int(digits) if len(digits) <= MOST_DIGITS else math.copysign(math.inf, float(digits))


def _unreadable(path: Path, reason: str) -> InputError:
    return InputError(f"the file of scores {path} can't be read ({reason})", "check it")
