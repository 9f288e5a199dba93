"""The error for a fault in a person's set-up: configuration, prompts, endpoints, the workdir."""

from __future__ import annotations


class SetupError(ValueError):
    """A fault in the set-up; the command line prints its one sentence and exits with status 2.

    Args:
        what: the fault, naming the file, key or address.
        mend: what to do about it.
    """

    def __init__(self, what: str, mend: str) -> None:
        self.what = what
        self.mend = mend
        super().__init__(f"{what}: {mend}")
