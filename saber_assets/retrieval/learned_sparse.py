"""Learned sparse retrieval: texts as weights over a vocabulary, scored by inner products.

A model's logits over the vocabulary at each token become one weight a term by SPLADE's formula,
w_t = max over tokens i of ln(1 + max(0, logit_it)). A side may keep its highest weights only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

REVISION = 2
DECIMALS = 4
"""Scores are sums of some hundreds of products that float32 knows to six digits."""


class Terms(NamedTuple):
    """The non-zero weights of a text.

    Attributes:
        ids: term numbers, ascending.
        weights: positive, as many.
    """

    ids: NDArray[np.int64]
    weights: NDArray[np.float64]


class SparseEncoder(Protocol):
    """Turns texts into weights over a vocabulary, shape (texts, vocabulary)."""

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the weights of queries."""
        ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the weights of documents."""
        ...


def top_terms(weights: NDArray[np.floating], most: int | None = None) -> Terms:
    """Return the non-zero weights of a text, at most `most`; ties keep the lower term number.

    Raises:
        ValueError: for a weight that is negative or no number.
    """
    values = weights.astype(np.float64)
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise ValueError("a term's weight is negative or no number")
    ids = np.flatnonzero(values)
    if most is not None and ids.size > most:
        order = np.lexsort((ids, -values[ids]))
        ids = np.sort(ids[order[:most]])
    return Terms(ids.astype(np.int64), values[ids])


def inner_product(first: Terms, second: Terms) -> float:
    """Return the sum over shared terms of the product of their weights."""
    shared, left, right = np.intersect1d(
        first.ids, second.ids, assume_unique=True, return_indices=True
    )
    if shared.size == 0:
        return 0.0
    return float(np.sum(first.weights[left] * second.weights[right]))


class SparseRetriever:
    """Scores by inner products of sparse weights; document weights are remembered.

    Args:
        encoder: the model.
        query_terms: most terms of a query; None for all.
        document_terms: most terms of a document; None for all.

    Attributes:
        in_flight: documents that are encoded at a time, None for all.
    """

    def __init__(
        self,
        encoder: SparseEncoder,
        query_terms: int | None = None,
        document_terms: int | None = None,
    ) -> None:
        self.in_flight: int | None = None
        self._encoder = encoder
        self._query_terms = query_terms
        self._document_terms = document_terms
        self._kept: dict[str, Terms] = {}

    def score(self, query: str, documents: Sequence[str]) -> NDArray[np.float64]:
        """Return inner products, shape (documents,), 0 where no term is shared."""
        missing = [text for text in dict.fromkeys(documents) if text not in self._kept]
        at_once = self.in_flight or max(1, len(missing))
        for start in range(0, len(missing), at_once):
            texts = missing[start : start + at_once]
            for text, row in zip(texts, self._encoder.encode(texts), strict=True):
                self._kept[text] = top_terms(row, self._document_terms)
        asked = top_terms(self._encoder.encode_queries([query])[0], self._query_terms)
        products = [inner_product(asked, self._kept[text]) for text in documents]
        return np.array(products, dtype=np.float64).round(DECIMALS)

    def forget(self) -> None:
        """Drop the remembered weights."""
        self._kept.clear()
