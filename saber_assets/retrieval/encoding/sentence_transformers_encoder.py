"""Dense bi-encoders by sentence-transformers: its modules, fed with a contract's token windows.

What follows the transformer (pooling, dense layers, normalisation) is the model's own; which
tokens it reads is the contract's. torch and sentence-transformers are imported when an encoder is
made, never before. Weights are read from a folder; nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saber_assets.errors import InputError
from saber_assets.retrieval.encoding.contract import Contract, Ids, Side, batches, pad
from saber_assets.retrieval.encoding.packaged import no_progress_bar
from saber_assets.retrieval.encoding.transformers_encoder import BATCH_TOKENS, TransformersEncoder

REVISION = 1
MODULES = "modules.json"
POOLINGS = {"cls": "cls", "mean": "mean", "lasttoken": "last"}
"""What sentence-transformers calls a pooling, and what a contract does."""
REFERENCE_BATCH = 8


class SentenceTransformersEncoder(TransformersEncoder):
    """Embeds texts with the modules of sentence-transformers.

    Args:
        model: a SentenceTransformer.
        contract: templates, special tokens, window and the mean over windows. Its pooling is that
            of the model, which isn't changed.
        batch_tokens: tokens of a batch, padding included.

    Raises:
        InputError: when the model pools otherwise than the contract says.
    """

    def __init__(self, model: Any, contract: Contract, batch_tokens: int = BATCH_TOKENS) -> None:
        own = pooling_of(model)
        if own is not None and own != contract.pooling:
            raise InputError(
                f"the pooling '{contract.pooling}' isn't that of the model, '{own}'",
                f'state pooling = "{own}" in systems.toml',
            )
        super().__init__(model.tokenizer, model, contract, batch_tokens)
        if not contract.pool_template:
            model.set_pooling_include_prompt(False)

    @property
    def dimension(self) -> int:
        """Length of the vectors, those of a dense layer where one follows the pooling."""
        return int(self._model.get_embedding_dimension())

    def _forward(self, pieces: list[Ids], skipped: int = 0) -> NDArray[np.float64]:
        import torch

        vectors = np.empty((len(pieces), self.dimension), dtype=np.float64)
        for rows in batches([len(piece) for piece in pieces], self._batch_tokens):
            ids, mask = pad([pieces[row] for row in rows], self._filler)
            features: dict[str, Any] = {
                "input_ids": torch.from_numpy(ids).to(self._model.device),
                "attention_mask": torch.from_numpy(mask).to(self._model.device),
            }
            if skipped:
                features["prompt_length"] = skipped
            with torch.inference_mode():
                found = self._model(features)["sentence_embedding"]
            vectors[rows] = found.double().cpu().numpy()
        return vectors


class OwnEncode:
    """The authors' configuration: sentence-transformers' `encode`, with the model's own prompts.

    Args:
        model: a SentenceTransformer.
        query_prompt: what it puts in front of queries; likewise `document_prompt`.
    """

    def __init__(self, model: Any, query_prompt: str, document_prompt: str) -> None:
        self._model = model
        self._prompts: dict[str, str] = {"query": query_prompt, "document": document_prompt}

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return document vectors, shape (texts, dimension)."""
        return self._encode(texts, "document")

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return query vectors, shape (texts, dimension)."""
        return self._encode(texts, "query")

    def fits(self, text: str, side: Side) -> bool:
        """Tell whether a text isn't cut."""
        ids = self._model.tokenizer(self._prompts[side] + text, truncation=False, verbose=False)
        return len(ids["input_ids"]) <= (self._model.max_seq_length or len(ids["input_ids"]))

    def _encode(self, texts: Sequence[str], side: Side) -> NDArray[np.float32]:
        made: NDArray[np.float32] = self._model.encode(
            list(texts),
            prompt=self._prompts[side],
            batch_size=REFERENCE_BATCH,
            show_progress_bar=False,
            convert_to_numpy=False,
            convert_to_tensor=True,
        )
        return np.asarray(made.float().cpu().numpy(), dtype=np.float32)  # type: ignore[attr-defined]


def load_model(
    place: Path,
    precision: str,
    *,
    trust_remote_code: bool = False,
    adapter: str | None = None,
    device: str | None = None,
) -> Any:
    """Return the SentenceTransformer of a folder.

    Args:
        place: the folder.
        precision: of the weights.
        trust_remote_code: whether code in the folder is run.
        adapter: which of the model's adapters is used, where it has several.
        device: by default the GPU where there is one.

    Raises:
        InputError: when the folder isn't whole, or isn't of sentence-transformers.
    """
    import torch
    from sentence_transformers import SentenceTransformer

    if not (place / MODULES).is_file():
        raise InputError(
            f"{place} has no {MODULES}: it isn't a folder of sentence-transformers",
            'fetch all files of the model, or state backends = ["transformers"] in systems.toml',
        )
    options: dict[str, Any] = {"dtype": getattr(torch, precision)}
    if adapter is not None:
        options["default_task"] = adapter
    try:
        with no_progress_bar():
            model = SentenceTransformer(
                str(place),
                device=device or ("cuda" if torch.cuda.is_available() else "cpu"),
                local_files_only=True,
                trust_remote_code=trust_remote_code,
                model_kwargs=options,
            )
    except OSError as error:
        raise InputError(
            f"the weights in {place} aren't complete", "fetch all files of the model"
        ) from error
    return model.eval()


def pooling_of(model: Any) -> str | None:
    """Return the pooling of a model's modules, as a contract calls it; None for any other."""
    from sentence_transformers.sentence_transformer.modules import Pooling

    modes = [module.pooling_mode for module in model if isinstance(module, Pooling)]
    return POOLINGS.get(modes[0]) if len(modes) == 1 and isinstance(modes[0], str) else None


def normalises(model: Any) -> bool:
    """Tell whether a model's vectors have length 1."""
    return any(type(module).__name__ == "Normalize" for module in model)


def own_prompts(model: Any) -> tuple[str, str]:
    """Return what a model puts in front of queries and of documents when nobody says otherwise."""
    prompts = {name: text or "" for name, text in (model.prompts or {}).items()}
    default = prompts.get(model.default_prompt_name or "", "")
    stated = [prompts[name] for name in ("document", "passage", "corpus") if name in prompts]
    return prompts.get("query", default), next(iter(stated), default)


def without_instruction(prompt: str, slot: str | None) -> str:
    """Return a model's own prompt, "" where it only fills the place of an instruction.

    Args:
        prompt: what it puts in front of queries.
        slot: how an instruction enters the query: text with one {instruction} and one {query}.
    """
    if slot is None:
        return prompt
    head, _, tail = slot.partition("{query}")[0].partition("{instruction}")
    filled = prompt.startswith(head) and prompt.rstrip().endswith(tail.rstrip())
    return "" if filled and len(prompt) > len(head) + len(tail) else prompt
