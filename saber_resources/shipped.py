"""Files that ship with the project: prompts and the ontology."""

from __future__ import annotations

from pathlib import Path


def shipped(folder: str) -> Path:
    """Return a folder that ships with the project, in a checkout or in an installed package.

    Args:
        folder: `prompts` or `ontology`.
    """
    package = Path(__file__).parent
    checkout = package.parent / folder
    return checkout if checkout.is_dir() else package / "shipped" / folder
