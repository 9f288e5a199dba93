"""ColBERT checkpoints as PyLate saves them: token vectors of queries and documents.

A folder holds a transformer, one or more linear layers that follow it, and in
`config_sentence_transformers.json` how texts are fed: a marker token behind the first token says
which side a text is; a query is filled up with mask tokens to a fixed length, whose vectors count;
a document's punctuation is read, but its vectors are dropped.

A query that is longer than its length is cut, as PyLate does: the length is a part of the model. A
document that is longer than its window is read window after window, each with its own marker, and
has the tokens of all windows; PyLate cuts it.
"""

from __future__ import annotations

import json
import string
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saber_assets.errors import InputError
from saber_assets.retrieval.encoding.contract import (
    Envelope,
    Ids,
    Side,
    batches,
    normalised,
    pad,
    special_tokens,
    windows,
)
from saber_assets.retrieval.encoding.packaged import no_progress_bar
from saber_assets.retrieval.encoding.token_ids import ids_of
from saber_assets.retrieval.late_interaction import Tokens

REVISION = 1
BATCH_TOKENS = 16_384
CONFIG = "config_sentence_transformers.json"


@dataclass(frozen=True, kw_only=True)
class ColbertConfig:
    """How a checkpoint is fed; names and defaults are PyLate's.

    Attributes:
        query_prefix: marker of queries, one token; "" for none. Likewise `document_prefix`.
        query_length: tokens of a query, marker and special ones included.
        document_length: most tokens of a document at a time, likewise.
        do_query_expansion: whether shorter queries are filled up with mask tokens.
        attend_to_expansion_tokens: whether the other tokens see those.
        skiplist_words: tokens whose vectors are dropped from documents.
    """

    query_prefix: str = "[Q] "
    document_prefix: str = "[D] "
    query_length: int = 32
    document_length: int = 180
    do_query_expansion: bool = True
    attend_to_expansion_tokens: bool = False
    skiplist_words: tuple[str, ...] = tuple(string.punctuation)


class ColbertCheckpoint:
    """Token vectors of length 1 by a ColBERT checkpoint.

    Args:
        tokenizer: of the model; it has a mask token if queries are filled up.
        model: returns `last_hidden_state`.
        layers: the linear layers, in order; modules of torch.
        config: how texts are fed.
        lower: whether texts are put in small letters first.
        place: names the checkpoint in messages.
        batch_tokens: tokens of a batch, padding included.

    Raises:
        InputError: when the tokenizer lacks a marker.
    """

    def __init__(
        self,
        tokenizer: Any,
        model: Any,
        layers: Sequence[Any],
        config: ColbertConfig,
        *,
        lower: bool = False,
        place: str = "the checkpoint",
        batch_tokens: int = BATCH_TOKENS,
    ) -> None:
        self._tokenizer = tokenizer
        self._model = model.eval()
        self._layers = [layer.eval() for layer in layers]
        self._config = config
        self._lower = lower
        self._batch_tokens = batch_tokens
        self._markers: dict[Side, Ids] = {
            "query": _marker(tokenizer, config.query_prefix, place),
            "document": _marker(tokenizer, config.document_prefix, place),
        }
        self._filler = _filler(tokenizer, place)
        skipped = tokenizer.convert_tokens_to_ids(list(config.skiplist_words))
        self._skipped = np.array(sorted({number for number in skipped if number is not None}))
        special = special_tokens(self._ids)
        self._envelope = Envelope(self._marked(special.head, "document"), special.tail)

    @classmethod
    def load(
        cls,
        folder: Path,
        *,
        precision: str = "float32",
        query_length: int | None = None,
        document_length: int | None = None,
        trust_remote_code: bool = False,
        device: str | None = None,
    ) -> ColbertCheckpoint:
        """Return the checkpoint of a folder.

        Args:
            folder: where it lies.
            precision: of the weights.
            query_length: another length of queries than the checkpoint states.
            document_length: another window of documents.
            trust_remote_code: whether code of the folder may run.
            device: of torch; a GPU if there is one.

        Raises:
            InputError: when the folder holds no such checkpoint.
        """
        import torch
        from transformers import AutoModel, AutoTokenizer

        first, dense = _modules(folder)
        config = read_config(folder, query_length, document_length)
        shared = {"trust_remote_code": trust_remote_code, "local_files_only": True}
        try:
            with no_progress_bar():
                model = AutoModel.from_pretrained(
                    str(first), dtype=getattr(torch, precision), **shared
                )
            tokenizer = AutoTokenizer.from_pretrained(str(first), **shared)
        except OSError as error:
            raise InputError(
                f"{folder} holds no whole transformer", "download the checkpoint again"
            ) from error
        chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
        layers = [_layer(place).to(device=chosen, dtype=model.dtype) for place in dense]
        settings = _read(first / "sentence_bert_config.json", optional=True)
        return cls(
            tokenizer,
            model.to(chosen),
            layers,
            config,
            lower=bool(settings.get("do_lower_case", False)),
            place=str(folder),
        )

    @property
    def config(self) -> ColbertConfig:
        """How texts are fed."""
        return self._config

    def query_tokens(self, text: str) -> Tokens:
        """Return the vectors of a query's tokens, shape (tokens, dimension).

        With expansion there are `query_length` of them.
        """
        ids = self._cut(self._text(text), self._config.query_length, "query")
        attended = len(ids)
        if self._config.do_query_expansion:
            ids += [self._filler] * (self._config.query_length - len(ids))
            if self._config.attend_to_expansion_tokens:
                attended = len(ids)
        mask = (np.arange(len(ids)) < attended).astype(np.int64)
        return self._vectors(np.array([ids]), mask[None, :])[0].astype(np.float32)

    def document_tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """Return the vectors of each document's tokens, shape (tokens, dimension) each."""
        pieces, owners = [], []
        for number, text in enumerate(texts):
            found = self._pieces(self._text(text))
            pieces += found
            owners += [number] * len(found)
        made: dict[int, Tokens] = {}
        for rows in batches([len(piece) for piece in pieces], self._batch_tokens):
            ids, mask = pad([pieces[row] for row in rows], self._filler)
            vectors = self._vectors(ids, mask)
            kept = (mask == 1) & ~np.isin(ids, self._skipped)
            for place, row in enumerate(rows):
                made[row] = vectors[place][kept[place]].astype(np.float32)
        parts: list[list[Tokens]] = [[] for _ in texts]
        for row, owner in enumerate(owners):
            parts[owner].append(made[row])
        return [np.concatenate(part) for part in parts]

    def _pieces(self, text: str) -> list[Ids]:
        """Return the token numbers of a document's windows."""
        whole = self._marked(self._ids(text, True), "document")
        length = self._config.document_length
        bare = [] if len(whole) <= length else self._ids(text, False)
        return windows(whole, bare, self._envelope, length)

    def _cut(self, text: str, length: int, side: Side) -> Ids:
        room = length - len(self._markers[side])
        encoded = self._tokenizer(text, truncation=True, max_length=room)
        return self._marked([int(number) for number in encoded["input_ids"]], side)

    def _marked(self, ids: Ids, side: Side) -> Ids:
        return [*ids[:1], *self._markers[side], *ids[1:]]

    def _vectors(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return vectors of length 1, shape (rows, tokens, dimension)."""
        import torch

        device = self._model.device
        with torch.inference_mode():
            hidden = self._model(
                input_ids=torch.from_numpy(ids).to(device),
                attention_mask=torch.from_numpy(mask).to(device),
            ).last_hidden_state
            for layer in self._layers:
                hidden = layer(hidden)
        values = hidden.double().cpu().numpy()
        return normalised(values.reshape(-1, values.shape[-1])).reshape(values.shape)

    def _text(self, text: str) -> str:
        plain = text.strip()
        return plain.lower() if self._lower else plain

    def _ids(self, text: str, special: bool) -> Ids:
        return ids_of(self._tokenizer, text, special)


def read_config(
    folder: Path, query_length: int | None = None, document_length: int | None = None
) -> ColbertConfig:
    """Return how a checkpoint is fed, PyLate's defaults where it doesn't say.

    Args:
        folder: of the checkpoint.
        query_length: another length of queries than the checkpoint states.
        document_length: another window of documents.

    Raises:
        InputError: when its configuration can't be read.
    """
    stated = _read(folder / CONFIG)
    known = {field.name for field in fields(ColbertConfig)}
    values = {name: value for name, value in stated.items() if name in known and value is not None}
    if "skiplist_words" in values:
        values["skiplist_words"] = tuple(values["skiplist_words"])
    if query_length is not None:
        values["query_length"] = query_length
    if document_length is not None:
        values["document_length"] = document_length
    return ColbertConfig(**values)


def _modules(folder: Path) -> tuple[Path, list[Path]]:
    """Return the folders of the transformer and of the linear layers; PyLate ignores others."""
    listed = _read(folder / "modules.json")
    found = [(str(row["type"]).rpartition(".")[2], folder / str(row["path"])) for row in listed]
    first = [place for kind, place in found if kind == "Transformer"]
    dense = [place for kind, place in found if kind == "Dense"]
    if len(first) != 1 or not dense:
        raise InputError(
            f"{folder / 'modules.json'} lists no transformer with linear layers behind it",
            "state the folder of a ColBERT checkpoint that PyLate saved",
        )
    return first[0], dense


def _layer(folder: Path) -> Any:
    """Return a linear layer with its activation and, where it has one, its residual."""
    import torch

    stated = _read(folder / "config.json")
    activation = str(stated.get("activation_function", "torch.nn.modules.linear.Identity"))
    library, _, kind = activation.rpartition(".")
    if not library.startswith("torch.nn") or not hasattr(torch.nn, kind):
        raise InputError(
            f"{folder} has the activation {activation}, which isn't one of torch",
            "score this system outside, as a retriever of your own",
        )
    weights = _weights(folder)
    size = (int(stated["in_features"]), int(stated["out_features"]))
    linear = torch.nn.Linear(*size, bias="linear.bias" in weights)
    residual = _residual(size, weights) if stated.get("use_residual") else None
    linear.load_state_dict(_part(weights, "linear."))

    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear, self.activation, self.residual = (
                linear,
                getattr(torch.nn, kind)(),
                residual,
            )

        def forward(self, values: Any) -> Any:
            made = self.activation(self.linear(values))
            return made if self.residual is None else made + self.residual(values)

    return Layer()


def _residual(size: tuple[int, int], weights: dict[str, Any]) -> Any:
    import torch

    if size[0] == size[1]:
        return torch.nn.Identity()
    residual = torch.nn.Linear(*size, bias=False)
    residual.load_state_dict(_part(weights, "residual."))
    return residual


def _part(weights: dict[str, Any], name: str) -> dict[str, Any]:
    return {key.removeprefix(name): value for key, value in weights.items() if key.startswith(name)}


def _weights(folder: Path) -> dict[str, Any]:
    import torch
    from safetensors.torch import load_file

    tensors, pickled = folder / "model.safetensors", folder / "pytorch_model.bin"
    if tensors.is_file():
        return dict(load_file(tensors))
    if pickled.is_file():
        return dict(torch.load(pickled, map_location="cpu", weights_only=True))
    raise InputError(f"{folder} holds no weights", "download the checkpoint again")


def _marker(tokenizer: Any, text: str, place: str) -> Ids:
    """Return the number of a marker token as a list, empty for none."""
    if not text:
        return []
    number = tokenizer.convert_tokens_to_ids(text)
    if number is None or number == tokenizer.unk_token_id:
        raise InputError(
            f"the tokenizer of {place} has no token {text!r}, which marks a side",
            "state the folder of a trained ColBERT checkpoint",
        )
    return [int(number)]


def _filler(tokenizer: Any, place: str) -> int:
    for number in (tokenizer.mask_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id):
        if number is not None:
            return int(number)
    raise InputError(
        f"the tokenizer of {place} has no token to fill queries with",
        "state the folder of a trained ColBERT checkpoint",
    )


def _read(path: Path, optional: bool = False) -> Any:
    if optional and not path.is_file():
        return {}
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path} can't be read ({error})",
            "state the folder of a ColBERT checkpoint that PyLate saved",
        ) from error
