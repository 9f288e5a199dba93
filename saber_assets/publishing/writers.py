"""Which formats can be exported, and how a folder of each is written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal, get_args

from saber_assets.publishing import (
    beir_folder,
    hf_dataset,
    mteb_folder,
    saber_release,
    trec_folder,
)
from saber_assets.publishing.benchmark import Benchmark
from saber_assets.publishing.manifest import read_manifest, write_manifest

ExportFormat = Literal["saber", "mteb", "beir", "trec", "hf"]
EXPORT_FORMATS: tuple[ExportFormat, ...] = get_args(ExportFormat)
ONE_TEXT: tuple[ExportFormat, ...] = ("mteb", "beir", "trec")
"""Formats that know one text a document, and so one setting."""
DEFAULT_CONFIG = {"hf": "queries", "mteb": mteb_folder.QRELS}
"""Formats with configs, and the one that loads without a name."""


def write_release(kind: ExportFormat, benchmark: Benchmark, folder: Path, setting: str) -> None:
    """Write a benchmark into an empty folder.

    Args:
        kind: the format.
        benchmark: what is written.
        folder: exists and is empty.
        setting: what text each side shows, in formats with one text a document.
    """
    if kind == "saber":
        saber_release.write(benchmark, folder)
    elif kind == "hf":
        hf_dataset.write(benchmark, folder)
    elif kind == "mteb":
        mteb_folder.write(benchmark, folder, setting)
    elif kind == "beir":
        beir_folder.write(benchmark, folder, setting)
    else:
        trec_folder.write(benchmark, folder, setting)
    written = read_manifest(folder)
    if written is not None:
        write_manifest(folder, replace(written, made_by=benchmark.made_by))
