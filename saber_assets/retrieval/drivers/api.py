"""What the drivers of embedding APIs have in common."""

from __future__ import annotations

from saber_assets.retrieval import dense
from saber_assets.retrieval.drivers.driver import Driver, Surroundings
from saber_assets.retrieval.remote.api_contract import alike, contract_key
from saber_assets.retrieval.remote.remote_encoder import RemoteEncoder, Service, Windows
from saber_assets.retrieval.systems import System


def api_retriever(
    driver: Driver,
    system: System,
    around: Surroundings,
    service: Service,
    windows: Windows,
    at_once: int,
) -> dense.DenseRetriever:
    """Return a retriever by an API; no text is paid for twice.

    Args:
        driver: of the API.
        system: whose card says how it is fed.
        around: see `Surroundings`.
        service: gives vectors.
        windows: how long texts are cut.
        at_once: texts in one request.
    """
    encoder = RemoteEncoder(
        service,
        windows,
        normalise=system.normalise is not False,
        dimension=system.dimension,
        at_once=at_once,
        sides_alike=alike(system),
    )
    contract = f"{contract_key(system)} {encoder.mode}"
    disk = driver.kept_vectors(around, contract, encoder.dimension)
    return dense.DenseRetriever(encoder, disk=disk)
