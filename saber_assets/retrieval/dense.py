"""Dense bi-encoders: cosine of one vector a text (SPEC, "Evaluation").

A text longer than the model's window is cut into non-overlapping windows of tokens, each window is
embedded by itself, and the text's vector is the mean of theirs. What is embedded is remembered, so
that a document which recurs in many pools costs one pass.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import islice
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from saber_assets.retrieval.vector_cache import VectorCache

REVISION = 1
DECIMALS = 6
"""Cosines are rounded to what vectors in float32 support: below it, noise would decide ties."""

CACHE_BYTES = 512 * 2**20
ENTRY_OVERHEAD = 200
"""Bytes that a remembered vector takes besides its numbers."""

PREPARED_AT_ONCE = 4096


class Encoder(Protocol):
    """Turns texts into vectors; what `DenseRetriever` needs of a model."""

    @property
    def dimension(self) -> int:
        """Length of the vectors."""
        ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return vectors of shape (texts, dimension), zero for a text without tokens."""
        ...


class DenseRetriever:
    """Scores by the cosine of an encoder's vectors.

    Args:
        encoder: the model; where it has a method `encode_queries`, queries go through that one,
            else query and documents are encoded alike.
        cache_bytes: memory for remembered vectors; beyond it the oldest are dropped.
        disk: keeps document vectors from process to process.
    """

    def __init__(
        self,
        encoder: Encoder,
        cache_bytes: int = CACHE_BYTES,
        disk: VectorCache | None = None,
    ) -> None:
        self._encoder = encoder
        self._disk = disk
        self._limit = max(1, cache_bytes // (4 * encoder.dimension + ENTRY_OVERHEAD))
        self._vectors: dict[bytes, NDArray[np.float32]] = {}

    def prepare(self, documents: Sequence[str]) -> None:
        """Embed documents ahead of `score`, in one pass; as many as the memory holds."""
        ordered = sorted(dict.fromkeys(documents[: self._limit]), key=len)
        for start in range(0, len(ordered), PREPARED_AT_ONCE):
            self._remember(ordered[start : start + PREPARED_AT_ONCE])
            self._drop_oldest()

    def score(self, query: str, documents: Sequence[str]) -> NDArray[np.float64]:
        """Return cosines in [-1, 1], shape (documents,); 0 where a text has no tokens."""
        if hasattr(self._encoder, "encode_queries"):
            asked = self._encoder.encode_queries([query]).astype(np.float64)
            vectors = np.concatenate([asked, self._embed(documents)])
        else:
            vectors = self._embed([query, *documents])
        asked, offered = vectors[0], vectors[1:]
        # einsum sums each row by itself: a row's cosine does not depend on the other rows; and
        # what isn't a number stays so, to be refused later
        norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        products = np.einsum("ij,j->i", offered, asked)
        scale = norms[1:] * norms[0]
        cosines = np.divide(products, scale, out=np.zeros_like(products), where=scale != 0)
        return np.round(np.clip(cosines, -1.0, 1.0), DECIMALS)

    def forget(self) -> None:
        """Drop the remembered vectors."""
        self._vectors.clear()

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float64]:
        keys = self._remember(texts)
        shape = (len(keys), self._encoder.dimension)
        found = np.array([self._vectors[key] for key in keys], dtype=np.float64).reshape(shape)
        self._drop_oldest()
        return found

    def _remember(self, texts: Sequence[str]) -> list[bytes]:
        """Embed what isn't remembered yet; return the key of each text."""
        keys = [_key(text) for text in texts]
        missing = {
            key: text for key, text in zip(keys, texts, strict=True) if key not in self._vectors
        }
        if missing:
            made = self._encoded(list(missing.values()))
            # copies: a row would keep the whole block alive after its neighbours were dropped
            self._vectors.update(zip(missing, (row.copy() for row in made), strict=True))
        return keys

    def _encoded(self, texts: list[str]) -> NDArray[np.float32]:
        """Return vectors from the disk, or else from the encoder, which then go to the disk."""
        if self._disk is None:
            return self._encoder.encode(texts)
        kept = self._disk.get(texts)
        absent = [number for number in range(len(texts)) if number not in kept]
        if absent:
            asked = [texts[number] for number in absent]
            made = self._encoder.encode(asked)
            self._disk.put(asked, made)
            kept.update(zip(absent, made, strict=True))
        return np.stack([kept[number] for number in range(len(texts))])

    def _drop_oldest(self) -> None:
        excess = len(self._vectors) - self._limit
        if excess > 0:
            for key in list(islice(self._vectors, excess)):
                del self._vectors[key]


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
