"""The token numbers that a tokenizer of transformers gives."""

from __future__ import annotations

from typing import Any

from saber_assets.retrieval.encoding.contract import Ids


def ids_of(tokenizer: Any, text: str, special: bool) -> Ids:
    """Return a text's token numbers, none cut off, with special ones where that is wanted."""
    encoded = tokenizer(text, add_special_tokens=special, truncation=False, verbose=False)
    return [int(number) for number in encoded["input_ids"]]


def filler_of(tokenizer: Any) -> int:
    """Return the token that fills a batch; none is read, so that any will do."""
    for number in (tokenizer.pad_token_id, tokenizer.eos_token_id):
        if number is not None:
            return int(number)
    return 0
