"""Query rewriters behind an endpoint, in front of any system or built-in retriever.

The backend on a card is that of the system behind the rewriter, which has its own driver.
"""

from __future__ import annotations

from typing import get_args

from saber_assets.retrieval import query_rewriter
from saber_assets.retrieval.drivers.driver import Driver, Surroundings
from saber_assets.retrieval.drivers.served import served_model
from saber_assets.retrieval.encoding.contract import QUERY_SLOT
from saber_assets.retrieval.protocol import Retriever
from saber_assets.retrieval.remote import served_chat
from saber_assets.retrieval.systems import Backend, System


def make(system: System, around: Surroundings) -> Retriever:
    """Return the system behind a rewriter with the rewriter in front of it."""
    if around.behind is None:
        raise AssertionError("a rewriter is made with what stands behind it")
    return query_rewriter.RewritingRetriever(
        served_model(system, around, system.rewriter, samples=system.samples),
        str(system.rewrite_template),
        around.behind(),
        system.instruction_slot or QUERY_SLOT,
        system.instruction or "",
    )


DRIVERS = tuple(
    Driver(
        family="query-rewriter",
        backend=backend,
        make=make,
        revision=(served_chat.REVISION, query_rewriter.REVISION),
        served=True,
        weights=False,
        fields=("rewriter", "base", "rewrite_template"),
    )
    for backend in get_args(Backend)
)
