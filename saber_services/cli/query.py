"""`saber query`: SQL over the tables."""

from __future__ import annotations

from pathlib import Path

import click
import duckdb
import polars as pl

from saber_assets.errors import InputError
from saber_resources.settings import load_settings
from saber_resources.warehouse import open_tables
from saber_services.builder import require_workdir
from saber_services.cli.options import workdir_option

READING = (duckdb.StatementType.SELECT, duckdb.StatementType.MULTI)
"""SHOW, DESCRIBE, SUMMARIZE and FROM are SELECTs for DuckDB; a PIVOT is a MULTI."""


@click.command(
    "query",
    epilog="""\b
Examples:
  saber query "SHOW TABLES"
  saber query "SELECT setting, retriever, mean FROM leaderboard WHERE domain = 'all'" --format csv
""",
)
@click.argument("sql")
@workdir_option
@click.option(
    "--format",
    "style",
    default="table",
    show_default=True,
    type=click.Choice(["table", "csv", "json"]),
)
def command(sql: str, workdir: Path, style: str) -> None:
    """Run a SQL query over the tables, read-only; works while a build goes on."""
    settings = load_settings(workdir)
    require_workdir(settings)
    with open_tables(settings.workdir.tables) as connection:
        try:
            _check_reads(connection, sql)
            relation = connection.sql(sql)
            if style == "table":
                click.echo(str(relation))
                return
            frame = relation.pl()
        except duckdb.Error as error:
            reason = str(error).split("\n", 1)[0].removesuffix("!").replace(" Error: ", " error: ")
            raise InputError(f"the query was refused ({reason})", _mend(error)) from error
        except pl.exceptions.PolarsError as error:
            raise InputError(
                f"the result can't be written as {style} ({error})",
                "give each column its own name",
            ) from error
    click.echo(_csv(frame) if style == "csv" else frame.write_ndjson(), nl=False)


def _check_reads(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    statements = connection.extract_statements(sql)
    if not statements:
        raise InputError("the query is empty", "give one, such as 'FROM leaderboard'")
    for statement in statements:
        if statement.type not in READING:
            name = statement.query.split()[0].upper()
            raise InputError(
                f"{name} was refused, as `saber query` only reads", "write a query with SELECT"
            )


def _mend(error: duckdb.Error) -> str:
    if isinstance(error, duckdb.CatalogException):
        return "`saber query 'SHOW TABLES'` lists the tables"
    if isinstance(error, duckdb.PermissionException):
        return "name tables of the workdir; files can be neither read nor written"
    return "mend the SQL"


def _csv(frame: pl.DataFrame) -> str:
    nested = [name for name, dtype in frame.schema.items() if dtype.is_nested()]
    if nested:
        raise InputError(
            f"CSV can't hold the column '{nested[0]}', whose values are lists or structures",
            "take --format json, or join a list with array_to_string(column, ', ')",
        )
    return frame.write_csv()
