"""The texts of the settings: what a retriever sees of a query and of a document."""

from __future__ import annotations

from typing import Literal

from saber_assets.retrieval.tables import SETTINGS

Side = Literal["statement", "full"]

REVISION = 1
"""Raised whenever a text below changes: it is a part of every version in the registry."""

_STATEMENT = "Problem: "
_SOLUTION = "\n\nSolution: "

_SIDES: dict[str, tuple[Side, Side]] = {
    "statement-full": ("statement", "full"),
    "full-full": ("full", "full"),
    "statement-statement": ("statement", "statement"),
}


def full_text(problem: str, solution: str) -> str:
    """Return the one text that stands for a problem with its solution.

    Without a solution, as in imported collections of plain texts, it is the statement itself.
    """
    return f"{_STATEMENT}{problem}{_SOLUTION}{solution}" if solution else problem


def split_full_text(text: str) -> tuple[str, str]:
    """Return statement and solution of a full text; of any other one, itself and nothing.

    `full_text` of them is the same text again.
    """
    statement, mark, solution = text.removeprefix(_STATEMENT).partition(_SOLUTION)
    if not (text.startswith(_STATEMENT) and mark and statement and solution):
        return text, ""
    return statement, solution


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
