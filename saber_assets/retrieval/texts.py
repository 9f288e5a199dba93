"""The texts of the settings: what a retriever sees of a query and of a document."""

from __future__ import annotations

from typing import Literal

from saber_assets.retrieval.tables import SETTINGS

Side = Literal["statement", "full"]

REVISION = 1
"""Raised whenever a text below changes: it is a part of every version in the registry."""

_SIDES: dict[str, tuple[Side, Side]] = {
    "statement-full": ("statement", "full"),
    "full-full": ("full", "full"),
    "statement-statement": ("statement", "statement"),
}


def full_text(problem: str, solution: str) -> str:
    """Return the one text that stands for a problem with its solution."""
    return f"Problem: {problem}\n\nSolution: {solution}"


def sides(setting: str) -> tuple[Side, Side]:
    """Return what the query shows and what the documents show in a setting (SPEC, section 1).

    Raises:
        ValueError: for a setting that doesn't exist.
    """
    if setting not in _SIDES:
        raise ValueError(f"unknown setting {setting!r}, expected one of {', '.join(SETTINGS)}")
    return _SIDES[setting]


def query_text(problem: str, solution: str, setting: str) -> str:
    """Return the text of a query.

    Args:
        problem: the statement.
        solution: the solution; unused where the setting shows the statement only.
        setting: one of `SETTINGS`.

    Raises:
        ValueError: for a setting that doesn't exist.
    """
    return _text(problem, solution, sides(setting)[0])


def document_text(problem: str, solution: str, setting: str) -> str:
    """Return the text of a document; arguments and errors as for `query_text`."""
    return _text(problem, solution, sides(setting)[1])


def _text(problem: str, solution: str, side: Side) -> str:
    return problem if side == "statement" else full_text(problem, solution)
