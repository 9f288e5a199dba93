"""A driver: what turns the card of a system into a retriever, and what it takes to do so."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saber_assets.asking import ChatModel
from saber_assets.retrieval.encoding.vector_cache import VectorCache
from saber_assets.retrieval.entry import package_version
from saber_assets.retrieval.machine import Machine, fingerprint
from saber_assets.retrieval.protocol import Retriever
from saber_assets.retrieval.systems import System

EXTRA = "pip install 'saber-platform[models]'"
VECTORS = "vectors.sqlite"

ChatOpener = Callable[[str, str, str], AbstractContextManager[ChatModel]]
"""From a model's name, the URL of its endpoint and the NAME of the variable that holds the key
("" for none) to the model; answers are kept, and none is paid for twice."""


@dataclass(frozen=True)
class Surroundings:
    """What a driver finds around the system that it runs.

    Attributes:
        machine: see `this_machine`.
        systems: all systems, by name.
        folder: the workdir, where document vectors are kept.
        open_chat: how language models behind an endpoint are reached.
        behind: makes the retriever behind a rewriter; None for other systems.
    """

    machine: Machine
    systems: Mapping[str, System]
    folder: Path
    open_chat: ChatOpener
    behind: Callable[[], Retriever] | None = None

    @property
    def vectors(self) -> Path:
        """The file in which vectors are kept."""
        return self.folder / VECTORS

    def weights_of(self, system: System) -> Path | None:
        """Return the folder with a system's weights, or None."""
        if system.model is None:
            return None
        return self.machine.folder_of(system.model, system.weights, system.revision)

    def weights_print(self, system: System) -> str:
        """Return a hash of a system's weights, "absent" without them."""
        folder = self.weights_of(system)
        return "absent" if folder is None else fingerprint(folder)


@dataclass(frozen=True, kw_only=True)
class Driver:
    """What runs the systems of one family by one backend.

    Attributes:
        family: of the systems.
        backend: as in `System.backends`.
        make: makes the retriever of a system that lacks nothing.
        revision: of each module that decides scores, raised whenever they change.
        packages: import names of what must be installed.
        install: the command that installs them.
        distributions: packages whose versions decide scores.
        served: whether an endpoint serves the model; its URL is `System.served`.
        weights: whether the model's weights must be on this machine.
        fields: what the card must state.
    """

    family: str
    backend: str
    make: Callable[[System, Surroundings], Retriever]
    revision: tuple[int, ...]
    packages: tuple[str, ...] = ()
    install: str = ""
    distributions: tuple[str, ...] = ()
    served: bool = False
    weights: bool = True
    fields: tuple[str, ...] = ()

    def version(self) -> dict[str, Any]:
        """Return what of this driver decides vectors and scores."""
        return {
            "driver": [self.family, self.backend, list(self.revision)],
            "packages": {name: package_version(name) for name in self.distributions},
        }

    def kept_vectors(self, around: Surroundings, contract: str, dimension: int) -> VectorCache:
        """Return the vectors that are kept of this version of the driver.

        Args:
            around: where they are.
            contract: all else that decides them, such as `Contract.key`.
            dimension: length of the vectors.
        """
        key = json.dumps([contract, self.version()], sort_keys=True)
        return VectorCache(around.vectors, key, dimension)
