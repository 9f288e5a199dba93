"""Making a workdir whose benchmark is a released one."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from saber_assets.errors import InputError
from saber_assets.publishing.checksums import SUMS_FILE, wrong_files
from saber_assets.publishing.manifest import stated_makers
from saber_assets.publishing.qrels_import import PoolSource
from saber_assets.publishing.readers import Format, content_of, read_release, stated_scale
from saber_resources.errors import SetupError
from saber_resources.profiles import merge
from saber_resources.settings import SETTINGS_FILE, Settings, load_settings, save_settings
from saber_resources.warehouse import table_names

FIRST_PROFILE = "default"


def prepare_import(
    workdir: Path,
    kind: Format,
    folder: Path,
    *,
    split: str,
    subset: str,
    gain_scale: int | None,
    pools: PoolSource,
    overrides: Mapping[str, Any],
) -> Settings:
    """Write into a workdir's settings that its benchmark is a released one; return them.

    Args:
        workdir: a new one, or one into which a release was imported before.
        kind: format of the folder.
        folder: of the release.
        split: that is read.
        subset: that is read; "" where the folder has none.
        gain_scale: of relevances that are gains; None: as the folder says.
        pools: see `to_benchmark`.
        overrides: further values of the profile.

    Raises:
        InputError: when there is no such folder, a file isn't what the release's checksums say, or
            a new workdir's folder can't be read.
        SetupError: when the workdir holds a benchmark that was built, or a value isn't allowed.
    """
    place = folder.expanduser().resolve()
    imported: dict[str, Any] = {
        "format": kind,
        "folder": str(place),
        "content": content_of(place),
        "split": split,
        "subset": subset,
        "gain_scale": stated_scale(place) if gain_scale is None else gain_scale,
        "pools": pools,
        "made_by": stated_makers(place),
    }
    _refuse_altered(place)
    is_new = not (workdir.expanduser() / SETTINGS_FILE).is_file()
    if not is_new:
        _refuse_built(load_settings(workdir))
    else:  # read before anything is written: a folder that is refused leaves no workdir behind
        scale = imported["gain_scale"]
        read_release(kind, place, split=split, subset=subset, gain_scale=scale, pools=pools)
    profile = FIRST_PROFILE if is_new else None
    return save_settings(workdir, profile, merge(overrides, {"imported": imported}))


def _refuse_altered(folder: Path) -> None:
    wrong = wrong_files(folder)
    if wrong:
        more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        raise InputError(
            f"{folder / wrong[0]}{more} isn't what {SUMS_FILE} says",
            f"download the release again, or delete {SUMS_FILE} if it was changed on purpose",
        )


def _refuse_built(settings: Settings) -> None:
    if settings.profile.imported.folder is None and table_names(settings.workdir.tables):
        root = settings.workdir.root
        raise SetupError(
            f"{root} holds a benchmark that was built",
            f"import into another workdir, such as --workdir {shlex.quote(f'{root}_imported')}",
        )
