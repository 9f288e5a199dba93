"""Reading the tables that the page is made from, only the columns and rows that it shows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from saber_resources.errors import SetupError
from saber_resources.warehouse import table_files


@dataclass(frozen=True)
class Source:
    """The folder of tables.

    Attributes:
        folder: where the Parquet files lie.
    """

    folder: Path

    def has(self, name: str) -> bool:
        """Return whether a table is made."""
        return bool(table_files(self.folder, name))

    def lacking(self, *names: str) -> tuple[str, ...]:
        """Return those of the tables that aren't made yet."""
        return tuple(name for name in names if not self.has(name))

    def read(self, name: str, *columns: str, where: pl.Expr | None = None) -> pl.DataFrame:
        """Return some columns of the rows of a table that obey a condition.

        Raises:
            SetupError: when the table isn't made, lacks a column, or can't be read.
        """
        frame = self._scan(name)
        chosen = frame if where is None else frame.filter(where)
        return self._collect(chosen.select(columns), name)

    def count(self, name: str, where: pl.Expr | None = None) -> int:
        """Return the number of rows, or of those that obey a condition.

        Raises:
            SetupError: as for `read`.
        """
        frame = self._scan(name)
        chosen = frame if where is None else frame.filter(where)
        return int(self._collect(chosen.select(pl.len()), name).item())

    def read_file(self, file: Path, *columns: str) -> pl.DataFrame:
        """Return some columns of one file of a table that has partitions.

        Raises:
            SetupError: when it can't be read.
        """
        frame = pl.scan_parquet(file, hive_partitioning=False, glob=False)
        return self._collect(frame.select(columns), f"{file.parent.name}/{file.stem}")

    def newest(self) -> datetime | None:
        """Return when the newest table file was written, in UTC to the minute; None without any."""
        files = [*self.folder.glob("*.parquet"), *self.folder.glob("*/*.parquet")]
        times = [path.stat().st_mtime for path in files]
        if not times:
            return None
        return datetime.fromtimestamp(max(times), UTC).replace(second=0, microsecond=0)

    def _scan(self, name: str) -> pl.LazyFrame:
        files = table_files(self.folder, name)
        if not files:
            raise SetupError(
                f"the table '{name}' is not in {self.folder}", "make it first with `saber build`"
            )
        return pl.scan_parquet(files, hive_partitioning=False, glob=False)

    def _collect(self, frame: pl.LazyFrame, name: str) -> pl.DataFrame:
        try:
            return frame.collect()
        except (OSError, pl.exceptions.PolarsError) as error:
            raise SetupError(
                f"the table '{name}' in {self.folder} can't be read ({error})",
                "delete its file and run `saber build` again",
            ) from error
