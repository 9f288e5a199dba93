"""How an instruction reaches the queries of a bi-encoder: by the template its card states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from saber_assets.retrieval.cross_encoder import INSTRUCTION_SLOT
from saber_assets.retrieval.systems import System


class Templated(Protocol):
    """An encoder whose queries can stand in another template."""

    def with_query_template(self, template: str) -> Templated:
        """Return an encoder of the same model with another template for queries."""
        ...


E = TypeVar("E", bound=Templated)


def instructed_by(system: System, encoder: E) -> Callable[[str], E] | None:
    """Return what `DenseRetriever(..., instructed=...)` takes; None without a place on the card."""
    slot = system.instruction_slot
    if slot is None:
        return None

    def instructed(instruction: str) -> E:
        made: E = encoder.with_query_template(slot.replace(INSTRUCTION_SLOT, instruction))  # type: ignore[assignment]
        return made

    return instructed
