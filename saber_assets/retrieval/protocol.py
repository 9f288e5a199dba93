"""The Retriever protocol: anything that scores the documents of a pool for a query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64] | Sequence[float]


@runtime_checkable
class Retriever(Protocol):
    """Scores a pool; a person's own retriever needs just this one method.

    A class with a constructor that takes no argument is enough. Optional attributes: `name`
    (default: the class name in lower case), `family` (default "own") and `version` (default: a
    hash of the file it comes from).
    """

    def score(self, query: str, documents: Sequence[str]) -> Scores:
        """Return one finite number for each document, higher for better ones."""
        ...
