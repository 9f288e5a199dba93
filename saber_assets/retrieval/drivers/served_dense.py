"""Dense bi-encoders behind an OpenAI-compatible endpoint, such as vLLM's."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from saber_assets.retrieval import dense
from saber_assets.retrieval.drivers.driver import Driver, Surroundings
from saber_assets.retrieval.drivers.instructions import instructed_by
from saber_assets.retrieval.drivers.references import transformers
from saber_assets.retrieval.encoding import contract
from saber_assets.retrieval.key_names import usable_key
from saber_assets.retrieval.protocol import Retriever
from saber_assets.retrieval.remote import remote_encoder, served_windows
from saber_assets.retrieval.remote.json_endpoint import JsonEndpoint
from saber_assets.retrieval.remote.openai_service import OpenAiService
from saber_assets.retrieval.remote.remote_encoder import RemoteEncoder
from saber_assets.retrieval.remote.served_windows import ServedWindows
from saber_assets.retrieval.systems import DENSE_FIELDS, System

AT_ONCE = 32
"""Windows in one request: the server makes its own batches of what is in flight."""
AS_POOLED = {"use_activation": False, "embd_normalize": -1}
"""Asks vLLM, and llama.cpp, for vectors whose length isn't 1."""
TOKENIZER = "tokenizer.json"


def make(system: System, around: Surroundings) -> Retriever:
    """Return a bi-encoder whose vectors an endpoint makes, kept on disk once they are made."""
    stated = system.contract()
    if stated is None:
        raise AssertionError("a system without a contract lacks it, and is never made")
    encoder = encoder_of(system, around)
    # what an endpoint serves goes by its name: vectors stay when it moves to another URL
    named = f"{system.model} {system.revision} served as {system.served_model or system.model}"
    disk = DRIVER.kept_vectors(around, f"{stated.key(named)} {encoder.mode}", encoder.dimension)
    return dense.DenseRetriever(
        encoder,
        disk=disk,
        reference=partial(transformers, system, around),
        instructed=instructed_by(system, encoder),
    )


def encoder_of(system: System, around: Surroundings) -> RemoteEncoder:
    """Return what embeds by a system's endpoint, without a memory."""
    stated = system.contract()
    if stated is None or system.served is None:
        raise AssertionError("a system without a contract or an endpoint lacks it")
    url, name = system.served.rstrip("/"), system.served_model or str(system.model)
    key = usable_key(system.key_variable or "", around.machine.variables)
    extra = {} if stated.normalise else AS_POOLED
    service = OpenAiService(url, name, key=key, key_variable=system.key_variable, extra=extra)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    root = JsonEndpoint(url.removesuffix("/v1"), headers)
    windows = ServedWindows(
        stated,
        lambda texts: service.vectors(texts, "document"),
        root,
        name,
        _tokenizer(system, around),
        service.place,
    )
    return RemoteEncoder(
        service,
        windows,
        normalise=stated.normalise,
        dimension=system.dimension,
        at_once=AT_ONCE,
    )


def _tokenizer(system: System, around: Surroundings) -> Path | None:
    """Return the model's tokenizer: of a person's folder, or of the hub's cache."""
    if system.weights is not None:
        folders = [Path(system.weights).expanduser()]
    else:
        whole = around.weights_of(system)
        cached = around.machine.hub_cache / f"models--{str(system.model).replace('/', '--')}"
        folders = [] if whole is None else [whole]
        folders += sorted((cached / "snapshots").glob("*"), reverse=True)
    return next((folder / TOKENIZER for folder in folders if (folder / TOKENIZER).is_file()), None)


DRIVER = Driver(
    family="bi-encoder",
    backend="vllm",
    make=make,
    revision=(
        contract.REVISION,
        dense.REVISION,
        remote_encoder.REVISION,
        served_windows.REVISION,
    ),
    served=True,
    weights=False,
    fields=("window", *DENSE_FIELDS),
)
