"""What this machine has, of what systems need: packages, weights, GPU memory, key variables."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from saber_assets.retrieval.entry import is_installed

PROBE_SECONDS = 10
WEIGHT_FILES = ("*.safetensors", "*.bin")
WHOLE_FILE = 2**20
"""Bytes up to which a file is read whole; of a larger one, as much of its beginning and end."""


@dataclass(frozen=True)
class Machine:
    """What a machine has.

    Attributes:
        gpu_gib: memory of its largest GPU, 0 without one.
        installed: whether a package can be imported.
        variables: the environment.
        hub_cache: where downloaded weights lie.
    """

    gpu_gib: float
    installed: Callable[[str], bool]
    variables: Mapping[str, str]
    hub_cache: Path

    def folder_of(
        self, model: str, weights: str | None, revision: str | None = None
    ) -> Path | None:
        """Return where the weights of a hub id lie, or None.

        Args:
            model: the hub id.
            weights: a person's folder, which comes first.
            revision: the commit that is preferred; else the one that `main` was when downloaded.
        """
        if weights is not None:
            folder = Path(weights).expanduser()
            return folder if _is_whole(folder) else None
        cached = self.hub_cache / f"models--{model.replace('/', '--')}"
        main = cached / "refs" / "main"
        names = [revision or "", main.read_text().strip() if main.is_file() else ""]
        asked = [cached / "snapshots" / name for name in names if name]
        found = [*asked, *sorted((cached / "snapshots").glob("*"), reverse=True)]
        return next((folder for folder in found if _is_whole(folder)), None)


def this_machine() -> Machine:
    """Return what this machine has; the GPU is asked for once a process."""
    variables = dict(os.environ)
    home = variables.get("HF_HOME") or str(Path.home() / ".cache" / "huggingface")
    hub = variables.get("HF_HUB_CACHE") or str(Path(home) / "hub")
    return Machine(_gpu_gib(), is_installed, variables, Path(hub).expanduser())


def fingerprint(folder: Path) -> str:
    """Return a hash of a folder with weights: names and sizes of its files, and what they hold.

    Folders in it count as well: they may hold weights, such as those of a projection. Of large
    files only the beginning and the end are read: training changes every tensor.
    """
    digest = hashlib.blake2b(digest_size=8)
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        size = file.stat().st_size
        digest.update(f"{file.relative_to(folder).as_posix()} {size} ".encode())
        with file.open("rb") as content:
            digest.update(content.read(WHOLE_FILE))
            if size > WHOLE_FILE:
                content.seek(max(WHOLE_FILE, size - WHOLE_FILE))
                digest.update(content.read(WHOLE_FILE))
    return digest.hexdigest()


def _is_whole(folder: Path) -> bool:
    has_weights = any(any(folder.glob(pattern)) for pattern in WEIGHT_FILES)
    return (folder / "config.json").is_file() and has_weights


@cache
def _gpu_gib() -> float:
    program = shutil.which("nvidia-smi")
    if program is None:
        return 0.0
    asked = [program, "--query-gpu=memory.total", "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run(  # noqa: S603
            asked, capture_output=True, text=True, timeout=PROBE_SECONDS, check=False
        )
        return max((float(line) / 1024 for line in answer.stdout.split()), default=0.0)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return 0.0
