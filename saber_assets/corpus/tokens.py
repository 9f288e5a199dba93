r"""The one tokenizer module: how every stage cuts texts into tokens.

Four tokenizers, each with one job:

* `summary_tokens`: the summary similarity (SPEC, "Summary similarity").
* `whitespace_tokens`: the plain lexical baseline.
* `mathematics_tokens`: lexical retrieval that understands LaTeX, kind to variants of notation.
* `shingle_tokens`: duplicate detection, strict: each digit, sign and operator counts; only
  typography (dollar signs or `\(`, `\dfrac` or `\frac`, thin spaces) is levelled.

All of them are pure functions of the text: no state, no locale, no hash order.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from itertools import pairwise

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from saber_assets.corpus.linear_formulas import level_tokens, spelling
from saber_assets.corpus.notation import level_text

MATHEMATICS_STOP_WORDS = frozenset([
    "assumption", "claim", "conjecture", "corollary", "definition", "denote",
    "equation", "example", "exercise", "lemma", "let", "notation", "proof",
    "proposition", "prove", "remark", "solution", "suppose", "term", "theorem",
])  # fmt: skip
"""Words that carry no idea in a summary of a mathematical solution, on top of English ones."""

SUMMARY_STOP_WORDS = frozenset(ENGLISH_STOP_WORDS) | MATHEMATICS_STOP_WORDS

_SUMMARY_TOKEN = re.compile(r"[a-z0-9^_]+")


def summary_token_list(text: str) -> list[str]:
    """Return the tokens of a summary in order of appearance, with repeats.

    Args:
        text: the core idea of a solution.

    Returns:
        Maximal runs of ASCII letters, digits, `^` and `_` of the lower-cased text, without the
        English stop words of scikit-learn and without `MATHEMATICS_STOP_WORDS`.
    """
    return [t for t in _SUMMARY_TOKEN.findall(text.lower()) if t not in SUMMARY_STOP_WORDS]


def summary_tokens(text: str) -> frozenset[str]:
    """Return the set T(S) of the summary similarity (SPEC, "Summary similarity").

    Args:
        text: the core idea of a solution.

    Returns:
        The distinct tokens of `summary_token_list`; empty for a text without any.
    """
    return frozenset(summary_token_list(text))


def whitespace_tokens(text: str) -> list[str]:
    """Return the lower-cased text split at whitespace: the usual baseline of BM25."""
    return text.lower().split()


# --- Mathematics ------------------------------------------------------------------------------

_GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "varepsilon", "ζ": "zeta",
    "η": "eta", "θ": "theta", "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu",
    "ξ": "xi", "π": "pi", "ρ": "rho", "σ": "sigma", "τ": "tau", "υ": "upsilon", "φ": "varphi",
    "ϕ": "phi", "χ": "chi", "ψ": "psi", "ω": "omega", "Γ": "Gamma", "Δ": "Delta", "Θ": "Theta",
    "Λ": "Lambda", "Ξ": "Xi", "Π": "Pi", "Σ": "Sigma", "Φ": "Phi", "Ψ": "Psi", "Ω": "Omega",
}  # fmt: skip

_SYMBOLS = {
    "≤": r"\le", "⩽": r"\le", "≦": r"\le", "≥": r"\ge", "⩾": r"\ge", "≧": r"\ge", "≠": r"\ne",
    "×": r"\times", "·": r"\cdot", "⋅": r"\cdot", "∙": r"\cdot", "•": r"\cdot", "÷": r"\div",
    "±": r"\pm", "∓": r"\mp", "≡": r"\equiv", "≈": r"\approx", "≅": r"\cong", "∼": r"\sim",
    "∞": r"\infty", "√": r"\sqrt", "∑": r"\sum", "∏": r"\prod", "∫": r"\int", "∂": r"\partial",
    "∇": r"\nabla", "∈": r"\in", "∉": r"\notin", "⊂": r"\subset", "⊆": r"\subseteq",
    "⊃": r"\supset", "⊇": r"\supseteq", "∪": r"\cup", "∩": r"\cap", "∅": r"\emptyset",
    "∖": r"\setminus", "∀": r"\forall", "∃": r"\exists", "¬": r"\neg", "∧": r"\wedge",
    "∨": r"\vee", "⊕": r"\oplus", "⊗": r"\otimes", "→": r"\to", "⟶": r"\to", "↦": r"\mapsto",
    "←": r"\leftarrow", "↔": r"\leftrightarrow", "⇒": r"\Rightarrow", "⟹": r"\Rightarrow",
    "⇔": r"\Leftrightarrow", "⟺": r"\Leftrightarrow", "∠": r"\angle", "△": r"\triangle",
    "⊥": r"\perp", "∥": r"\parallel", "∣": "|", "∤": r"\nmid", "°": r"^\circ", "⌊": r"\lfloor",
    "⌋": r"\rfloor", "⌈": r"\lceil", "⌉": r"\rceil", "⟨": r"\langle", "⟩": r"\rangle",
    "…": r"\dots", "⋯": r"\dots", "ℝ": r"\mathbb R", "ℕ": r"\mathbb N", "ℤ": r"\mathbb Z",
    "ℚ": r"\mathbb Q", "ℂ": r"\mathbb C", "ℓ": r"\ell", "−": "-", "‐": "-", "‑": "-", "﹣": "-",
    "－": "-", "＋": "+", "＝": "=", "＜": "<", "＞": ">", "′": "'", "″": "''", "’": "'", "‘": "'",
}  # fmt: skip

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ", "0123456789+-=()ni")
_SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎", "0123456789+-=()")
_SUPERSCRIPT_RUN = re.compile(r"[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ]+")
_SUBSCRIPT_RUN = re.compile(r"[₀-₎]+")
_LONE_GREEK = re.compile(rf"(?<![Ͱ-Ͽ])[{''.join(_GREEK)}](?![Ͱ-Ͽ])")
_SYMBOL = re.compile(f"[{re.escape(''.join(_SYMBOLS))}]")
_MATHEMATICAL_LETTER = re.compile("[\U0001d400-\U0001d7ff]")
_DASH_BEFORE_NUMBER = re.compile(r"[–—](?=\s?\d)")
INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
"""Characters without width: soft hyphen, zero-width space and joiners, direction marks, BOM."""

# Commands that differ only in looks, or that are another spelling of the same sign.
_SAME_COMMAND = {
    r"\dfrac": r"\frac", r"\tfrac": r"\frac", r"\cfrac": r"\frac", r"\dbinom": r"\binom",
    r"\tbinom": r"\binom", r"\leq": r"\le", r"\leqslant": r"\le", r"\leqq": r"\le",
    r"\geq": r"\ge", r"\geqslant": r"\ge", r"\geqq": r"\ge", r"\neq": r"\ne", r"\lt": "<",
    r"\gt": ">", r"\ldots": r"\dots", r"\cdots": r"\dots", r"\dotsc": r"\dots",
    r"\dotsb": r"\dots", r"\dotso": r"\dots", r"\rightarrow": r"\to", r"\longrightarrow": r"\to",
    r"\implies": r"\Rightarrow", r"\Longrightarrow": r"\Rightarrow", r"\iff": r"\Leftrightarrow",
    r"\Longleftrightarrow": r"\Leftrightarrow", r"\mid": "|", r"\vert": "|", r"\lvert": "|",
    r"\rvert": "|", r"\|": r"\Vert", r"\lVert": r"\Vert", r"\rVert": r"\Vert", r"\lbrace": r"\{",
    r"\rbrace": r"\}", r"\lbrack": "[", r"\rbrack": "]", r"\land": r"\wedge", r"\lor": r"\vee",
    r"\lnot": r"\neg", r"\varnothing": r"\emptyset", r"\ast": "*", r"\prime": "'", r"\%": "%",
    r"\#": "#", r"\&": "&", r"\_": "_", r"\degree": r"\circ", r"\colon": ":", r"\sp": "^",
    r"\sb": "_", r"\pmod": r"\mod", r"\bmod": r"\mod", r"\ge": r"\ge", r"\owns": r"\ni",
}  # fmt: skip

# Commands that show nothing: spacing, sizes, fonts, delimiters of mathematics, layout.
_SILENT_NAMES = (
    "left", "right", "middle", "big", "Big", "bigg", "Bigg", "bigl", "Bigl", "biggl", "Biggl",
    "bigr", "Bigr", "biggr", "Biggr", "bigm", "Bigm", "quad", "qquad", "enspace", "thinspace",
    "medspace", "thickspace", "negthinspace", "hspace", "vspace", "hfill", "smallskip",
    "medskip", "bigskip", "newline", "linebreak", "pagebreak", "noindent", "indent", "par",
    "displaystyle", "textstyle", "scriptstyle", "limits", "nolimits", "text", "textrm",
    "textbf", "textit", "textsf", "texttt", "textnormal", "emph", "mbox", "hbox", "mathrm",
    "mathbf", "mathit", "mathsf", "mathtt", "boldsymbol", "bm", "bf", "it", "rm", "sf", "tt",
    "em", "operatorname", "operatorname*", "boxed", "centering", "label", "tag", "notag",
    "nonumber", "hphantom", "vphantom", "phantom", "strut", "ensuremath", "underline",
)  # fmt: skip
_SILENT_COMMANDS = frozenset(f"\\{name}" for name in (*_SILENT_NAMES, *"()[],;:!>/-@ \\$\n\t"))

_LAYOUT = re.compile(
    r"\\(?:begin|end)\s*\{(?:align|aligned|alignat|equation|gather|gathered|multline|split|center"
    r"|displaymath|math|flushleft|flushright|proof|solution|problem)\*?\}"
    r"|\\[hv]space\*?\{[^{}]*\}|\\(?:label|tag)\*?\{[^{}]*\}|\\\\\[[^\]]*(?:pt|em|ex|mm|cm|in)\]"
)
_FIGURE_CODE = re.compile(
    r"\[asy\].*?\[/asy\]|\\begin\{(asy|tikzpicture|pspicture|picture)\}.*?\\end\{\1\}", re.DOTALL
)

_TOKEN = re.compile(
    r"""
      [^\W\d_]+(?:'[^\W\d_]{2,}|'s\b)*            # a word, with an inner apostrophe
    | \\(?:[A-Za-z]+\*?|.)                        # a LaTeX command
    | \d+(?:\.\d+)?                               # a number
    | <=|>=|!=|<->|->|=>|==|\.\.\.                # signs typed with several characters
    | -{2,}                                       # a dash
    | \S                                          # one sign
    """,
    re.VERBOSE | re.DOTALL,
)
_TYPED_SIGNS = {
    "<=": r"\le", ">=": r"\ge", "!=": r"\ne", "->": r"\to", "=>": r"\Rightarrow", "==": "=",
    "<->": r"\leftrightarrow", "...": r"\dots",
}  # fmt: skip
_DROPPED_SIGNS = frozenset('$~,.;?"“”„«»`&–—')
_HYPHEN = re.compile(r"-(?<=[^\W\d_]{2}-)(?=[^\W\d_]{2})")
_FRACTION_OF_DIGITS = re.compile(r"(\\[dtc]?frac\s*)(\d)\s*(\d)(?!\d)")
_PROSE_COLON = re.compile(r":(?:(?<!\d:)|(?<!\d\s:)(?!\s?\d))")


def _plain_unicode(text: str) -> str:
    """Write Unicode mathematics as LaTeX, and drop characters without width."""
    text = unicodedata.normalize("NFC", INVISIBLE.sub("", text))
    text = _SUPERSCRIPT_RUN.sub(lambda m: "^{" + m[0].translate(_SUPERSCRIPTS) + "}", text)
    text = _SUBSCRIPT_RUN.sub(lambda m: "_{" + m[0].translate(_SUBSCRIPTS) + "}", text)
    text = _MATHEMATICAL_LETTER.sub(lambda m: unicodedata.normalize("NFKC", m[0]), text)
    text = _DASH_BEFORE_NUMBER.sub("-", text)
    text = _SYMBOL.sub(lambda m: _spaced(_SYMBOLS[m[0]]), text)
    return _LONE_GREEK.sub(lambda m: f" \\{_GREEK[m[0]]} ", text)


def _spaced(replacement: str) -> str:
    return f" {replacement} " if replacement[-1].isalpha() else replacement


class _Spellings(dict[str, str]):
    """The spelling of each raw token that occurred, or "" where it shows nothing."""

    def __init__(self, further: Callable[[str], str] | None = None) -> None:
        super().__init__()
        self.further = further

    def __missing__(self, token: str) -> str:
        if len(self) >= _KNOWN_TOKENS:
            self.clear()
        found = _spelling(token)
        if found and self.further is not None:
            found = self.further(found)
        self[token] = found
        return found


_KNOWN_TOKENS = 1 << 18
_TYPESET = _Spellings()
_LEVELLED = _Spellings(spelling)


def _spelling(token: str) -> str:
    """Return the one spelling of a raw token, or "" where it shows nothing."""
    first = token[0]
    if first == "\\":
        return "" if token in _SILENT_COMMANDS else _SAME_COMMAND.get(token, token)
    if first in _DROPPED_SIGNS:
        return ""
    if first.isalpha():
        return token.lower()
    if len(token) > 1 and not first.isdigit():
        return _TYPED_SIGNS.get(token, "")
    return token


def _scan(text: str, spellings: _Spellings) -> list[str]:
    """Return the tokens, one spelling for each sign, braces included, looks dropped."""
    if not text.isascii():
        text = _plain_unicode(text)
    if "\\" in text:
        text = _FRACTION_OF_DIGITS.sub(r"\1{\2}{\3}", _LAYOUT.sub(" ", text))
    text = _PROSE_COLON.sub(" ", _HYPHEN.sub(" ", text))
    return list(filter(None, map(spellings.__getitem__, _TOKEN.findall(text))))


def _ungroup(tokens: list[str]) -> list[str]:
    """Drop braces that group nothing: those around at most one token, and unbalanced ones.

    Braces around more are kept, because `x^{2y}` is not `x^2y`. No recursion: depth is free.
    """
    out: list[str] = []
    opened: list[int] = []
    for token in tokens:
        if token == "{":  # noqa: S105
            opened.append(len(out))
            out.append(token)
        elif token == "}":  # noqa: S105
            if not opened:
                continue
            start = opened.pop()
            if len(out) - start <= 2:
                del out[start]
            else:
                out.append(token)
        else:
            out.append(token)
    for start in reversed(opened):
        del out[start]
    return out


def shingle_tokens(text: str) -> list[str]:
    r"""Return the tokens of a text for duplicate detection, strict about its mathematics.

    Words are NFC-normalised and lower-cased. Each number, sign, bracket and LaTeX command is a
    token of its own, in order: "at most 12" and "at most 17" differ, and so do `x^2+3x-4` and
    `x^2-3x+4`. Levelled is what re-typesetting changes (`notation.py`): `$` and `\(`, `\dfrac`,
    `{a \over b}` and `a/b`, `x^{2}`, `x^2` and `x²`, `\leq` and `≤`, `$ABC$` and `$A B C$`,
    `\left`, `\,`, fonts, entities, the number before a problem, and the punctuation of prose.

    Args:
        text: a statement or a solution; may be empty.

    Returns:
        Tokens in order, without braces; empty where the text shows nothing.
    """
    return level_tokens(_scan(level_text(text), _LEVELLED))


def _typeset_tokens(text: str) -> list[str]:
    """Return the tokens of a text, one spelling for each sign, braces that matter included."""
    tokens = _scan(text, _TYPESET)
    return _ungroup(tokens) if "{" in tokens or "}" in tokens else tokens


_RETRIEVAL_SAME = {r"\cdot": r"\times", "*": r"\times", r"\varepsilon": r"\epsilon",
                   r"\varphi": r"\phi"}  # fmt: skip
_RETRIEVAL_DROPPED = frozenset(["(", ")", "[", "]", "{", "}", r"\{", r"\}", "#", "@"])
_SCRIPTS = frozenset("^_")


def mathematics_tokens(text: str) -> list[str]:
    r"""Return the tokens of a text for lexical retrieval, aware of LaTeX.

    A LaTeX command is one token (`\frac`); words are lower-cased runs of letters of any script;
    numbers are whole ("12", "3.5"); operators and relations are tokens with one spelling each
    (`<=`, `≤`, `\le` and `\leq` all become `\le`; `\cdot`, `×`, `*` and `\times` become
    `\times`). A subscript or superscript of one token is read as a unit after its base:
    `x^2` and `x^{2}` give "x", "x^2"; `a_n` gives "a", "a_n"; a longer one gives its sign and
    its content: `x^{n+1}` gives "x", "^", "n", "+", "1". Brackets, dollar signs, spacing and
    font commands, punctuation, and the code of Asymptote and TikZ figures are dropped.

    Args:
        text: a query or a document; may be empty.

    Returns:
        Tokens in order, with repeats.
    """
    scanned = _typeset_tokens(_FIGURE_CODE.sub(" ", text))
    tokens = [_RETRIEVAL_SAME.get(token, token) for token in scanned]
    out: list[str] = []
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token in _SCRIPTS and position + 1 < len(tokens):
            script = tokens[position + 1]
            if script not in _RETRIEVAL_DROPPED and script not in _SCRIPTS:
                base = _base_of(tokens, position)
                out.append(f"{base}{token}{script}")
                position += 2
                continue
        if token not in _RETRIEVAL_DROPPED:
            out.append(token)
        position += 1
    return out


def _base_of(tokens: list[str], position: int) -> str:
    """Return the token that a script at `position` belongs to, or '' after a bracket."""
    if position == 0:
        return ""
    base = tokens[position - 1]
    if base in _RETRIEVAL_DROPPED:
        return ""
    if position >= 2 and tokens[position - 2] in _SCRIPTS:
        return ""
    return base


def shingles(tokens: list[str], size: int) -> frozenset[tuple[str, ...]]:
    """Return the distinct runs of `size` tokens; empty for texts with fewer tokens.

    Raises:
        ValueError: when `size` is below 1.
    """
    if size < 1:
        raise ValueError(f"shingle size must be at least 1, got {size}")
    if size == 2:
        return frozenset(pairwise(tokens))
    return frozenset(zip(*(tokens[start:] for start in range(size)), strict=False))


TOKENIZERS: dict[str, Callable[[str], list[str]]] = {
    "whitespace": whitespace_tokens,
    "mathematics": mathematics_tokens,
    "summary": summary_token_list,
}
"""Tokenizers by the name under which a retriever's settings refer to them."""
