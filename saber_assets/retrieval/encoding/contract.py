"""The encoding contract of a bi-encoder: from a text to token windows, to one vector.

It says what a model reads (templates, special tokens, end-of-text token, window) and how its token
vectors become one vector (pooling, normalisation, mean over windows). Everything here is a pure
function over texts, token numbers and arrays; `transformers_encoder` supplies the model.

A text that fits the window is read whole, exactly as its tokenizer gives it. A longer one is cut
into consecutive pieces that do not overlap; each piece is read inside its own copy of the template
and special tokens, so that the token which last-token pooling reads is never cut off, and the
text's vector is the mean of the pieces' vectors (SPEC section 2, "Evaluation").
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

REVISION = 1
QUERY_SLOT = "{query}"
DOCUMENT_SLOT = "{document}"
POOLINGS = ("cls", "mean", "last")
PROBE = "a"

Side = Literal["query", "document"]
Ids = list[int]


@dataclass(frozen=True)
class Contract:
    """How a model's input is made and its output is read.

    Attributes:
        query_template: text with one {query}.
        document_template: text with one {document}.
        pooling: of `POOLINGS`.
        eos: the token that must end each window, as text; "" for what the tokenizer adds.
        normalise: whether each window's vector gets length 1 before the mean.
        window: tokens that the model reads at a time, special ones included.
        precision: of the weights, such as "bfloat16".
        pool_template: whether what a template puts before the text counts in a mean; where not,
            the special tokens before it don't count either.
    """

    query_template: str
    document_template: str
    pooling: str
    eos: str
    normalise: bool
    window: int
    precision: str
    pool_template: bool = True

    def __post_init__(self) -> None:
        """Check what a wrong contract would only show in wrong scores.

        Raises:
            ValueError: for a template without its slot, an unknown pooling or an empty window.
        """
        for template, slot in (
            (self.query_template, QUERY_SLOT),
            (self.document_template, DOCUMENT_SLOT),
        ):
            if template.count(slot) != 1:
                raise ValueError(f"the template {template!r} doesn't hold {slot} once")
        if self.pooling not in POOLINGS:
            raise ValueError(f"unknown pooling {self.pooling!r}, expected one of {POOLINGS}")
        if self.window < 1:
            raise ValueError(f"a window of {self.window} tokens")

    def key(self, weights: str) -> str:
        """Return a hash of the contract, of the weights' name, and of this code's revision."""
        values = asdict(self)
        if self.pool_template:  # as before there was a choice
            del values["pool_template"]
        content = json.dumps([REVISION, weights, values], sort_keys=True)
        return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()

    def around(self, side: Side) -> tuple[str, str]:
        """Return what the template puts before and after a text of a side."""
        if side == "query":
            before, _, after = self.query_template.partition(QUERY_SLOT)
        else:
            before, _, after = self.document_template.partition(DOCUMENT_SLOT)
        return before, after


class Envelope(NamedTuple):
    """Token numbers that stand before and after each piece of a text."""

    head: Ids
    tail: Ids


def special_tokens(encode: Callable[[str, bool], Ids]) -> Envelope:
    """Return the special tokens that a tokenizer adds at both ends.

    Args:
        encode: returns the token numbers of a text, with special tokens if its second argument
            says so.

    Raises:
        ValueError: when the probe's own tokens can't be found among those with special ones.
    """
    bare, full = encode(PROBE, False), encode(PROBE, True)
    for start in range(len(full) - len(bare) + 1):
        if bare and full[start : start + len(bare)] == bare:
            return Envelope(full[:start], full[start + len(bare) :])
    raise ValueError("the tokenizer encodes a text differently when it adds special tokens")


def with_eos(ids: Sequence[int], eos: int | None) -> Ids:
    """Return token numbers that end with `eos` once; unchanged where they do, or without one."""
    kept = list(ids)
    if eos is not None and (not kept or kept[-1] != eos):
        kept.append(eos)
    return kept


def windows(
    whole: Sequence[int], bare: Sequence[int], envelope: Envelope, window: int
) -> list[Ids]:
    """Return the windows of a text.

    Args:
        whole: token numbers of the text in its template, with all special tokens.
        bare: token numbers of the text alone.
        envelope: what stands around each piece when the text has to be cut.
        window: the most tokens in one window.

    Returns:
        `whole` alone where it fits; otherwise pieces of `bare`, each inside the envelope.

    Raises:
        ValueError: when the envelope leaves no room for the text.
    """
    if len(whole) <= window:
        return [list(whole)]
    room = window - len(envelope.head) - len(envelope.tail)
    if room < 1:
        raise ValueError(f"template and special tokens fill the window of {window} tokens")
    return [
        [*envelope.head, *bare[start : start + room], *envelope.tail]
        for start in range(0, max(len(bare), 1), room)
    ]


def batches(lengths: Sequence[int], budget: int, most: int | None = None) -> list[list[int]]:
    """Group sequences of like length, so that little is padded.

    Args:
        lengths: tokens of each sequence.
        budget: most tokens of a batch, padding included; a longer sequence is a batch by itself.
        most: sequences of a batch, where they are limited.

    Returns:
        Positions in `lengths`, each once, by ascending length.
    """
    groups: list[list[int]] = []
    for position in sorted(range(len(lengths)), key=lambda index: (lengths[index], index)):
        grown = len(groups[-1]) + 1 if groups else 0
        if grown and grown * lengths[position] <= budget and (most is None or grown <= most):
            groups[-1].append(position)
        else:
            groups.append([position])
    return groups


def pad(
    rows: Sequence[Sequence[int]], filler: int, side: Literal["left", "right"] = "right"
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return token numbers and attention mask, both of shape (rows, longest)."""
    longest = max((len(row) for row in rows), default=0)
    ids = np.full((len(rows), longest), filler, dtype=np.int64)
    mask = np.zeros_like(ids)
    for number, row in enumerate(rows):
        place = slice(longest - len(row), None) if side == "left" else slice(len(row))
        ids[number, place] = row
        mask[number, place] = 1
    return ids, mask


def positions(mask: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return each token's position in its own sequence, 0 in the padding; shape of `mask`."""
    counted: NDArray[np.int64] = np.maximum(np.cumsum(mask, axis=1) - 1, 0)
    return counted


def read_from(mask: NDArray[np.int64], pooling: str) -> NDArray[np.int64]:
    """Return which token's vector is read in each row, for either side of padding.

    Args:
        mask: shape (rows, tokens), 1 at tokens.
        pooling: "cls" for the first token, "last" for the last one.

    Raises:
        ValueError: for another pooling, or a row without tokens.
    """
    if not (mask.sum(axis=1) > 0).all():
        raise ValueError("a row without tokens can't be pooled")
    if pooling == "cls":
        return np.argmax(mask, axis=1).astype(np.int64)
    if pooling == "last":
        return (mask.shape[1] - 1 - np.argmax(mask[:, ::-1], axis=1)).astype(np.int64)
    raise ValueError(f"{pooling!r} reads no single token")


def pool(
    hidden: NDArray[np.floating],
    mask: NDArray[np.int64],
    pooling: str,
    skip: NDArray[np.int64] | None = None,
) -> NDArray[np.float64]:
    """Return one vector a row.

    Args:
        hidden: token vectors, shape (rows, tokens, dimension).
        mask: shape (rows, tokens), 1 at tokens.
        pooling: of `POOLINGS`.
        skip: how many leading tokens of each row stay out of a mean, such as those of an
            instruction; shape (rows,).

    Returns:
        Shape (rows, dimension).

    Raises:
        ValueError: for an unknown pooling, or a row of which nothing is left.
    """
    if pooling != "mean":
        rows = np.arange(hidden.shape[0])
        return hidden[rows, read_from(mask, pooling)].astype(np.float64)
    kept = mask.astype(bool)
    if skip is not None:
        kept &= np.cumsum(mask, axis=1) > skip[:, None]
    counts = kept.sum(axis=1)
    if not (counts > 0).all():
        raise ValueError("a row without tokens can't be pooled")
    sums = np.einsum("rtd,rt->rd", hidden.astype(np.float64), kept.astype(np.float64))
    means: NDArray[np.float64] = sums / counts[:, None]
    return means


def normalised(vectors: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the rows with length 1; a row of zeros stays, and one with NaN stays NaN."""
    values = vectors.astype(np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", values, values))[:, None]
    return np.divide(values, lengths, out=np.zeros_like(values), where=lengths != 0)


def averaged(
    vectors: NDArray[np.floating], owners: Sequence[int], texts: int, normalise: bool
) -> NDArray[np.float32]:
    """Return the mean of each text's window vectors.

    Args:
        vectors: one a window, shape (windows, dimension).
        owners: the text of each window.
        texts: how many texts there are.
        normalise: whether each window's vector gets length 1 first.

    Returns:
        Shape (texts, dimension); zeros for a text without a window.
    """
    values = normalised(vectors) if normalise else vectors.astype(np.float64)
    sums = np.zeros((texts, vectors.shape[1]))
    np.add.at(sums, np.asarray(owners, dtype=np.int64), values)
    counts = np.bincount(np.asarray(owners, dtype=np.int64), minlength=texts)
    means: NDArray[np.float32] = (sums / np.maximum(counts, 1)[:, None]).astype(np.float32)
    return means
