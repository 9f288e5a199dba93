"""Collections of problems and solutions in LaTeX: folders, files, and archives read in place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from saber_assets.corpus.source_kinds import options as opt
from saber_assets.corpus.source_kinds.latex_collection import Collection
from saber_assets.corpus.source_kinds.latex_comments import is_escaped, strip_comments
from saber_assets.corpus.source_kinds.latex_declarations import declarations
from saber_assets.corpus.source_kinds.latex_documents import Diagnostic
from saber_assets.corpus.source_kinds.latex_files import (
    LATEX_SUFFIXES,
    archive_beginnings,
    decode,
    is_archive,
    trees,
)
from saber_assets.corpus.source_kinds.latex_roles import CHOOSABLE, Roles
from saber_assets.corpus.source_kinds.protocol import Shape, SourceRecord
from saber_assets.corpus.source_kinds.source_files import walk
from saber_assets.errors import InputError

BEGINNING = 65536
"""Bytes of a file that tell what it is."""

_FILES_LOOKED_AT = 100
_ENVIRONMENT = re.compile(r"\\begin[ \t]{0,9}\{([^{}\\\n]{1,80})\}|\\(question)(?![A-Za-z@])")
_INCLUDED = re.compile(rb"\\(?:input|include|subfile)[ \t]{0,9}\{([A-Za-z0-9_./ \-]{1,200})\}")


class LatexKind:
    r"""Problems and solutions in LaTeX environments.

    Known are the usual names in several languages, environments that the source declares with a
    title such as "Exercise" or "Solution", and those of the packages exam, exercise, exsheets,
    xsim, answers, probsoln and amsbook. `\input` and the like are followed inside the folder or
    archive, never out of it. Comments are removed; the texts are untouched otherwise.

    Option:
        environments: table of role -> names, such as `{problem = ["theorem"], solution =
            ["proof"]}`, with roles problem, solution, answer, hint. The names are instead of the
            usual ones of that role, and stand also for environments declared with such a title.
    """

    name = "latex"
    shape: Shape = "records"
    description = "problems and solutions in LaTeX: files, folders and .tar.gz archives"
    licence: str | None = None
    for_training = True

    def recognises(self, path: Path) -> bool:
        """Tell whether a file, the files it includes, a folder or an archive hold problems."""
        try:
            several = is_archive(Path(path)) or Path(path).is_dir()
            return any(holds_problems(d, declared=several) for d in _beginnings(Path(path)))
        except (OSError, InputError, ValueError):
            return False

    def count(self, paths: tuple[Path, ...], options: Mapping[str, Any]) -> int | None:
        """Return None: only reading tells."""
        return None

    def read(self, paths: tuple[Path, ...], options: Mapping[str, Any]) -> Iterator[SourceRecord]:
        """Yield the problems of each path, in the order of its documents.

        A solution whose problem isn't found comes with an empty statement; a file that is
        missing or can't be read comes as an empty record with the fault `unreadable`.

        Raises:
            InputError: for a path or option that is wrong, and a broken archive.
        """
        chosen = _environments(options)
        ids: dict[str, int] = {}
        for tree in trees([Path(path) for path in paths]):
            yield from Collection(tree, chosen, ids).records()

    def diagnose(self, paths: tuple[Path, ...], options: Mapping[str, Any]) -> Iterator[Diagnostic]:
        """Yield all that couldn't be read as it stands: for a person who mends the source.

        Raises:
            InputError: as `read`.
        """
        chosen = _environments(options)
        for tree in trees([Path(path) for path in paths]):
            collection = Collection(tree, chosen, {})
            for _ in collection.records():
                yield from collection.take_diagnostics()
            yield from collection.take_diagnostics()


def holds_problems(beginning: bytes, *, declared: bool = False) -> bool:
    """Tell whether the beginning of a LaTeX file has environments of problems or solutions.

    Args:
        beginning: the file's first bytes.
        declared: whether it is enough that it declares one for problems, which other files of
            the collection use (exercises often stand at the end of long chapters).
    """
    try:
        text = decode(beginning)[0]
    except ValueError:
        return False
    clean = strip_comments(text)
    found = declarations(clean.text, clean.verbatim)
    roles = Roles(found.environments, {})
    spans = [*clean.verbatim, *found.spans]
    names: dict[str, int] = {}
    for match in _ENVIRONMENT.finditer(clean.text):
        name = (match[1] or "question").strip()
        if name not in names and not is_escaped(clean.text, match.start()):
            inside = any(start <= match.start() < end for start, end in spans[:2000])
            if not inside:
                names[name] = match.start()
    opened = [*names, *(env for edge, env in found.shorthands.values() if edge == "begin")]
    if declared and any(roles.of(name) == "problem" for name in found.environments):
        return True
    telling = ("problem", "solution", "questions", "problem_list", "solution_list")
    return any(roles.of(name) in telling for name in opened)


def _environments(options: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    opt.check_known("latex", options, ("environments",))
    chosen = options.get("environments", {})
    if not isinstance(chosen, Mapping) or not set(chosen) <= set(CHOOSABLE):
        raise InputError(
            f"environments = {chosen!r} is no table of {', '.join(CHOOSABLE)}",
            'write environments = {problem = ["exercise"], solution = ["solution"]}',
        )
    for role, names in chosen.items():
        if isinstance(names, str) or not all(
            isinstance(name, str) and name.strip() for name in names
        ):
            raise InputError(
                f"environments.{role} = {names!r} is no list of names",
                f'write {role} = ["..."] with the names of environments',
            )
    return {role: tuple(names) for role, names in chosen.items()}


def is_latex(path: Path) -> bool:
    """Tell from its name whether a file is LaTeX, or an archive that may hold some."""
    return path.suffix.lower() in LATEX_SUFFIXES or is_archive(path)


def _beginnings(path: Path) -> Iterator[bytes]:
    """Yield the first bytes of the LaTeX files that a path stands for, not of too many."""
    if path.is_dir():
        files = (p for p in walk(path) if isinstance(p, Path) and not p.is_dir())
        for file in islice((p for p in files if is_latex(p)), _FILES_LOOKED_AT):
            yield from [_beginning(file)] if not is_archive(file) else _beginnings(file)
    elif is_archive(path):
        yield from archive_beginnings(path, BEGINNING, _FILES_LOOKED_AT)
    elif path.suffix.lower() in LATEX_SUFFIXES:
        first = _beginning(path)
        yield first
        top = path.parent.resolve()
        for match in islice(_INCLUDED.finditer(first), _FILES_LOOKED_AT):
            name = match[1].decode().strip()
            for suffix in ("", *LATEX_SUFFIXES):
                included = (path.parent / (name + suffix)).resolve()
                if included.is_relative_to(top) and included.is_file():
                    yield _beginning(included)
                    break


def _beginning(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(BEGINNING)


KIND = LatexKind()
