"""Late interaction: each query token finds its best document token, and the maxima are added.

MaxSim(q, d) = sum over query tokens i of the maximum over document tokens j of q_i . d_j, exact,
over all tokens of the pool; nothing is approximated or pruned.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

REVISION = 1
DECIMALS = 6
REMEMBERED_BYTES = 512 * 2**20

Tokens = NDArray[np.float32]


class TokenEncoder(Protocol):
    """Turns texts into one vector a token."""

    def query_tokens(self, text: str) -> Tokens:
        """Return the vectors of a query's tokens, shape (tokens, dimension)."""
        ...

    def document_tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """Return the vectors of each document's tokens, shape (tokens, dimension) each."""
        ...


def maxsim(
    query: NDArray[np.floating], documents: Sequence[NDArray[np.floating]]
) -> NDArray[np.float64]:
    """Return MaxSim of a query with each document, shape (documents,).

    Args:
        query: shape (query tokens, dimension).
        documents: shape (tokens, dimension) each; one without tokens scores 0.

    Raises:
        ValueError: when the dimensions differ.
    """
    scores = np.zeros(len(documents))
    asked = query.astype(np.float64)
    for number, document in enumerate(documents):
        if document.ndim != 2 or document.shape[1] != asked.shape[1]:
            raise ValueError(f"token vectors of shape {document.shape} against {asked.shape}")
        if document.shape[0] and asked.shape[0]:
            # einsum and not a matrix product, whose sums depend on the number of rows
            found = np.einsum("id,jd->ij", asked, document.astype(np.float64))
            scores[number] = found.max(axis=1).sum()
    return scores


class LateInteractionRetriever:
    """Scores by MaxSim over an encoder's token vectors; document vectors are remembered.

    Args:
        encoder: the model.
        remembered_bytes: memory for token vectors; beyond it the oldest are dropped.
    """

    def __init__(self, encoder: TokenEncoder, remembered_bytes: int = REMEMBERED_BYTES) -> None:
        self._encoder = encoder
        self._limit = remembered_bytes
        self._tokens: dict[str, Tokens] = {}
        self._bytes = 0

    def score(self, query: str, documents: Sequence[str]) -> NDArray[np.float64]:
        """Return MaxSim of the query with each document, shape (documents,)."""
        missing = [text for text in dict.fromkeys(documents) if text not in self._tokens]
        if missing:
            made = self._encoder.document_tokens(missing)
            for text, tokens in zip(missing, made, strict=True):
                self._tokens[text] = tokens
                self._bytes += tokens.nbytes
        scores = maxsim(
            self._encoder.query_tokens(query), [self._tokens[text] for text in documents]
        )
        self._drop_oldest()
        return np.round(scores, DECIMALS)

    def forget(self) -> None:
        """Drop the remembered vectors."""
        self._tokens.clear()
        self._bytes = 0

    def _drop_oldest(self) -> None:
        while self._bytes > self._limit and self._tokens:
            for text in list(islice(self._tokens, 64)):
                self._bytes -= self._tokens.pop(text).nbytes
