"""An instruction in front of the query, or in the field that a model has for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from saber_assets.retrieval.protocol import Retriever, Scores


def instructed(retriever: Retriever, instruction: str) -> Retriever:
    """Return a retriever whose queries carry an instruction; documents are read as before.

    Args:
        retriever: whose method `with_instruction` returns such a retriever, or None where it has
            no field for one; without either, the instruction stands in front of the query.
        instruction: what it is told.
    """
    native = getattr(retriever, "with_instruction", None)
    made = native(instruction) if callable(native) else None
    return Prefixed(retriever, f"{instruction}\n") if made is None else made


class Prefixed:
    """A retriever whose queries begin with a text; all else reaches it unchanged."""

    def __init__(self, retriever: Retriever, prefix: str) -> None:
        self._retriever = retriever
        self._prefix = prefix

    def __getattr__(self, name: str) -> Any:
        """Return what the retriever itself has, such as `prepare` or `forget`."""
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self._retriever, name)
        if name == "prepare_queries":
            return lambda queries: found([self._prefix + query for query in queries])
        return found

    def score(self, query: str, documents: Sequence[str]) -> Scores:
        """Return the retriever's scores for the longer query."""
        return self._retriever.score(self._prefix + query, documents)
