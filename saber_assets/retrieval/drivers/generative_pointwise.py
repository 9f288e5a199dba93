"""Generative pointwise rerankers behind an endpoint."""

from __future__ import annotations

from saber_assets.retrieval import generative_pointwise
from saber_assets.retrieval.drivers.driver import Driver, Surroundings
from saber_assets.retrieval.drivers.served import room_of, served_model
from saber_assets.retrieval.protocol import Retriever
from saber_assets.retrieval.remote import served_chat
from saber_assets.retrieval.systems import System


def make(system: System, around: Surroundings) -> Retriever:
    """Return a reranker that asks about each document."""
    template, answers = str(system.pair_template), system.answers
    thinks = template.rstrip().endswith(generative_pointwise.THINK)
    if answers is not None:
        read = generative_pointwise.answer_reader(answers, template)
    else:
        read = generative_pointwise.score_reader(int(system.highest_score or 0))
    closing = answers is not None and system.raw_prompt and thinks
    return generative_pointwise.GenerativePointwise(
        served_model(
            system,
            around,
            system.model,
            samples=system.samples,
            repeat=generative_pointwise.close_reasoning(answers) if answers and closing else None,
        ),
        template,
        read,
        instruction=system.instruction or "",
        characters=room_of(system),
        document_characters=system.document_characters,
    )


DRIVER = Driver(
    family="generative-pointwise",
    backend="vllm",
    make=make,
    revision=(served_chat.REVISION, generative_pointwise.REVISION),
    served=True,
    weights=False,
    fields=("model", "pair_template"),
)
