"""What two copies of one problem must share to the last sign."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from itertools import takewhile

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

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


_TASK_WORDS = frozenset((
    "find", "determine", "compute", "calculate", "evaluate", "show", "prove", "verify", "establish",
    "explain", "describe", "provide", "give", "state", "write", "express", "decide", "solve",
    "work", "use", "using", "apply", "suppose", "assume", "let", "given", "consider", "obtain",
    "problem", "question", "exercise", "exercises", "following", "listed", "answer", "satisfy",
    "satisfying", "satisfies", "value", "values", "possible", "number", "denote", "called",
    "altogether", "total", "exact", "please", "carefully", "respectively", "deduce", "conclude",
    "demonstrate", "justify", "figure", "whether", "holds", "true",
))  # fmt: skip
_NOT_HARMLESS = frozenset((
    "up", "down", "top", "bottom", "front", "back", "side", "full", "empty", "fill", "bill", "fire",
    "mine", "system", "interest", "part", "thick", "thin", "amount", "name", "move", "before",
    "after", "above", "below", "under", "over", "between", "beyond", "either", "neither", "both",
    "his", "her", "first", "last", "less", "few", "many", "much", "several", "nothing", "nobody",
))  # fmt: skip
_HARMLESS = (ENGLISH_STOP_WORDS | _TASK_WORDS) - _NOT_HARMLESS
_LONG_WORD = 8
_ONE_SLIP = 0.9
_MOST_ADDED = 3


def differ_in_wording_only(left: Sequence[str], right: Sequence[str]) -> bool:
    """Tell whether two similar texts differ in words that leave a problem what it is.

    Words of grammar and words that set a task may come, go and replace each other; a few others
    may come or go. Where a word of the subject stands for another, "area" for "perimeter",
    "milk" for "soda", it is another problem, whatever the similarity of the whole; spellings and
    forms of one word ("colour", "graphs") are let through.

    Args:
        left: tokens of a text, as `shingle_tokens` returns them.
        right: of the other.
    """
    counts, others = Counter(left), Counter(right)
    only_left, only_right = _subject(counts - others), _subject(others - counts)
    if not only_left or not only_right:
        return len(only_left) + len(only_right) <= _MOST_ADDED
    fewer, more = sorted((only_left, only_right), key=len)
    return len(more) - len(fewer) <= _MOST_ADDED and all(
        any(_alike(word, other) for other in more) for word in fewer
    )


def _subject(words: Iterable[str]) -> list[str]:
    return [
        word
        for word in words
        if word in _NOT_HARMLESS or (len(word) > 2 and word.isalpha() and word not in _HARMLESS)
    ]


def _alike(word: str, other: str) -> bool:
    """Tell whether two words are forms or spellings of one: same beginning, or one slip."""
    pairs = zip(word, other, strict=False)
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    if common >= max(4, min(len(word), len(other)) - 1):
        return True
    long = min(len(word), len(other)) >= _LONG_WORD and word[0] == other[0]
    return long and SequenceMatcher(None, word, other, autojunk=False).ratio() >= _ONE_SLIP
