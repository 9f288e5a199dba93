"""A person's own retrievers: a class in a file or in an importable module.

A reference reads "path/to/file.py:ClassName" or "package.module:ClassName". Loading it runs the
file. Every mistake becomes an `InputError` with one sentence; tracebacks stay out of sight.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from saber_assets.errors import InputError
from saber_assets.retrieval.builtin import BUILTIN
from saber_assets.retrieval.entry import FAMILIES, NAME, NAME_RULE, Entry, version_of
from saber_assets.retrieval.own.own_reference import split_reference
from saber_assets.retrieval.protocol import Retriever
from saber_assets.retrieval.reasons import reason_of
from saber_assets.retrieval.systems import shipped_systems


@dataclass(frozen=True)
class Loaded:
    """A module with the files that decide what it does."""

    module: ModuleType
    files: tuple[Path, ...]
    digest: str


_loaded: dict[Path, Loaded] = {}
"""Files that were run, so that a file which hasn't changed is run once a process."""

_siblings: set[str] = set()
"""Modules that own files imported from their folders: another folder may have the same names."""


def load_own(reference: str, name: str | None = None) -> Entry:
    """Load a person's retriever class and describe it as an entry.

    Args:
        reference: "path/to/file.py:ClassName" or "package.module:ClassName"; relative paths and
            modules are looked up from the current folder.
        name: its name in the registry; by default the class attribute `name`, else the class
            name in lower case.

    Returns:
        An entry whose version is the class attribute `version`, or else a hash of the file and
        of the files beside it that it imports.

    Raises:
        InputError: when the reference is malformed, the file or module can't be found or run, the
            class isn't there, takes arguments or has no `score`, or the name is bad or taken.
    """
    place, class_name = split_reference(reference)
    loaded = load_file(place) if isinstance(place, Path) else _load_module(place)
    found = _class_of(loaded.module, class_name, reference)
    return class_entry(found, reference, {"file": loaded.digest}, name)


def class_entry(
    found: type[Any], reference: str, decides: Mapping[str, str], name: str | None = None
) -> Entry:
    """Describe a class as an entry; see `load_own`.

    Args:
        found: the class.
        reference: where it came from, for sentences.
        decides: what its version is a hash of when it states none.
        name: by default the class attribute `name`, else the class name in lower case.

    Raises:
        InputError: when it takes arguments or has no `score`, or the name is bad or taken.
    """
    _check_class(found, reference)
    if name is None:
        name = name_of(found)
    check_name(name)
    stated = getattr(found, "version", None)
    version = version_of({"version": str(stated)} if stated is not None else decides)
    family = getattr(found, "family", None)
    return Entry(
        name=name,
        family=family if family in FAMILIES and family != "sanity" else "own",
        type_code=_text_attribute(found, "type_code"),
        description=_text_attribute(found, "description") or f"Own retriever {reference}.",
        version=version,
        factory=lambda: _instance(found, reference),
        own=True,
    )


def check_name(name: str) -> None:
    """Check the name of an own retriever.

    Raises:
        InputError: when it breaks the rule of names, or a built-in retriever has it.
    """
    if not NAME.fullmatch(name):
        raise InputError(f"'{name}' can't be the name of a retriever", f"use {NAME_RULE}")
    if name in BUILTIN:
        raise InputError(f"'{name}' is the name of a built-in retriever", "choose another name")
    if name in shipped_systems():
        raise InputError(f"'{name}' is the name of a system of the field", "choose another name")


def name_of(found: type[Any]) -> str:
    """Return the name that a class gives its retriever."""
    stated = getattr(found, "name", None)
    return stated if isinstance(stated, str) else found.__name__.lower()


def load_file(path: Path) -> Loaded:
    """Run a Python file, or return what it gave when it hasn't changed since.

    Raises:
        InputError: when it isn't there or can't be run.
    """
    if not path.is_file():
        raise InputError(f"the file {path} doesn't exist", "check the path before the colon")
    known = _loaded.get(path)
    if known is not None and _is_unchanged(known):
        return known
    digest = _digest((path,))
    address = hashlib.blake2b(str(path).encode(), digest_size=4).hexdigest()
    module_name = f"saber_own_{address}_{digest}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{path} is not a Python file", "give a file that ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # dataclasses and pickle look the module up there
    try:
        with _importable(path.parent) as brought:
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        sys.modules.pop(module_name, None)
        raise _import_fault(error, path) from error
    files = (path, *brought)
    _loaded[path] = Loaded(module, files, _digest(files))
    return _loaded[path]


def _load_module(name: str) -> Loaded:
    try:
        with _importable(Path.cwd()) as brought:
            module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise InputError(
                f"there is no module '{name}'",
                "install its package in this environment, or give the path of its file",
            ) from error
        raise _import_fault(error, None, name) from error
    except (Exception, SystemExit) as error:
        raise _import_fault(error, None, name) from error
    files = tuple(dict.fromkeys([*([Path(module.__file__)] if module.__file__ else []), *brought]))
    return Loaded(module, files, _digest(files))


def _is_unchanged(known: Loaded) -> bool:
    return all(file.is_file() for file in known.files) and _digest(known.files) == known.digest


@contextmanager
def _importable(folder: Path) -> Iterator[list[Path]]:
    """Let modules beside an own file be imported meanwhile; yield a list that gets their files.

    Modules that other own files brought along are set aside meanwhile: a `helpers.py` in one
    folder must not stand in for that in another.
    """
    aside = {name: sys.modules.pop(name) for name in list(_siblings) if name in sys.modules}
    before = set(sys.modules)
    entry, writes_no_bytecode = str(folder), sys.dont_write_bytecode
    sys.path.insert(0, entry)
    sys.dont_write_bytecode = True  # it would litter the folder, and outlive an edit in its second
    importlib.invalidate_caches()
    brought: list[Path] = []
    try:
        with redirect_stdout(sys.stderr):  # a command's own output must stay readable
            yield brought
    finally:
        sys.dont_write_bytecode = writes_no_bytecode
        if entry in sys.path:
            sys.path.remove(entry)
        for name in set(sys.modules) - before:
            file = _file_beside(sys.modules[name], name.partition(".")[0], folder, before)
            if file is not None:
                _siblings.add(name)
                brought.append(file)
        brought.sort()
        for name, module in aside.items():
            sys.modules.setdefault(name, module)


def _file_beside(module: ModuleType, package: str, folder: Path, before: set[str]) -> Path | None:
    """Return the file of a module that lies directly in the folder, or in a package that does.

    What is installed below it doesn't count, such as the packages of a virtual environment; nor
    do more modules of a package that was there before, such as this one.
    """
    file = Path(getattr(module, "__file__", None) or "")
    if package in before or file.suffix != ".py" or not file.is_relative_to(folder):
        return None
    return file if file.relative_to(folder).parts[0] in (package, f"{package}.py") else None


def _digest(files: tuple[Path, ...]) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for file in files:
        try:
            content = file.read_bytes()
        except OSError as error:
            raise InputError(
                f"{file} can't be read ({error.strerror})", "check the path and its permissions"
            ) from error
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)
    return digest.hexdigest()


def _import_fault(error: BaseException, path: Path | None, name: str = "") -> InputError:
    """Return the error for a file that fails when it is run, with the line of that file."""
    line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None
    for frame in traceback.extract_tb(error.__traceback__):
        if path is not None and Path(frame.filename) == path:
            line = frame.lineno
    where = str(path) if path is not None else f"the module '{name}'"
    at = f" at line {line}" if line else ""
    mend = "mend it there"
    if isinstance(error, ModuleNotFoundError):
        mend = f"install what it imports ('{error.name}') in this environment"
    return InputError(f"{where} can't be imported{at}, {reason_of(error)}", mend)


def _class_of(module: ModuleType, class_name: str, reference: str) -> type[Any]:
    found = getattr(module, class_name, None)
    if isinstance(found, type):
        return found
    own = [
        name
        for name, value in vars(module).items()
        if isinstance(value, type) and value.__module__ == module.__name__
    ]
    there = f"the classes there are {', '.join(sorted(own))}" if own else "there is no class at all"
    what = "isn't a class" if found is not None else "doesn't exist"
    raise InputError(
        f"'{class_name}' in {reference.rpartition(':')[0]} {what} ({there})",
        "check the class name after the colon",
    )


def _check_class(found: type[Any], reference: str) -> None:
    if not callable(getattr(found, "score", None)):
        raise InputError(
            f"the class of {reference} has no method `score`",
            "write `def score(self, query, documents)` that returns one number a document",
        )
    if inspect.isabstract(found):
        raise InputError(f"the class of {reference} is abstract", "name a class that can be made")
    try:
        inspect.signature(found).bind()
    except TypeError as error:
        raise InputError(
            f"the class of {reference} can't be made without arguments ({error})",
            "give each argument of its __init__ a default",
        ) from error
    except ValueError:
        return  # a class without a readable signature: making it will tell


def _instance(found: type[Any], reference: str) -> Retriever:
    try:
        with redirect_stdout(sys.stderr):
            made: Retriever = found()
    except (Exception, SystemExit) as error:
        raise InputError(
            f"making the class of {reference} failed, {reason_of(error)}", "mend its __init__"
        ) from error
    return made


def _text_attribute(found: type[Any], name: str) -> str:
    value = getattr(found, name, None)
    return value if isinstance(value, str) else ""
