"""Tokens, GPU hours and money of calls that have not been made, by stated rules."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import saber_resources
from saber_resources.profiles import Llm
from saber_resources.response_store import PromptStats
from saber_services.planning.lookup import Calls

FEWEST_CHARACTERS = 2000
"""Characters of answered requests from which on the store's own ratio is believed."""
MILLION = 1_000_000
HOUR = 3600
_ACTIVE = re.compile(r"\bA(\d+(?:\.\d+)?)B\b", re.IGNORECASE)
_SIZE = re.compile(r"(?<![\w.])(?:\d+x)?(\d+(?:\.\d+)?)B\b", re.IGNORECASE)


@dataclass(frozen=True)
class Speed:
    """How fast one GPU serves a model, and where the figures come from."""

    model_class: str
    tokens_in_per_second: float
    tokens_out_per_second: float
    source: str

    def hours(self, tokens_in: float, tokens_out: float) -> float:
        """Return the hours of one GPU."""
        seconds = tokens_in / self.tokens_in_per_second + tokens_out / self.tokens_out_per_second
        return seconds / HOUR


@dataclass(frozen=True)
class Rates:
    """What is reckoned with for one model.

    Attributes:
        characters_per_token: of prompts.
        characters_source: where that comes from.
        tokens_out: completion tokens of one call, by prompt.
        tokens_out_source: where these come from, by prompt.
        speed: of one GPU.
        price_in: money for a million prompt tokens, or None where no price is stated.
        price_out: likewise for completion tokens.
    """

    characters_per_token: float
    characters_source: str
    tokens_out: Mapping[str, float]
    tokens_out_source: Mapping[str, str]
    speed: Speed
    price_in: float | None
    price_out: float | None

    def price(self, tokens_in: float, tokens_out: float) -> float | None:
        """Return what tokens cost, or None where no price is stated."""
        if self.price_in is None or self.price_out is None:
            return None
        return (tokens_in * self.price_in + tokens_out * self.price_out) / MILLION


@cache
def throughput_table() -> dict[str, Any]:
    """Return the content of throughput.toml."""
    path = Path(saber_resources.__file__).parent / "throughput.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def rates_of(
    llm: Llm, prompts: Iterable[str], counted: Iterable[Calls], stats: Sequence[PromptStats]
) -> Rates:
    """Return what to reckon with: what the store shows, or else what the table says.

    Args:
        llm: the profile's section.
        prompts: names.
        counted: look-ups of the plan, for the characters of a token.
        stats: of the store, for the length of replies.
    """
    table = throughput_table()
    ratio, ratio_source = _characters_per_token(counted)
    lengths: dict[str, float] = {}
    sources: dict[str, str] = {}
    for prompt in prompts:
        measured = _measured_length(llm.model, prompt, stats)
        default = table["tokens_out"].get(prompt, table["tokens_out"]["other"])
        lengths[prompt] = float(default) if measured is None else measured
        sources[prompt] = (
            str(table["tokens_out"]["source"])
            if measured is None
            else "measured: mean of the store's calls"
        )
    price_in, price_out = prices(llm)
    return Rates(ratio, ratio_source, lengths, sources, speed_of(llm), price_in, price_out)


def speed_of(llm: Llm) -> Speed:
    """Return the speed of one GPU with a model: the profile's own figures, or the table's."""
    own_in, own_out = llm.gpu_tokens_in_per_second, llm.gpu_tokens_out_per_second
    size = billions(llm.model)
    table = throughput_table()
    entry = next(row for row in table["model"] if row["billions"] >= (size or _unknown()))
    source = str(entry["source"])
    if size is None:
        source = f"{source}; {table['unknown_source']}"
    if own_in is not None and own_out is not None:
        source = "stated in the profile"
    return Speed(
        str(entry["class"]),
        float(own_in or entry["tokens_in_per_second"]),
        float(own_out or entry["tokens_out_per_second"]),
        source,
    )


def billions(model: str) -> float | None:
    """Return the active parameters that a model's name tells, in billions, or None."""
    name = model.replace("_", "-")
    found = _ACTIVE.search(name) or _SIZE.search(name)
    return float(found[1]) if found else None


def prices(llm: Llm) -> tuple[float | None, float | None]:
    """Return the prices of a million prompt and completion tokens; None where none is stated."""
    # only here: the client libraries behind it take long to import
    from saber_resources.llm_gateway import prices_of

    found = prices_of(llm)
    return (None, None) if found is None else (found.input, found.output)


def _unknown() -> float:
    return float(throughput_table()["unknown_billions"])


def _characters_per_token(counted: Iterable[Calls]) -> tuple[float, str]:
    total = Calls()
    for calls in counted:
        total.add(calls)
    if total.known_characters >= FEWEST_CHARACTERS and total.known_tokens > 0:
        return total.known_characters / total.known_tokens, "measured: the store's answers"
    table = throughput_table()
    return float(table["characters_per_token"]), str(table["characters_source"])


def _measured_length(model: str, prompt: str, stats: Sequence[PromptStats]) -> float | None:
    """Return the mean completion tokens of a call, over all versions of a prompt."""
    rows = [row for row in stats if row.model == model and row.prompt == prompt]
    calls, tokens = sum(row.calls for row in rows), sum(row.tokens_out for row in rows)
    return tokens / calls if calls and tokens else None
