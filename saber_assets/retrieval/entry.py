"""An entry of the registry: a retriever's name, kind, version, and how to make it."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

from saber_assets.errors import InputError
from saber_assets.retrieval import texts
from saber_assets.retrieval.protocol import Retriever
from saber_assets.retrieval.reasons import mend_of, reason_of
from saber_assets.retrieval.tables import SETTINGS

FAMILIES = ("lexical", "dense", "reranker", "sanity", "own")
LIGHT_FAMILIES = ("lexical", "sanity")

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
"""Names become file names and partition keys; to be matched in full."""

NAME_RULE = "1 to 64 small letters, digits, '.', '_' or '-', beginning with a letter or digit"


@dataclass(frozen=True)
class Entry:
    """A retriever of the registry.

    Attributes:
        name: unique; see `NAME`.
        family: one of `FAMILIES`.
        type_code: SPEC's type code, such as "B" for a bi-encoder; "" where none applies.
        description: one sentence.
        version: hash of what decides its scores; another version, other scores.
        requires: import names of optional packages that it needs.
        factory: makes the retriever; may take long, for it loads models.
        install: the command that installs `requires`.
        fault: why it can't be used, whatever is installed; "" where nothing is wrong.
        settings: in which it takes part.
        version_known: False while nobody can tell its version, as its file or server is gone; its
            last scores then count.
        light: it runs no model, and may be scored while another one does.
        place: hash of the addresses that serve it; "" for what runs here. It decides no score,
            but whether what was found of another place holds.
        own: a person's: whatever it raises costs that query alone, see `score_pools`.
        precomputed: its scores were computed elsewhere: it can't be asked about other texts.
    """

    name: str
    family: str
    type_code: str
    description: str
    version: str
    requires: tuple[str, ...] = ()
    factory: Callable[[], Retriever] = field(kw_only=True, repr=False, compare=False)
    install: str = field(default="pip install saber-platform", kw_only=True)
    fault: str = field(default="", kw_only=True)
    settings: tuple[str, ...] = field(default=SETTINGS, kw_only=True)
    version_known: bool = field(default=True, kw_only=True)
    light: bool = field(default=False, kw_only=True)
    place: str = field(default="", kw_only=True)
    own: bool = field(default=False, kw_only=True)
    precomputed: bool = field(default=False, kw_only=True)

    def is_light(self) -> bool:
        """Tell whether it may be scored while a model runs."""
        return self.light or self.family in LIGHT_FAMILIES

    def missing(self) -> str | None:
        """Return one sentence that says what to install or mend, or None if it can be made."""
        if self.fault:
            return self.fault
        absent = [name for name in self.requires if not is_installed(name)]
        if not absent:
            return None
        packages = " and ".join(name.replace("_", "-") for name in absent)
        return f"Retriever {self.name} needs {packages}: run {self.install}."

    def make(self) -> Retriever:
        """Return a new retriever, with nothing remembered.

        Raises:
            InputError: when something is missing, or when making it fails, however it does.
        """
        problem = self.missing()
        if problem is not None:
            raise InputError(f"retriever {self.name} can't be used", problem)
        try:
            return self.factory()
        except InputError:
            raise
        except (Exception, SystemExit) as error:
            raise InputError(
                f"retriever {self.name} can't be made, {reason_of(error)}", mend_of(error)
            ) from error


def version_of(values: Mapping[str, Any]) -> str:
    """Return a hash of the values that decide a retriever's scores, and of the texts' revision."""
    content = json.dumps({**values, "texts": texts.REVISION}, sort_keys=True)
    return hashlib.blake2b(content.encode(), digest_size=8).hexdigest()


def package_version(distribution: str) -> str:
    """Return the installed version of a package, or "absent"."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "absent"


def is_installed(name: str) -> bool:
    """Return whether a package can be imported, without importing it."""
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False
