"""The registry: every retriever that can be on the board, built in or a person's own."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from saber_assets.asking import ChatModel
from saber_assets.candidates.tables import CANDIDATE_POOLS
from saber_assets.corpus.tables import DEDUPED_CORPUS
from saber_assets.errors import InputError, UnavailableError, printable
from saber_assets.retrieval.builtin import BUILTIN
from saber_assets.retrieval.drivers.driver import ChatOpener, Surroundings
from saber_assets.retrieval.entry import Entry
from saber_assets.retrieval.field import OWN_SYSTEMS, system_entry
from saber_assets.retrieval.machine import this_machine
from saber_assets.retrieval.nearest import nearest
from saber_assets.retrieval.own.own_class import load_own
from saber_assets.retrieval.own.own_endpoint import endpoint_entry
from saber_assets.retrieval.own.own_list import Own, read_own
from saber_assets.retrieval.own.own_reference import (
    ENTRY_POINT,
    entry_point_of,
    file_of,
    form_of,
    split_reference,
)
from saber_assets.retrieval.own.plug_ins import (
    FOLDER,
    broken_entry,
    entry_point_entry,
    entry_point_names,
    plug_ins,
)
from saber_assets.retrieval.own.precomputed import runs_entry
from saber_assets.retrieval.reasons import reason_of
from saber_assets.retrieval.sanity import RATINGS
from saber_assets.retrieval.systems import System, load_systems
from saber_assets.retrieval.tables import SETTINGS
from saber_assets.tournament.tables import RELEVANCE_RATINGS

__all__ = [
    "BUILTIN",
    "VERSION_KEY",
    "Entry",
    "field_systems",
    "inputs_of",
    "no_chat",
    "own_entry",
    "registry",
]

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
        names: the built-in retrievers, systems of the field and entry points that are wanted;
            names of own ones are welcome, too.
        own_path: the list of own retrievers; all of them are in force.
        open_chat: how retrievers reach language models.

    Returns:
        Built-in entries in the order of `BUILTIN`, then systems of the field in that of their
        cards, then those of packages, own ones in the order of their list, and those of the folder
        `retrievers` beside it. One that can't be loaded or run is there as well; its `missing()`
        says what is wrong.

    Raises:
        InputError: for a name that neither has, or a malformed list.
    """
    own = _grouped(read_own(own_path))
    dropped = plug_ins(own_path.with_name(FOLDER), {*BUILTIN, *own})
    known = [*BUILTIN, *own, *dropped]
    further = [name for name in names if name not in known]
    entries = {name: entry for name, entry in BUILTIN.items() if name in names}
    if further:
        systems = field_systems(own_path)
        offered = entry_point_names()
        unknown = [name for name in further if name not in systems and name not in offered]
        if unknown:
            broken = {name for name, entry in dropped.items() if entry.missing() is not None}
            good = [name for name in dict.fromkeys([*known, *offered]) if name not in broken]
            raise InputError(
                f"there is no retriever '{unknown[0]}'",
                f"the known ones are: {', '.join(good)}, and the systems of `saber retrievers`"
                f"{nearest(unknown[0], [*good, *systems])}",
            )
        around = Surroundings(this_machine(), systems, own_path.parent, open_chat)
        entries |= {
            name: system_entry(system, around)
            for name, system in systems.items()
            if name in further
        }
        packaged = [name for name in further if name not in systems]
        entries |= {name: _own_entry([Own(name, ENTRY_POINT + name)]) for name in packaged}
    return entries | {name: _own_entry(items) for name, items in own.items()} | dropped


def own_entry(items: Sequence[Own]) -> Entry:
    """Return an own retriever as an entry.

    Args:
        items: one, or those of one name with the runs of several settings.

    Raises:
        InputError: when it can't be loaded, reached or read, whatever the reason.
    """
    try:
        return _opened(items)
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        raise InputError(
            f"{printable(items[0].reference)} can't be used, {reason_of(error)}",
            "mend the reference, or what stands behind it",
        ) from error


def _opened(items: Sequence[Own]) -> Entry:
    item = items[0]
    form = form_of(item.reference)
    if form == "scores":
        files = {one.setting or SETTINGS[0]: file_of(one.reference) for one in items}
        return runs_entry(item.name, files)
    if form == "endpoint":
        return endpoint_entry(
            item.name, item.reference, item.version, item.key_variable, item.timeout
        )
    if form == "entry point":
        return entry_point_entry(entry_point_of(item.reference), item.name)
    return load_own(item.reference, item.name)


def _own_entry(items: Sequence[Own]) -> Entry:
    """Return an own retriever as an entry: a broken one breaks nothing but itself."""
    name, reference = items[0].name, items[0].reference
    try:
        return own_entry(items)
    except InputError as error:
        gone = isinstance(error, UnavailableError) or _is_gone(reference)
        what = f"Own retriever {printable(reference)}"
        return broken_entry(name, what, error, version_known=not gone)


def _is_gone(reference: str) -> bool:
    """Tell whether the file of a reference isn't there."""
    try:
        form = form_of(reference)
        if form == "scores":
            return not file_of(reference).exists()
        if form != "class":
            return False
        place, _ = split_reference(reference)
        return isinstance(place, Path) and not place.exists()
    except (InputError, OSError):
        return False


def _grouped(items: Sequence[Own]) -> dict[str, list[Own]]:
    found: dict[str, list[Own]] = {}
    for item in items:
        found.setdefault(item.name, []).append(item)
    return found
