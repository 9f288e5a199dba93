"""What two copies of one problem must share to the last sign."""

from __future__ import annotations

from collections.abc import Iterable

from saber_assets.corpus.linear_formulas import SHORT_WORDS

_DECISIVE_WORDS = frozenset(
    (
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
        "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
        "nineteen", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
        "hundred", "thousand", "million", "half", "third", "quarter", "once", "twice", "double",
        "triple", "first", "second", "fourth", "fifth", "sixth", "last", "most", "least", "more",
        "less", "fewer", "greater", "smaller", "larger", "greatest", "smallest", "largest",
        "maximum", "minimum", "maximal", "minimal", "maximize", "minimize", "maximise", "minimise",
        "not", "no", "never", "without", "non", "odd", "even", "positive", "negative", "exactly",
        "increasing", "decreasing", "sum", "difference", "product", "quotient", "inside", "outside",
        "plus", "minus", "times", "converges", "diverges", "prime", "composite", "rational",
        "irrational", "real", "complex", "integer", "integers", "all", "some", "any", "every",
    )
)  # fmt: skip
_ARTICLES = ("a", "i")
_PROSE, _SIGN, _LETTER = 0, 1, 2


class _Kinds(dict[str, int]):
    """Whether a token is prose, decisive by itself, or a letter that stands for something."""

    def __missing__(self, token: str) -> int:
        if len(self) >= _KNOWN_TOKENS:
            self.clear()
        if not token[0].isalpha() or token in _DECISIVE_WORDS:
            kind = _SIGN
        elif (
            len(token) == 1
            or (len(token) == 2 and token not in SHORT_WORDS)
            or token[1:] in ("'s", "’s")
        ):
            kind = _LETTER
        else:
            kind = _PROSE
        self[token] = kind
        return kind


_KNOWN_TOKENS = 1 << 18
_KINDS = _Kinds()


def decisive_tokens(tokens: Iterable[str]) -> tuple[str, ...]:
    """Return what two copies of one problem must share to the last sign, whatever its length.

    That is, in order: every token that is not a word (numbers, signs, brackets, LaTeX
    commands), words that set a number, bound, parity, sign or quantifier ("twelve", "least",
    "odd", "not"), and names of one letter (`x`, and the `B` of "B's"; `a` and `i` only beside a
    sign or another name, since they are words elsewhere). Order counts: `AB` is not `BA`, and
    3 pens with 5 books are not 5 pens with 3 books.

    Args:
        tokens: as `shingle_tokens` returns them.

    Returns:
        The sequence; equal for texts that may be copies of each other.
    """
    found: list[str] = []
    article, beside = "", False
    for token in tokens:
        kind = _KINDS[token]
        if token in _ARTICLES:
            if beside or article:
                found.extend((article, token) if article else (token,))
                article, beside = "", True
            else:
                article = token
            continue
        if kind == _PROSE:
            article, beside = "", False
            continue
        if article:
            # decisive words are words, beside which an article is one
            if not token.isalpha() or kind == _LETTER:
                found.append(article)
            article = ""
        beside = kind == _LETTER or not token[0].isalpha()
        found.append(token[0] if kind == _LETTER and len(token) > 2 else token)
    return tuple(found)
