"""`saber export`: the benchmark as files for others."""

from __future__ import annotations

import json
from pathlib import Path

import click

from saber_assets.publishing.writers import EXPORT_FORMATS, ExportFormat
from saber_assets.retrieval.tables import SETTINGS
from saber_resources.settings import load_settings
from saber_services.cli.options import error_console, json_option, workdir_option
from saber_services.exporting import Exported, Wish, export

WHOLE = ("saber", "hf")
"""Formats with all documents, unless one wants those of the pools only."""


@click.command(
    "export",
    epilog="""\b
Examples:
  saber export --format saber release/
  saber export --format mteb release_mteb/ --setting statement-statement
  saber export --format hf open_part/ --permissive --title "SABER, open part"
""",
)
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--format", "kind", required=True, type=click.Choice(EXPORT_FORMATS))
@workdir_option
@click.option("--title", default="", help="Name on the data card; default: the workdir's.")
@click.option(
    "--setting",
    default=SETTINGS[0],
    show_default=True,
    type=click.Choice(SETTINGS),
    help="What text each side shows; of mteb, beir and trec.",
)
@click.option(
    "--documents",
    type=click.Choice(["all", "pools"]),
    help="All, or those in pools; default: all for saber and hf, else pools.",
)
@click.option("--permissive", is_flag=True, help="Only documents under permissive licences.")
@json_option
def command(
    folder: Path,
    kind: ExportFormat,
    workdir: Path,
    title: str,
    setting: str,
    documents: str | None,
    permissive: bool,
    as_json: bool,
) -> None:
    """Write the benchmark into a folder, with data card, checksums and licences.

    An earlier export there is replaced as a whole; anything else is refused.
    """
    pooled_only = (documents or ("all" if kind in WHOLE else "pools")) == "pools"
    wish = Wish(kind, folder, title, setting, pooled_only, permissive)
    exported = export(load_settings(workdir), wish)
    _tell(exported, as_json)


def _tell(exported: Exported, as_json: bool) -> None:
    benchmark = exported.benchmark
    counts = {
        "documents": benchmark.documents.height,
        "queries": benchmark.queries.height,
        "candidates": benchmark.rated.height,
    }
    if as_json:
        left = None if exported.left_out is None else vars(exported.left_out)
        click.echo(json.dumps({"folder": str(exported.folder), **counts, "left_out": left}))
        return
    console = error_console()
    if exported.left_out is not None:
        console.print(exported.left_out.sentence, soft_wrap=True, markup=False)
    elif not exported.states_licences:
        console.print(
            "the corpus states no licences: ask its sources before you pass the texts on",
            soft_wrap=True,
        )
    told = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    console.print(f"{told}; checksums in SHA256SUMS", soft_wrap=True, markup=False)
    click.echo(exported.folder)
