"""GritLM by its own package: attention in both directions, and a mean without the instruction."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saber_assets.retrieval import dense
from saber_assets.retrieval.drivers.driver import Driver, Surroundings
from saber_assets.retrieval.drivers.instructions import instructed_by
from saber_assets.retrieval.encoding import contract, transformers_encoder
from saber_assets.retrieval.encoding.attention import check_direction
from saber_assets.retrieval.encoding.contract import Contract, Side
from saber_assets.retrieval.encoding.packaged import no_progress_bar
from saber_assets.retrieval.encoding.transformers_encoder import TransformersEncoder
from saber_assets.retrieval.protocol import Retriever
from saber_assets.retrieval.systems import DENSE_FIELDS, System

REVISION = 1
REFERENCE_BATCH = 8
POOLINGS = {"cls": "cls", "mean": "mean", "last": "lasttoken"}
"""What the package calls a contract's poolings."""


class GritEncoder(TransformersEncoder):
    """Embeds by a GritLM model under a contract; its tokens see ahead."""

    def _hidden(self, tensors: dict[str, Any]) -> Any:
        return self._model(**tensors, is_causal=False)[0]


class GritReference:
    """The package's own `encode`, which keeps the instruction's tokens out of the mean.

    Args:
        grit: a model of the package.
        stated: whose templates end with the text, as the package's instructions do.
    """

    def __init__(self, grit: Any, stated: Contract) -> None:
        self._grit = grit
        self._contract = stated

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return document vectors, shape (texts, dimension)."""
        return self._encode(texts, "document")

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return query vectors, shape (texts, dimension)."""
        return self._encode(texts, "query")

    def _encode(self, texts: Sequence[str], side: Side) -> NDArray[np.float32]:
        made: NDArray[np.float32] = self._grit.encode(
            list(texts),
            batch_size=REFERENCE_BATCH,
            max_length=self._contract.window,
            instruction=self._contract.around(side)[0],
        )
        return made


def make(system: System, around: Surroundings) -> Retriever:
    """Return a bi-encoder whose vectors are kept on disk.

    Raises:
        InputError: when the model runs causally under the installed transformers.
    """
    stated = system.contract()
    folder = around.weights_of(system)
    if stated is None or folder is None:
        raise AssertionError("a system without contract or weights lacks it, and is never made")
    grit = _load(str(folder), stated)
    inner = getattr(grit.model, grit.embedding_attr) if grit.embedding_attr else grit.model
    check_direction(system.name, partial(inner, is_causal=False), grit.tokenizer, inner.device)
    encoder = GritEncoder(grit.tokenizer, inner, stated)
    key = stated.key(f"{system.model} {around.weights_print(system)}")
    return dense.DenseRetriever(
        encoder,
        disk=DRIVER.kept_vectors(around, key, encoder.dimension),
        reference=partial(GritReference, grit, stated),
        instructed=instructed_by(system, encoder),
    )


def _load(place: str, stated: Contract) -> Any:
    import torch
    from gritlm import GritLM

    # it prints what it made, and draws bars
    with contextlib.redirect_stdout(io.StringIO()), no_progress_bar():
        return GritLM(
            place,
            mode="embedding",
            pooling_method=POOLINGS[stated.pooling],
            normalized=stated.normalise,
            device="cuda:0" if torch.cuda.is_available() else "cpu",  # else on all GPUs at once
            torch_dtype=getattr(torch, stated.precision),
        )


DRIVER = Driver(
    family="bi-encoder",
    backend="gritlm",
    make=make,
    revision=(REVISION, transformers_encoder.REVISION, contract.REVISION, dense.REVISION),
    packages=("torch", "transformers", "gritlm"),
    install="pip install gritlm",
    distributions=("torch", "transformers", "gritlm"),
    fields=("window", *DENSE_FIELDS),
)
