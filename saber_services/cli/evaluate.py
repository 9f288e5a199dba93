"""`saber evaluate`: a person's own retriever on the board."""

from __future__ import annotations

from pathlib import Path

import click

from saber_assets.retrieval.own.own_endpoint import TIMEOUT, VERSION_HEADER
from saber_assets.retrieval.own.own_list import Own, remove_own
from saber_assets.retrieval.tables import SETTINGS
from saber_resources.settings import load_settings
from saber_services.builder import require_built
from saber_services.cli.build import run_build
from saber_services.cli.options import json_option, workdir_option
from saber_services.own_retrievers import add


@click.command(
    "evaluate",
    epilog=r"""
\b
Examples:
  saber evaluate my_retriever.py:MyRetriever
  saber evaluate my_package.retrievers:MyRetriever --name mine-v2
  saber evaluate my-entry-point
  saber evaluate http://127.0.0.1:8000/score --name served --version 1
  saber evaluate run.trec --name mine-run
  saber evaluate run_full.json --name mine-run --setting full-full
  saber evaluate --remove mine-v2
""",
)
@click.argument("reference", required=False)
@workdir_option
@click.option("--name", help="Its name on the board; default: what a class or entry point says.")
@click.option(
    "--setting",
    type=click.Choice(SETTINGS),
    help=f"Of a file of scores: what the texts showed that it was made from; {SETTINGS[0]} if not "
    "given.",
)
@click.option(
    "--version", help=f"Of an endpoint that states none by GET (JSON, or header {VERSION_HEADER})."
)
@click.option(
    "--key-variable",
    metavar="NAME",
    help="Name of the environment variable with an endpoint's key; the key itself isn't kept.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    help=f"Seconds that an endpoint's answer may take; {TIMEOUT:.0f} if not given.",
)
@click.option("--remove", metavar="NAME", help="Take a retriever of yours off the board.")
@json_option
def command(
    reference: str | None,
    workdir: Path,
    name: str | None,
    setting: str | None,
    version: str | None,
    key_variable: str | None,
    timeout: float | None,
    remove: str | None,
    as_json: bool,
) -> None:
    """Put your own retriever on the board.

    REFERENCE is a class with a method `score(query, documents)`, written FILE.py:CLASS or
    MODULE:CLASS; the name of an entry point `saber.retrievers`; the address of an HTTP endpoint; or
    a file of scores that were computed elsewhere (TREC run, JSON, JSONL, CSV, TSV, Parquet).

    It is remembered in the workdir and evaluated again when it or the benchmark changes. A Python
    file in WORKDIR/retrievers/ is on the board without this command.
    """
    settings = load_settings(workdir)
    if (reference is None) == (remove is None):
        raise click.UsageError("give either REFERENCE or --remove NAME")
    require_built(settings)
    added = None
    if remove is not None:
        remove_own(settings.workdir.own_retrievers, remove)
    else:
        wish = Own(
            name or "",
            str(reference),
            setting or "",
            version or "",
            key_variable or "",
            timeout or 0.0,
        )
        added = add(settings, wish)
    run_build(settings, as_json, highlight=added)
