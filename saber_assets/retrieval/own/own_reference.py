"""How a person names an own retriever: a class, an entry point, an endpoint, a file of scores."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from saber_assets.errors import InputError
from saber_assets.retrieval.given_paths import given_path

Form = Literal["class", "entry point", "endpoint", "scores"]

ENTRY_POINT = "entry-point:"
"""Begins the reference of an entry point; no module can have that name."""

SCHEMES = ("http://", "https://")
SCORE_FILES = (".trec", ".run", ".txt", ".res", ".json", ".jsonl", ".csv", ".tsv", ".parquet")
EXAMPLES = (
    "write path/to/file.py:ClassName, package.module:ClassName, the name of an entry point, "
    "http://host:port/path, or a file of scores such as run.trec or run.json"
)


def form_of(reference: str) -> Form:
    """Return what a reference names.

    Raises:
        InputError: when it is none of them.
    """
    text = reference.strip()
    if text.lower().startswith(SCHEMES):
        return "endpoint"
    if text.startswith(ENTRY_POINT):
        return "entry point"
    if text.lower().endswith(SCORE_FILES):
        return "scores"
    if ":" in text or text.endswith(".py"):
        return "class"
    if text and all(sign.isalnum() or sign in "._-" for sign in text):
        return "entry point"
    raise InputError(f"the reference '{reference}' names no retriever", EXAMPLES)


def split_reference(reference: str) -> tuple[Path | str, str]:
    """Return the file (absolute) or module name, and the class name, of a class's reference.

    Raises:
        InputError: when one of the two parts is missing, or no file can have that path.
    """
    left, colon, class_name = reference.strip().rpartition(":")
    example = "write path/to/file.py:ClassName or package.module:ClassName"
    if not colon:
        raise InputError(f"the reference '{reference}' has no colon", example)
    if not left or not class_name.isidentifier():
        raise InputError(f"the reference '{reference}' lacks a file or a class name", example)
    if left.endswith(".py") or "/" in left or "\\" in left:
        return given_path(left).absolute(), class_name
    return left, class_name


def entry_point_of(reference: str) -> str:
    """Return the name of the entry point that a reference names."""
    return reference.strip().removeprefix(ENTRY_POINT)


def file_of(reference: str) -> Path:
    """Return the absolute path of a file of scores.

    Raises:
        InputError: when no file can have that path.
    """
    return given_path(reference.strip()).absolute()


def absolute(reference: str) -> str:
    """Return a reference that means the same from any folder.

    Raises:
        InputError: when it is malformed.
    """
    form = form_of(reference)
    if form == "endpoint":
        return reference.strip()
    if form == "entry point":
        return ENTRY_POINT + entry_point_of(reference)
    if form == "scores":
        return str(file_of(reference))
    place, class_name = split_reference(reference)
    return f"{place}:{class_name}"
