"""Names of environment variables that hold keys; a key given in their place is never repeated."""

from __future__ import annotations

import re

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
