r"""Finds the formulas of a text, and the dollars that are money.

The text is read once, from left to right, as TeX reads it, but for dollars that are followed by
an amount: such a dollar opens a formula only where what comes up to the next dollar looks like
one. In doubt it is one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Literal, NamedTuple

Kind = Literal["inline", "display", "paren", "bracket", "environment", "money", "stray"]
"""What a span is: `$...$`, `$$...$$`, `\\(...\\)`, `\\[...\\]`, an environment such as `align`,
a dollar that is money, or a dollar without partner."""


class Span(NamedTuple):
    """A formula with its delimiters, or a single dollar: `text[start:end]`."""

    kind: Kind
    start: int
    end: int


_ENVIRONMENT = (
    r"(?:align|alignat|flalign|equation|eqnarray|gather|multline|xalignat|displaymath|math)\*?"
)
_TOKEN = re.compile(
    rf"\\begin\{{({_ENVIRONMENT})\}}|\\end\{{({_ENVIRONMENT})\}}"
    r"|\\[\s\S]|\$\$?|\n[ \t]{0,100}\n"
)
_SIZE = re.compile(r"\\(?:left|right|middle|[bB]igg?[lrm]?)$")

_NUMBER = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+"
_AMOUNT = re.compile(rf" ?(?:{_NUMBER})(?:(?:k|K|M|m|B|bn)\b)?(?![\w^\\{{])")
_AMOUNT_BEFORE = re.compile(r"(?:^|(?<=[\s(]))\d[\d.,]*$")
_PURE_AMOUNT = re.compile(rf"\s?(?:{_NUMBER})(?:k|K|M|m|B|bn)?\s?")
_WORDS_IN_FORMULA = re.compile(
    r"\\(?:text\w{0,4}|mbox|mathrm|operatorname|begin|end)\*?\s{0,3}\{[^{}]{0,200}\}|\\[A-Za-z]+"
)
_WORD = re.compile(r"[^\W\d_]{2,}")
_NEW_SENTENCE = re.compile(r"[.?!]\s+[A-Z][a-z]")
_FUNCTIONS = {
    "arccos", "arcsin", "arctan", "arg", "cm", "cos", "cosh", "cot", "csc", "deg", "det",
    "dim", "exp", "ft", "gcd", "hr", "hrs", "inf", "ker", "kg", "km", "lcm", "lg", "lim", "ln",
    "log", "max", "mg", "min", "ml", "mm", "mod", "mph", "sec", "sin", "sinh", "sup", "tan",
    "tanh",
}  # fmt: skip
_SHORT_WORDS = {
    "a", "and", "are", "as", "at", "be", "but", "by", "da", "das", "de", "der", "des", "die",
    "do", "e", "each", "en", "et", "for", "from", "had", "has", "he", "her", "his", "if", "in",
    "is", "it", "its", "la", "le", "les", "o", "oder", "of", "off", "on", "one", "or", "ou",
    "our", "per", "por", "pour", "she", "so", "than", "that", "the", "then", "they", "this",
    "to", "two", "un", "und", "une", "up", "was", "we", "were", "while", "with", "worth", "y",
    "you",
}  # fmt: skip
_OPERATORS = "-+*/=×÷−–—(,|~≈<>:;"


def spans(text: str) -> list[Span]:
    r"""Return the formulas, money dollars and stray dollars of a text, in order.

    Args:
        text: without its verbatim parts.

    Returns:
        Spans that don't overlap. `\$` and `\\[6pt]` are none; `\(`, `\[` without partner aren't
        either, nor such with a dollar inside.
    """
    if "$" not in text and "\\" not in text:
        return []
    return _Reader(text).read()


class _Token(NamedTuple):
    """A delimiter: `sign` is `$`, `$$`, a bracket after a backslash, `begin`, `end` or `blank`."""

    start: int
    end: int
    sign: str
    name: str = ""


def _tokens(text: str) -> list[_Token]:
    found = []
    for mark in _TOKEN.finditer(text):
        start, end = mark.span()
        first = mark[0][0]
        if first == "$":
            found.append(_Token(start, end, mark[0]))
        elif first == "\n":
            found.append(_Token(start, end, "blank"))
        elif mark[1]:
            found.append(_Token(start, end, "begin", mark[1]))
        elif mark[2]:
            found.append(_Token(start, end, "end", mark[2]))
        elif mark[0][1] in "()[]" and not _SIZE.search(text, max(0, start - 8), start):
            found.append(_Token(start, end, mark[0]))
    return found


_CLOSING = {r"\(": r"\)", r"\[": r"\]"}


class _Reader:
    """Reads the delimiters of a text into spans."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.places: dict[str, list[int]] = {}
        for index, token in enumerate(self.tokens):
            if token.sign in ("$$", "end"):
                self.places.setdefault(token.name or token.sign, []).append(index)
        self.found: list[Span] = []

    def read(self) -> list[Span]:
        index = 0
        while index < len(self.tokens):
            sign = self.tokens[index].sign
            if sign == "$":
                index = self._dollar(index)
            elif sign in _CLOSING:
                index = self._bracket(index)
            elif sign in ("begin", "$$"):
                index = self._up_to_next(index)
            else:
                index += 1
        return self.found

    def _up_to_next(self, index: int) -> int:
        """Read an environment, or what stands between two `$$`; return where to go on."""
        start, end, sign, name = self.tokens[index]
        places = self.places.get(name or sign, [])
        place = bisect_right(places, index)
        if place < len(places):
            last = places[place]
            kind: Kind = "display" if sign == "$$" else "environment"
            self.found.append(Span(kind, start, self.tokens[last].end))
            return last + 1
        if sign == "$$":
            self.found.append(Span("stray", start, end))
        return index + 1

    def _bracket(self, index: int) -> int:
        token = self.tokens[index]
        following = index + 1
        while following < len(self.tokens) and self.tokens[following].sign in ("begin", "end"):
            following += 1
        if following == len(self.tokens) or self.tokens[following].sign != _CLOSING[token.sign]:
            return index + 1
        kind: Kind = "paren" if token.sign == r"\(" else "bracket"
        self.found.append(Span(kind, token.start, self.tokens[following].end))
        return following + 1

    def _dollar(self, index: int) -> int:
        start = self.tokens[index].start
        following = index + 1
        while following < len(self.tokens) and self.tokens[following].sign[0] == "\\":
            following += 1
        end = -1
        if following < len(self.tokens) and self.tokens[following].sign[0] == "$":
            end = self.tokens[following].start
        # an amount with a whole formula behind it
        opened = any(self.tokens[k].sign in _CLOSING for k in range(index + 1, following))
        if is_money(self.text, start, -1 if opened else end):
            self.found.append(Span("money", start, start + 1))
            return index + 1
        if end < 0:
            self.found.append(Span("stray", start, start + 1))
            return index + 1
        self.found.append(Span("inline", start, end + 1))
        if self.tokens[following].sign == "$":
            return following + 1
        # `$a$$b$`: the first dollar of two closed a formula, so the second one opens one
        self.tokens[following] = _Token(end + 1, end + 2, "$")
        return following


def is_money(text: str, start: int, end: int) -> bool:
    """Tell whether the dollar at `start` is money, when the next one is at `end` (-1: none).

    It is where an amount follows (`$5`, `$2,108.50`, `$.25`, `$3M`) and the text up to the next
    dollar is not a formula: it has words, or a blank line, or the next dollar begins an amount
    itself. It is also money after a number (`5$ each`), where what follows begins like prose.
    """
    after = text[start + 1 : end] if end >= 0 else ""
    if _AMOUNT.match(text, start + 1):
        if end < 0:
            return not _closed_by_mistake(text, start)
        return _is_prose(after, text[end + 1 : end + 3])
    if _AMOUNT_BEFORE.search(text, max(0, start - 15), start):
        if end < 0:
            return not text[start + 1 : start + 2].isalnum()
        return after[:1].isspace() and bool(_words(after))
    return False


def _closed_by_mistake(text: str, start: int) -> bool:
    r"""Tell whether a formula begins at a dollar, whose closing one is escaped: `$3-4i\$`."""
    end = text.find("\\$", start + 1, start + 80)
    return end >= 0 and not _is_prose(text[start + 1 : end], text[end + 2 : end + 4])


def _is_prose(inner: str, following: str) -> bool:
    """Tell whether what is between two dollars, an amount first, is prose."""
    loose = inner[-1:].isspace()
    cannot_close = following[:1].isdigit() or (following[:1] == "." and following[1:].isdigit())
    if _PURE_AMOUNT.fullmatch(inner):
        return loose and not inner[:1].isspace() and (cannot_close or following[:1].isalpha())
    words = _words(inner)
    if cannot_close:
        return loose or bool(words) or inner[-1:] in _OPERATORS or inner[-1:].isalpha()
    if loose and following[:1] == " " and following[1:].isdigit():  # `$500 - $ 155`
        return True
    if len(words) >= 2 or (words and loose) or _NEW_SENTENCE.search(inner):
        return True
    return loose and (following[:1].isalpha() or following[:1] == "\\")


def _words(inner: str) -> list[str]:
    """Return the words of prose, LaTeX commands and names of functions and units aside."""
    return [
        word
        for word in _WORD.findall(_WORDS_IN_FORMULA.sub(" ", inner))
        if (len(word) > 3 or word.lower() in _SHORT_WORDS) and word.lower() not in _FUNCTIONS
    ]
