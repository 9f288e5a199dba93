"""`saber report`: the report page."""

from __future__ import annotations

from pathlib import Path

import click

from saber_resources.settings import load_settings
from saber_services.builder import require_built
from saber_services.cli.options import workdir_option
from saber_services.report.page import write_report


@click.command("report")
@workdir_option
@click.option("--output", type=click.Path(path_type=Path), help="Default: WORKDIR/report.html.")
def command(workdir: Path, output: Path | None) -> None:
    """Write the report page: one HTML file that needs nothing else."""
    settings = load_settings(workdir)
    require_built(settings)
    target = output or settings.workdir.report
    click.echo(write_report(settings.workdir.tables, target, settings.workdir.root.name))
