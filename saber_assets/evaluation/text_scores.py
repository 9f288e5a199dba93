"""Scores of texts that are not on the benchmark, for the analyses that ask a retriever anew."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from saber_assets.errors import InputError
from saber_assets.retrieval.protocol import Retriever
from saber_assets.retrieval.reasons import reason_of


class UnusableScoresError(ValueError):
    """A retriever failed on a text; the message says how."""


def text_scores(retriever: Retriever, query: str, documents: Sequence[str]) -> NDArray[np.float64]:
    """Return a retriever's scores of some documents, float64 (documents,).

    Raises:
        InputError: when it can't go on at all, whatever the text.
        UnusableScoresError: when it raises, or returns other than one finite number a document.
    """
    try:
        found = np.asarray(retriever.score(query, list(documents)), dtype=np.float64)
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        raise UnusableScoresError(f"score failed, {reason_of(error)}") from error
    if found.shape != (len(documents),):
        raise UnusableScoresError(
            f"score returned an array of shape {found.shape} for {len(documents)} documents."
        )
    if not np.isfinite(found).all():
        raise UnusableScoresError("score returned values that aren't finite.")
    return found
