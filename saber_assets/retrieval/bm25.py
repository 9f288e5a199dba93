"""BM25 Okapi with the index fitted on the pool (SPEC, "Evaluation"; paper, appendix C.4).

Equal to `rank_bm25.BM25Okapi` at its defaults, where that is defined. With n documents, document
frequency f and idf(f) = ln(n - f + 1/2) - ln(f + 1/2), a negative idf is replaced by epsilon times
the mean idf over the pool's distinct tokens. Where no document has a token, all scores are 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numba
import numpy as np
from numpy.typing import NDArray

from saber_assets.corpus.tokens import TOKENIZERS
from saber_assets.retrieval.token_bags import TokenBags

REVISION = 1
K1 = 1.5
B = 0.75
EPSILON = 0.25


class Bm25:
    """BM25 Okapi over the tokens of one of `TOKENIZERS`.

    Args:
        tokenizer: `mathematics` or `whitespace`.
        k1: saturation of the term frequency.
        b: normalisation by length, in [0, 1].
        epsilon: floor of a negative idf, as a share of the mean idf.

    Raises:
        KeyError: for an unknown tokenizer.
    """

    def __init__(
        self, tokenizer: str = "mathematics", k1: float = K1, b: float = B, epsilon: float = EPSILON
    ) -> None:
        self._bags = TokenBags(TOKENIZERS[tokenizer])
        self._parameters = (k1, b, epsilon)

    def score(self, query: str, documents: Sequence[str]) -> NDArray[np.float64]:
        """Return BM25 scores, shape (documents,); query terms count with repetition."""
        pool = self._bags.pool(query, documents)
        return _okapi(
            pool.ids,
            pool.counts,
            pool.starts,
            pool.query_ids,
            pool.query_counts,
            pool.vocabulary,
            *self._parameters,
        )

    def forget(self) -> None:
        """Drop the remembered tokens."""
        self._bags.forget()


@numba.njit(cache=True)
def _floored_idf(frequency, documents, epsilon):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Return the idf by document frequency.

    The mean is taken over a histogram of document frequencies, so that it does not depend on the
    order of documents or tokens, not even in its last bit.
    """
    histogram = np.zeros(documents + 1, np.int64)
    for count in frequency:
        if count > 0:
            histogram[count] += 1
    idf = np.zeros(documents + 1)
    total = 0.0
    for count in range(1, documents + 1):
        idf[count] = np.log(documents - count + 0.5) - np.log(count + 0.5)
        total += histogram[count] * idf[count]
    floor = epsilon * total / histogram.sum()
    for count in range(1, documents + 1):
        if idf[count] < 0:
            idf[count] = floor
    return idf


@numba.njit(cache=True)
def _okapi(ids, counts, starts, query_ids, query_counts, vocabulary, k1, b, epsilon):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    documents = starts.size - 1
    scores = np.zeros(documents)
    if ids.size == 0:
        return scores
    frequency = np.zeros(vocabulary, np.int32)
    for token in ids:
        frequency[token] += 1
    idf = _floored_idf(frequency, documents, epsilon)
    slot = np.zeros(vocabulary, np.int32)
    for position in range(query_ids.size):
        slot[query_ids[position]] = position + 1
    mean_length = counts.sum() / documents
    found = np.zeros(query_ids.size, np.int64)
    for document in range(documents):
        first, last = starts[document], starts[document + 1]
        length = 0
        found[:] = 0
        for entry in range(first, last):
            length += counts[entry]
            position = slot[ids[entry]]
            if position > 0:
                found[position - 1] = counts[entry]
        norm = k1 * (1 - b + b * length / mean_length)
        total = 0.0
        for position in range(query_ids.size):  # in the query's order, whatever the numbers are
            count = found[position]
            if count > 0:
                weight = idf[frequency[query_ids[position]]] * query_counts[position]
                total += weight * (count * (k1 + 1) / (count + norm))
        scores[document] = total
    return scores
