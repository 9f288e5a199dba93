"""Two rows that show whether the measurement works: chance, and the ratings themselves."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

REVISION = 1
RATINGS = "ratings"
"""Name of the row that ranks by the ratings themselves."""
UNRATED = -1.0
"""The score of a candidate without a rating: below every rating, which starts at 0."""


class RandomRetriever:
    """Scores by a hash of query and document: what a ranking by chance reaches.

    Neither the storage order nor the ids matter, and no state is kept.

    Args:
        seed: another seed, another draw.
    """

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed

    def score(self, query: str, documents: Sequence[str]) -> NDArray[np.float64]:
        """Return numbers in [0, 1), shape (documents,); equal for equal texts."""
        asked = _digest(str(self._seed), query)
        draws = [_digest(asked, document) for document in documents]
        # 53 bits: as many as a float64 in [0, 1) holds without rounding up to 1
        return np.array([int(draw, 16) >> 11 for draw in draws], dtype=np.float64) / 2.0**53


class RatingsRetriever:
    """Ranks by the ratings themselves, so that its nDCG is 1 by definition.

    It is the only retriever that sees ratings: `score_pools` calls `score_ratings` of exactly
    this class, so that no other retriever can reach them.
    """

    def score(self, query: str, documents: Sequence[str]) -> NDArray[np.float64]:
        """Refuse: texts don't tell the ratings.

        Raises:
            ValueError: always.
        """
        raise ValueError("the ratings can't be told from texts; score_pools passes them instead")

    def score_ratings(self, ratings: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the ratings, shape (documents,), with `UNRATED` in place of NaN."""
        return np.where(np.isnan(ratings), UNRATED, ratings)


def _digest(first: str, second: str) -> str:
    # the hash of the first part has a fixed length, so that no other split gives the same bytes
    head = hashlib.blake2b(first.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    body = second.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(head + body, digest_size=8).hexdigest()
