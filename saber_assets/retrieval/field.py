"""Systems of the field as entries of the registry: how each is made, and what it still lacks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from saber_assets.retrieval import cross_encoder, dense
from saber_assets.retrieval.contract import REVISION, Contract
from saber_assets.retrieval.entry import Entry, package_version, version_of
from saber_assets.retrieval.machine import Machine, fingerprint
from saber_assets.retrieval.protocol import Retriever
from saber_assets.retrieval.requirements import EXTRA, lacking
from saber_assets.retrieval.systems import System
from saber_assets.retrieval.vector_cache import VectorCache

OWN_SYSTEMS = "systems.toml"
VECTORS = "vectors.sqlite"
PACKAGES = ("torch", "transformers")
BOARD_FAMILIES = {
    "bi-encoder": "dense",
    "api": "dense",
    "lexical": "lexical",
    "formula-search": "lexical",
}


class VectorPlace(NamedTuple):
    """Where document vectors are kept, and under what key."""

    file: Path
    key: str


def system_entry(
    system: System, systems: Mapping[str, System], machine: Machine, folder: Path
) -> Entry:
    """Return the entry of a system; `missing()` says all that it lacks.

    Args:
        system: the system.
        systems: all of them, by name.
        machine: see `this_machine`.
        folder: the workdir, where document vectors are kept.
    """
    lacks = lacking(system, systems, machine)
    listed = "; ".join(need.sentence for need in lacks)
    fault = f"Retriever {system.name} lacks {listed}." if lacks else ""
    return Entry(
        name=system.name,
        family=BOARD_FAMILIES.get(system.family, "reranker"),
        type_code=system.type_code,
        description=f"{system.title}, {system.family}{_size(system)}.",
        version=_version(system, _folder_print(system, machine)),
        factory=partial(_make, system, machine, folder / VECTORS),
        install=EXTRA,
        fault=fault,
    )


def _size(system: System) -> str:
    return f" of {system.size} parameters" if system.size else ""


def _folder_print(system: System, machine: Machine) -> str:
    folder = _folder(system, machine)
    return "absent" if folder is None else fingerprint(folder)


def _folder(system: System, machine: Machine) -> Path | None:
    if system.model is None:
        return None
    return machine.folder_of(system.model, system.weights, system.revision)


def _version(system: System, weights: str) -> str:
    """Return a hash of what decides the scores: neither words about a system nor its place do."""
    words = {"caveats", "unconfirmed", "aliases", "tables", "title", "licence", "released", "gated"}
    values = system.model_dump(mode="json", exclude={*words, "weights", "accepted_code"})
    return version_of(
        {
            "system": values,
            "weights": weights,
            "revisions": [REVISION, dense.REVISION, cross_encoder.REVISION],
            "packages": {name: package_version(name) for name in PACKAGES},
        }
    )


def _make(system: System, machine: Machine, vectors: Path) -> Retriever:
    place = str(_folder(system, machine) or system.model)
    if system.family == "cross-encoder":
        return cross_encoder.CrossEncoder.load(
            place,
            str(system.pair_template),
            int(system.window or 0),
            precision=system.precision or "float32",
            instruction=system.instruction or "",
        )
    contract = system.contract()
    if contract is None:
        raise AssertionError("a system without a contract lacks it, and is never made")
    key = contract.key(f"{system.model} {_folder_print(system, machine)}")
    return _bi_encoder(system, contract, place, VectorPlace(vectors, key))


def _bi_encoder(system: System, contract: Contract, place: str, vectors: VectorPlace) -> Retriever:
    from saber_assets.retrieval.transformers_encoder import TransformersEncoder

    encoder = TransformersEncoder.load(
        place, contract, trust_remote_code=system.trust_remote_code and system.accepted_code
    )
    disk = VectorCache(vectors.file, vectors.key, encoder.dimension)
    return dense.DenseRetriever(encoder, disk=disk)
