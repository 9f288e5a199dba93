"""The workdir: where everything of one benchmark lies, and the settings it is built with."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from saber_resources.atomic import write_text
from saber_resources.errors import SetupError
from saber_resources.profiles import Profile, load_profile, merge, profile_names, read_toml

WORKDIR_VARIABLE = "SABER_WORKDIR"
DEFAULT_WORKDIR = Path("saber_work")
SETTINGS_FILE = "saber.toml"
UNUSABLE = re.compile(r"\?|%[0-9A-Fa-f]{2}")
"""Dagster writes paths into addresses of databases without quoting them."""


@dataclass(frozen=True)
class Workdir:
    """The places inside a workdir."""

    root: Path

    @property
    def settings(self) -> Path:
        """Which profile is used, and what is laid over it."""
        return self.root / SETTINGS_FILE

    @property
    def tables(self) -> Path:
        """Parquet files, one a table or partition."""
        return self.root / "tables"

    @property
    def catalog(self) -> Path:
        """The DuckDB file with a view over each table."""
        return self.root / "saber.duckdb"

    @property
    def dagster_home(self) -> Path:
        """Where Dagster keeps runs and events."""
        return self.root / "dagster"

    @property
    def prompts(self) -> Path:
        """A person's own versions of prompts; what isn't here is taken from the project."""
        return self.root / "prompts"

    @property
    def responses(self) -> Path:
        """The store of language-model responses."""
        return self.root / "responses.sqlite"

    @property
    def logs(self) -> Path:
        """What servers that a build started have written."""
        return self.root / "logs"

    @property
    def used_prompts(self) -> Path:
        """Copies of the prompts that builds have used, by fingerprint."""
        return self.root / "prompts_used"

    @property
    def batches(self) -> Path:
        """What was written into files for a batch service."""
        return self.root / "batches.sqlite"

    @property
    def retries(self) -> Path:
        """Which failures a person wants to be tried again."""
        return self.root / "retry.json"

    @property
    def blocks(self) -> Path:
        """Finished blocks of passes that are under way, or were when a build was killed."""
        return self.root / "blocks"

    @property
    def partial_scores(self) -> Path:
        """Finished queries of scorings that are under way, or were broken off."""
        return self.root / "partial_scores"

    @property
    def reviews(self) -> Path:
        """Documents that a person has to cut, one file each, to be edited there."""
        return self.root / "reviews"

    @property
    def recognised(self) -> Path:
        """Texts that an OCR command has read out of PDF files."""
        return self.root / "recognised"

    @property
    def judgments(self) -> Path:
        """The journal of pairwise verdicts."""
        return self.root / "judgments.journal"

    @property
    def own_retrievers(self) -> Path:
        """The list of retrievers that a person added."""
        return self.root / "retrievers.json"

    @property
    def report(self) -> Path:
        """The folder of the report site."""
        return self.root / "report"


@dataclass(frozen=True)
class Settings:
    """A workdir with the profile in force."""

    workdir: Workdir
    profile: Profile


def workdir_from_environment() -> Path:
    """Return the workdir that the environment names, or `saber_work` in the current folder."""
    return Path(os.environ.get(WORKDIR_VARIABLE) or DEFAULT_WORKDIR)


def load_settings(workdir: Path) -> Settings:
    """Return the settings of a workdir; one without a saber.toml has the profile `sample`."""
    root = _root(workdir)
    path = root / SETTINGS_FILE
    return Settings(Workdir(root), _profile(_present(path), root))


def save_settings(workdir: Path, profile: str | None, overrides: Mapping[str, Any]) -> Settings:
    """Lay a profile name and overrides over a workdir's saber.toml, write it, and return it.

    Args:
        workdir: created where it is missing.
        profile: None keeps the one in force (at first `sample`).
        overrides: nested values; paths are made absolute.

    Raises:
        SetupError: when a value is not allowed; the file is then left as it was.
    """
    root = _root(workdir)
    path = root / SETTINGS_FILE
    present, values = _laid_over(path, profile, overrides)
    settings = Settings(Workdir(root), _profile(values, root))
    if not path.is_file() or values != present:
        with writing(root):
            root.mkdir(parents=True, exist_ok=True)
            write_text(path, tomli_w.dumps(values))
    return settings


def preview_settings(workdir: Path, profile: str | None, overrides: Mapping[str, Any]) -> Settings:
    """Return what `save_settings` would return, and write nothing."""
    root = _root(workdir)
    values = _laid_over(root / SETTINGS_FILE, profile, overrides)[1]
    return Settings(Workdir(root), _profile(values, root))


def _laid_over(
    path: Path, profile: str | None, overrides: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a saber.toml says now, and what it says with a profile and overrides."""
    present = _present(path)
    chosen = {} if profile is None else {"profile": profile}
    return present, merge(merge(present, chosen), overrides)


def _present(path: Path) -> dict[str, Any]:
    """Return what a saber.toml says; a new workdir has the profile `sample`.

    Raises:
        SetupError: when the file is lost: another profile would replace the tables in silence.
    """
    if path.is_file():
        return read_toml(path)
    if any(Workdir(path.parent).tables.glob("*.parquet")):
        raise SetupError(
            f"{path.parent} holds tables, but its {SETTINGS_FILE} is gone",
            "put it back (`profile = ...` and what was set), or build in another workdir",
        )
    return {"profile": "sample"}


@contextmanager
def writing(root: Path) -> Iterator[None]:
    """Tell what is wrong with a workdir when something can't be written there.

    Raises:
        SetupError: when it is no place to write to. A full disk is no mistake of the person's:
            its OSError goes on.
    """
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            raise
        raise SetupError(
            f"the workdir {root} can't be written ({error.strerror})",
            "choose another one with --workdir, or change its permissions",
        ) from error


def _root(workdir: Path) -> Path:
    root = workdir.expanduser().resolve()
    if root.exists() and not root.is_dir():
        raise SetupError(
            f"the workdir {root} is a file, not a folder", "choose a folder with --workdir"
        )
    bad = UNUSABLE.search(str(root))
    if bad is not None:
        raise SetupError(
            f"the workdir {root} has '{bad[0]}' in its path, which SQLite addresses can't hold",
            "choose another one with --workdir",
        )
    return root


def _profile(values: Mapping[str, Any], root: Path) -> Profile:
    rest = dict(values)
    name = rest.pop("profile", "default")
    if not isinstance(name, str):
        raise SetupError(
            f"'profile' can't be {name!r}",
            f'write the name of one, such as profile = "{profile_names()[0]}"',
        )
    local = root / name
    return load_profile(str(local) if local.suffix == ".toml" and local.is_file() else name, rest)
