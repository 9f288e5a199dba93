"""`saber import`: a released benchmark to evaluate retrievers on."""

from __future__ import annotations

from pathlib import Path

import click

from saber_assets.publishing.qrels_import import PoolSource
from saber_assets.publishing.readers import FORMATS, Format
from saber_services.cli.build import run_build, settings_kept
from saber_services.cli.options import json_option, read_overrides, workdir_option
from saber_services.importing import prepare_import


@click.command(
    "import",
    epilog="""\b
Examples:
  saber import saber-release SABER-Math/ --workdir saber_math
  saber import mteb my_reranking_task/ --workdir mine --split dev
  saber import mteb my_multilingual_task/ --workdir mine --subset all
  saber import beir scifact/ --workdir scifact --pools corpus --set evaluation.gain=linear
""",
)
@click.argument("kind", type=click.Choice(FORMATS), metavar="|".join(FORMATS))
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@workdir_option
@click.option("--split", default="test", show_default=True, help="Of mteb and beir folders.")
@click.option(
    "--subset", default="", help="Of mteb folders that have several; 'all' reads all of them."
)
@click.option(
    "--gain-scale",
    type=click.IntRange(min=0),
    help="Relevances are gains, S (2^rating - 1); 0: ratings from 0 to 5. Default: as the folder "
    "says, else 0.",
)
@click.option(
    "--pools",
    type=click.Choice(["given", "corpus"]),
    default="given",
    show_default=True,
    help="What is ranked for a query: its listed or judged documents, or all. Not of a release.",
)
@click.option("--set", "pairs", multiple=True, metavar="SECTION.KEY=VALUE", help="As for build.")
@json_option
def command(
    kind: Format,
    folder: Path,
    workdir: Path,
    split: str,
    subset: str,
    gain_scale: int | None,
    pools: PoolSource,
    pairs: tuple[str, ...],
    as_json: bool,
) -> None:
    """Evaluate on a released benchmark: its queries, documents and ratings become a workdir.

    Nothing is annotated or judged. The retrievers of the profile are scored and the leaderboard
    is printed; `saber evaluate` adds yours.
    """
    with settings_kept(workdir):
        settings = prepare_import(
            workdir,
            kind,
            folder,
            split=split,
            subset=subset,
            gain_scale=gain_scale,
            pools=pools,
            overrides=read_overrides(pairs),
        )
        run_build(settings, as_json)
