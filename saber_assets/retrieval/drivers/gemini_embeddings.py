"""Gemini's embeddings."""

from __future__ import annotations

from saber_assets.retrieval import dense
from saber_assets.retrieval.drivers.api import api_retriever
from saber_assets.retrieval.drivers.driver import Driver, Surroundings
from saber_assets.retrieval.encoding.contract import Side
from saber_assets.retrieval.key_names import usable_key
from saber_assets.retrieval.protocol import Retriever
from saber_assets.retrieval.remote import api_contract, gemini_service, remote_encoder
from saber_assets.retrieval.remote.api_contract import API_FIELDS
from saber_assets.retrieval.remote.gemini_service import (
    KEY_HEADER,
    URL,
    CountedTexts,
    GeminiService,
)
from saber_assets.retrieval.remote.json_endpoint import JsonEndpoint
from saber_assets.retrieval.systems import System

AT_ONCE = {"gemini-embedding-001": 64}
"""Texts in one request, of models known to give each its own vector; of others, one."""


def make(system: System, around: Surroundings) -> Retriever:
    """Return a retriever by the API; no text is paid for twice."""
    variable, model = str(system.key_variable), str(system.model)
    key = usable_key(variable, around.machine.variables)
    tasks: dict[Side, str | None] = {"query": system.query_task, "document": system.document_task}
    templates: dict[Side, str] = {
        "query": str(system.query_template),
        "document": str(system.document_template),
    }
    service = GeminiService(
        JsonEndpoint(system.served or URL, {KEY_HEADER: key}),
        model,
        key=key,
        key_variable=variable,
        tasks=tasks,
        dimensions=system.dimension,
    )
    windows = CountedTexts(templates, int(system.window or 0), service.count)
    return api_retriever(DRIVER, system, around, service, windows, AT_ONCE.get(model, 1))


DRIVER = Driver(
    family="api",
    backend="api:gemini",
    make=make,
    revision=(
        api_contract.REVISION,
        dense.REVISION,
        remote_encoder.REVISION,
        gemini_service.REVISION,
    ),
    weights=False,
    fields=API_FIELDS,
)
