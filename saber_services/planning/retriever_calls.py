"""How many questions retrievers that ask a language model put to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from saber_assets.retrieval.systems import System
from saber_assets.retrieval.tables import SETTINGS


def retriever_calls(
    names: Iterable[str], systems: Mapping[str, System], pools: pl.DataFrame | None
) -> dict[str, int | None]:
    """Return the most questions of each retriever that asks a model; others are left out.

    Questions with kept answers are counted as well, though they aren't put again. One that is put
    again, because its reply can't be read or the server wants it shorter, counts once.

    Args:
        names: of the retrievers that are to be scored.
        systems: all systems, by name.
        pools: CANDIDATE_POOLS, or None while they aren't known: then neither are the numbers.
    """
    sizes = None if pools is None else pools.group_by("query_id").len()["len"].to_list()
    found: dict[str, int | None] = {}
    for name in names:
        if name in systems and _asks(systems[name]):
            once = None if sizes is None else _questions(systems[name], systems, sizes)
            found[name] = None if once is None else once * len(SETTINGS)
    return found


def _asks(system: System) -> bool:
    generates = system.family.startswith("generative-") or system.family == "query-rewriter"
    return generates and system.served is not None


def _questions(system: System, systems: Mapping[str, System], sizes: Sequence[int]) -> int:
    """Return the questions in one setting.

    Args:
        system: that asks.
        systems: all of them.
        sizes: of the pools.
    """
    if system.family == "generative-pointwise":
        return sum(sizes) * system.samples
    if system.family == "generative-groupwise":
        width = system.group_size or 1
        return sum(-(-size // width) for size in sizes) * system.samples
    if system.family == "query-rewriter":
        behind = systems.get(system.base or "")
        below = 0 if behind is None else _questions(behind, systems, sizes)
        return system.samples * (len(sizes) + below)
    return 0
