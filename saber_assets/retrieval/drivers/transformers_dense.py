"""Dense bi-encoders by transformers."""

from __future__ import annotations

from functools import partial

from saber_assets.retrieval import dense
from saber_assets.retrieval.drivers.driver import EXTRA, Driver, Surroundings
from saber_assets.retrieval.drivers.instructions import instructed_by
from saber_assets.retrieval.drivers.references import authors
from saber_assets.retrieval.encoding import contract, transformers_encoder
from saber_assets.retrieval.protocol import Retriever
from saber_assets.retrieval.systems import DENSE_FIELDS, System


def make(system: System, around: Surroundings) -> Retriever:
    """Return a bi-encoder whose vectors are kept on disk.

    Raises:
        InputError: when its weights aren't whole, or its tokens don't see ahead as they must.
    """
    stated = system.contract()
    if stated is None:
        raise AssertionError("a system without a contract lacks it, and is never made")
    place = str(around.weights_of(system) or system.model)
    encoder = transformers_encoder.TransformersEncoder.load(
        place, stated, trust_remote_code=system.trust_remote_code and system.accepted_code
    )
    if system.bidirectional:
        encoder.check_direction(system.name)
    key = stated.key(f"{system.model} {around.weights_print(system)}")
    return dense.DenseRetriever(
        encoder,
        disk=DRIVER.kept_vectors(around, key, encoder.dimension),
        reference=partial(authors, system, around),
        instructed=instructed_by(system, encoder),
    )


DRIVER = Driver(
    family="bi-encoder",
    backend="transformers",
    make=make,
    revision=(transformers_encoder.REVISION, contract.REVISION, dense.REVISION),
    packages=("torch", "transformers"),
    install=EXTRA,
    distributions=("torch", "transformers"),
    fields=("window", *DENSE_FIELDS),
)
