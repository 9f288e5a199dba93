"""Systems of the field as entries of the registry: how each is made, and what it still lacks."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from saber_assets.retrieval.builtin import BUILTIN
from saber_assets.retrieval.drivers.driver import EXTRA, Driver, Surroundings
from saber_assets.retrieval.drivers.table import driver_of
from saber_assets.retrieval.entry import Entry, version_of
from saber_assets.retrieval.protocol import Retriever
from saber_assets.retrieval.requirements import lacking
from saber_assets.retrieval.systems import System

OWN_SYSTEMS = "systems.toml"
BOARD_FAMILIES = {
    "bi-encoder": "dense",
    "learned-sparse": "dense",
    "api": "dense",
    "lexical": "lexical",
    "formula-search": "lexical",
}
_WORDS = {
    "caveats",
    "unconfirmed",
    "aliases",
    "tables",
    "title",
    "licence",
    "released",
    "gated",
    "weights",
    "served",
    "accepted_code",
    "key_variable",
    "size",
    "parameters",
    "type_code",
    "backends",
}
"""Fields that decide no score: words about a system, and places of it. Of the backends only the one
that runs it does, and stands beside them, as its driver."""


def system_entry(system: System, around: Surroundings) -> Entry:
    """Return the entry of a system; `missing()` says all that it lacks."""
    driver = driver_of(system, around.machine)
    lacks = lacking(system, around.systems, around.machine)
    listed = "; ".join(need.sentence for need in lacks)
    fault = f"Retriever {system.name} lacks {listed}." if lacks else ""
    return Entry(
        name=system.name,
        family=BOARD_FAMILIES.get(system.family, "reranker"),
        type_code=system.type_code,
        description=f"{system.title}, {system.family}{_size(system)}.",
        version=_version(system, driver, around),
        factory=partial(_make, system, driver, around),
        install=EXTRA,
        fault=fault,
        place=_place(system, around),
    )


def _size(system: System) -> str:
    return f" of {system.size} parameters" if system.size else ""


def _version(system: System, driver: Driver | None, around: Surroundings) -> str:
    """Return a hash of what decides the scores, of the system behind a rewriter as well."""
    values = system.model_dump(mode="json", exclude=_WORDS)
    made = {"driver": None, "packages": {}} if driver is None else driver.version()
    weighs = driver is None or driver.weights
    return version_of(
        {
            "system": values,
            "behind": _version_behind(system.base, around),
            "built_in": _version_built_in(system),
            "weights": around.weights_print(system) if weighs else "served",
            **made,
        }
    )


def _place(system: System, around: Surroundings) -> str:
    """Return a hash of the endpoints of a system and of what stands behind it, "" without any."""
    found = []
    below: System | None = system
    while below is not None:
        found.append(below.served)
        below = around.systems.get(below.base or "")
    return version_of({"served": found}) if any(found) else ""


def _version_built_in(system: System) -> str | None:
    """Return the version of the built-in retriever that a lexical system is."""
    found = BUILTIN.get(system.model or "") if system.family == "lexical" else None
    return None if found is None else found.version


def _version_behind(name: str | None, around: Surroundings) -> str | None:
    """Return the version of what stands behind a rewriter, None without one."""
    if name in BUILTIN:
        return BUILTIN[name].version
    below = around.systems.get(name or "")
    return None if below is None else _version(below, driver_of(below, around.machine), around)


def _make(system: System, driver: Driver | None, around: Surroundings) -> Retriever:
    if driver is None:
        raise AssertionError("a system without a driver lacks it, and is never made")
    if system.base is not None:
        around = replace(around, behind=partial(_made, system.base, around))
    return driver.make(system, around)


def _made(name: str, around: Surroundings) -> Retriever:
    """Return the retriever of a built-in name, or of a system."""
    if name in BUILTIN:
        return BUILTIN[name].make()
    system = around.systems[name]
    return _make(system, driver_of(system, around.machine), around)
