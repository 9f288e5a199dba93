"""Judgments by people, read from a CSV file (SPEC, section 2, 'judge agreement with people')."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from saber_assets.errors import InputError

COLUMNS = ("query", "a", "b", "choice")
OPTIONAL = "annotator"
ANONYMOUS = "(not named)"
FIRST, SECOND, TIE = {"a", "1"}, {"b", "2"}, {"tie"}
_SHOWN = 5

SCHEMA: Mapping[str, type[pl.DataType]] = {
    "query_id": pl.String,
    "low_id": pl.String,
    "high_id": pl.String,
    "choice": pl.Int8,
    "annotator": pl.String,
}
"""One judgment a row; low_id < high_id; choice 1: low_id preferred, -1: high_id, 0: a tie."""


@dataclass(frozen=True)
class HumanJudgments:
    """What people preferred.

    Attributes:
        frame: see SCHEMA, in the order of the file.
        open_rows: rows without a choice, which were left out.
    """

    frame: pl.DataFrame
    open_rows: int


class _RowError(Exception):
    """Why a row can't be used."""


@dataclass(frozen=True)
class _Names:
    """Names that people may use for queries and for the candidates of each query."""

    queries: Mapping[str, set[str]]
    candidates: Mapping[str, Mapping[str, set[str]]]

    def query(self, name: str) -> str:
        return _only(self.queries.get(name), f"unknown query '{name}'", name)

    def candidate(self, query_id: str, name: str) -> str:
        found = self.candidates[query_id].get(name)
        return _only(found, f"'{name}' is no candidate of that query", name)


@dataclass
class _Reading:
    names: _Names
    seen: dict[tuple[str, ...], int] = field(default_factory=dict)

    def row(self, number: int, cells: Mapping[str, str]) -> tuple[str, str, str, int, str]:
        """Return a row of SCHEMA.

        Raises:
            _RowError: when the row can't be used.
        """
        query_id = self.names.query(cells["query"])
        a, b = (self.names.candidate(query_id, cells[side]) for side in ("a", "b"))
        if a == b:
            raise _RowError("a and b are the same candidate")
        chosen = self.names.candidates[query_id].get(cells["choice"], set())
        points = _points(cells["choice"], a in chosen, b in chosen)
        low, high = min(a, b), max(a, b)
        annotator = cells.get(OPTIONAL) or ANONYMOUS
        before = self.seen.setdefault((query_id, low, high, annotator), number)
        if before != number:
            raise _RowError(f"repeats the pair of row {before} by the same annotator")
        return query_id, low, high, points if a == low else -points, annotator


def read_human_judgments(path: Path, pools: pl.DataFrame, problems: pl.DataFrame) -> HumanJudgments:
    """Read what people preferred.

    Args:
        path: CSV with the columns query, a, b, choice and, optionally, annotator; others are
            ignored. Rows are counted as a spreadsheet does: the header is row 1. A choice is
            'a' or '1', 'b' or '2', the chosen candidate's id, or 'tie'; rows without one are
            left out. Separated by commas, semicolons or tabs.
        pools: columns query_id and candidate_id, such as CANDIDATE_POOLS.
        problems: columns problem_id and source_id, such as DEDUPED_CORPUS; people may use either.

    Raises:
        InputError: when the file can't be read, or rows can't be used: all in one sentence.
    """
    names = _names(pools, problems)
    reading = _Reading(names)
    rows: list[tuple[str, str, str, int, str]] = []
    faults: list[str] = []
    open_rows = 0
    for number, cells in _cells(path):
        if not cells["choice"]:
            open_rows += 1
            continue
        try:
            rows.append(reading.row(number, cells))
        except _RowError as wrong:
            faults.append(f"row {number}: {wrong}")
    if faults:
        more = "" if len(faults) <= _SHOWN else f"; and {len(faults) - _SHOWN} more"
        count = f"{len(faults)} unusable row{'s' if len(faults) > 1 else ''}"
        raise InputError(
            f"{path} has {count} ({'; '.join(faults[:_SHOWN])}{more})",
            "take queries and candidates from the table candidate_pools (problem_id or source_id), "
            "and as choice a, b, 1, 2, an id or tie",
        )
    if not rows:
        raise InputError(f"{path} has no judgment", "fill in its column 'choice'")
    return HumanJudgments(pl.DataFrame(rows, schema=dict(SCHEMA), orient="row"), open_rows)


def _points(choice: str, names_a: bool, names_b: bool) -> int:
    """Return 1 where a is chosen, -1 where b is, 0 for a tie."""
    word = choice.lower()
    found = [
        points
        for points, means in (
            (1, names_a or word in FIRST),
            (-1, names_b or word in SECOND),
            (0, word in TIE),
        )
        if means
    ]
    if not found:
        raise _RowError(f"the choice '{choice}' is none of a, b, 1, 2, an id of the two, tie")
    if len(found) > 1:
        raise _RowError(f"the choice '{choice}' may mean either candidate")
    return found[0]


def _only(found: set[str] | None, unknown: str, name: str) -> str:
    if not found:
        raise _RowError(unknown)
    if len(found) > 1:
        raise _RowError(f"'{name}' is the source_id of several problems, so give the problem_id")
    return next(iter(found))


def _names(pools: pl.DataFrame, problems: pl.DataFrame) -> _Names:
    aliases: dict[str, str] = dict(problems.select("problem_id", "source_id").iter_rows())
    queries: dict[str, set[str]] = {}
    candidates: dict[str, dict[str, set[str]]] = {}
    for query_id, candidate_id in pools.select("query_id", "candidate_id").iter_rows():
        if query_id not in candidates:
            candidates[query_id] = {}
            for name in {query_id, aliases.get(query_id, query_id)}:
                queries.setdefault(name, set()).add(query_id)
        for name in {candidate_id, aliases.get(candidate_id, candidate_id)}:
            candidates[query_id].setdefault(name, set()).add(candidate_id)
    # a problem_id always means that problem, even where it is another problem's source_id
    for query_id, names in candidates.items():
        queries[query_id] = {query_id}
        for candidate_id in {identity for found in names.values() for identity in found}:
            names[candidate_id] = {candidate_id}
    return _Names(queries, candidates)


def _cells(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield row numbers, from 2, and the cells of each row without blanks around them."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path} can't be read ({error.strerror})", "check its path") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text", "save it as CSV in UTF-8") from error
    top = text.split("\n", 1)[0]
    separator = max(",;\t", key=top.count)
    records = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        header = [name.strip().lower() for name in next(records, [])]
        missing = [name for name in COLUMNS if name not in header]
        if missing:
            raise InputError(
                f"{path} lacks the column{'s' if len(missing) > 1 else ''} {', '.join(missing)}",
                "its first row must name query, a, b, choice and annotator",
            )
        for number, record in enumerate(records, start=2):
            cells = dict(zip(header, (cell.strip() for cell in record), strict=False))
            if any(cells.values()):
                yield number, {name: cells.get(name, "") for name in (*COLUMNS, OPTIONAL)}
    except csv.Error as error:
        raise InputError(f"{path} is no CSV file ({error})", "save it as CSV in UTF-8") from error
