"""Generative groupwise rerankers behind an endpoint."""

from __future__ import annotations

from saber_assets.retrieval import generative_groupwise
from saber_assets.retrieval.drivers.driver import Driver, Surroundings
from saber_assets.retrieval.drivers.served import room_of, served_model
from saber_assets.retrieval.protocol import Retriever
from saber_assets.retrieval.remote import served_chat
from saber_assets.retrieval.systems import System


def make(system: System, around: Surroundings) -> Retriever:
    """Return a reranker that asks about groups of documents."""
    return generative_groupwise.GenerativeGroupwise(
        served_model(system, around, system.model),
        str(system.group_template),
        group_size=int(system.group_size or 1),
        highest=int(system.highest_score or 1),
        rounds=system.samples,
        characters=room_of(system),
        document_characters=system.document_characters,
    )


DRIVER = Driver(
    family="generative-groupwise",
    backend="vllm",
    make=make,
    revision=(served_chat.REVISION, generative_groupwise.REVISION),
    served=True,
    weights=False,
    fields=("model", "group_template", "group_size", "highest_score"),
)
