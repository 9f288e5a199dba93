"""`saber_export.json`: what wrote a folder, and how to read ids and relevances back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from saber_assets.errors import InputError

MANIFEST_FILE = "saber_export.json"
PARTS = ("topics", "summaries", "judgments")
"""Parts of a benchmark of which a folder says who made them."""
LAYOUT = 1
"""Raised when a reader of the present layout would misread a new one."""


@dataclass(frozen=True)
class Manifest:
    """What a folder says about itself.

    Attributes:
        format: one of the export formats.
        gain_scale: scale of its integer gains; None where ratings stand as they are.
        safe_ids: whether ids are percent-encoded.
        setting: what text each side shows; None where both statement and solution are there.
        made_by: for each of `PARTS`, the names of its annotators or judges; empty where unknown.
        layout: see `LAYOUT`.
    """

    format: str
    gain_scale: int | None = None
    safe_ids: bool = False
    setting: str | None = None
    made_by: Mapping[str, Sequence[str]] = field(default_factory=dict)
    layout: int = LAYOUT


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write a folder's manifest."""
    text = json.dumps(asdict(manifest), indent=2) + "\n"
    (folder / MANIFEST_FILE).write_text(text, encoding="utf-8")


def read_manifest(folder: Path) -> Manifest | None:
    """Return a folder's manifest, or None where it has none: SABER didn't write it.

    Raises:
        InputError: when it is broken, or of a newer layout.
    """
    path = folder / MANIFEST_FILE
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        manifest = Manifest(**values)
        _check_names(manifest.made_by)
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, OSError) as error:
        raise InputError(
            f"{path} is broken ({error})", "export or download the folder again"
        ) from error
    if manifest.layout != LAYOUT:
        raise InputError(
            f"{path} has layout {manifest.layout}, and this version reads {LAYOUT}",
            "update SABER, or export the folder with this version",
        )
    return manifest


def stated_makers(folder: Path) -> dict[str, list[str]]:
    """Return who made each of `PARTS`, as a folder's manifest states it; else nobody.

    Raises:
        InputError: when the manifest is broken.
    """
    manifest = read_manifest(folder)
    made_by = {} if manifest is None else manifest.made_by
    return {part: [*made_by.get(part, ())] for part in PARTS}


def _check_names(made_by: object) -> None:
    if isinstance(made_by, dict) and all(
        isinstance(names, list) and all(isinstance(name, str) for name in names)
        for names in made_by.values()
    ):
        return
    raise ValueError("made_by is no object with lists of names")
