"""Jaccard similarity of the token sets of query and document (SPEC, "Evaluation")."""

from __future__ import annotations

from collections.abc import Sequence

import numba
import numpy as np
from numpy.typing import NDArray

from saber_assets.corpus.tokens import TOKENIZERS
from saber_assets.retrieval.token_bags import TokenBags

REVISION = 1


class Jaccard:
    """Intersection over union of token sets; 0 for two texts without tokens.

    Args:
        tokenizer: `mathematics` or `whitespace`.

    Raises:
        KeyError: for an unknown tokenizer.
    """

    def __init__(self, tokenizer: str = "mathematics") -> None:
        self._bags = TokenBags(TOKENIZERS[tokenizer])

    def score(self, query: str, documents: Sequence[str]) -> NDArray[np.float64]:
        """Return similarities in [0, 1], shape (documents,)."""
        pool = self._bags.pool(query, documents)
        return _similarities(pool.ids, pool.starts, pool.query_ids, pool.vocabulary)

    def forget(self) -> None:
        """Drop the remembered tokens."""
        self._bags.forget()


@numba.njit(cache=True)
def _similarities(ids, starts, query_ids, vocabulary):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    documents = starts.size - 1
    scores = np.zeros(documents)
    asked = np.zeros(vocabulary, np.bool_)
    for token in query_ids:
        asked[token] = True
    for document in range(documents):
        first, last = starts[document], starts[document + 1]
        shared = 0
        for entry in range(first, last):
            if asked[ids[entry]]:
                shared += 1
        union = query_ids.size + (last - first) - shared
        if union > 0:
            scores[document] = shared / union
    return scores
