"""Whether a transformer's tokens see those behind them, tried on the loaded model.

Some bi-encoders make a causal architecture look both ways by code of their own, which other
versions of transformers pass over without a word.
"""

from __future__ import annotations

from typing import Any

from saber_assets.errors import InputError

PROBE_WORDS = 12
LEAST_MOVE = 1e-5
"""Share of the first token's largest number by which another last token must move it."""


def sees_ahead(model: Any, tokenizer: Any, device: Any) -> bool:
    """Tell whether a transformer's tokens see those behind them.

    Args:
        model: returns `last_hidden_state` or a tuple that begins with it.
        tokenizer: of the model, of three tokens at least.
        device: where it lies.
    """
    import torch

    known = len(tokenizer)  # any two tokens will do
    start = [known // 2] * PROBE_WORDS
    ids = torch.tensor([[*start, known // 2], [*start, known // 3], [*start, 0]], device=device)
    mask = torch.ones_like(ids)
    mask[2, -1] = 0  # a mask that hides nothing might be passed over, and causality with it
    with torch.inference_mode():
        hidden = model(input_ids=ids, attention_mask=mask)[0].float()
    moved = (hidden[0, 0] - hidden[1, 0]).abs().max()
    return bool(moved > LEAST_MOVE * hidden[:2, 0].abs().max())


def check_direction(name: str, model: Any, tokenizer: Any, device: Any) -> None:
    """Refuse a model that runs causally though its card says that tokens see ahead.

    Raises:
        InputError: naming the installed version of transformers.
    """
    if sees_ahead(model, tokenizer, device):
        return
    import transformers

    raise InputError(
        f"{name} runs causally under transformers {transformers.__version__}, and was "
        "trained with tokens that see those behind them",
        "install the version of transformers that its model card names",
    )
