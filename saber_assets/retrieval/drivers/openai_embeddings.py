"""OpenAI's embeddings, or those of another API that speaks like it."""

from __future__ import annotations

from saber_assets.retrieval import dense
from saber_assets.retrieval.drivers.api import api_retriever
from saber_assets.retrieval.drivers.driver import Driver, Surroundings
from saber_assets.retrieval.key_names import usable_key
from saber_assets.retrieval.protocol import Retriever
from saber_assets.retrieval.remote import api_contract, remote_encoder
from saber_assets.retrieval.remote.api_contract import API_FIELDS
from saber_assets.retrieval.remote.openai_service import OpenAiService
from saber_assets.retrieval.remote.served_windows import WholeTexts
from saber_assets.retrieval.systems import System

URL = "https://api.openai.com/v1"
AT_ONCE = 64


def make(system: System, around: Surroundings) -> Retriever:
    """Return a retriever by the API; no text is paid for twice."""
    service = OpenAiService(
        system.served or URL,
        system.served_model or str(system.model),
        key=usable_key(system.key_variable or "", around.machine.variables),
        key_variable=system.key_variable,
        dimensions=system.dimension,
    )
    windows = WholeTexts(str(system.query_template), str(system.document_template))
    return api_retriever(DRIVER, system, around, service, windows, AT_ONCE)


DRIVER = Driver(
    family="api",
    backend="api:openai",
    make=make,
    revision=(api_contract.REVISION, dense.REVISION, remote_encoder.REVISION),
    weights=False,
    fields=API_FIELDS,
)
