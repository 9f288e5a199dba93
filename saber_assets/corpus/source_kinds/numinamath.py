"""NuminaMath-1.5 and files of its shape, from Parquet or the hub; kind `numinamath`.

The columns, as the dataset card lists them: `problem`, `solution`, `answer`, `problem_type`,
`question_type`, `problem_is_valid`, `solution_is_valid` and `source` are strings, `synthetic` is
a boolean. `question_type` is `math-word-problem`, `proof` or `MCQ`; both marks of validity are
`Yes`, or what is wrong, such as `Incomplete`, `Problem not solved` or `Not matched with problem`;
`source` is the part it comes from, such as `olympiads`, `cn_contest` or `aops_forum`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saber_assets.corpus.record_files import kind_of_value
from saber_assets.corpus.source_kinds import options as opt
from saber_assets.corpus.source_kinds.hub import hub_options, hub_rows, refuse_paths
from saber_assets.corpus.source_kinds.protocol import Shape, SourceRecord
from saber_assets.corpus.source_kinds.record_rows import missing_columns, text_of
from saber_assets.corpus.source_kinds.source_files import source_files, stem_of
from saber_assets.corpus.source_kinds.table_rows import (
    SUFFIXES,
    columns_of,
    count_rows,
    rows_of,
)
from saber_assets.errors import InputError

DATASET = "AI-MO/NuminaMath-1.5"

DEFAULT_SPLITS = ("olympiads",)
"""The part that SPEC section 2 takes."""

NOT_FOR_TRAINING = ("aops_forum", "amc_aime")
"""Parts that were collected from the AoPS forum and wiki."""

COLUMNS = (
    "problem",
    "solution",
    "answer",
    "problem_type",
    "question_type",
    "problem_is_valid",
    "solution_is_valid",
    "source",
    "synthetic",
)
_NEEDED = ("problem", "solution")
_MARKS = frozenset(COLUMNS) - {"problem", "solution", "answer", "source"}
_NO_ANSWER = ("proof", "notfound", "not found")
_OPTIONS = (
    "splits",
    "keep_synthetic",
    "keep_multiple_choice",
    "keep_invalid",
    "hub",
    "split",
    "config",
    "revision",
)


class NuminaMath:
    """Kind `numinamath`: Parquet (or JSON Lines or CSV) with the columns of NuminaMath-1.5.

    `problem` and `solution` are needed. Any other column may be missing, and then means that
    nothing is marked: rows are neither synthetic, nor multiple choice, nor invalid. Without
    `source` all rows count as of the chosen splits, unless the option `splits` is set, which
    then can't be obeyed. A row is ruled out by the first that holds: its `source` is none of the
    splits (`other_split`); `synthetic` (`synthetic`); `question_type` is `MCQ`
    (`multiple_choice`); one of the marks of validity is not `Yes`, be it null
    (`marked_invalid`). The answers `proof` and `notfound` are no answers and stand in the
    metadata only.

    Options:
        splits: values of `source` to keep, ["olympiads"] by default; [] keeps all.
        keep_synthetic, keep_multiple_choice, keep_invalid: true lets such rows pass.
        hub: a dataset to stream from the hub instead of files, as "AI-MO/NuminaMath-1.5".
        split, config, revision: of that dataset; "train" by default.
    """

    name = "numinamath"
    shape: Shape = "records"
    description = "NuminaMath-1.5: its Parquet files, or the hub (option hub)"
    licence: str | None = "Apache-2.0"
    for_training = True

    def recognises(self, path: Path) -> bool:
        """Tell whether a table has problem, solution and two marks of NuminaMath or more."""
        found = columns_of(path)
        return found.issuperset(_NEEDED) and len(found & _MARKS) > 1

    def count(self, paths: tuple[Path, ...], options: Mapping[str, Any]) -> int | None:
        """Return the number of rows of Parquet files, faulted ones too; None for others."""
        if options.get("hub") is not None:
            return None
        return count_rows(file.path for file in source_files(paths, SUFFIXES))

    def read(self, paths: tuple[Path, ...], options: Mapping[str, Any]) -> Iterator[SourceRecord]:
        """Yield all rows, those ruled out with their fault; see the class for the options.

        The id is the file's name without suffix and the number of the row from 0.

        Raises:
            InputError: for a file that can't be read, a missing needed column, a value of
                another type, or an unknown option; from the hub as `hub_rows`.
        """
        opt.check_known(self.name, options, _OPTIONS)
        rules = _Rules.of(options)
        dataset = opt.text(self.name, options, "hub")
        if dataset is not None:
            refuse_paths(self.name, paths)
            number = 0
            for number, values in hub_rows(dataset, **hub_options(self.name, options)):
                if number == 0:
                    _check_columns(f"the dataset {dataset!r}", values, rules)
                where = f"{dataset} row {number}"
                yield _record(where, where, f"{dataset}:{number}", values, rules)
            return
        for file in source_files(paths, SUFFIXES):
            stem = stem_of(file.label)
            number = -1
            for number, row in enumerate(rows_of(file.path, COLUMNS)):
                if number == 0:
                    columns = columns_of(file.path) | frozenset(row.values)
                    _check_columns(str(file.path), columns, rules)
                where = f"{file.path} {row.place}"
                place = f"{file.label} {row.place}"
                yield _record(where, place, f"{stem}:{number}", row.values, rules)
            if number < 0:
                raise InputError(f"{file.path} holds no row", "give a file with problems")


KIND = NuminaMath()


@dataclass(frozen=True, slots=True)
class _Rules:
    """What rules a row out."""

    splits: tuple[str, ...]
    splits_set: bool
    keep_synthetic: bool
    keep_multiple_choice: bool
    keep_invalid: bool

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> _Rules:
        def keep(name: str) -> bool:
            return opt.flag("numinamath", options, name, default=False)

        return cls(
            opt.texts("numinamath", options, "splits", DEFAULT_SPLITS),
            "splits" in options,
            keep("keep_synthetic"),
            keep("keep_multiple_choice"),
            keep("keep_invalid"),
        )

    def fault(self, where: str, row: Mapping[str, Any]) -> str | None:
        """Return the first rule that the row breaks, as a name of `READER_FAULTS`."""
        if self.splits and "source" in row and _text(where, row, "source") not in self.splits:
            return "other_split"
        if _is_synthetic(where, row) and not self.keep_synthetic:
            return "synthetic"
        multiple = _text(where, row, "question_type").upper() == "MCQ"
        if multiple and not self.keep_multiple_choice:
            return "multiple_choice"
        marks = ("problem_is_valid", "solution_is_valid")
        invalid = any(name in row and not _is_yes(where, row, name) for name in marks)
        return "marked_invalid" if invalid and not self.keep_invalid else None


def _record(
    where: str, location: str, source_id: str, row: Mapping[str, Any], rules: _Rules
) -> SourceRecord:
    solution = text_of(where, "solution", row.get("solution"))
    answer = _text(where, row, "answer")
    origin = _text(where, row, "source")
    metadata = {
        name: text
        for name in ("problem_type", "question_type")
        if (text := _text(where, row, name))
    }
    real = bool(answer) and answer.lower() not in _NO_ANSWER
    if answer and not real:
        metadata["answer"] = answer
    for name in ("problem_is_valid", "solution_is_valid"):
        if name in row and not _is_yes(where, row, name):
            metadata[name] = "" if row[name] is None else str(row[name])
    if origin in NOT_FOR_TRAINING:
        metadata["for_training"] = "false"
    return SourceRecord(
        source_id=source_id,
        location=location,
        problem=text_of(where, "problem", row.get("problem")),
        solutions=(solution,) if solution.strip() else (),
        answer=answer if real else None,
        origin=origin,
        metadata=metadata,
        fault=rules.fault(where, row),
    )


def _check_columns(where: str, columns: Collection[str], rules: _Rules) -> None:
    missing = [name for name in _NEEDED if name not in columns]
    if missing:
        raise missing_columns(where, missing, sorted(columns), "columns", "rename or add them")
    if rules.splits and rules.splits_set and "source" not in columns:
        raise InputError(
            f"{where} has no column 'source', so that the option splits can't be obeyed",
            "leave the option out, or set splits = [] to keep all rows",
        )


def _text(where: str, row: Mapping[str, Any], name: str) -> str:
    return text_of(where, name, row.get(name)).strip()


def _is_yes(where: str, row: Mapping[str, Any], name: str) -> bool:
    value = row.get(name)
    if isinstance(value, bool):
        return value
    return text_of(where, name, value).strip().lower() == "yes"


def _is_synthetic(where: str, row: Mapping[str, Any]) -> bool:
    value = row.get("synthetic")
    if value is None or isinstance(value, bool):
        return bool(value)
    word = value.strip().lower() if isinstance(value, str) else None
    if word in ("true", "false", "1", "0", "yes", "no", ""):
        return word in ("true", "1", "yes")
    raise InputError(
        f"{where}: 'synthetic' is {kind_of_value(value)}, not true or false",
        "store it as a boolean",
    )
