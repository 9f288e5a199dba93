"""All drivers, and which of them runs a system."""

from __future__ import annotations

from saber_assets.retrieval.drivers import (
    approach_zero,
    gemini_embeddings,
    generative_groupwise,
    generative_pointwise,
    gritlm_dense,
    lexical,
    openai_embeddings,
    pylate_late,
    query_rewriter,
    sentence_transformers_dense,
    served_dense,
    splade_sparse,
    transformers_dense,
    transformers_pairs,
)
from saber_assets.retrieval.drivers.driver import Driver
from saber_assets.retrieval.machine import Machine
from saber_assets.retrieval.systems import System

DRIVERS: tuple[Driver, ...] = (
    lexical.DRIVER,
    transformers_dense.DRIVER,
    transformers_pairs.DRIVER,
    sentence_transformers_dense.DRIVER,
    gritlm_dense.DRIVER,
    served_dense.DRIVER,
    openai_embeddings.DRIVER,
    gemini_embeddings.DRIVER,
    generative_pointwise.DRIVER,
    generative_groupwise.DRIVER,
    pylate_late.DRIVER,
    splade_sparse.DRIVER,
    approach_zero.DRIVER,
    *query_rewriter.DRIVERS,
)


def driver_of(system: System, machine: Machine) -> Driver | None:
    """Return what runs a system, or None where nothing does.

    A system whose card names an endpoint is served by it. Otherwise the first of its backends
    counts that runs on this machine and whose packages are here, else the first that is driven.
    """
    able = [
        driver
        for backend in system.backends
        for driver in DRIVERS
        if (driver.family, driver.backend) == (system.family, backend)
    ]
    wanted = [driver for driver in able if driver.served == (system.served is not None)] or able
    complete = [d for d in wanted if all(machine.installed(name) for name in d.packages)]
    return next(iter([*complete, *wanted]), None)


def can_be_served(system: System) -> bool:
    """Tell whether an endpoint could serve a system."""
    kinds = {(driver.family, driver.backend) for driver in DRIVERS if driver.served}
    return any((system.family, backend) in kinds for backend in system.backends)
