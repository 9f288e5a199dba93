"""Lexical rows of the published tables: they are built-in retrievers."""

from __future__ import annotations

from saber_assets.retrieval.builtin import BUILTIN
from saber_assets.retrieval.drivers.driver import Driver, Surroundings
from saber_assets.retrieval.protocol import Retriever
from saber_assets.retrieval.systems import System


def make(system: System, around: Surroundings) -> Retriever:
    """Return the built-in retriever that a system is."""
    return BUILTIN[str(system.model)].make()


DRIVER = Driver(family="lexical", backend="lexical", make=make, revision=(1,), weights=False)
