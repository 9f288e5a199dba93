"""What a system of the field lacks here: one short sentence for each thing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from saber_assets.errors import InputError
from saber_assets.retrieval.builtin import BUILTIN
from saber_assets.retrieval.drivers.driver import Driver
from saber_assets.retrieval.drivers.table import can_be_served, driver_of
from saber_assets.retrieval.key_names import usable_key
from saber_assets.retrieval.machine import Machine
from saber_assets.retrieval.sanity import RATINGS
from saber_assets.retrieval.systems import System

CPU_PARAMETERS = 1_000_000_000
"""Above it, a CPU would take weeks."""
HEADROOM = 1.25
"""Memory for a batch, on top of that for the weights."""


REACHED = ("api",)
"""Families whose own address a card's `served` replaces."""


class Need(NamedTuple):
    """What a system lacks.

    Attributes:
        kind: one word: driver, packages, contract, endpoint, weights, GPU, consent or key.
        sentence: what it is, and how to get it.
    """

    kind: str
    sentence: str


def gpu_gib(system: System, systems: Mapping[str, System]) -> float | None:
    """Return the GiB of GPU memory that a system needs; of one on another, also the other's.

    None where it needs none, or nobody knows.
    """
    if system.base is not None:
        below = systems.get(system.base)
        return None if below is None else gpu_gib(below, systems)
    weights, parameters = system.weights_gib(), system.approximate_parameters()
    if weights is None or parameters is None or parameters <= CPU_PARAMETERS:
        return None
    return weights * HEADROOM


def lacking(system: System, systems: Mapping[str, System], machine: Machine) -> tuple[Need, ...]:
    """Return what stands between a system and its row on the board; empty where it can run here.

    Args:
        system: the system.
        systems: all of them, by name: a rewriter names the one behind it.
        machine: see `this_machine`.
    """
    driver = driver_of(system, machine)
    if driver is None:
        backend = system.backends[0]
        outside = "score it outside, as a retriever of your own"
        found = [Need("driver", f"a driver for {system.family} by {backend}: {outside}")]
        found += _needs_of_weights(system, systems, machine)
    else:
        found = _needs_of(driver, system, systems, machine)
    if system.base is not None:
        found += _needs_of_base(system.base, systems, machine)
    if system.key_variable is not None:
        found += _needs_of_key(system.key_variable, machine)
    return tuple(dict.fromkeys(found))


def _needs_of_key(variable: str, machine: Machine) -> list[Need]:
    try:
        held = usable_key(variable, machine.variables)
    except InputError as error:
        return [Need("key", f"another key: {error.what}")]
    return [] if held else [Need("key", f"a key: set {variable}")]


def _needs_of_base(name: str, systems: Mapping[str, System], machine: Machine) -> tuple[Need, ...]:
    """Return what the system or built-in retriever behind a rewriter lacks."""
    if name == RATINGS:
        return (Need("driver", f"another base: '{name}' reads no queries"),)
    if name in BUILTIN:
        lacks = BUILTIN[name].missing()
        return () if lacks is None else (Need("packages", lacks.rstrip(".")),)
    if name in systems:
        return lacking(systems[name], systems, machine)
    return (Need("driver", f"the system '{name}', which no file describes"),)


def _needs_of(
    driver: Driver, system: System, systems: Mapping[str, System], machine: Machine
) -> list[Need]:
    found = _packages(driver, machine) + _unstated(driver, system)
    if driver.served and system.served is None:
        model = system.rewriter or system.model
        flag = " --trust-request-chat-template" if system.raw_prompt else ""
        sentence = f"an endpoint: vllm serve {model}{flag}, then served = its URL in systems.toml"
        found.append(Need("endpoint", sentence))
    if system.served is not None and system.family not in REACHED and not can_be_served(system):
        how = "remove served from systems.toml, which has no effect"
        found.append(Need("driver", f"a driver for {system.family} behind an endpoint: {how}"))
    if driver.weights:
        found += _needs_of_weights(system, systems, machine)
    return found


def _needs_of_weights(
    system: System, systems: Mapping[str, System], machine: Machine
) -> list[Need]:
    if "/" not in (system.model or ""):
        return []
    found = _weights(str(system.model), system.weights, system.gated, machine)
    needed = gpu_gib(system, systems)
    if needed is not None and machine.gpu_gib < needed:
        there = f"the largest here has {machine.gpu_gib:.0f}" if machine.gpu_gib else "none here"
        other = ", or its endpoint as served in systems.toml" if can_be_served(system) else ""
        found.append(Need("GPU", f"a GPU with {needed:.0f} GiB ({there}){other}"))
    if system.trust_remote_code and not system.accepted_code:
        leave = "your leave to run code from its repository: accepted_code = true in systems.toml"
        found.append(Need("consent", leave))
    return found


def _weights(model: str, weights: str | None, gated: bool | None, machine: Machine) -> list[Need]:
    if machine.folder_of(model, weights) is not None:
        return []
    place = f"https://huggingface.co/{model}"
    if weights is not None:
        how = f"{weights} holds no config.json with weights"
    elif not gated:
        how = f"hf download {model}"
    elif machine.variables.get("HF_TOKEN"):
        how = f"accept the licence at {place}, then hf download {model}"
    else:
        how = f"accept the licence at {place}, set HF_TOKEN, hf download {model}"
    return [Need("weights", f"its weights: {how}")]


def _packages(driver: Driver, machine: Machine) -> list[Need]:
    absent = [name.replace("_", "-") for name in driver.packages if not machine.installed(name)]
    return [Need("packages", f"{' and '.join(absent)}: {driver.install}")] if absent else []


def _unstated(driver: Driver, system: System) -> list[Need]:
    unknown = [name for name in driver.fields if getattr(system, name) is None]
    if not unknown:
        return []
    return [
        Need("contract", f"what nobody confirmed: state {' and '.join(unknown)} in systems.toml")
    ]
