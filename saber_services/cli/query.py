"""`saber query`: SQL over the tables."""

from __future__ import annotations

from pathlib import Path

import click
import duckdb

from saber_assets.errors import InputError
from saber_resources.settings import load_settings
from saber_resources.warehouse import open_catalog
from saber_services.cli.options import workdir_option


@click.command(
    "query",
    epilog="""\b
Examples:
  saber query "SHOW TABLES"
  saber query "SELECT retriever, mean FROM leaderboard WHERE domain = 'all'" --format csv
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
    with open_catalog(load_settings(workdir).workdir.catalog) as connection:
        try:
            relation = connection.sql(sql)
            if relation is None:
                return
            if style == "table":
                click.echo(str(relation))
                return
            frame = relation.pl()
        except duckdb.Error as error:
            first = str(error).split("\n", 1)[0]
            raise InputError(f"the query was refused ({first})", "mend the SQL") from error
    click.echo(frame.write_csv() if style == "csv" else frame.write_ndjson(), nl=False)
