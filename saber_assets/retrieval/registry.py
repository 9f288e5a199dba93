"""The registry: every retriever that can be on the board, built in or a person's own."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NoReturn

from saber_assets.asking import ChatModel
from saber_assets.candidates.tables import CANDIDATE_POOLS
from saber_assets.corpus.tables import DEDUPED_CORPUS
from saber_assets.errors import InputError
from saber_assets.retrieval.builtin import BUILTIN
from saber_assets.retrieval.drivers.driver import ChatOpener, Surroundings
from saber_assets.retrieval.entry import Entry, version_of
from saber_assets.retrieval.field import OWN_SYSTEMS, system_entry
from saber_assets.retrieval.machine import this_machine
from saber_assets.retrieval.own import load_own
from saber_assets.retrieval.own_list import Own, read_own
from saber_assets.retrieval.sanity import RATINGS
from saber_assets.retrieval.systems import System, load_systems
from saber_assets.tournament.tables import RELEVANCE_RATINGS

__all__ = ["BUILTIN", "VERSION_KEY", "Entry", "field_systems", "inputs_of", "no_chat", "registry"]

VERSION_KEY = "saber/retriever_version"
"""Under which the version of a retriever is kept with its scores."""


def inputs_of(retriever: str) -> tuple[str, ...]:
    """Return the tables that decide a retriever's scores: only the row `ratings` sees ratings."""
    texts = (CANDIDATE_POOLS.name, DEDUPED_CORPUS.name)
    return (*texts, RELEVANCE_RATINGS.name) if retriever == RATINGS else texts


def field_systems(own_path: Path) -> dict[str, System]:
    """Return the systems of the field by name, with those of the workdir's `systems.toml`.

    Args:
        own_path: the list of own retrievers, beside which that file lies.

    Raises:
        InputError: for a malformed file.
    """
    return load_systems(own_path.with_name(OWN_SYSTEMS))


def no_chat(model: str, url: str, key_variable: str) -> AbstractContextManager[ChatModel]:
    """Refuse to open a language model: for those who only list retrievers."""
    raise AssertionError(f"nobody said how to reach {model}")


def registry(
    names: Sequence[str], own_path: Path, open_chat: ChatOpener = no_chat
) -> dict[str, Entry]:
    """Return the entries in force, by name.

    Args:
        names: the built-in retrievers and systems of the field that are wanted; names of own ones
            are welcome, too.
        own_path: the list of own retrievers; all of them are in force.
        open_chat: how retrievers reach language models.

    Returns:
        Built-in entries in the order of `BUILTIN`, then systems of the field in that of their
        cards, then own ones in the order of their list. One that can't be loaded or run is there
        as well; its `missing()` says what is wrong.

    Raises:
        InputError: for a name that neither has, or a malformed list.
    """
    own = read_own(own_path)
    known = [*BUILTIN, *(item.name for item in own)]
    further = [name for name in names if name not in known]
    entries = {name: entry for name, entry in BUILTIN.items() if name in names}
    if further:
        systems = field_systems(own_path)
        unknown = [name for name in further if name not in systems]
        if unknown:
            raise InputError(
                f"there is no retriever '{unknown[0]}'",
                f"the known ones are: {', '.join(known)}, and the systems of `saber retrievers`",
            )
        around = Surroundings(this_machine(), systems, own_path.parent, open_chat)
        entries |= {
            name: system_entry(system, around)
            for name, system in systems.items()
            if name in further
        }
    return entries | {item.name: _own_entry(item) for item in own}


def _own_entry(item: Own) -> Entry:
    try:
        return load_own(item.reference, item.name)
    except InputError as error:
        fault = f"Retriever {item.name}: {error}."
        return Entry(
            name=item.name,
            family="own",
            type_code="",
            description=f"Own retriever {item.reference}, which can't be loaded.",
            version=version_of({"fault": str(error)}),
            factory=_unmade,
            fault=fault,
        )


def _unmade() -> NoReturn:
    raise AssertionError("an entry with a fault is never made")
