"""Late interaction by checkpoints of PyLate, read by our own loader: PyLate pins other versions."""

from __future__ import annotations

from saber_assets.errors import InputError
from saber_assets.retrieval import late_interaction
from saber_assets.retrieval.drivers.driver import EXTRA, Driver, Surroundings
from saber_assets.retrieval.encoding import colbert_checkpoint
from saber_assets.retrieval.encoding.contract import DOCUMENT_SLOT, QUERY_SLOT
from saber_assets.retrieval.protocol import Retriever
from saber_assets.retrieval.systems import System


def make(system: System, around: Surroundings) -> Retriever:
    """Return a retriever by MaxSim.

    Raises:
        InputError: when the folder holds no such checkpoint, or marks texts otherwise than the
            card says.
    """
    folder = around.weights_of(system)
    if folder is None:
        raise AssertionError("a system without weights lacks them, and is never made")
    encoder = colbert_checkpoint.ColbertCheckpoint.load(
        folder,
        precision=system.precision or "float32",
        query_length=system.query_window,
        document_length=system.window,
        trust_remote_code=system.trust_remote_code and system.accepted_code,
    )
    config = encoder.config
    _check(system, system.query_template, config.query_prefix + QUERY_SLOT)
    _check(system, system.document_template, config.document_prefix + DOCUMENT_SLOT)
    return late_interaction.LateInteractionRetriever(encoder)


def _check(system: System, stated: str | None, marked: str) -> None:
    if stated is not None and stated != marked:
        raise InputError(
            f"the card of {system.name} says {stated!r}, its checkpoint {marked!r}",
            "mend the template in systems.toml, or the checkpoint",
        )


DRIVER = Driver(
    family="late-interaction",
    backend="pylate",
    make=make,
    revision=(colbert_checkpoint.REVISION, late_interaction.REVISION),
    packages=("torch", "transformers"),
    install=EXTRA,
    distributions=("torch", "transformers"),
)
