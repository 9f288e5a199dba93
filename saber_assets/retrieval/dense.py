"""Dense bi-encoders: cosine of one vector a text (SPEC, "Evaluation").

A text longer than the model's window is cut into non-overlapping windows of tokens, each window is
embedded by itself, and the text's vector is the mean of theirs. What is embedded is remembered, so
that a document which recurs in many pools costs one pass, and kept on disk batch by batch, so that
a killed process loses no more than the batch in flight.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from saber_assets.errors import TextError
from saber_assets.retrieval.encoding.contract import Side
from saber_assets.retrieval.encoding.parity import TwoSided
from saber_assets.retrieval.encoding.vector_cache import VectorCache

REVISION = 1
DECIMALS = 6
"""Cosines are rounded to what vectors in float32 support: below it, noise would decide ties."""

CACHE_BYTES = 512 * 2**20
ENTRY_OVERHEAD = 200
"""Bytes that a remembered vector takes besides its numbers."""

PREPARED_AT_ONCE = 4096
KEPT_AT_ONCE = 256
"""Texts that are embedded before their vectors go to disk."""
SHOWN = 40
"""Characters of a text that a message quotes."""


class Part(NamedTuple):
    """Some texts with which an encoder is done.

    Attributes:
        positions: which of the texts.
        vectors: shape (positions, dimension), or None where the encoder can't embed them.
        reason: why it can't.
    """

    positions: list[int]
    vectors: NDArray[np.float32] | None
    reason: str = ""


class Encoder(Protocol):
    """Turns texts into vectors; what `DenseRetriever` needs of a model.

    One that has a method `encode_queries` embeds queries by that; one that has a method
    `parts(texts, side)` embeds both sides by that, and yields a `Part` whenever it has one. An
    attribute `sides_alike` that is true says that a query is embedded as the same document is.
    """

    @property
    def dimension(self) -> int:
        """Length of the vectors."""
        ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return vectors of shape (texts, dimension), zero for a text without tokens."""
        ...


class RefusedTextError(TextError):
    """A text that the encoder can't embed; the message says which, and why."""


class DenseRetriever:
    """Scores by the cosine of an encoder's vectors.

    Args:
        encoder: the model; where it treats queries as it does documents, both share the memory.
        cache_bytes: memory for remembered vectors; beyond it the oldest are dropped.
        disk: keeps vectors from process to process, those of queries apart from documents.
        reference: makes what the parity gate compares the encoder with, or says why that isn't
            here; None where there is nothing to compare.
        instructed: from an instruction to an encoder whose queries carry it, and whose document
            vectors are the same; None where the model has no place for one.
    """

    in_flight: int | None = None
    """Texts handed to the encoder at a time; None for as many as suit it."""

    def __init__(
        self,
        encoder: Encoder,
        cache_bytes: int = CACHE_BYTES,
        disk: VectorCache | None = None,
        *,
        reference: Callable[[], TwoSided | str] | None = None,
        instructed: Callable[[str], Encoder] | None = None,
    ) -> None:
        self._encoder = encoder
        self._reference = reference
        self._instructed = instructed
        self._instruction = ""
        two_sided = hasattr(encoder, "encode_queries") or hasattr(encoder, "parts")
        two_sided = two_sided and not getattr(encoder, "sides_alike", False)
        self._query_side: Side = "query" if two_sided else "document"
        self._disks: dict[Side, VectorCache] = {}
        if disk is not None:
            self._disks = {"document": disk, "query": disk.of_queries()}
        self._limit = max(1, cache_bytes // (4 * encoder.dimension + ENTRY_OVERHEAD))
        self._vectors: dict[bytes, NDArray[np.float32]] = {}
        self._refused: dict[bytes, str] = {}

    def prepare(self, documents: Sequence[str]) -> None:
        """Embed documents ahead of `score`, in one pass; without a disk, what the memory holds."""
        self._prepare(documents, "document")

    def prepare_queries(self, queries: Sequence[str]) -> None:
        """Embed queries ahead of `score`, in batches."""
        self._prepare(queries, self._query_side)

    def score(self, query: str, documents: Sequence[str]) -> NDArray[np.float64]:
        """Return cosines in [-1, 1], shape (documents,); 0 where a text has no tokens.

        Raises:
            RefusedTextError: when the encoder can't embed one of the texts.
        """
        asked = self._embed([query], self._query_side)
        vectors = np.concatenate([asked, self._embed(documents, "document")])
        asked, offered = vectors[0], vectors[1:]
        # einsum sums each row by itself: a row's cosine does not depend on the other rows; and
        # what isn't a number stays so, to be refused later
        norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        products = np.einsum("ij,j->i", offered, asked)
        scale = norms[1:] * norms[0]
        cosines = np.divide(products, scale, out=np.zeros_like(products), where=scale != 0)
        return np.round(np.clip(cosines, -1.0, 1.0), DECIMALS)

    def with_instruction(self, instruction: str) -> DenseRetriever | None:
        """Return one whose queries carry an instruction, or None where the model has no place.

        What is remembered and kept of documents is shared with this one; query vectors of an
        instruction don't go to the disk.
        """
        if self._instructed is None:
            return None
        other = copy.copy(self)
        other._encoder = self._instructed(instruction)
        other._instruction = instruction
        other._disks = {side: disk for side, disk in self._disks.items() if side == "document"}
        return other

    def serving(self) -> TwoSided:
        """Return what makes the vectors, for the parity gate; nothing that is kept is used."""
        return _Serving(self._encoder)

    def reference(self) -> TwoSided | str | None:
        """Return what the parity gate compares with, or why it isn't here; None for nothing."""
        return None if self._reference is None else self._reference()

    def forget(self) -> None:
        """Drop what is remembered; from now on nothing is read from the disk or kept there.

        Whoever times a model would time the disk otherwise.
        """
        self._vectors.clear()
        self._refused.clear()
        self._disks = {}

    def _prepare(self, texts: Sequence[str], side: Side) -> None:
        distinct = list(dict.fromkeys(texts))
        if not self._disks:
            distinct = distinct[: self._limit]
        ordered = sorted(distinct, key=len)
        for start in range(0, len(ordered), PREPARED_AT_ONCE):
            self._remember(ordered[start : start + PREPARED_AT_ONCE], side)
            self._drop_oldest()

    def _embed(self, texts: Sequence[str], side: Side) -> NDArray[np.float64]:
        keys = self._remember(texts, side)
        for key, text in zip(keys, texts, strict=True):
            if key in self._refused:
                start = text[:SHOWN] + "…" * (len(text) > SHOWN)
                reason = self._refused[key]
                raise RefusedTextError(f"the {side} {start!r} can't be embedded: {reason}")
        shape = (len(keys), self._encoder.dimension)
        found = np.array([self._vectors[key] for key in keys], dtype=np.float64).reshape(shape)
        self._drop_oldest()
        return found

    def _remember(self, texts: Sequence[str], side: Side) -> list[bytes]:
        """Embed what isn't remembered yet; return the key of each text."""
        told = self._instruction if side == "query" else ""
        keys = [_key(text, f"{side} {told}") for text in texts]
        missing = {
            key: text
            for key, text in zip(keys, texts, strict=True)
            if key not in self._vectors and key not in self._refused
        }
        names = list(missing)
        for part in self._made(list(missing.values()), side):
            for row, position in enumerate(part.positions):
                if part.vectors is None:
                    self._refused[names[position]] = part.reason
                else:
                    # a copy: a row would keep the whole block alive after its neighbours went
                    self._vectors[names[position]] = part.vectors[row].copy()
        return keys

    def _made(self, texts: list[str], side: Side) -> Iterator[Part]:
        """Yield vectors from the disk, or else from the encoder, which then go to the disk."""
        disk = self._disks.get(side)
        kept = {} if disk is None or not texts else disk.get(texts)
        if kept:
            yield Part(list(kept), np.stack(list(kept.values())))
        absent = [position for position in range(len(texts)) if position not in kept]
        asked = [texts[position] for position in absent]
        for part in self._asked(asked, side):
            if disk is not None and part.vectors is not None:
                # what isn't a number is never kept: it becomes a failure of the queries it is in
                finite = np.flatnonzero(np.isfinite(part.vectors).all(axis=1))
                disk.put([asked[part.positions[row]] for row in finite], part.vectors[finite])
            yield part._replace(positions=[absent[position] for position in part.positions])

    def _asked(self, texts: list[str], side: Side) -> Iterator[Part]:
        """Yield what the encoder makes, as soon as it is made."""
        at_once = self.in_flight or (KEPT_AT_ONCE if self._disks else max(1, len(texts)))
        if hasattr(self._encoder, "parts"):
            at_once = self.in_flight or max(1, len(texts))
        for start in range(0, len(texts), at_once):
            some = texts[start : start + at_once]
            if hasattr(self._encoder, "parts"):
                for part in self._encoder.parts(some, side):
                    yield part._replace(positions=[start + number for number in part.positions])
                continue
            by_side = side == "query" and hasattr(self._encoder, "encode_queries")
            encode = getattr(self._encoder, "encode_queries" if by_side else "encode")
            made: NDArray[np.float32] = encode(some)
            yield Part(list(range(start, start + len(some))), made)

    def _drop_oldest(self) -> None:
        excess = len(self._vectors) - self._limit
        if excess > 0:
            for key in list(islice(self._vectors, excess)):
                del self._vectors[key]


class _Serving:
    """An encoder as the parity gate asks for it; its own attributes show through."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._encoder, name)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._whole(texts, "document")

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._whole(texts, "query")

    def _whole(self, texts: Sequence[str], side: Side) -> NDArray[np.float32]:
        by_side = side == "query" and hasattr(self._encoder, "encode_queries")
        if not hasattr(self._encoder, "parts"):
            encode = getattr(self._encoder, "encode_queries" if by_side else "encode")
            made: NDArray[np.float32] = encode(texts)
            return made
        vectors = np.full((len(texts), self._encoder.dimension), np.nan, dtype=np.float32)
        for part in self._encoder.parts(texts, side):
            if part.vectors is None:
                raise RefusedTextError(part.reason)
            vectors[part.positions] = part.vectors
        return vectors


def _key(text: str, side: str) -> bytes:
    content = f"{side} {text}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(content, digest_size=16).digest()
