"""`saber evaluate`: a person's own retriever on the board."""

from __future__ import annotations

from pathlib import Path

import click

from saber_assets.retrieval.own import load_own
from saber_assets.retrieval.own_list import add_own, remove_own
from saber_resources.settings import load_settings
from saber_services.builder import require_built
from saber_services.cli.build import run_build
from saber_services.cli.options import json_option, workdir_option


@click.command(
    "evaluate",
    epilog="""\b
Examples:
  saber evaluate my_retriever.py:MyRetriever
  saber evaluate my_package.retrievers:MyRetriever --name mine-v2
  saber evaluate --remove mine-v2
""",
)
@click.argument("reference", required=False, metavar="FILE.py:CLASS")
@workdir_option
@click.option("--name", help="Its name on the board; default: the class's `name`, or its own name.")
@click.option("--remove", metavar="NAME", help="Take a retriever of yours off the board.")
@json_option
def command(
    reference: str | None, workdir: Path, name: str | None, remove: str | None, as_json: bool
) -> None:
    """Put your own retriever on the board: a class with a method `score(query, documents)`.

    It is remembered in the workdir and evaluated again when its file or the benchmark changes.
    """
    settings = load_settings(workdir)
    if (reference is None) == (remove is None):
        raise click.UsageError("give either FILE.py:CLASS or --remove NAME")
    require_built(settings)
    added = None
    if remove is not None:
        remove_own(settings.workdir.own_retrievers, remove)
    else:
        added = load_own(str(reference), name).name
        add_own(settings.workdir.own_retrievers, added, str(reference))
    run_build(settings, as_json, highlight=added)
