"""A table's contract: its columns, types, key and rules, checked whenever it is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl


class TableError(Exception):
    """A frame breaks its table's contract: a fault of the program, never of its user."""


@dataclass(frozen=True)
class Column:
    """One column: its polars type, what it means (unit, range), and whether null is a value."""

    dtype: pl.DataType | type[pl.DataType]
    description: str
    nullable: bool = False


@dataclass(frozen=True)
class Rule:
    """A condition on each row; `holds` evaluates to true where the row obeys it (null obeys)."""

    name: str
    description: str
    holds: pl.Expr


@dataclass(frozen=True)
class Table:
    """What a stage promises about one of its outputs.

    Attributes:
        name: the asset key and the file's stem.
        description: one sentence for the catalog and the user interface.
        columns: in the order in which they are written.
        key: columns whose values together are unique.
        rules: conditions on each row.
    """

    name: str
    description: str
    columns: Mapping[str, Column]
    key: tuple[str, ...]
    rules: tuple[Rule, ...] = field(default=())

    @property
    def schema(self) -> dict[str, pl.DataType | type[pl.DataType]]:
        """Column names to polars types."""
        return {name: column.dtype for name, column in self.columns.items()}

    def empty(self) -> pl.DataFrame:
        """Return a frame without rows that obeys the contract."""
        return pl.DataFrame(schema=self.schema)

    def faults(self, frame: pl.DataFrame) -> list[str]:
        """Return one sentence for each broken promise; an empty list when the frame is sound."""
        missing = [name for name in self.columns if name not in frame.columns]
        if missing:
            return [f"{self.name}: missing columns {missing}"]
        found = [*self._null_faults(frame), *self._key_faults(frame)]
        for rule in self.rules:
            broken = frame.filter(~rule.holds.fill_null(True))
            if broken.height:
                example = broken.select(self.key).row(0)
                found.append(
                    f"{self.name}: {broken.height} rows break '{rule.name}' "
                    f"({rule.description}), first {example}"
                )
        return found

    def _null_faults(self, frame: pl.DataFrame) -> list[str]:
        return [
            f"{self.name}: {frame[name].null_count()} nulls in column '{name}'"
            for name, column in self.columns.items()
            if not column.nullable and frame[name].null_count()
        ]

    def _key_faults(self, frame: pl.DataFrame) -> list[str]:
        if not self.key or frame.is_empty():
            return []
        repeated = frame.group_by(self.key).len().filter(pl.col("len") > 1)
        if repeated.is_empty():
            return []
        return [
            f"{self.name}: {repeated.height} values of the key {self.key} are repeated, "
            f"first {repeated.sort(self.key).select(self.key).row(0)}"
        ]

    def conform(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the frame with the promised columns, order and types.

        Raises:
            TableError: when a column is missing, cannot be cast, or a rule is broken.
        """
        missing = [name for name in self.columns if name not in frame.columns]
        if missing:
            raise TableError(f"{self.name}: missing columns {missing}")
        try:
            typed = frame.select([pl.col(name).cast(dtype) for name, dtype in self.schema.items()])
        except pl.exceptions.PolarsError as error:
            raise TableError(f"{self.name}: {error}") from error
        faults = self.faults(typed)
        if faults:
            raise TableError("; ".join(faults))
        return typed
