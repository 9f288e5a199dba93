"""Writing the report of a workdir: with its cards, latencies and recorded runs, under a bar."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from saber_resources.progress import progress
from saber_resources.settings import Settings

if TYPE_CHECKING:
    from saber_services.report.site import Written

INDEX = "index.html"


def write_report(
    settings: Settings, target: Path | None = None, *, all_texts: bool = False
) -> Written:
    """Write the report site of a workdir.

    Args:
        settings: the workdir and its profile.
        target: the folder; None: the workdir's own.
        all_texts: every problem of the pools gets a page, however many there are.

    Raises:
        InputError: when the target holds something else than a report.
        SetupError: when a table can't be read.
    """
    # only here: they and Dagster, behind them, take a second to import
    from saber_services.report.outside import gather_outside
    from saber_services.report.release import Release
    from saber_services.report.site import Site, check_target, write_site

    workdir = settings.workdir
    folder = (target or workdir.report).expanduser().resolve()
    check_target(folder)
    imported = settings.profile.imported
    release = None if imported.folder is None else Release(imported.made_by or {})
    outside = gather_outside(settings)
    site = Site.of(workdir.tables, workdir.root.name, outside, all_texts, release)
    with progress("writing the report", site.expected) as advance:
        return write_site(site, folder, advance)
