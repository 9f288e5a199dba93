"""A Hugging Face dataset: the SABER release as Parquet configs, with pools and verdicts in full.

`datasets.load_dataset(DIR, "queries")` reads it by the head of its README, and so does
`saber import saber-release DIR`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from saber_assets.publishing.benchmark import Benchmark
from saber_assets.publishing.manifest import Manifest, write_manifest
from saber_assets.publishing.saber_release import (
    release_documents,
    release_matches,
    release_queries,
)

FORMAT = "hf"
SPLIT = "test"
_FILE = f"{SPLIT}-00000-of-00001.parquet"


def write(benchmark: Benchmark, folder: Path) -> None:
    """Write one Parquet file for each config, and the manifest."""
    for name, frame in _configs(benchmark).items():
        write_config(folder, name, frame)
    write_manifest(folder, Manifest(FORMAT))


def write_config(folder: Path, name: str, frame: pl.DataFrame) -> None:
    """Write a config's only split."""
    (folder / name).mkdir()
    frame.write_parquet(folder / name / _FILE, compression="zstd")


def card_configs(folder: Path, default: str) -> list[Mapping[str, object]]:
    """Return what a data card says of the configs in a folder, the default one marked."""
    names = sorted(path.parent.name for path in folder.glob(f"*/{_FILE}"))
    return [
        {
            "config_name": name,
            "data_files": [{"split": SPLIT, "path": f"{name}/{SPLIT}-*.parquet"}],
            **({"default": True} if name == default else {}),
        }
        for name in names
    ]


def _configs(benchmark: Benchmark) -> dict[str, pl.DataFrame]:
    documents = release_documents(benchmark)
    configs = {
        "documents": documents,
        "queries": release_queries(benchmark, documents["id"]),
        "pools": benchmark.pools,
        "matches": release_matches(benchmark),
        "judgments": benchmark.verdicts,
    }
    if benchmark.runs.height:
        configs["runs"] = benchmark.runs
    return {name: frame for name, frame in configs.items() if frame.height}
