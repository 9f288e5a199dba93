"""Paths as a person writes them in a list or a card."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from saber_assets.errors import InputError, shown


def given_path(text: str) -> Path:
    """Return a path with its `~` replaced; it needn't exist.

    Raises:
        InputError: when no file can have that path: it names the home of an unknown user, holds a
            NUL or half a character, or is too long.
    """
    try:
        path = Path(text).expanduser()
        os.stat(path)  # noqa: PTH116 (Path.exists hides a path that can't be)
    except (RuntimeError, ValueError) as error:
        raise _impossible(text, str(error).rstrip(".")) from error
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise _impossible(text, "it is too long") from error
    return path


def _impossible(text: str, reason: str) -> InputError:
    return InputError(
        f"the path '{shown(text)}' can't be used ({reason})", "write it as it is on disk"
    )
