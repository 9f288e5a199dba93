"""Adds a person's own retriever to a workdir, after trying whether it can be used there."""

from __future__ import annotations

from dataclasses import replace

from saber_assets.errors import InputError
from saber_assets.retrieval.own.own_class import load_own
from saber_assets.retrieval.own.own_list import Own, add_own, read_own
from saber_assets.retrieval.own.own_reference import entry_point_of, file_of, form_of
from saber_assets.retrieval.own.run_file import check_ids, read_run
from saber_assets.retrieval.registry import own_entry
from saber_assets.retrieval.tables import SETTINGS
from saber_resources.settings import Settings
from saber_resources.warehouse import read_table


def add(settings: Settings, wish: Own) -> str:
    """Try an own retriever, remember it in the workdir, and return its name.

    Args:
        settings: of a built workdir.
        wish: what a person gave; an empty name is filled in where the form has one.

    Raises:
        InputError: when it can't be used, its name is bad or taken, or an option isn't for it.
    """
    own = _named(_checked(wish))
    place = settings.workdir.own_retrievers
    siblings = [item for item in read_own(place) if item.name == own.name and item.setting]
    own_entry([own] if not own.setting else [*siblings, own])
    if own.setting:
        tables = settings.workdir.tables
        read_run(file_of(own.reference))  # whole: what a build would refuse isn't remembered
        check_ids(
            file_of(own.reference),
            set(read_table(tables, "candidate_pools")["query_id"].unique()),
            set(read_table(tables, "deduped_corpus")["problem_id"]),
        )
    add_own(place, own)
    return own.name


def _checked(wish: Own) -> Own:
    """Return the wish with the setting of a file of scores filled in.

    Raises:
        InputError: for an option that another form has.
    """
    form = form_of(wish.reference)
    given = {
        "--setting": (wish.setting, "scores"),
        "--version": (wish.version, "endpoint"),
        "--key-variable": (wish.key_variable, "endpoint"),
        "--timeout": (wish.timeout, "endpoint"),
    }
    for option, (value, wanted) in given.items():
        if value and form != wanted:
            what = "a file of scores" if wanted == "scores" else "an endpoint"
            raise InputError(f"{option} is for {what}, not for {wish.reference}", "leave it out")
    return replace(wish, setting=wish.setting or SETTINGS[0]) if form == "scores" else wish


def _named(wish: Own) -> Own:
    """Return the wish with a name.

    Raises:
        InputError: when it has none and its form gives none.
    """
    if wish.name:
        return wish
    form = form_of(wish.reference)
    if form == "class":
        return replace(wish, name=load_own(wish.reference).name)
    if form == "entry point":
        return replace(wish, name=entry_point_of(wish.reference))
    raise InputError(f"{wish.reference} has no name yet", "give one with --name")
