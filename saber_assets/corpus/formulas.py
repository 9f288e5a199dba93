r"""The formulas of a text, wherever they are delimited.

A dollar sign is one of mathematics or of money. A pair of them encloses a formula where, as in
Pandoc, nothing blank follows the first or precedes the second and no digit follows the second; or
where both are padded with blanks and no plain word lies between. So "$5 and $7" holds no formula.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

REVISION = 1
"""Raised whenever a text may have other formulas than before."""

_ENVIRONMENTS = "equation|align|alignat|gather|multline|eqnarray|displaymath|math|flalign"
_FORMULA = re.compile(
    r"(?<!\\)\$\$(?P<display>.+?)(?<!\\)\$\$"
    r"|(?<!\\)\\\[(?P<bracket>.+?)(?<!\\)\\\]"
    r"|(?<!\\)\\\((?P<paren>.+?)(?<!\\)\\\)"
    rf"|\\begin\{{(?P<name>(?:{_ENVIRONMENTS})\*?)\}}(?P<environment>.+?)\\end\{{(?P=name)\}}"
    r"|(?<![\\$])\$(?P<tight>(?:\\.|[^\s\\$])(?:(?:\\.|[^$\\])*?(?:\\.|[^\s\\$]))?)\$(?![\d$])"
    r"|(?<![\\$])\$(?P<padded>\s(?:\\.|[^$\\])+?\s)\$(?!\$)",
    re.DOTALL,
)
_COMMAND = re.compile(r"\\[A-Za-z]+")
_WORD = re.compile(r"[A-Za-z]{3,}")
_FUNCTIONS = frozenset([
    "cos", "cot", "csc", "deg", "det", "exp", "gcd", "lcm", "lim", "log", "max", "min", "mod",
    "sec", "sin", "tan",
])  # fmt: skip
"""Names that stand in formulas and are no words."""


class Formula(NamedTuple):
    """A formula of a text: text[start:stop], with its delimiters, and what is between them."""

    start: int
    stop: int
    body: str
    kind: str

    @property
    def is_environment(self) -> bool:
        """Whether an environment such as `align` encloses it."""
        return self.kind == "environment"

    @property
    def is_display(self) -> bool:
        """Whether it stands on a line of its own."""
        return self.kind in ("display", "bracket", "environment")


def formulas(text: str) -> Iterator[Formula]:
    """Yield the formulas of a text in their order."""
    place = 0
    while found := _FORMULA.search(text, place):
        kind = str(found.lastgroup)
        if kind == "padded" and _has_words(found["padded"]):
            place = found.start() + 1
            continue
        yield Formula(found.start(), found.end(), found[kind], kind)
        place = found.end()


def _has_words(formula: str) -> bool:
    plain = set(_WORD.findall(_COMMAND.sub(" ", formula)))
    return bool(plain - _FUNCTIONS)
