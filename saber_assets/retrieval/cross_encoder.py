"""Pointwise cross-encoders: a model reads query and document together and gives one score.

Two kinds of model: a head that gives one number (sequence classification), and a language model
that is asked a question, whose score is the log-odds of one answer against another at the last
token (such as yes against no): they rank like its probability, and don't run into 1. A pair that is
too long for the window loses the end of its document; what the template puts behind the document
stays.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from saber_assets.errors import InputError, TextError
from saber_assets.retrieval.encoding.contract import (
    DOCUMENT_SLOT,
    QUERY_SLOT,
    Ids,
    batches,
    pad,
    positions,
)
from saber_assets.retrieval.encoding.contract import read_from as read_from_mask
from saber_assets.retrieval.encoding.packaged import no_progress_bar
from saber_assets.retrieval.encoding.token_ids import filler_of, ids_of

REVISION = 2
DECIMALS = 6
"""Of a score: all that 32-bit logits have."""
BATCH_TOKENS = 16_384
INSTRUCTION_SLOT = "{instruction}"
ANSWERS = ("yes", "no")


class FullWindowError(TextError, ValueError):
    """A query that leaves no room for a document; the message says in what window."""


class _Pair(NamedTuple):
    """Token numbers of a pair, and which of the two texts each belongs to, where that counts."""

    ids: Ids
    segments: list[int] | None


class CrossEncoder:
    """Scores pairs of texts.

    Args:
        tokenizer: of the model.
        model: a sequence classifier with one label where `answers` is None, else a causal one.
        template: text with one {query} and, after it, one {document}; the empty text for the
            tokenizer's own way of joining two texts.
        window: tokens that the model reads at a time.
        instruction: what stands in the template's {instruction}, if it has one.
        answers: the wanted answer and the other one, each one token.
        batch_tokens: tokens of a batch, padding included.

    Attributes:
        in_flight: most pairs that are read at a time, None for what `batch_tokens` allows. Nothing
            is remembered from one query to the next.

    Raises:
        ValueError: for a template without its slots in that order, or answers of several tokens.
    """

    def __init__(
        self,
        tokenizer: Any,
        model: Any,
        template: str,
        window: int,
        *,
        instruction: str = "",
        answers: tuple[str, str] | None = ANSWERS,
        batch_tokens: int = BATCH_TOKENS,
    ) -> None:
        self.in_flight: int | None = None
        self._template = template
        self._tokenizer = tokenizer
        self._model = model.eval()
        self._window = window
        self._batch_tokens = batch_tokens
        self._parts = _parts(template, instruction) if template else None
        self._answers = None if answers is None else [self._token(text) for text in answers]

    @classmethod
    def load(
        cls,
        place: str,
        template: str,
        window: int,
        *,
        precision: str,
        instruction: str = "",
    ) -> CrossEncoder:
        """Return the reranker of a folder or cached hub id; asked for yes or no.

        Raises:
            InputError: when the weights aren't there.
        """
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        try:
            tokenizer = AutoTokenizer.from_pretrained(place, local_files_only=True)
            with no_progress_bar():
                model = AutoModelForCausalLM.from_pretrained(
                    place,
                    local_files_only=True,
                    dtype=getattr(torch, precision),
                )
        except OSError as error:
            raise InputError(
                f"the weights of {place} aren't complete on this machine",
                f"run `hf download {place}`, or state their folder as `weights` in systems.toml",
            ) from error
        device = "cuda" if torch.cuda.is_available() else "cpu"
        return cls(tokenizer, model.to(device), template, window, instruction=instruction)

    def score(self, query: str, documents: Sequence[str]) -> NDArray[np.float64]:
        """Return one score a document: the head's number, or the log-odds of the wanted answer."""
        pairs = [self._pair(query, document) for document in documents]
        scores = np.empty(len(pairs), dtype=np.float64)
        for rows in batches([len(pair.ids) for pair in pairs], self._batch_tokens, self.in_flight):
            scores[rows] = self._forward([pairs[row] for row in rows])
        return np.round(scores, DECIMALS)

    def with_instruction(self, instruction: str) -> CrossEncoder | None:
        """Return one whose template holds an instruction; None where it has no place for one."""
        if INSTRUCTION_SLOT not in self._template:
            return None
        other = copy.copy(self)
        other._parts = _parts(self._template, instruction)
        return other

    def pair(self, query: str, document: str) -> Ids:
        """Return the token numbers of a pair, at most a window; the document's end is cut.

        Raises:
            FullWindowError: when query and template alone fill the window.
        """
        return self._pair(query, document).ids

    def _pair(self, query: str, document: str) -> _Pair:
        if self._parts is None:
            return self._joined(query, document)
        before, between, after = self._parts
        head = self._ids(before + query + between)
        tail = self._ids(after) if after else []
        room = self._window - len(head) - len(tail)
        if room < 1:
            raise self._full()
        return _Pair([*head, *self._ids(document)[:room], *tail], None)

    def _joined(self, query: str, document: str) -> _Pair:
        """Return a pair as the tokenizer joins two texts; lists, so that "" is a text as well."""
        if len(self._ids(query)) + self._tokenizer.num_special_tokens_to_add(True) >= self._window:
            raise self._full()
        encoded = self._tokenizer(
            [query], [document], truncation="only_second", max_length=self._window
        )
        segments = encoded.get("token_type_ids")
        return _Pair(list(encoded["input_ids"][0]), list(segments[0]) if segments else None)

    def _forward(self, pairs: list[_Pair]) -> NDArray[np.float64]:
        import torch

        ids, mask = pad([pair.ids for pair in pairs], filler_of(self._tokenizer))
        inputs = {"input_ids": ids, "attention_mask": mask}
        segments = [pair.segments for pair in pairs if pair.segments is not None]
        if segments:
            inputs["token_type_ids"] = pad(segments, 0)[0]
        if self._answers is not None:
            inputs["position_ids"] = positions(mask)
        tensors = {
            name: torch.from_numpy(values).to(self._model.device) for name, values in inputs.items()
        }
        with torch.inference_mode():
            logits = self._model(**tensors).logits
        if self._answers is None:
            head: NDArray[np.float64] = logits[:, 0].double().cpu().numpy()
            return head
        rows = np.arange(len(pairs))
        last = torch.from_numpy(read_from_mask(mask, "last"))
        both = logits[torch.from_numpy(rows), last][:, self._answers].double().cpu().numpy()
        odds: NDArray[np.float64] = both[:, 0] - both[:, 1]
        return odds

    def _full(self) -> FullWindowError:
        return FullWindowError(f"query and template fill the window of {self._window} tokens")

    def _ids(self, text: str) -> Ids:
        return ids_of(self._tokenizer, text, False)

    def _token(self, text: str) -> int:
        numbers = self._ids(text)
        if len(numbers) != 1:
            raise ValueError(f"the answer {text!r} is {len(numbers)} tokens, not one")
        return numbers[0]


def _parts(template: str, instruction: str) -> tuple[str, str, str]:
    """Return what stands before the query, between it and the document, and behind it."""
    filled = template.replace(INSTRUCTION_SLOT, instruction)
    before, query, rest = filled.partition(QUERY_SLOT)
    between, document, after = rest.partition(DOCUMENT_SLOT)
    if not query or not document:
        raise ValueError(f"the template {template!r} lacks {QUERY_SLOT} before {DOCUMENT_SLOT}")
    return before, between, after
