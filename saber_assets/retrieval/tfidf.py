"""Cosine of TF-IDF vectors fitted on the pool (SPEC, "Evaluation"; paper, appendix C.4).

Equal to scikit-learn's `TfidfVectorizer` at its defaults: raw term frequency, smoothed
idf(f) = ln((1 + n)/(1 + f)) + 1 over the pool's n documents, vectors of length 1. The query is
only transformed: a token that no document has counts for nothing. Where either side has no token
of the vocabulary, the score is 0 (scikit-learn refuses to fit such a pool).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numba
import numpy as np
from numpy.typing import NDArray

from saber_assets.corpus.tokens import mathematics_tokens
from saber_assets.retrieval.token_bags import TokenBags

REVISION = 1

_WORD = re.compile(r"(?u)\b\w\w+\b")


def word_tokens(text: str) -> list[str]:
    """Return the lower-cased words of two or more characters: scikit-learn's default tokens."""
    return _WORD.findall(text.lower())


class Tfidf:
    """TF-IDF cosine.

    Args:
        tokenize: a pure function from a text to its tokens.
    """

    def __init__(self, tokenize: Callable[[str], list[str]] = mathematics_tokens) -> None:
        self._bags = TokenBags(tokenize)

    def score(self, query: str, documents: Sequence[str]) -> NDArray[np.float64]:
        """Return cosines in [0, 1], shape (documents,)."""
        pool = self._bags.pool(query, documents)
        return _cosines(
            pool.ids,
            pool.counts,
            pool.starts,
            pool.query_ids,
            pool.query_counts,
            pool.vocabulary,
        )

    def forget(self) -> None:
        """Drop the remembered tokens."""
        self._bags.forget()


@numba.njit(cache=True)
def _cosines(ids, counts, starts, query_ids, query_counts, vocabulary):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    documents = starts.size - 1
    scores = np.zeros(documents)
    frequency = np.zeros(vocabulary, np.int32)
    for token in ids:
        frequency[token] += 1
    idf = np.zeros(documents + 1)
    for count in range(1, documents + 1):
        idf[count] = np.log((1 + documents) / (1 + count)) + 1
    asked = np.zeros(vocabulary)
    square = 0.0
    for position in range(query_ids.size):
        token = query_ids[position]
        weight = query_counts[position] * idf[frequency[token]]  # 0 for a token outside the pool
        asked[token] = weight
        square += weight * weight
    if square == 0:
        return scores
    query_norm = np.sqrt(square)
    for document in range(documents):
        product = 0.0
        square = 0.0
        for entry in range(starts[document], starts[document + 1]):
            weight = counts[entry] * idf[frequency[ids[entry]]]
            product += weight * asked[ids[entry]]
            square += weight * weight
        if square > 0:
            scores[document] = product / (np.sqrt(square) * query_norm)
    return scores
