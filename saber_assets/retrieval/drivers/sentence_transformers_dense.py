"""Dense bi-encoders by sentence-transformers: the model's own modules, the card's templates."""

from __future__ import annotations

from functools import partial
from typing import Any

from saber_assets.errors import InputError
from saber_assets.retrieval import dense
from saber_assets.retrieval.drivers.driver import EXTRA, Driver, Surroundings
from saber_assets.retrieval.drivers.instructions import instructed_by
from saber_assets.retrieval.drivers.references import own_encode
from saber_assets.retrieval.encoding import contract, transformers_encoder
from saber_assets.retrieval.encoding import sentence_transformers_encoder as library
from saber_assets.retrieval.encoding.attention import check_direction
from saber_assets.retrieval.encoding.contract import Contract
from saber_assets.retrieval.protocol import Retriever
from saber_assets.retrieval.systems import System


def make(system: System, around: Surroundings) -> Retriever:
    """Return a bi-encoder whose vectors are kept on disk.

    Raises:
        InputError: when the folder isn't of sentence-transformers, or the model isn't what its
            card says: another pooling, or tokens that don't see those behind them.
    """
    folder = around.weights_of(system)
    if folder is None:
        raise AssertionError("a system without weights lacks them, and is never made")
    model = library.load_model(
        folder,
        system.precision or "float32",
        trust_remote_code=system.trust_remote_code and system.accepted_code,
        adapter=system.document_task,
    )
    if system.bidirectional:
        check_direction(system.name, model[0].auto_model, model.tokenizer, model.device)
    stated = contract_of(system, model)
    encoder = library.SentenceTransformersEncoder(model, stated)
    weights = f"{system.model} {around.weights_print(system)} {system.document_task or ''}"
    key = stated.key(weights)
    return dense.DenseRetriever(
        encoder,
        disk=DRIVER.kept_vectors(around, key, encoder.dimension),
        reference=partial(own_encode, model, system),
        instructed=instructed_by(system, encoder),
    )


def contract_of(system: System, model: Any) -> Contract:
    """Return the contract of a card; what it doesn't state is as the model's modules have it.

    Raises:
        InputError: when neither states the window.
    """
    window = system.window or model.max_seq_length
    if not window:
        raise InputError(
            f"neither the card of {system.name} nor its folder states a window",
            "state window in systems.toml",
        )
    normalise = library.normalises(model) if system.normalise is None else system.normalise
    return Contract(
        query_template=str(system.query_template),
        document_template=str(system.document_template),
        pooling=system.pooling or library.pooling_of(model) or "mean",
        eos=system.eos or "",
        normalise=normalise,
        window=int(window),
        precision=system.precision or "float32",
        pool_template=system.pool_instruction,
    )


DRIVER = Driver(
    family="bi-encoder",
    backend="sentence-transformers",
    make=make,
    revision=(
        library.REVISION,
        transformers_encoder.REVISION,
        contract.REVISION,
        dense.REVISION,
    ),
    packages=("torch", "transformers", "sentence_transformers"),
    install=EXTRA,
    distributions=("torch", "transformers", "sentence-transformers"),
    fields=("query_template", "document_template"),
)
