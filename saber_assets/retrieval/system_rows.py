"""Rows of systems as they stand in a TOML file, before anybody looks at their values."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from saber_assets.errors import InputError
from saber_assets.retrieval.given_paths import given_path


def read_rows(path: Path) -> dict[str, dict[str, Any]]:
    """Return the tables of a TOML file by name.

    Raises:
        InputError: when it can't be read, or holds something else than tables.
    """
    mend = 'write one table a system, such as [my-model] with lines such as family = "bi-encoder"'
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not TOML ({error})", mend) from error
    except RecursionError as error:
        raise InputError(f"{path} can't be read (it is nested too deeply)", mend) from error
    except (OSError, ValueError) as error:  # such as a number of 5,000 digits
        raise InputError(f"{path} can't be read ({error})", mend) from error
    for name, row in content.items():
        if not isinstance(row, dict):
            raise InputError(f"'{name}' in {path} is no table", mend)
    return content


def placed_weights(name: str, weights: str, own: Path) -> str:
    """Return the path of a system's weights, which begins at the folder of the file.

    Args:
        name: of the system.
        weights: as the file has it.
        own: the file.

    Raises:
        InputError: when no folder can have that path.
    """
    try:
        return str(own.parent / given_path(weights))
    except InputError as error:
        raise InputError(
            f"the system '{name}' of {own}, weights: {error.what}", error.mend
        ) from error
