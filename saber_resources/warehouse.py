"""The tables on disk: Parquet files written atomically, and a DuckDB catalog of views over them."""

from __future__ import annotations

import glob
import os
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import duckdb
import polars as pl
from dagster import InitResourceContext, InputContext, MetadataValue, OutputContext
from dagster_duckdb import DuckDBResource
from dagster_polars import PolarsParquetIOManager

from saber_resources.atomic import replacing
from saber_resources.errors import SetupError
from saber_resources.lock import join

if TYPE_CHECKING:
    from upath import UPath


ROWS_OF_A_GROUP = 5_000
"""Of a table that is written and read piece by piece: what is in memory at once, at the least."""
MAGIC = b"PAR1"
SHORTEST = 12
"""Bytes of the shortest Parquet file: the magic word twice and a length."""


class ParquetTables(PolarsParquetIOManager):
    """dagster-polars' Parquet files, but replaced atomically and without guesses from the path.

    Metadata (row counts, samples, plots) comes from the assets, which know what is worth showing.
    """

    lock_root: str = ""
    """The workdir, which a run joins for as long as it has these tables; "" for none."""

    @contextmanager
    def yield_for_execution(self, context: InitResourceContext) -> Generator[Any, None, None]:
        """Join the workdir, so that no build goes on beside a run that Dagster started."""
        with (
            join(Path(self.lock_root)) if self.lock_root else nullcontext(),
            super().yield_for_execution(context) as made,
        ):
            yield made

    def write_df_to_path(
        self, context: OutputContext, df: pl.DataFrame | pl.LazyFrame, path: UPath
    ) -> None:
        """Write a frame, a lazy one piece by piece; a reader sees the old file or the new one."""
        if hasattr(path, "protocol") and path.protocol not in ("", "file", "local"):
            if isinstance(df, pl.LazyFrame):
                super().sink_df_to_path(context, df, path)
            else:
                super().write_df_to_path(context, df, path)
            return
        with replacing(Path(str(path))) as temporary:
            if isinstance(df, pl.LazyFrame):
                df.sink_parquet(temporary, compression="zstd", row_group_size=ROWS_OF_A_GROUP)
            else:
                df.write_parquet(temporary, compression="zstd")

    def scan_df_from_path(
        self, path: UPath, context: InputContext, partition_key: str | None = None
    ) -> pl.LazyFrame:
        """Scan a file; a folder such as `run=3` in its path adds no column."""
        if hasattr(path, "protocol") and path.protocol not in ("", "file", "local"):
            return super().scan_df_from_path(path, context, partition_key)
        return pl.scan_parquet(str(path), hive_partitioning=False, glob=False)

    def get_metadata(
        self, context: OutputContext, obj: pl.DataFrame | pl.LazyFrame | None
    ) -> dict[str, MetadataValue[Any]]:
        """Return nothing: see the class's description."""
        return {}


def table_path(tables: Path, name: str, partition: str | None = None) -> Path:
    """Return the file of a table, or of one of its partitions."""
    return (
        tables / f"{name}.parquet" if partition is None else tables / name / f"{partition}.parquet"
    )


def table_files(tables: Path, name: str) -> list[Path]:
    """Return the files of a table: one, or one a partition; none where it isn't made yet."""
    single = table_path(tables, name)
    return [single] if single.is_file() else sorted((tables / name).glob("*.parquet"))


def table_names(tables: Path) -> list[str]:
    """Return the names of the tables that are made, sorted."""
    return sorted(
        {path.stem for path in tables.glob("*.parquet")}
        | {path.parent.name for path in tables.glob("*/*.parquet")}
    )


def is_table_file(path: Path) -> bool:
    """Tell whether there is a Parquet file that was written to its end."""
    try:
        with path.open("rb") as file:
            return file.seek(0, os.SEEK_END) >= SHORTEST and _last(file) == MAGIC
    except FileNotFoundError:
        return False


def _last(file: BinaryIO) -> bytes:
    file.seek(-len(MAGIC), os.SEEK_END)
    return file.read()


def read_table(tables: Path, name: str, partition: str | None = None) -> pl.DataFrame:
    """Return a whole table, or one partition of a table that has partitions.

    Args:
        tables: the folder.
        name: of the table.
        partition: None for all; ignored where the table has none.

    Raises:
        SetupError: when it isn't made yet or can't be read.
    """
    files = table_files(tables, name)
    if partition is not None and (tables / name).is_dir():
        files = [file for file in files if file.stem == partition]
    if not files:
        raise SetupError(
            f"the table '{name}' is not in {tables}", "make it first with `saber build`"
        )
    try:
        return pl.concat(
            [pl.read_parquet(file, hive_partitioning=False, glob=False) for file in files]
        )
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).split("\n", 1)[0].rstrip(". ")
        raise _unreadable(tables, name, reason) from error


def refresh_catalog(catalog: Path, tables: Path) -> list[str]:
    """Write the DuckDB file with one view for each table that exists; return their names.

    The file is made beside the old one and takes its place, so that whoever has the old one open
    goes on reading, and none ever waits for a lock.
    """
    names = table_names(tables)
    with replacing(catalog) as temporary:
        with DuckDBResource(database=str(temporary)).get_connection() as connection:
            for name in names:
                single = table_path(tables, name)
                folder = glob.escape(str(tables))
                pattern = f"{folder}/{name}" + (".parquet" if single.is_file() else "/*.parquet")
                relation = connection.read_parquet(pattern, hive_partitioning=False)
                relation.create_view(name)
        temporary.with_name(temporary.name + ".wal").unlink(missing_ok=True)
    return names


def open_tables(tables: Path) -> duckdb.DuckDBPyConnection:
    """Return a connection that sees the tables and nothing else; works while runs go on.

    SQL can write files even from a SELECT, and DuckDB's `allowed_directories` lets it write where
    it may read. So DuckDB gets no access to files at all: pyarrow reads the tables for it.

    Raises:
        SetupError: when a table can't be read.
    """
    import pyarrow as pa  # only here: its datasets take long to import
    import pyarrow.dataset as ds

    connection = duckdb.connect()
    for name in table_names(tables):
        files = [str(path) for path in table_files(tables, name)]
        try:
            connection.register(name, ds.dataset(files, format="parquet"))
        except (OSError, pa.ArrowException) as error:
            raise _unreadable(tables, name, "damaged, or not a Parquet file") from error
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def _unreadable(tables: Path, name: str, reason: str) -> SetupError:
    return SetupError(
        f"the table '{name}' in {tables} can't be read ({reason})",
        "run `saber build` again, which makes damaged files anew",
    )
