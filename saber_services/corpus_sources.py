"""What a person gives as corpus: problem files, files of other kinds, and folders of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomli_w

from saber_assets.corpus.source_kinds.detect import FoundSource, find_sources, source_of_file
from saber_assets.corpus.source_kinds.source_files import Skipped
from saber_assets.errors import InputError
from saber_assets.sources import check_file


@dataclass
class GivenCorpus:
    """What was given, sorted out.

    Attributes:
        files: problem files, read as they are.
        sources: tables `[[corpus.sources]]` of the settings.
        skipped: what is read by nothing, with the reason.
    """

    files: list[str] = field(default_factory=list)
    sources: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)


def given_corpus(paths: Sequence[Path]) -> GivenCorpus:
    """Sort out what was given as corpus.

    Args:
        paths: files or folders, as given.

    Raises:
        InputError: for a path that isn't there, and a folder in which nothing can be read.
    """
    given = GivenCorpus()
    for path in (path.expanduser().resolve() for path in paths):
        found: list[FoundSource] = []
        if path.is_dir():
            found, skipped = find_sources(path)
            if not found:
                raise _nothing_found(path, skipped)
            given.skipped += [(str(one.path), one.reason) for one in skipped]
        else:
            check_file(path, "corpus file")
            other = source_of_file(path)
            if other is None:
                given.files.append(str(path))
            else:
                found = [other]
        given.sources += [source_table(source) for source in found]
    _number_names(given.sources)
    return given


def source_table(source: FoundSource) -> dict[str, Any]:
    """Return a source as a table of the settings, without what isn't stated."""
    table = {
        "name": source.name,
        "kind": source.kind,
        "paths": [str(path) for path in source.paths],
        "licence": source.licence,
        "language": source.language,
        "for_training": source.for_training,
        "options": dict(source.options) or None,
    }
    return {key: value for key, value in table.items() if value is not None}


def as_toml(sources: Sequence[Mapping[str, Any]]) -> str:
    """Return sources as they stand in a saber.toml."""
    return tomli_w.dumps({"corpus": {"sources": [dict(source) for source in sources]}})


def _nothing_found(folder: Path, skipped: Sequence[Skipped]) -> InputError:
    if not skipped:
        return InputError(f"the folder {folder} is empty", "name one with files of problems")
    first = skipped[0]
    more = f", and {len(skipped) - 1} more" if len(skipped) > 1 else ""
    return InputError(
        f"nothing in the folder {folder} can be read ({first.path.name}: {first.reason}{more})",
        "see `saber corpus kinds` for what can, or say what lies there in a sources.toml",
    )


def _number_names(sources: list[dict[str, Any]]) -> None:
    """Make the names of sources from several folders differ."""
    seen: set[str] = set()
    for source in sources:
        name, number = source["name"], 2
        while source["name"] in seen:
            source["name"] = f"{name}_{number}"
            number += 1
        seen.add(source["name"])
