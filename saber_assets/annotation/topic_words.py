r"""Words of a text as the lexical annotator compares them with the names of topics.

On top of the shared tokenizer: plurals and British spellings are levelled, and notation that
names a notion is read as its word, so that `\int_0^1` counts as "integral" and `n!` as "factorial".
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from saber_assets.corpus.tokens import mathematics_tokens

_IRREGULAR = {
    "vertices": "vertex", "matrices": "matrix", "indices": "index", "axes": "axis",
    "radii": "radius", "loci": "locus", "foci": "focus", "maxima": "maximum",
    "minima": "minimum", "extrema": "extremum", "polyhedra": "polyhedron",
    "lemmas": "lemma", "formulae": "formula", "bases": "basis", "bisectrices": "bisector",
    "divides": "divide", "primes": "prime", "dice": "die", "halves": "half", "series": "series",
}  # fmt: skip

_NOTATION: dict[str, tuple[str, ...]] = {
    r"\int": ("integral",), r"\iint": ("double", "integral"), r"\oint": ("contour", "integral"),
    r"\lim": ("limit",), r"\partial": ("partial", "derivative"), r"\nabla": ("gradient",),
    r"\sum": ("summation",), r"\prod": ("product",), r"\binom": ("binomial", "coefficient"),
    r"\choose": ("binomial", "coefficient"), r"\mod": ("modulo",), r"\equiv": ("congruence",),
    r"\gcd": ("gcd",), r"\lcm": ("lcm",), r"\nmid": ("divide",),
    r"\sin": ("sine",), r"\cos": ("cosine",), r"\tan": ("tangent", "function"),
    r"\cot": ("cotangent",), r"\sec": ("secant", "function"), r"\csc": ("cosecant",),
    r"\arcsin": ("inverse", "trigonometric"), r"\arccos": ("inverse", "trigonometric"),
    r"\arctan": ("inverse", "trigonometric"), r"\log": ("logarithm",), r"\ln": ("logarithm",),
    r"\exp": ("exponential",), r"\sqrt": ("square", "root"), r"\triangle": ("triangle",),
    r"\angle": ("angle",), r"\measuredangle": ("angle",), r"\perp": ("perpendicular",),
    r"\parallel": ("parallel",), r"\odot": ("circle",), r"\cong": ("congruent",),
    r"\vec": ("vector",), r"\overrightarrow": ("vector",), r"\det": ("determinant",),
    r"\cup": ("union",), r"\cap": ("intersection",), r"\setminus": ("set", "difference"),
    r"\subset": ("subset",), r"\subseteq": ("subset",), r"\wedge": ("conjunction",),
    r"\vee": ("disjunction",), r"\neg": ("negation",), r"\forall": ("quantifier",),
    r"\exists": ("quantifier",), r"\lfloor": ("floor", "function"),
    r"\lceil": ("ceiling", "function"), r"\infty": ("infinity",),
}  # fmt: skip
"""LaTeX commands that name a notion; in texts and in aliases alike."""

_BARE_FUNCTIONS = {
    "sin": ("sine",), "cos": ("cosine",), "tan": ("tangent", "function"), "cot": ("cotangent",),
    "ln": ("logarithm",), "log": ("logarithm",), "mod": ("modulo",), "lim": ("limit",),
    "sqrt": ("square", "root"),
}  # fmt: skip
_ENVIRONMENTS = {
    "cases": (r"\cases",), "pmatrix": ("matrix",), "bmatrix": ("matrix",),
    "vmatrix": ("determinant",),
}  # fmt: skip
"""Environments that mean something; the names of all others are layout."""
_DIFFERENTIATED = frozenset(["f", "g", "y"])
_S_KEPT = ("ss", "us", "is", "ous")
_ES_STRIPPED = ("xes", "ches", "shes", "sses", "zes")


@lru_cache(maxsize=200_000)
def topic_word(token: str) -> tuple[str, ...]:
    """Return what one token of `mathematics_tokens` counts as: usually one word.

    Args:
        token: a word, sign, number or LaTeX command, lower case apart from commands.
    """
    if token[0] == "\\":
        return _NOTATION.get(token, (token,))
    if not token[0].isalpha():
        return (token,)
    word = token.removesuffix("'s")
    if not word.isascii():
        word = _without_accents(word)
    if word in _BARE_FUNCTIONS:
        return _BARE_FUNCTIONS[word]
    return (_american(_singular(word)),)


def _without_accents(word: str) -> str:
    parts = unicodedata.normalize("NFKD", word)
    return "".join(part for part in parts if not unicodedata.combining(part))


def _singular(word: str) -> str:
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) < 4 or not word.endswith("s") or word.endswith(_S_KEPT):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-2] if word.endswith(_ES_STRIPPED) else word[:-1]


def _american(word: str) -> str:
    if len(word) > 6:
        for ending in ("isation", "ising", "ised", "ise"):
            if word.endswith(ending):
                return word.removesuffix(ending) + "iz" + ending[2:]
    return word


def _takes_factorial(before: str) -> bool:
    return before.isdigit() or (len(before) == 1 and before.isalpha())


def topic_words(text: str) -> list[str]:
    r"""Return the words of a text in order, with notation read as words.

    Args:
        text: a statement, a solution, or the name of a topic.

    Returns:
        Lower-case singular words, numbers, signs and those LaTeX commands that name no notion.
    """
    words: list[str] = []
    before = ""
    for token in mathematics_tokens(text):
        if before in (r"\begin", r"\end"):
            words.extend(_ENVIRONMENTS.get(token, ()) if before == r"\begin" else ())
        elif token in (r"\begin", r"\end"):
            pass
        elif token == "!" and _takes_factorial(before):  # noqa: S105
            words.append("factorial")
        elif token == "'" and before in _DIFFERENTIATED:  # noqa: S105
            words.append("derivative")
        else:
            words.extend(topic_word(token))
        before = token
    return words
