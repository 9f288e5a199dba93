"""What this machine has, of what systems need: packages, weights, GPU memory, key variables."""

from __future__ import annotations

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

    def folder_of(self, model: str, weights: str | None) -> Path | None:
        """Return where the weights of a hub id lie, or None.

        Args:
            model: the hub id.
            weights: a person's folder, which comes first.
        """
        if weights is not None:
            folder = Path(weights).expanduser()
            return folder if _is_whole(folder) else None
        snapshots = self.hub_cache / f"models--{model.replace('/', '--')}" / "snapshots"
        found = [folder for folder in sorted(snapshots.glob("*")) if _is_whole(folder)]
        return found[-1] if found else None


def this_machine() -> Machine:
    """Return what this machine has; the GPU is asked for once a process."""
    variables = dict(os.environ)
    home = variables.get("HF_HOME") or str(Path.home() / ".cache" / "huggingface")
    hub = variables.get("HF_HUB_CACHE") or str(Path(home) / "hub")
    return Machine(_gpu_gib(), is_installed, variables, Path(hub).expanduser())


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
