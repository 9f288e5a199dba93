"""The error for a person's mistake: what is wrong, where, and how to mend it, in one sentence."""

from __future__ import annotations

SHOWN = 100
"""Characters of a person's own words, such as an id, that a sentence repeats at most."""


def printable(text: str) -> str:
    """Return a text with blanks for the signs that steer a terminal or can't be written."""
    return text if text.isprintable() else "".join(s if s.isprintable() else " " for s in text)


def shown(text: str) -> str:
    """Return what a sentence repeats of a text: printable, cut to `SHOWN` characters."""
    return printable(text if len(text) <= SHOWN else text[: SHOWN - 1] + "…")


class InputError(ValueError):
    """Bad input by a person; the command line prints its one sentence and exits with status 2.

    Signs in it that steer a terminal become blanks: file names and ids may hold them.

    Args:
        what: the fault, naming the file, row or id.
        mend: what to do about it.
    """

    def __init__(self, what: str, mend: str) -> None:
        self.what = printable(what)
        self.mend = printable(mend)
        super().__init__(f"{self.what}: {self.mend}")

    def __reduce__(self) -> tuple[type[InputError], tuple[str, str]]:
        """Let a worker process hand it over whole."""
        return type(self), (self.what, self.mend)


class TextError(Exception):
    """A retriever can't score one text, and no other is the worse for it: that query counts 0."""


class UnavailableError(InputError):
    """A retriever can't go on at all, whatever the query: its run fails, and no query counts 0."""
