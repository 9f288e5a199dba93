"""The asset that stands for all stages before retrieval where a released benchmark is imported."""

from collections.abc import Iterator
from typing import Any

import dagster as dg
import polars as pl

from saber_assets.errors import InputError
from saber_assets.materialize import declare, hand_over
from saber_assets.publishing.import_tables import import_tables
from saber_assets.publishing.readers import content_of, read_release
from saber_assets.publishing.tables import IMPORTED
from saber_resources.profiles import Imported
from saber_resources.settings import Settings

ORIGIN_KEY = "saber/imported_from"
"""Under which an imported table says where it comes from."""
GROUP = "imported"


def assets(settings: Settings) -> list[dg.AssetsDefinition]:
    """Return the asset that reads a release, in place of the stages that would have made it."""
    imported = settings.profile.imported
    values = import_values(imported)

    @dg.multi_asset(
        name="import_release",
        outs=declare(IMPORTED, group=GROUP, version=1, values=values, kinds=("imported",)),
    )
    def release() -> Iterator[dg.Output[pl.DataFrame]]:
        folder, kind = imported.folder, imported.format
        assert folder is not None and kind is not None  # noqa: S101 - the profile's own rule
        if content_of(folder) != imported.content:
            raise InputError(
                f"the files in {folder} are not those that were imported",
                f"import them anew with `saber import {kind} {folder}`",
            )
        found = read_release(
            kind,
            folder,
            split=imported.split,
            subset=imported.subset,
            gain_scale=imported.gain_scale,
            pools=imported.pools,
        )
        metadata: dict[str, Any] = {ORIGIN_KEY: f"{folder} ({kind})", **found.notes}
        tables = import_tables(found, kind, (imported.made_by or {}).get("judgments", ()))
        yield from hand_over(tables, values, {table.name: metadata for table in IMPORTED})

    return [release]


def import_values(imported: Imported) -> dict[str, Any]:
    """Return what decides an import: the folder's content and how it is read, not its place."""
    known = imported.model_dump(exclude={"folder"})
    if not known["subset"]:
        del known["subset"]  # so that what was imported before there was one stays fresh
    if not any((known["made_by"] or {}).values()):
        del known["made_by"]  # likewise
    return {"imported": known}
