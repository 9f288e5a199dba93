"""The parity gate: a row counts only if its serving backend agrees with the reference.

A fixed sample of queries and documents is embedded by both; for each query the similarities of the
documents are compared by Spearman's rank correlation (paper, appendix C.2). The mean over the
queries must reach 0.999.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from saber_assets import correlation
from saber_assets.retrieval.encoding.contract import normalised

LEAST = 0.999
QUERIES, DOCUMENTS = 16, 64


class TwoSided(Protocol):
    """An embedder that treats queries and documents differently."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return document vectors, shape (texts, dimension)."""
        ...

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return query vectors, shape (texts, dimension)."""
        ...


class Parity(NamedTuple):
    """How far two embedders agree.

    Attributes:
        spearman: mean over the queries, in [-1, 1].
        worst: the lowest of a query.
        fault: one sentence that blocks the row, or "".
    """

    spearman: float
    worst: float
    fault: str


def fixed_sample(
    queries: Sequence[str], documents: Sequence[str], seed: int = 0
) -> tuple[list[str], list[str]]:
    """Return at most 16 queries and 64 documents, the same for the same texts and seed."""
    generator = np.random.default_rng(seed)
    chosen = []
    for texts, count in ((queries, QUERIES), (documents, DOCUMENTS)):
        distinct = sorted(set(texts))
        picked = generator.permutation(len(distinct))[:count]
        chosen.append([distinct[number] for number in sorted(picked)])
    return chosen[0], chosen[1]


def spearman(first: NDArray[np.floating], second: NDArray[np.floating]) -> float:
    """Return Spearman's rank correlation, ties by their mean rank.

    Where one side is constant no rank can be told: 1 if both are, else 0.

    Raises:
        ValueError: when the shapes differ, or there are fewer than two values.
    """
    if first.shape != second.shape or first.size < 2:
        raise ValueError(f"ranks of {first.shape} and {second.shape} values can't be compared")
    found = correlation.spearman(first, second)
    if np.isnan(found):
        return 1.0 if np.ptp(first) == np.ptp(second) == 0 else 0.0
    return found


def check_parity(
    name: str,
    serving: TwoSided,
    reference: TwoSided,
    queries: Sequence[str],
    documents: Sequence[str],
    least: float = LEAST,
) -> Parity:
    """Compare two embedders on a sample.

    Args:
        name: the row's name, for the sentence.
        serving: what would make the numbers.
        reference: what the model's authors run.
        queries: the sample's queries; see `fixed_sample`.
        documents: the sample's documents, two at least.
        least: the mean correlation that lets the row pass.

    Raises:
        ValueError: for a sample without a query or with fewer than two documents.
    """
    if not queries or len(documents) < 2:
        raise ValueError(f"a sample of {len(queries)} queries and {len(documents)} documents")
    ours, theirs = (_similarities(side, queries, documents) for side in (serving, reference))
    if not (np.isfinite(ours).all() and np.isfinite(theirs).all()):
        return Parity(0.0, 0.0, f"{name} is blocked: one backend returned vectors with NaN.")
    each = [spearman(mine, other) for mine, other in zip(ours, theirs, strict=True)]
    mean, worst = float(np.mean(each)), min(each)
    fault = ""
    if mean < least:
        fault = (
            f"{name} is blocked: its backend ranks the sample like the reference only to "
            f"Spearman {mean:.4f}, and {least} is asked; check pooling, templates, "
            "end-of-text token and precision."
        )
    return Parity(mean, worst, fault)


def _similarities(
    embedder: TwoSided, queries: Sequence[str], documents: Sequence[str]
) -> NDArray[np.float64]:
    asked = normalised(embedder.encode_queries(queries))
    offered = normalised(embedder.encode(documents))
    return np.einsum("qd,nd->qn", asked, offered)
