"""Dense bi-encoders by transformers, under an encoding contract.

torch and transformers are imported when an encoder is made, never before. Weights are read from a
folder or from the hub's local cache; nothing is downloaded.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from saber_assets.errors import InputError
from saber_assets.retrieval.encoding.attention import check_direction
from saber_assets.retrieval.encoding.contract import (
    Contract,
    Envelope,
    Ids,
    Side,
    averaged,
    batches,
    normalised,
    pad,
    pool,
    positions,
    read_from,
    special_tokens,
    windows,
    with_eos,
)
from saber_assets.retrieval.encoding.packaged import no_progress_bar
from saber_assets.retrieval.encoding.token_ids import filler_of, ids_of

REVISION = 1
BATCH_TOKENS = 16_384
"""Tokens of a batch, padding included."""

BLOCK = 1024
"""Texts that are tokenised at a time: bounds the memory that token lists take."""


class TransformersEncoder:
    """Embeds texts with a model of transformers.

    Args:
        tokenizer: of the model.
        model: returns `last_hidden_state`; of an encoder-decoder, the encoder.
        contract: templates, special tokens, window, pooling and normalisation.
        batch_tokens: tokens of a batch, padding included.

    Raises:
        ValueError: when the contract's end-of-text token isn't one token of the tokenizer.
    """

    def __init__(
        self, tokenizer: Any, model: Any, contract: Contract, batch_tokens: int = BATCH_TOKENS
    ) -> None:
        self._tokenizer = tokenizer
        self._model = model.eval()
        self._contract = contract
        self._batch_tokens = batch_tokens
        self._eos = _token_of(tokenizer, contract.eos)
        self._filler = filler_of(tokenizer)
        self._takes_positions = "position_ids" in inspect.signature(model.forward).parameters
        self._envelopes = {side: self._envelope(side) for side in ("query", "document")}

    @classmethod
    def load(
        cls,
        place: str,
        contract: Contract,
        *,
        trust_remote_code: bool = False,
        device: str | None = None,
        batch_tokens: int = BATCH_TOKENS,
    ) -> TransformersEncoder:
        """Return the encoder of a folder, or of a hub id whose weights are in the local cache.

        Raises:
            InputError: when the weights aren't there.
        """
        import torch
        from transformers import AutoConfig, AutoModel, AutoTokenizer, T5EncoderModel

        shared = {"trust_remote_code": trust_remote_code, "local_files_only": True}
        try:
            config = AutoConfig.from_pretrained(place, **shared)
            kind = T5EncoderModel if config.model_type == "t5" else AutoModel
            dtype = getattr(torch, contract.precision)
            with no_progress_bar():
                model = kind.from_pretrained(place, dtype=dtype, **shared)
            tokenizer = AutoTokenizer.from_pretrained(place, **shared)
        except OSError as error:
            raise InputError(
                f"the weights of {place} aren't complete on this machine",
                f"run `hf download {place}`, or state their folder as `weights` in systems.toml",
            ) from error
        chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
        return cls(tokenizer, model.to(chosen), contract, batch_tokens)

    @property
    def dimension(self) -> int:
        """Length of the vectors."""
        config = self._model.config
        return int(getattr(config, "hidden_size", None) or config.d_model)

    @property
    def contract(self) -> Contract:
        """How texts are encoded."""
        return self._contract

    def with_query_template(self, template: str) -> Self:
        """Return an encoder of the same model whose queries stand in another template."""
        other = copy.copy(self)
        other._contract = replace(self._contract, query_template=template)
        other._envelopes = {**self._envelopes, "query": other._envelope("query")}
        return other

    def check_direction(self, name: str) -> None:
        """Refuse a model that runs causally; see `attention`.

        Raises:
            InputError: when its tokens don't see those behind them.
        """
        check_direction(name, self._model, self._tokenizer, self._model.device)

    def fits(self, text: str, side: Side) -> bool:
        """Tell whether a text is read whole, in one window."""
        return len(self.windows_of([text], side)[0]) == 1

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return document vectors of shape (texts, dimension)."""
        return self._encode(texts, "document")

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return query vectors of shape (texts, dimension)."""
        return self._encode(texts, "query")

    def windows_of(self, texts: Sequence[str], side: Side) -> tuple[list[Ids], list[int]]:
        """Return the token numbers of all windows, and which text each belongs to."""
        before, after = self._contract.around(side)
        made, owners = [], []
        for number, text in enumerate(texts):
            whole = with_eos(self._ids(before + text + after, True), self._eos)
            fits = len(whole) <= self._contract.window
            bare = [] if fits else self._ids(text, False)
            pieces = windows(whole, bare, self._envelopes[side], self._contract.window)
            made += pieces
            owners += [number] * len(pieces)
        return made, owners

    def query_tokens(self, text: str) -> NDArray[np.float32]:
        """Return the vectors of a query's tokens, shape (tokens, dimension); see `tokens_of`."""
        return self.tokens_of([text], "query")[0]

    def document_tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Return the vectors of each document's tokens; see `tokens_of`."""
        return self.tokens_of(texts, "document")

    def tokens_of(self, texts: Sequence[str], side: Side) -> list[NDArray[np.float32]]:
        """Return the vectors of each text's tokens, special ones included, window after window.

        They have length 1 where the contract normalises.
        """
        pieces, owners = self.windows_of(texts, side)
        found: list[list[NDArray[np.float32]]] = [[] for _ in texts]
        by_piece: dict[int, NDArray[np.float32]] = {}
        for rows, hidden, mask in self._passes(pieces):
            for number, row in enumerate(rows):
                vectors = hidden[number].double().cpu().numpy()[mask[number] == 1]
                unit = normalised(vectors) if self._contract.normalise else vectors
                by_piece[row] = unit.astype(np.float32)
        for row, owner in enumerate(owners):
            found[owner].append(by_piece[row])
        return [np.concatenate(parts) for parts in found]

    def _encode(self, texts: Sequence[str], side: Side) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
        for start in range(0, len(order), BLOCK):
            rows = order[start : start + BLOCK]
            pieces, owners = self.windows_of([texts[row] for row in rows], side)
            vectors[rows] = averaged(
                self._forward(pieces, self._skipped(side)),
                owners,
                len(rows),
                self._contract.normalise,
            )
        return vectors

    def _skipped(self, side: Side) -> int:
        """Return how many leading tokens of each window stay out of a mean."""
        if self._contract.pool_template or not self._contract.around(side)[0]:
            return 0
        return len(self._envelopes[side].head)

    def _forward(self, pieces: list[Ids], skipped: int = 0) -> NDArray[np.float64]:
        """Return one vector a window, shape (windows, dimension)."""
        vectors = np.empty((len(pieces), self.dimension), dtype=np.float64)
        for rows, hidden, mask in self._passes(pieces):
            vectors[rows] = self._pooled(hidden, mask, skipped)
        return vectors

    def _passes(self, pieces: list[Ids]) -> Iterator[tuple[list[int], Any, NDArray[np.int64]]]:
        """Yield, batch by batch, which windows it holds, their token vectors and the mask."""
        import torch

        for rows in batches([len(piece) for piece in pieces], self._batch_tokens):
            ids, mask = pad([pieces[row] for row in rows], self._filler)
            inputs = {"input_ids": ids, "attention_mask": mask}
            if self._takes_positions and self._numbers_its_tokens_from_zero():
                inputs["position_ids"] = positions(mask)
            tensors = {
                name: torch.from_numpy(values).to(self._model.device)
                for name, values in inputs.items()
            }
            with torch.inference_mode():
                yield rows, self._hidden(tensors), mask

    def _hidden(self, tensors: dict[str, Any]) -> Any:
        """Return the vectors of all tokens of a batch."""
        return self._model(**tensors).last_hidden_state

    def _pooled(self, hidden: Any, mask: NDArray[np.int64], skipped: int) -> NDArray[np.float64]:
        """Pool on the CPU; where one token is read, only that token's vectors travel there."""
        import torch

        if self._contract.pooling == "mean":
            skip = np.full(len(mask), skipped) if skipped else None
            return pool(hidden.float().cpu().numpy(), mask, "mean", skip)
        places = torch.from_numpy(read_from(mask, self._contract.pooling)).to(hidden.device)
        rows = torch.arange(hidden.shape[0], device=hidden.device)
        read: NDArray[np.float64] = hidden[rows, places].double().cpu().numpy()
        return read

    def _numbers_its_tokens_from_zero(self) -> bool:
        """RoBERTa's family numbers tokens from behind its padding token, by itself."""
        return "roberta" not in str(getattr(self._model.config, "model_type", ""))

    def _envelope(self, side: Side) -> Envelope:
        before, after = self._contract.around(side)
        special = special_tokens(self._ids)
        tail = [*(self._ids(after, False) if after else []), *special.tail]
        return Envelope(
            head=[*special.head, *(self._ids(before, False) if before else [])],
            tail=with_eos(tail, self._eos),
        )

    def _ids(self, text: str, special: bool) -> Ids:
        return ids_of(self._tokenizer, text, special)


def _token_of(tokenizer: Any, text: str) -> int | None:
    """Return the number of a token that is given as text, None for ""."""
    if not text:
        return None
    number = tokenizer.convert_tokens_to_ids(text)
    if number is None or number == tokenizer.unk_token_id:
        raise ValueError(f"the tokenizer has no token {text!r}")
    return int(number)
