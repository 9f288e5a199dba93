"""The error for a person's mistake: what is wrong, where, and how to mend it, in one sentence."""

from __future__ import annotations


class InputError(ValueError):
    """Bad input by a person; the command line prints its one sentence and exits with status 2.

    Args:
        what: the fault, naming the file, row or id.
        mend: what to do about it.
    """

    def __init__(self, what: str, mend: str) -> None:
        self.what = what
        self.mend = mend
        super().__init__(f"{what}: {mend}")

    def __reduce__(self) -> tuple[type[InputError], tuple[str, str]]:
        """Let a worker process hand it over whole."""
        return type(self), (self.what, self.mend)


class UnavailableError(InputError):
    """A retriever can't go on at all, whatever the query: its run fails, and no query counts 0."""
