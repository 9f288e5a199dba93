"""Learned sparse retrieval by SPLADE models."""

from __future__ import annotations

from saber_assets.retrieval import learned_sparse
from saber_assets.retrieval.drivers.driver import EXTRA, Driver, Surroundings
from saber_assets.retrieval.encoding import splade_encoder
from saber_assets.retrieval.protocol import Retriever
from saber_assets.retrieval.systems import System


def make(system: System, around: Surroundings) -> Retriever:
    """Return a retriever by inner products of sparse weights.

    Raises:
        InputError: when the folder holds no such model.
    """
    folder = around.weights_of(system)
    if folder is None:
        raise AssertionError("a system without weights lacks them, and is never made")
    encoder = splade_encoder.SpladeEncoder.load(
        folder,
        int(system.window or 0),
        query_template=str(system.query_template),
        document_template=str(system.document_template),
        precision=system.precision or "float32",
        trust_remote_code=system.trust_remote_code and system.accepted_code,
    )
    return learned_sparse.SparseRetriever(encoder, system.query_terms, system.document_terms)


DRIVER = Driver(
    family="learned-sparse",
    backend="splade",
    make=make,
    revision=(splade_encoder.REVISION, learned_sparse.REVISION),
    packages=("torch", "transformers", "sentence_transformers"),
    install=EXTRA,
    distributions=("torch", "transformers", "sentence-transformers"),
    fields=("window", "query_template", "document_template"),
)
