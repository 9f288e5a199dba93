"""What the drivers of language models behind an endpoint have in common."""

from __future__ import annotations

from functools import partial

from saber_assets.asking import Repeat
from saber_assets.retrieval.drivers.driver import Surroundings
from saber_assets.retrieval.entry import version_of
from saber_assets.retrieval.remote.served_chat import (
    ServedModel,
    SharedChat,
    Wording,
    characters_for,
)
from saber_assets.retrieval.systems import System


def served_model(
    system: System,
    around: Surroundings,
    model: str | None,
    *,
    samples: int = 1,
    repeat: Repeat | None = None,
) -> ServedModel:
    """Return the model behind a system's endpoint.

    Args:
        system: whose card says how the model is asked.
        around: see `Surroundings`.
        model: its name at the endpoint, where the card states no other.
        samples: answers to each text.
        repeat: see `ServedModel`.
    """
    name = system.served_model or str(model)
    wording = Wording(
        name=system.name,
        fingerprint=version_of(
            {
                "templates": [
                    system.pair_template,
                    system.group_template,
                    system.rewrite_template,
                    system.system_prompt,
                ],
                "sampling": system.sampling,
            }
        ),
        system_prompt=system.system_prompt,
        raw=system.raw_prompt,
        settings=system.sampling or {},
        samples=samples,
    )
    opened = partial(around.open_chat, name, str(system.served), system.key_variable or "")
    return ServedModel(SharedChat(opened), wording, repeat)


def room_of(system: System) -> int | None:
    """Return how many characters a text for a system's model may have, None for any number."""
    told = characters_for(system.window, (system.sampling or {}).get("max_tokens"))
    return None if told is None else told - len(system.system_prompt or "")
