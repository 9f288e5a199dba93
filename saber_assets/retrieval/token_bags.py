"""Texts as bags of numbered tokens: the common ground of the lexical retrievers.

Tokenising takes most of a lexical retriever's time, and the same document recurs in many pools
and in two settings. So every text is cut once, and a pool is a concatenation of arrays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

TEXT_LIMIT = 200_000
"""Texts that are remembered; at some 1.5 KB each, this bounds the memory at about 300 MB."""


@dataclass(frozen=True)
class Bag:
    """A text's distinct tokens, in order of first appearance, and how often each occurs."""

    ids: NDArray[np.int32]
    counts: NDArray[np.int32]


@dataclass(frozen=True)
class Pool:
    """The bags of a pool, one after the other, with those of its query.

    Attributes:
        ids: token numbers; document d has those from `starts[d]` to `starts[d + 1]`.
        counts: how often each occurs in its document.
        starts: shape (documents + 1,).
        query_ids: distinct tokens of the query, in order of first appearance.
        query_counts: how often each occurs in the query.
        vocabulary: all token numbers are below it.
    """

    ids: NDArray[np.int32]
    counts: NDArray[np.int32]
    starts: NDArray[np.int64]
    query_ids: NDArray[np.int32]
    query_counts: NDArray[np.int32]
    vocabulary: int


class TokenBags:
    """Cuts texts into bags and remembers them.

    Token numbers depend on the order in which texts came; nothing that is computed from a bag may
    depend on them, only on equality and on the order within the bag.

    Args:
        tokenize: a pure function from a text to its tokens.
        limit: texts that are remembered; when there are more, all are forgotten.
    """

    def __init__(self, tokenize: Callable[[str], list[str]], limit: int = TEXT_LIMIT) -> None:
        self._tokenize = tokenize
        self._limit = limit
        self._numbers: dict[str, int] = {}
        self._bags: dict[str, Bag] = {}

    def forget(self) -> None:
        """Drop everything remembered, as before the first text."""
        self._numbers.clear()
        self._bags.clear()

    def pool(self, query: str, documents: Sequence[str]) -> Pool:
        """Return the bags of a query and its documents."""
        if len(self._bags) > self._limit:
            self.forget()
        asked = self._bag(query)
        bags = [self._bag(document) for document in documents]
        starts = np.zeros(len(bags) + 1, dtype=np.int64)
        np.cumsum([bag.ids.size for bag in bags], out=starts[1:])
        none = np.zeros(0, dtype=np.int32)
        return Pool(
            ids=np.concatenate([bag.ids for bag in bags]) if bags else none,
            counts=np.concatenate([bag.counts for bag in bags]) if bags else none,
            starts=starts,
            query_ids=asked.ids,
            query_counts=asked.counts,
            vocabulary=len(self._numbers),
        )

    def _bag(self, text: str) -> Bag:
        found = self._bags.get(text)
        if found is None:
            counted = Counter(self._tokenize(text))
            numbers = self._numbers
            ids = [numbers.setdefault(token, len(numbers)) for token in counted]
            found = Bag(np.array(ids, np.int32), np.array(list(counted.values()), np.int32))
            self._bags[text] = found
        return found
