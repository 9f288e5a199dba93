"""Errors that say what is wrong and how to mend it: a faulty set-up, and a check that failed."""

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


class CheckError(Exception):
    """What was made breaks a promise; the command line says so and exits with status 1.

    Args:
        what: the check, its asset and what it found.
        mend: what to do about it.
    """

    def __init__(self, what: str, mend: str) -> None:
        self.what = what
        self.mend = mend
        super().__init__(f"{what}: {mend}")
