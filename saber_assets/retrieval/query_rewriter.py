"""A query rewriter in front of any retriever: a model turns the query into another text.

The retriever behind it scores with that text. Several rewrites are averaged by their scores; where
these are cosines of vectors of length 1, that ranks like the mean of the rewrites' vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from saber_assets.asking import ChatReply, Failure
from saber_assets.retrieval.encoding.contract import QUERY_SLOT
from saber_assets.retrieval.encoding.parity import TwoSided
from saber_assets.retrieval.protocol import Retriever, Scores
from saber_assets.retrieval.remote.served_chat import (
    AskingRetriever,
    Question,
    ServedModel,
    UnansweredError,
    filled,
    label_of,
)

REVISION = 1
INSTRUCTION_SLOT = "{instruction}"


class RewritingRetriever(AskingRetriever):
    """Scores with rewritten queries; the model is asked once a query.

    Args:
        model: rewrites.
        template: what it is asked: text with one {query}.
        retriever: scores; its optional methods are used.
        slot: what the retriever is given: text with one {query}, where a rewrite stands, and maybe
            an {instruction}.
        instruction: what stands in the slot's {instruction}.
    """

    def __init__(
        self,
        model: ServedModel,
        template: str,
        retriever: Retriever,
        slot: str = QUERY_SLOT,
        instruction: str = "",
    ) -> None:
        super().__init__(model, retriever)
        self.queries_in_flight = int(getattr(retriever, "queries_in_flight", 1))
        self._template = template
        self._retriever = retriever
        self._slot = slot
        self._instruction = instruction
        self._known: dict[str, list[str] | Failure] = {}

    def prepare(self, documents: Sequence[str]) -> None:
        """Let the retriever see all documents."""
        self._hand_on("prepare", documents)

    def prepare_queries(self, queries: Sequence[str]) -> None:
        """Rewrite all queries together, and let the retriever see what became of them."""
        self._rewrite(queries)
        known = [self._known[query] for query in queries]
        texts = [text for found in known if not isinstance(found, Failure) for text in found]
        self._hand_on("prepare_queries", [self._shown(text) for text in dict.fromkeys(texts)])

    def score(self, query: str, documents: Sequence[str]) -> Scores:
        """Return the retriever's scores, the mean over the rewrites.

        Raises:
            UnansweredError: when the query could not be rewritten.
        """
        texts = [self._shown(text) for text in self.rewrites(query)]
        scored = [self._retriever.score(text, documents) for text in texts]
        return scored[0] if len(scored) == 1 else np.mean(np.asarray(scored, float), axis=0)

    def with_instruction(self, text: str) -> RewritingRetriever | None:
        """Return a rewriter that hands on another instruction, once; None without a place for it.

        A retriever that has a field of its own is told there, and gets the bare rewrite. For any
        other, the instruction takes the place of the one in the slot.
        """
        native = getattr(self._retriever, "with_instruction", None)
        made = native(text) if callable(native) else None
        if made is not None:
            return RewritingRetriever(self._model, self._template, made)
        if INSTRUCTION_SLOT not in self._slot:
            return None
        return RewritingRetriever(self._model, self._template, self._retriever, self._slot, text)

    def serving(self) -> TwoSided:
        """Return what makes the vectors of the retriever behind it, for the parity gate.

        Raises:
            AttributeError: when that one takes no part in it.
        """
        found: TwoSided = self._retriever.serving()  # type: ignore[attr-defined]
        return found

    def reference(self) -> TwoSided | str | None:
        """Return what that one is compared with; None for nothing."""
        stated = getattr(self._retriever, "reference", None)
        return stated() if callable(stated) else None

    def forget(self) -> None:
        """Rewrite anew from now on, and let the retriever forget."""
        self._known.clear()
        super().forget()

    def rewrites(self, query: str) -> list[str]:
        """Return what became of a query.

        Raises:
            UnansweredError: when it could not be rewritten.
        """
        if query not in self._known:
            self._rewrite([query])
        known = self._known[query]
        if isinstance(known, Failure):
            raise UnansweredError(f"the query could not be rewritten: {known.reason}")
        return known

    def _shown(self, text: str) -> str:
        return filled(self._slot, query=text, instruction=self._instruction)

    def _rewrite(self, queries: Sequence[str]) -> None:
        asked = [query for query in dict.fromkeys(queries) if query not in self._known]
        questions = [self._question(query, len(query)) for query in asked]
        self._known.update(zip(asked, self._model.ask(questions), strict=True))

    def _question(self, query: str, characters: int) -> Question[str]:
        """Return what is asked about a query; the end of one that is too long is cut."""
        around = len(filled(self._template, query=""))
        return Question(
            filled(self._template, query=query[:characters]),
            label_of(query),
            _text,
            lambda room: self._question(query, max(0, room - around)),
        )

    def _hand_on(self, method: str, *arguments: Any) -> None:
        found = getattr(self._retriever, method, None)
        if callable(found):
            found(*arguments)


def _text(reply: ChatReply) -> str:
    return reply.text or ""
