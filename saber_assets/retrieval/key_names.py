"""Environment variables that hold keys: their names, and the keys, which are never repeated."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from saber_assets.errors import InputError

KEY_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""To be matched in full."""


def key_name_fault(variable: str) -> str:
    """Return what is wrong with the name of a key's variable, without repeating it; "" for none."""
    if KEY_NAME.fullmatch(variable):
        return ""
    return (
        "the key's variable isn't the name of one (letters, digits and '_', no digit first); the "
        "key itself belongs into the environment only"
    )


def check_key_name(variable: str) -> None:
    """Refuse what can't name an environment variable, such as a key itself.

    Raises:
        InputError: which doesn't repeat it.
    """
    fault = key_name_fault(variable)
    if fault:
        raise InputError(
            fault, "put the key into a variable such as MY_API_KEY, and give that name"
        )


def usable_key(variable: str, variables: Mapping[str, str] = os.environ) -> str:
    """Return the key that a variable holds, without blanks around it; "" where there is none.

    Args:
        variable: its name; "" for no key.
        variables: the environment.

    Raises:
        InputError: for a key that no header can hold: it would be repeated where it fails.
    """
    key = variables.get(variable, "").strip() if variable else ""
    if all("!" <= sign <= "~" for sign in key):
        return key
    raise InputError(
        f"the variable {variable} holds a line break or a sign that no key has",
        "set it to the key alone",
    )
