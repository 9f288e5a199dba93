"""Files of the shape of GSM8K: `question`, and `answer` that ends in `#### 42`; kind `gsm8k`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from saber_assets.corpus.source_kinds import options as opt
from saber_assets.corpus.source_kinds.hub import hub_options, hub_rows, refuse_paths
from saber_assets.corpus.source_kinds.protocol import Shape, SourceRecord
from saber_assets.corpus.source_kinds.record_rows import extras, missing_columns, text_of
from saber_assets.corpus.source_kinds.source_files import source_files, stem_of
from saber_assets.corpus.source_kinds.table_rows import (
    JSON_SUFFIXES,
    SUFFIXES,
    columns_of,
    count_rows,
    rows_of,
)
from saber_assets.errors import InputError

DATASET = "openai/gsm8k"

_FINAL = re.compile(r"^[ \t]*####[ \t]*(?P<answer>\S[^\n]*)$", re.MULTILINE)
_COLUMNS = ("question", "answer")


def final_answer(text: str) -> str | None:
    r"""Return what stands after the last `####` at the beginning of a line, or None.

    >>> final_answer("2 + 2 = <<2+2=4>>4\n#### 4")
    '4'
    """
    found = [match["answer"].strip() for match in _FINAL.finditer(text)]
    return found[-1] if found else None


class Gsm8k:
    """Kind `gsm8k`: JSON Lines, CSV or Parquet with `question` and `answer`.

    `question` is the statement and `answer` the solution, both as they stand: annotations such
    as `<<2+2=4>>` and the line `#### 4` are left to cleaning. The short answer is taken from that
    line. Other columns with a short single value become metadata.

    Options:
        hub: a dataset to stream from the hub instead of files, as "openai/gsm8k".
        split, config, revision: of that dataset; split "train" by default, config "main".
    """

    name = "gsm8k"
    shape: Shape = "records"
    description = "GSM8K and its like: question, and answer that ends in #### 42"
    licence: str | None = "MIT"
    for_training = True

    def recognises(self, path: Path) -> bool:
        """Tell whether a table has question and answer, and no problem of its own."""
        found = columns_of(path)
        return found.issuperset(_COLUMNS) and found.isdisjoint(("problem", "solution"))

    def count(self, paths: tuple[Path, ...], options: Mapping[str, Any]) -> int | None:
        """Return the number of rows of Parquet files; None for others."""
        if options.get("hub") is not None:
            return None
        return count_rows(file.path for file in source_files(paths, SUFFIXES))

    def read(self, paths: tuple[Path, ...], options: Mapping[str, Any]) -> Iterator[SourceRecord]:
        """Yield the rows; see the class for the options.

        The id is the file's name without suffix and the number of the row from 0.

        Raises:
            InputError: for a file that can't be read, a row without one of the two columns, a
                value that is no text, or an unknown option; from the hub as `hub_rows`.
        """
        opt.check_known(self.name, options, ("hub", "split", "config", "revision"))
        dataset = opt.text(self.name, options, "hub")
        if dataset is not None:
            refuse_paths(self.name, paths)
            chosen = hub_options(self.name, options)
            chosen["config"] = chosen["config"] or ("main" if dataset == DATASET else None)
            for number, values in hub_rows(dataset, **chosen):
                where = f"{dataset} row {number}"
                yield _record(where, where, f"{dataset}:{number}", values, "columns")
            return
        for file in source_files(paths, SUFFIXES):
            word = "keys" if file.path.name.lower().endswith(JSON_SUFFIXES) else "columns"
            number = -1
            for number, row in enumerate(rows_of(file.path)):
                where, place = f"{file.path} {row.place}", f"{file.label} {row.place}"
                source_id = f"{stem_of(file.label)}:{number}"
                yield _record(where, place, source_id, row.values, word)
            if number < 0:
                raise InputError(f"{file.path} holds no row", "give a file with problems")


KIND = Gsm8k()


def _record(
    where: str, location: str, source_id: str, row: Mapping[str, Any], word: str
) -> SourceRecord:
    missing = [name for name in _COLUMNS if name not in row]
    if missing:
        raise missing_columns(where, missing, sorted(row), word, "rename or add them")
    solution = text_of(where, "answer", row["answer"])
    return SourceRecord(
        source_id=source_id,
        location=location,
        problem=text_of(where, "question", row["question"]),
        solutions=(solution,) if solution.strip() else (),
        answer=final_answer(solution),
        metadata=extras(row, set(_COLUMNS)),
    )
