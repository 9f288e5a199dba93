"""Formula search by Approach Zero, as the package pya0 brings it."""

from __future__ import annotations

from saber_assets.corpus import formulas
from saber_assets.retrieval import formula_search
from saber_assets.retrieval.drivers.driver import Driver, Surroundings
from saber_assets.retrieval.protocol import Retriever
from saber_assets.retrieval.systems import System


def make(system: System, around: Surroundings) -> Retriever:
    """Return a retriever that searches the formulas of a pool."""
    return formula_search.FormulaSearch()


DRIVER = Driver(
    family="formula-search",
    backend="pya0",
    make=make,
    revision=(formula_search.REVISION, formulas.REVISION),
    packages=("pya0",),
    install="pip install pya0",
    distributions=("pya0",),
    weights=False,
)
