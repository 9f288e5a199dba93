"""Pointwise cross-encoders by transformers, asked for yes or no."""

from __future__ import annotations

from saber_assets.retrieval import cross_encoder
from saber_assets.retrieval.drivers.driver import EXTRA, Driver, Surroundings
from saber_assets.retrieval.protocol import Retriever
from saber_assets.retrieval.systems import System


def make(system: System, around: Surroundings) -> Retriever:
    """Return a reranker that reads pairs."""
    return cross_encoder.CrossEncoder.load(
        str(around.weights_of(system) or system.model),
        str(system.pair_template),
        int(system.window or 0),
        precision=system.precision or "float32",
        instruction=system.instruction or "",
    )


DRIVER = Driver(
    family="cross-encoder",
    backend="transformers",
    make=make,
    revision=(cross_encoder.REVISION,),
    packages=("torch", "transformers"),
    install=EXTRA,
    distributions=("torch", "transformers"),
    fields=("window", "pair_template"),
)
