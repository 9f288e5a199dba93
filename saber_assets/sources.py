"""What lies outside the graph: files of sources and of the ontology, reviews; their versions."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import dagster as dg

from saber_assets.corpus.review import Reviews
from saber_assets.corpus.source_kinds.protocol import Shape
from saber_assets.corpus.source_kinds.registry import kind
from saber_assets.corpus.source_kinds.source_files import walk
from saber_assets.errors import InputError
from saber_resources.profiles import Source
from saber_resources.settings import Settings
from saber_resources.shipped import shipped

CORPUS_FILES = "corpus_files"
ONTOLOGY_FILE = "ontology_file"
DOCUMENT_REVIEWS = "document_reviews"
BLOCK = 1 << 20
CLOCK_TICK = 2 * 10**9
"""Nanoseconds after which a write surely gets another time."""


def source_specs(settings: Settings) -> list[dg.AssetSpec]:
    """Return the external assets; `saber build` and a sensor report their versions."""
    sources = settings.profile.corpus.sources
    return [
        *(
            dg.AssetSpec(
                files_of(source),
                group_name="corpus",
                kinds={"file"},
                description=f"Files of the source '{source.name}'.",
            )
            for source in sources
        ),
        *(
            [
                dg.AssetSpec(
                    DOCUMENT_REVIEWS,
                    group_name="corpus",
                    kinds={"file"},
                    description="Documents that a person has cut.",
                )
            ]
            if sources_of(settings, "documents")
            else []
        ),
        dg.AssetSpec(
            CORPUS_FILES, group_name="corpus", kinds={"file"}, description="Files of problems."
        ),
        dg.AssetSpec(
            ONTOLOGY_FILE, group_name="ontology", kinds={"file"}, description="The topic DAG."
        ),
    ]


def corpus_files(settings: Settings) -> list[Path]:
    """Return the configured corpus files, or those of the sample that ships with the project."""
    corpus = settings.profile.corpus
    if corpus.files or corpus.sources:
        return [settings.workdir.root / path for path in corpus.files]
    return sample_files()


def files_of(source: Source) -> str:
    """Return the name of the external asset that stands for a source's files."""
    return f"files_of_{source.name}"


def source_paths(settings: Settings, source: Source) -> tuple[Path, ...]:
    """Return a source's files and folders.

    Raises:
        InputError: when it names none and isn't on the hub.
    """
    if not source.paths and source.kind != "huggingface" and "hub" not in source.options:
        raise InputError(
            f"the source '{source.name}' names no path", "add paths = [...] to it in saber.toml"
        )
    return tuple(settings.workdir.root / path for path in source.paths)


def sources_of(settings: Settings, shape: Shape) -> list[Source]:
    """Return the configured sources of a shape.

    Raises:
        InputError: for a kind that isn't known.
    """
    return [
        source for source in settings.profile.corpus.sources if kind(source.kind).shape == shape
    ]


def sample_files() -> list[Path]:
    """Return the files of the sample that ships with the project."""
    return sorted((Path(__file__).parent / "corpus" / "sample").glob("*.jsonl"))


def ontology_file(settings: Settings) -> Path:
    """Return the configured ontology file, or the one that ships with the project."""
    configured = settings.profile.ontology.file
    return (
        shipped("ontology") / "topics.csv"
        if configured is None
        else (settings.workdir.root / configured)
    )


def duplicates_file(settings: Settings) -> Path | None:
    """Return the configured list of duplicates, or None."""
    configured = settings.profile.selection.duplicates
    return None if configured is None else settings.workdir.root / configured


def file_version(path: Path) -> str:
    """Return a hash of a file's content, or why there is none: whoever reads the file says more."""
    try:
        return _content_of(path).hex()
    except OSError as error:
        return f"unreadable ({error.strerror})"


def source_versions(settings: Settings) -> dict[str, str]:
    """Return a content hash for each external asset.

    Raises:
        InputError: when a file can't be read.
    """
    versions = {
        CORPUS_FILES: _hash("corpus file", _named(corpus_files(settings))),
        ONTOLOGY_FILE: _hash("ontology file", _named([ontology_file(settings)])),
    }
    for source in settings.profile.corpus.sources:
        paths = source_paths(settings, source)
        label = f"path of the source '{source.name}'"
        versions[files_of(source)] = _hash(label, _files_below(label, paths))
    if sources_of(settings, "documents"):
        versions[DOCUMENT_REVIEWS] = Reviews(settings.workdir.reviews, "").fingerprint()
    return versions


def _named(paths: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    return ((path, path.name) for path in paths)


def _files_below(label: str, paths: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """Yield files, and those in folders, in a fixed order, each with the name it is known by."""
    for path in paths:
        if not path.exists():
            raise InputError(f"the {label} {path} does not exist", "correct it in saber.toml")
        if path.is_dir():
            for below in walk(path):
                if isinstance(below, Path):
                    yield below, below.relative_to(path).as_posix()
        else:
            yield path, path.name


def source_events(
    settings: Settings, instance: dg.DagsterInstance
) -> list[dg.AssetMaterialization]:
    """Return an event for each external asset whose version is not the last one reported."""
    events = []
    for name, version in source_versions(settings).items():
        records = instance.fetch_materializations(dg.AssetKey(name), limit=1).records
        last = records[0].asset_materialization if records else None
        if last is None or (last.tags or {}).get("dagster/data_version") != version:
            events.append(dg.AssetMaterialization(name, tags={"dagster/data_version": version}))
    return events


def check_file(path: Path, label: str) -> None:
    """Refuse what is not a file.

    Args:
        path: what was given.
        label: what it should be, such as "corpus file".

    Raises:
        InputError: when there is nothing there, or a folder, a pipe or a device.
    """
    if path.is_dir():
        raise InputError(f"the {label} {path} is a folder", "name a file in it")
    if not path.exists():
        raise InputError(f"the {label} {path} does not exist", "check the path")
    if not path.is_file():
        raise InputError(
            f"the {label} {path} is a pipe or a device, and files are read more than once",
            "write what comes out of it to a file",
        )


def _hash(label: str, files: Iterable[tuple[Path, str]]) -> str:
    """Return a hash of the names and contents of files."""
    digest = hashlib.blake2b(digest_size=12)
    for path, name in files:
        check_file(path, label)
        digest.update(f"\0{name}\0".encode())
        try:
            digest.update(_content_of(path))
        except OSError as error:
            raise InputError(
                f"the {label} {path} can't be read ({error.strerror})", "check its permissions"
            ) from error
    return digest.hexdigest()


class _FileState(NamedTuple):
    """What differs after a file was written: times are in nanoseconds."""

    size: int
    modified: int
    changed: int
    inode: int

    @classmethod
    def of(cls, path: Path) -> _FileState:
        found = path.stat()
        return cls(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


_HASHES: dict[Path, tuple[_FileState, bytes]] = {}
"""What this process has read: each step of a build asks again whether a source has changed."""


def _content_of(path: Path) -> bytes:
    """Return the hash of a file's content; one that is as it was isn't read again."""
    state = _FileState.of(path)
    known = _HASHES.get(path)
    if known is not None and known[0] == state:
        return known[1]
    now = time.time_ns()
    digest = hashlib.blake2b(digest_size=12)
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    # a file written just now may be written again without another time: clocks of disks are coarse
    if now - max(state.modified, state.changed) > CLOCK_TICK:
        _HASHES[path] = state, digest.digest()
    return digest.digest()
