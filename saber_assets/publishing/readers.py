"""Which formats can be imported, and how a folder of each is read."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal, get_args

from saber_assets.errors import InputError
from saber_assets.publishing import beir_folder, mteb_folder, saber_release, trec_folder
from saber_assets.publishing.benchmark import Benchmark
from saber_assets.publishing.manifest import read_manifest
from saber_assets.publishing.qrels_import import PoolSource

Format = Literal["saber-release", "mteb", "beir", "trec"]
FORMATS: tuple[Format, ...] = get_args(Format)
BLOCK = 1 << 20


def read_release(
    kind: Format,
    folder: Path,
    *,
    split: str = "test",
    subset: str = "",
    gain_scale: int | None = None,
    pools: PoolSource = "given",
) -> Benchmark:
    """Return the benchmark of a folder.

    Args:
        kind: its format.
        folder: that was downloaded, or exported.
        split: that is read, where mteb and beir have several.
        subset: that is read, where mteb has several; "all" for all.
        gain_scale: scale of relevances that are gains; 0: they are ratings from 0 to 5; None: as
            `stated_scale` says. Not for saber-release.
        pools: see `to_benchmark`; not for saber-release.

    Raises:
        InputError: with file and row, for whatever is missing, twice, or out of range.
    """
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}", "check the path")
    manifest = read_manifest(folder)
    if kind == "saber-release":
        return saber_release.read(folder)
    scale = (stated_scale(folder) if gain_scale is None else gain_scale) or None
    encoded = manifest is not None and manifest.safe_ids
    if kind == "mteb":
        return mteb_folder.read(folder, gain_scale=scale, pools=pools, split=split, subset=subset)
    if kind == "beir":
        return beir_folder.read(
            folder, gain_scale=scale, pools=pools, split=split, safe_ids=encoded
        )
    return trec_folder.read(folder, gain_scale=scale, pools=pools, safe_ids=encoded)


def stated_scale(folder: Path) -> int:
    """Return the scale of gains that a folder's manifest states; 0 where it has none.

    Raises:
        InputError: when the manifest is broken.
    """
    manifest = read_manifest(folder)
    return 0 if manifest is None else manifest.gain_scale or 0


def content_of(folder: Path) -> str:
    """Return a hash of the names and contents of the files in a folder, hidden ones apart.

    Raises:
        InputError: when there is no such folder, or a file can't be read.
    """
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}", "check the path")
    digest = hashlib.blake2b(digest_size=12)
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if any(part.startswith(".") for part in name.parts) or not path.is_file():
            continue
        digest.update(f"\0{name.as_posix()}\0".encode("utf-8", "surrogateescape"))
        try:
            with path.open("rb") as file:
                while block := file.read(BLOCK):
                    digest.update(block)
        except OSError as error:
            raise InputError(f"{path} can't be read ({error.strerror})", "check it") from error
    return digest.hexdigest()
