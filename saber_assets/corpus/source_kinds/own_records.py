"""A person's own problem records: JSON Lines, CSV and Parquet with id, problem and solution."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Set
from dataclasses import replace
from pathlib import Path
from typing import Any

from saber_assets.corpus.readers import problem_id_of
from saber_assets.corpus.record_files import identifier
from saber_assets.corpus.source_kinds import options as opt
from saber_assets.corpus.source_kinds.protocol import Shape, SourceRecord
from saber_assets.corpus.source_kinds.record_rows import (
    UniqueIds,
    digest_of,
    extras,
    missing_columns,
    short_answer,
    solutions_of,
    text_of,
    well_formed,
)
from saber_assets.corpus.source_kinds.source_files import source_files
from saber_assets.corpus.source_kinds.table_rows import (
    JSON_SUFFIXES,
    SUFFIXES,
    Row,
    columns_of,
    count_rows,
    rows_of,
)
from saber_assets.errors import InputError

FIELDS = ("id", "problem", "solution", "solutions", "answer", "source", "licence", "language")
"""What a column can hold; `license` is understood as `licence`."""

_NEEDED = ("id", "problem", "solution")
_REPEATS = ("number", "equal", "refuse")


class OwnRecords:
    """Kind `records`.

    Columns (keys): `id`, `problem` and `solution` or `solutions` (a list, the preferred one
    first; in CSV as JSON) are needed; `source`, `licence`, `answer` and `language` are optional.
    `source` becomes the origin. Other columns with a short single value become metadata.

    An id should be unique among the records of one `source`. Where it isn't, the second record
    gets `#2` after its id, the third `#3`, and its location says so; nothing is lost.

    Options:
        columns: which column holds what, as `{problem = "question"}`.
        repeats: "number" (default) as above; "equal" does so only for records with the same
            content (up to whitespace) and refuses an id that is used for two contents; "refuse"
            refuses both.
    """

    name = "records"
    shape: Shape = "records"
    description = "your own records: JSON Lines, CSV or Parquet with id, problem, solution"
    licence: str | None = None
    for_training = True

    def recognises(self, path: Path) -> bool:
        """Tell whether a file has the columns id, problem and a solution."""
        found = columns_of(path)
        return {"id", "problem"} <= found and not found.isdisjoint(("solution", "solutions"))

    def count(self, paths: tuple[Path, ...], options: Mapping[str, Any]) -> int | None:
        """Return the number of records of Parquet files; None for others."""
        return count_rows(file.path for file in source_files(paths, SUFFIXES))

    def read(self, paths: tuple[Path, ...], options: Mapping[str, Any]) -> Iterator[SourceRecord]:
        """Yield the records, file after file; see the class for columns and options.

        Raises:
            InputError: for a file that can't be read, a column that is missing in a whole file,
                a value of another type, a record without id, or an id that is used twice.
        """
        opt.check_known(self.name, options, ("columns", "repeats"))
        columns = opt.mapping(self.name, options, "columns", FIELDS)
        repeats = opt.one_of(self.name, options, "repeats", _REPEATS, "number")
        ids = _Ids(repeats)
        for file in source_files(paths, SUFFIXES):
            empty = True
            for record in _read_file(file.path, file.label, columns):
                empty = False
                yield ids.checked(record)
            if empty:
                raise InputError(
                    f"{file.path} holds no record", "give a file with at least one problem"
                )


KIND = OwnRecords()


def _read_file(path: Path, label: str, columns: Mapping[str, str]) -> Iterator[SourceRecord]:
    at = {field: columns.get(field, field) for field in FIELDS}
    wanted = {at[field] for field in FIELDS} | {"license"}
    found: set[str] = set()
    first = True
    for row in rows_of(path, None):
        if first or not found.issuperset(row.values):
            found.update(row.values)
            first = False
        if row.values.get(at["id"]) is None:
            _check_columns(path, found, at)
        yield _record(path, label, row, at, wanted)
    if not first:
        _check_columns(path, found, at)


def _check_columns(path: Path, found: set[str], at: Mapping[str, str]) -> None:
    missing = [at[name] for name in _NEEDED if at[name] not in found]
    if at["solutions"] in found and at["solution"] in missing:
        missing.remove(at["solution"])
    if missing:
        word = "keys" if path.name.lower().endswith(JSON_SUFFIXES) else "columns"
        raise missing_columns(str(path), missing, sorted(found), word)


def _record(
    path: Path, label: str, row: Row, at: Mapping[str, str], used: Set[str]
) -> SourceRecord:
    where = f"{path} {row.place}"
    values = row.values
    source_id = well_formed(where, "id", identifier(where, values.get(at["id"])))
    origin = text_of(where, "source", values.get(at["source"])).strip()
    licence = text_of(where, "licence", values.get(at["licence"]) or values.get("license"))
    language = text_of(where, "language", values.get(at["language"]))
    metadata = extras(values, used)
    if origin:
        metadata["source"] = origin
    return SourceRecord(
        source_id=source_id,
        location=f"{label} {row.place}",
        problem=text_of(where, "problem", values.get(at["problem"])),
        solutions=solutions_of(where, values.get(at["solution"]), values.get(at["solutions"])),
        answer=short_answer(where, "answer", values.get(at["answer"])),
        language=language.strip().lower() or None,
        licence=licence.strip() or None,
        origin=origin,
        metadata=metadata,
    )


class _Ids:
    """Numbers or refuses repeated ids, and remembers where each was used first."""

    def __init__(self, repeats: str) -> None:
        self._repeats = repeats
        self._unique = UniqueIds()
        self._contents = array("Q")
        self._files: list[str] = []
        self._file_of = array("L")
        self._row_of = array("Q")

    def checked(self, record: SourceRecord) -> SourceRecord:
        """Return the record, with an id of its own.

        Raises:
            InputError: naming both places of an id that is used twice, where that is refused.
        """
        if self._repeats == "number":
            return self._numbered(record)
        content = digest_of(problem_id_of(record.problem, "\n\n".join(record.solutions)))
        first = self._unique.first(record.source_id, record.origin)
        if first is not None and (self._repeats == "refuse" or self._contents[first] != content):
            raise InputError(
                f"the id {record.source_id!r}"
                f"{f' of source {record.origin!r}' if record.origin else ''} is used twice, in "
                f"{self._files[self._file_of[first]]} {self._row_of[first]} and "
                f"{record.location}",
                'give each record of a source its own id, or set the option repeats = "number"',
            )
        file, _, row = record.location.rpartition(" ")
        if not self._files or self._files[-1] != file:
            self._files.append(file)
        self._contents.append(content)
        self._file_of.append(len(self._files) - 1)
        self._row_of.append(int(row))
        return self._numbered(record)

    def _numbered(self, record: SourceRecord) -> SourceRecord:
        source_id, remark = self._unique.take(record.source_id, record.origin)
        if not remark:
            return record
        return replace(record, source_id=source_id, location=record.location + remark)
