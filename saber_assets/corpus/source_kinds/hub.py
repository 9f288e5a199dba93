"""Datasets of the Hugging Face hub by name, streamed; kind `huggingface`."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from saber_assets.corpus.record_files import identifier
from saber_assets.corpus.source_kinds import options as opt
from saber_assets.corpus.source_kinds.protocol import Shape, SourceRecord
from saber_assets.corpus.source_kinds.record_rows import (
    UniqueIds,
    extras,
    missing_columns,
    short_answer,
    solutions_of,
    text_of,
    well_formed,
)
from saber_assets.errors import InputError

FIELDS = ("id", "problem", "solution", "solutions", "answer", "source", "licence", "language")
"""What a column can hold."""


def hub_rows(
    dataset: str, *, split: str = "train", config: str | None = None, revision: str | None = None
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the rows of a dataset with their numbers from 0, as the hub's viewer counts them.

    Rows are streamed: nothing is kept on disk, and little in memory.

    Args:
        dataset: its name, such as `AI-MO/NuminaMath-1.5`.
        split: of the dataset.
        config: of the dataset, where it has several.
        revision: branch, tag or commit; a commit makes the run repeatable.

    Raises:
        InputError: where the package `datasets` is missing, or the hub can't be reached, or has
            no such dataset; says what to install, or how to go on without the hub.
    """
    load_dataset = _load_dataset(dataset)
    number = -1
    try:
        for row in load_dataset(
            dataset, name=config, split=split, revision=revision, streaming=True
        ):
            number += 1
            yield number, row
    except Exception as error:  # of any of the libraries below; they have no common base
        if isinstance(error, InputError):
            raise
        lines = str(error).strip().splitlines()
        reason = f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__
        where = f"after {number + 1} rows" if number >= 0 else "at its beginning"
        raise InputError(
            f"the dataset {dataset!r} (split {split!r}) can't be read from the hub, {where} "
            f"({reason})",
            f"check its name, split and config, and the network; {_by_hand(dataset)}",
        ) from error


class HuggingFace:
    """Kind `huggingface`: a dataset by name; it takes no paths.

    Options:
        dataset: the name on the hub, such as `openai/gsm8k`; needed.
        split: "train" by default.
        config: of the dataset, where it has several.
        revision: branch, tag or commit.
        columns: which column holds what, as `{problem = "question", solution = "answer"}`; of
            the fields that aren't named, those are read whose columns have the same name.
    """

    name = "huggingface"
    shape: Shape = "records"
    description = "a dataset of the Hugging Face hub by name (needs the package datasets)"
    licence: str | None = None
    for_training = False

    def recognises(self, path: Path) -> bool:
        """Return False: it reads no files."""
        return False

    def count(self, paths: tuple[Path, ...], options: Mapping[str, Any]) -> int | None:
        """Return None: the hub would have to be asked."""
        return None

    def read(self, paths: tuple[Path, ...], options: Mapping[str, Any]) -> Iterator[SourceRecord]:
        """Yield the rows in the order of the dataset; see the class for the options.

        Raises:
            InputError: as `hub_rows`, and for a path, a missing column, or a value that is no
                text.
        """
        known = ("dataset", "split", "config", "revision", "columns")
        opt.check_known(self.name, options, known)
        refuse_paths(self.name, paths)
        dataset = opt.text(self.name, options, "dataset")
        if dataset is None:
            raise InputError(
                "a source of the kind 'huggingface' names no dataset",
                'set its option dataset, as dataset = "openai/gsm8k"',
            )
        columns = opt.mapping(self.name, options, "columns", FIELDS)
        rows = hub_rows(dataset, **hub_options(self.name, options))
        yield from _records(dataset, rows, columns)


KIND = HuggingFace()


def hub_options(kind: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return `split`, `config` and `revision` for `hub_rows`."""
    return {
        "split": opt.text(kind, options, "split") or "train",
        "config": opt.text(kind, options, "config"),
        "revision": opt.text(kind, options, "revision"),
    }


def refuse_paths(kind: str, paths: tuple[Path, ...]) -> None:
    """Refuse files of a source that comes from the hub.

    Raises:
        InputError: where there is a path.
    """
    if paths:
        raise InputError(
            f"a source of the kind {kind!r} comes from the hub and names the path {paths[0]}",
            "leave the path out, or choose the kind that reads such files",
        )


def _load_dataset(dataset: str) -> Any:
    try:
        found = importlib.import_module("datasets").load_dataset
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"the dataset {dataset!r} comes from the hub, and the package datasets is missing",
            f"install it with `pip install datasets`; {_by_hand(dataset)}",
        ) from error
    return found


def _by_hand(dataset: str) -> str:
    return (
        f"or download the files of https://huggingface.co/datasets/{dataset} by hand and name "
        "their folder as the path of a source of kind records, numinamath or gsm8k"
    )


def _records(
    dataset: str, rows: Iterator[tuple[int, Mapping[str, Any]]], columns: Mapping[str, str]
) -> Iterator[SourceRecord]:
    at = {field: columns.get(field, field) for field in FIELDS}
    ids = UniqueIds()
    checked = False
    for number, row in rows:
        if not checked:
            _check_columns(dataset, row, columns, at)
            checked = True
        yield _record(dataset, number, row, at, ids)
    if not checked:
        raise InputError(f"the dataset {dataset!r} holds no row", "check its split and config")


def _check_columns(
    dataset: str, row: Mapping[str, Any], columns: Mapping[str, str], at: Mapping[str, str]
) -> None:
    missing = [column for column in columns.values() if column not in row]
    if "problem" not in columns and at["problem"] not in row:
        missing.append(at["problem"])
    if at["solution"] not in row and at["solutions"] not in row:
        missing.append(at["solution"])
    if missing:
        name = f"the dataset {dataset!r}"
        raise missing_columns(name, list(dict.fromkeys(missing)), sorted(row), "columns")


def _record(
    dataset: str, number: int, row: Mapping[str, Any], at: Mapping[str, str], ids: UniqueIds
) -> SourceRecord:
    where = f"{dataset} row {number}"
    given = row.get(at["id"])
    source_id = str(number) if given is None else well_formed(where, "id", identifier(where, given))
    origin = text_of(where, at["source"], row.get(at["source"])).strip()
    source_id, remark = ids.take(source_id)
    return SourceRecord(
        source_id=source_id,
        location=f"{where}{remark}",
        problem=text_of(where, at["problem"], row.get(at["problem"])),
        solutions=solutions_of(where, row.get(at["solution"]), row.get(at["solutions"])),
        answer=short_answer(where, at["answer"], row.get(at["answer"])),
        language=text_of(where, at["language"], row.get(at["language"])).strip().lower() or None,
        licence=text_of(where, at["licence"], row.get(at["licence"])).strip() or None,
        origin=origin,
        metadata=extras(row, set(at.values())),
    )
