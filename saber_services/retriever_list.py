"""The rows of `saber retrievers`: what there is, what it takes, and what it lacks here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from saber_assets.errors import InputError
from saber_assets.retrieval.entry import Entry
from saber_assets.retrieval.machine import Machine, this_machine
from saber_assets.retrieval.nearest import nearest
from saber_assets.retrieval.own.plug_ins import entry_point_names
from saber_assets.retrieval.registry import BUILTIN, field_systems, registry
from saber_assets.retrieval.requirements import gpu_gib, lacking
from saber_assets.retrieval.systems import SIZE, UNITS, System
from saber_assets.retrieval.tables import RETRIEVER_SCORES
from saber_assets.retrievers import retrievers_of
from saber_resources.settings import Settings

Row = dict[str, Any]


def retriever_rows(settings: Settings, machine: Machine | None = None) -> list[Row]:
    """Return a row for each retriever: built in, a person's own, or a system of the field.

    A system of the field that is a built-in retriever has one row, that of the built-in one.

    Args:
        settings: the workdir and its profile.
        machine: what it has; by default this one.

    Raises:
        InputError: for a malformed `systems.toml` or list of own retrievers.
    """
    place = settings.workdir.own_retrievers
    on_board = retrievers_of(settings)
    systems = field_systems(place)
    known = machine or this_machine()
    rows = [
        _entry_row(entry, systems.get(name) if name in BUILTIN else None, name in on_board)
        for name, entry in {**BUILTIN, **on_board}.items()
        if name in BUILTIN or name not in systems or entry.family == "own"
    ]
    taken = {row["name"] for row in rows}
    for name, system in systems.items():
        if name not in taken:
            rows.append(_system_row(system, systems, known, name in on_board))
    taken |= systems.keys()
    offered = [name for name in entry_point_names() if name not in taken]
    packaged = registry(offered, place) if offered else {}
    return [*rows, *(_entry_row(packaged[name], None, on_board=False) for name in offered)]


def select(
    rows: Iterable[Row],
    *,
    family: str | None = None,
    type_code: str | None = None,
    licence: str | None = None,
    largest: str | None = None,
    runnable: bool = False,
) -> list[Row]:
    """Return the rows that a person asks for.

    Args:
        rows: of `retriever_rows`.
        family: in full, such as "bi-encoder".
        type_code: in full, such as "RB".
        licence: its beginning, such as "cc-by"; letter case doesn't count.
        largest: most parameters, such as "8B"; rows whose size nobody knows are left out.
        runnable: only what can run here.

    Raises:
        InputError: for a family, type or licence that no row has, or a size that is none.
    """
    found = list(rows)
    for key, wanted in (("family", family), ("type_code", type_code)):
        if wanted is not None:
            _check(wanted, key, found)
            found = [row for row in found if row[key] == wanted]
    if licence is not None:
        stem = licence.lower()
        found = [row for row in found if str(row["licence"] or "").lower().startswith(stem)]
    if largest is not None:
        most = _parameters(largest)
        found = [row for row in found if row["parameters"] and row["parameters"] <= most]
    return [row for row in found if row["lacks"] is None] if runnable else found


def tell(name: str, rows: Iterable[Row], settings: Settings) -> Row:
    """Return a retriever's row with all that its card states: templates, pooling, window, ...

    Raises:
        InputError: when there is no such retriever.
    """
    found = {row["name"]: row for row in rows}
    if name not in found:
        raise InputError(
            f"there is no retriever '{name}'",
            f"`saber retrievers` lists them{nearest(name, found)}",
        )
    row = tell_all([found[name]], settings)[name]
    return {**row, "parity": _parity(name, str(row["family"]), settings)}


def tell_all(rows: Iterable[Row], settings: Settings) -> dict[str, Row]:
    """Return rows with all that the cards state, by name."""
    systems = field_systems(settings.workdir.own_retrievers)
    told = {}
    for row in rows:
        system = systems.get(row["name"])
        stated = {} if system is None else system.model_dump(mode="json", exclude_none=True)
        told[row["name"]] = {**stated, **{k: v for k, v in row.items() if v is not None}}
    return told


def _parity(name: str, family: str, settings: Settings) -> str:
    """Return what came of the parity gate when a retriever was scored last; "" where none is."""
    from saber_assets.kept_scores import latest  # with Dagster, which takes seconds to load
    from saber_services.instance import open_instance

    waits = "not checked yet: that is done when it is scored" if family == "bi-encoder" else ""
    if not settings.workdir.dagster_home.is_dir():
        return waits
    with open_instance(settings.workdir) as instance:
        event = latest(instance, RETRIEVER_SCORES.name, name)
    kept = None if event is None else event.metadata.get("parity")
    return waits if kept is None else str(kept.value)


def _entry_row(entry: Entry, system: System | None, on_board: bool) -> Row:
    kind = "mending" if entry.fault else "packages"
    return {
        "name": entry.name,
        "family": entry.family,
        "type_code": entry.type_code or (system.type_code if system else ""),
        "on_board": on_board,
        "lacks": entry.missing(),
        "description": entry.description,
        "size": None,
        "parameters": None,
        "licence": None,
        "released": None,
        "gpu_gib": None,
        "title": system.title if system else None,
        "tables": list(system.tables) if system else [],
        "needs": [{"kind": kind, "sentence": entry.missing()}] if entry.missing() else [],
        "caveats": list(system.caveats) if system else [],
        "unconfirmed": [],
    }


def _system_row(
    system: System, systems: dict[str, System], machine: Machine, on_board: bool
) -> Row:
    needs = lacking(system, systems, machine)
    memory = gpu_gib(system, systems)
    return {
        "name": system.name,
        "family": system.family,
        "type_code": system.type_code,
        "on_board": on_board,
        "lacks": "; ".join(need.sentence for need in needs) or None,
        "description": system.title,
        "size": system.size or _size(system.parameters),
        "parameters": system.approximate_parameters(),
        "licence": system.licence,
        "released": system.released.isoformat() if system.released else None,
        "gpu_gib": None if memory is None else round(memory, 1),
        "title": system.title,
        "tables": list(system.tables),
        "needs": [need._asdict() for need in needs],
        "caveats": list(system.caveats),
        "unconfirmed": list(system.unconfirmed),
    }


def _size(parameters: int | None) -> str | None:
    """Return a number of parameters as cards write sizes: 568M, 7.6B."""
    if parameters is None:
        return None
    if parameters < UNITS["B"]:
        return f"{parameters / UNITS['M']:.0f}M"
    return f"{parameters / UNITS['B']:.1f}".removesuffix(".0") + "B"


def _check(wanted: str, key: str, rows: list[Row]) -> None:
    there = sorted({str(row[key]) for row in rows if row[key]})
    if wanted not in there:
        what = key.replace("_", " ")
        raise InputError(f"no retriever has the {what} '{wanted}'", f"one of {', '.join(there)}")


def _parameters(size: str) -> float:
    found = SIZE.fullmatch(size.strip().upper())
    if found is None:
        raise InputError(f"'{size}' is no size", "write it like 600M or 8B")
    return float(found[1]) * UNITS[found[2]]
