"""Late interaction: each query token finds its best document token, and the maxima are added.

MaxSim(q, d) = sum over query tokens i of the maximum over document tokens j of q_i . d_j, exact,
over all tokens of the pool; nothing is approximated or pruned. A text that is longer than the
model's window gives the tokens of all its windows: a maximum over them needs no mean (SPEC section
2, "Evaluation", averages vectors of bi-encoders only).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Protocol

import numpy as np
from numba import njit
from numpy.typing import NDArray

REVISION = 2
DECIMALS = 4
"""Scores are sums over tokens, up to some hundreds, of products that float32 knows to 1e-7."""

REMEMBERED_BYTES = 512 * 2**20
ENCODED_AT_ONCE = 256
BLOCK = 64
"""Document tokens whose products are formed at a time: they stay in the processor's cache."""

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

    Products are added dimension after dimension, in float32 where both vectors are float32 and
    else in float64; the maxima in float64. A score doesn't depend, to the last bit, on the other
    documents, on the order of a document's tokens, or on the machine, as a matrix product does.

    Args:
        query: shape (query tokens, dimension).
        documents: shape (tokens, dimension) each; one without tokens scores 0.

    Raises:
        ValueError: when the dimensions differ.
    """
    scores = np.zeros(len(documents))
    usual = bool(np.isfinite(query).all())
    for number, document in enumerate(documents):
        if document.ndim != 2 or document.shape[1] != query.shape[1]:
            raise ValueError(f"token vectors of shape {document.shape} against {query.shape}")
        if not document.shape[0] or not query.shape[0]:
            continue
        if usual and np.isfinite(document).all():
            dtype = np.result_type(query, document, np.float32)
            pair = (np.ascontiguousarray(vectors, dtype=dtype) for vectors in (query, document))
            scores[number] = _maxsim(*pair)
        else:  # what isn't a number stays so, to be refused later
            scores[number] = np.einsum("id,jd->ij", query, document).max(axis=1).sum()
    return scores


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _maxsim(query: NDArray[np.floating], document: NDArray[np.floating]) -> float:
    """Return MaxSim of finite vectors of one type.

    Two query tokens at a time meet a block of document tokens, which is turned so that the
    innermost loop runs over tokens: each product is summed in the same order whatever its place.
    """
    tokens, dimension = document.shape
    asked, whole = query.shape[0], dimension - dimension % 4
    best = np.full(asked, -np.inf)
    block = np.zeros((dimension, BLOCK), dtype=document.dtype)
    sums = np.empty((2, BLOCK), dtype=document.dtype)
    for start in range(0, tokens, BLOCK):
        width = min(BLOCK, tokens - start)
        for j in range(width):
            for d in range(dimension):
                block[d, j] = document[start + j, d]
        for i in range(0, asked, 2):
            k = min(i + 1, asked - 1)
            sums[:] = 0
            for d in range(0, whole, 4):
                p0, p1, p2, p3 = query[i, d], query[i, d + 1], query[i, d + 2], query[i, d + 3]
                q0, q1, q2, q3 = query[k, d], query[k, d + 1], query[k, d + 2], query[k, d + 3]
                for j in range(BLOCK):
                    b0, b1, b2, b3 = block[d, j], block[d + 1, j], block[d + 2, j], block[d + 3, j]
                    sums[0, j] = (((sums[0, j] + p0 * b0) + p1 * b1) + p2 * b2) + p3 * b3
                    sums[1, j] = (((sums[1, j] + q0 * b0) + q1 * b1) + q2 * b2) + q3 * b3
            for d in range(whole, dimension):
                for j in range(BLOCK):
                    sums[0, j] += query[i, d] * block[d, j]
                    sums[1, j] += query[k, d] * block[d, j]
            for j in range(width):
                best[i] = max(best[i], sums[0, j])
                best[k] = max(best[k], sums[1, j])
    total = 0.0
    for i in range(asked):
        total += best[i]
    return total


class LateInteractionRetriever:
    """Scores by MaxSim over an encoder's token vectors; document vectors are remembered.

    Args:
        encoder: the model.
        remembered_bytes: memory for token vectors; beyond it the oldest are dropped.

    Attributes:
        in_flight: documents that are encoded at a time, None for as many as suit it.
    """

    def __init__(self, encoder: TokenEncoder, remembered_bytes: int = REMEMBERED_BYTES) -> None:
        self.in_flight: int | None = None
        self._encoder = encoder
        self._limit = remembered_bytes
        self._tokens: dict[str, Tokens] = {}
        self._bytes = 0

    def score(self, query: str, documents: Sequence[str]) -> NDArray[np.float64]:
        """Return MaxSim of the query with each document, shape (documents,)."""
        missing = [text for text in dict.fromkeys(documents) if text not in self._tokens]
        at_once = self.in_flight or ENCODED_AT_ONCE
        for start in range(0, len(missing), at_once):
            texts = missing[start : start + at_once]
            for text, tokens in zip(texts, self._encoder.document_tokens(texts), strict=True):
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
