"""`saber leaderboard`: print the board."""

from __future__ import annotations

from pathlib import Path

import click

from saber_assets.retrieval.tables import SETTINGS
from saber_resources.settings import load_settings
from saber_resources.warehouse import read_table
from saber_services.boards import FORMATS, print_board
from saber_services.builder import require_built
from saber_services.cli.options import workdir_option


@click.command(
    "leaderboard",
    epilog="""\b
Examples:
  saber leaderboard
  saber leaderboard --setting full-full --format csv > board.csv
""",
)
@workdir_option
@click.option(
    "--setting",
    default=SETTINGS[0],
    show_default=True,
    type=click.Choice(SETTINGS),
    help="What text the query and the documents show.",
)
@click.option("--format", "style", default="table", show_default=True, type=click.Choice(FORMATS))
def command(workdir: Path, setting: str, style: str) -> None:
    """Print the leaderboard of a workdir: mean over queries with a 95 % bootstrap interval."""
    settings = load_settings(workdir)
    require_built(settings)
    print_board(read_table(settings.workdir.tables, "leaderboard"), setting, style)
