"""`saber report`: the report site."""

from __future__ import annotations

import json
from pathlib import Path

import click

from saber_resources.progress import use_display
from saber_resources.settings import load_settings
from saber_services.builder import require_built
from saber_services.cli.options import error_console, json_option, workdir_option
from saber_services.display import terminal_bar
from saber_services.report_writing import write_report

MEGABYTE = 1e6


@click.command(
    "report",
    epilog="""\b
Examples:
  saber report
  saber report --to /var/www/board
""",
)
@workdir_option
@click.option(
    "--to", "target", type=click.Path(path_type=Path), help="Folder; default: WORKDIR/report."
)
@click.option(
    "--all-texts",
    is_flag=True,
    help="A page for every problem of the pools, also where there are more than 5,000.",
)
@json_option
def command(workdir: Path, target: Path | None, all_texts: bool, as_json: bool) -> None:
    """Write the report: a folder of pages that need nothing else, to be opened in a browser.

    A report that is already there is replaced as a whole; anything else in the folder is refused.
    """
    settings = load_settings(workdir)
    require_built(settings)
    console = error_console()
    with use_display(lambda label, total: terminal_bar(console, label, total)):
        written = write_report(settings, target, all_texts=all_texts)
    if as_json:
        told = {"index": str(written.index), "pages": written.pages, "bytes": written.size}
        click.echo(json.dumps(told))
        return
    console.print(
        f"{written.pages:,} pages, {written.size / MEGABYTE:,.1f} MB; open the file below in a "
        "browser, or serve its folder as it is",
        soft_wrap=True,
    )
    click.echo(written.index)
