r"""Levels the characters of a text for duplicate detection: what authors do differently.

Entities, the number before a problem, marks of Markdown, words divided at a line's end, thousands,
letters of a formula written together or apart, environments. `linear_formulas.py` goes on with
the tokens. Nothing that says something about the mathematics is taken away: each digit, sign,
operator, relation and letter stays, in its order.
"""

from __future__ import annotations

import html
import re

from saber_assets.corpus.linear_formulas import COMMAND_OF_WORD

_ENTITY = re.compile(r"&(?:[A-Za-z]{2,8}|#\d{2,6}|#[xX][0-9a-fA-F]{2,5});")
_SCRIPT_TAG = re.compile(r"<(su[pb])>([^<>]*)</\1>", re.IGNORECASE)
_LABEL = re.compile(
    r"""\s*(?:[#>*\s]|\\noindent\b|\{\\bf\b
         |\\(?:textbf|textit|emph|section|subsection|paragraph)\*?\{)*
    (?:(?:problem|exercise|question|example|task|aufgabe|exercice|ejercicio|[QPE])[\s~]*
         (?:no\.|\#|№)?[\s~]*\(?\d+(?:[.\-–]\d+)*[a-z]?\)?(?:[.:)\]*}—–-]+(?=\s)|(?=\s*\n))
      |\(?\d{1,3}(?:\.\d{1,3})?[.)]+[*}]*(?=\s+[*"“$\\(]*(?-i:[A-Z])))
    [*}\s]*""",
    re.VERBOSE | re.IGNORECASE,
)
_STARTS_LIKE_LABEL = re.compile(r"[\s#>*(\\{]*(?:noindent|text|emph|[A-Za-z]{1,9}[\s~]*[(#\d№]|\d)")
_BULLET = re.compile(
    r"^[ \t]*(?:[-*•][ \t]+(?=[A-Z][a-z]|[a-z]{3})|#+[ \t]+(?=\S))|[-*•]\s+(?=[ⓐ-ⓩ①-⑳])",
    re.MULTILINE,
)
_BOLD = re.compile(r"\*\*([^*\n]+)\*\*")
_DIVIDED = re.compile(r"(?<=[a-z]{2})-[ \t]*\n\s*(?=[a-z]{2})")
_THOUSANDS = re.compile(r"[1-9](?<![\d.].)\d{0,2}(?:(?:\s?,\s?|\{,\}|\\,)\d{3})+(?!\d)")
_LONG_MINUS = re.compile(r"(?<![-\w])--(?=\d)")
_THREE_DIGITS = re.compile(r",[}\s]?\d{3}")
_NO_ZERO = re.compile(r"\.(?<![\w.)}\]]\.)(?=\d)")
_DOTS = re.compile(r"\.[ ~]?\.[ ~]?\.")
_FORMULA = re.compile(
    r"\$(?<!\\\$)\$?([^$]+)(?<!\\)\$\$?(?!\d)|\\\((.+?)\\\)|\\\[(.+?)\\\]", re.DOTALL
)
_DOLLARS = re.compile(r"\$(?<!\\\$)\$?([^$]+)(?<!\\)\$\$?(?!\d)()()")
_FORMULA_WORD = re.compile(
    r"\\(?:text[a-z]*|mbox|hbox|begin|end|label|tag|ref)\s*\{[^{}]*\}"
    r"|\\(?:(?:math)?rm|operatorname\*?)\s*\{([^{}]*)\}|\\[A-Za-z]+|[A-Za-z]{2,}|\[[A-Za-z]+\]"
)
_CONNECTIVES = frozenset(("and", "or", "if", "for", "when", "where", "with", "otherwise", "all",
                          "that", "such", "is", "as", "then", "but", "not"))  # fmt: skip
_EMPHASISED = frozenset(("not", "all", "any", "and", "or", "the", "one", "two", "no", "only",
                         "each", "both", "must", "is", "are", "if", "but", "note"))  # fmt: skip
_PROSE = re.compile(r"(?<![\\A-Za-z{])[a-z]{2,}\s+[a-z]{3,}")
_NAME = re.compile(r"[A-Z](?<![\\\w'’-].)[A-Z]{1,4}(?![\w'’])")
_SMALL, _LARGE = re.compile(r"(?<![\\A-Za-z])[a-z]{3}"), re.compile(r"[A-Z]{3}")
_UNICODE = {
    "⟂": r"\perp ", "‖": r"\Vert ", "∘": r"\circ ", "⁄": "/", "∕": "/", "∛": r"\sqrt[3]",
    "\u2329": r"\langle ", "\u232a": r"\rangle ", "∜": r"\sqrt[4]",
    "〈": r"\langle ", "〉": r"\rangle ", "…": r"\dots ",
    "ϵ": r"\epsilon ", "ϑ": r"\theta ", "∶": ":", "∝": r"\propto ",
    "≪": r"\ll ", "≫": r"\gg ", "≃": r"\simeq ", "⊊": r"\subsetneq ", "⋂": r"\bigcap ",
    "⋃": r"\bigcup ", "≜": r"\triangleq ", "½": r"\frac{1}{2}", "⅓": r"\frac{1}{3}",
    "⅔": r"\frac{2}{3}", "¼": r"\frac{1}{4}", "¾": r"\frac{3}{4}", "⅕": r"\frac{1}{5}",
    "⅙": r"\frac{1}{6}", "⅛": r"\frac{1}{8}", "⋮": r"\vdots ", "⋱": r"\ddots ", "∎": " ",
    "□": r"\square ", "∟": r"\angle ", "∡": r"\angle ", "≮": r"\not<", "≯": r"\not>",
    "⊲": r"\lhd ", "⊳": r"\rhd ", "ℵ": r"\aleph ", "⌀": r"\emptyset ", "ı": "i", "∆": r"\Delta ",
    "Ω": r"\Omega ", "µ": r"\mu ", "‵": "'", "‴": "'''", "▵": r"\triangle ",
}  # fmt: skip
_UNICODE_SIGN = re.compile(f"[{re.escape(''.join(_UNICODE))}]")
_RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ",
                   "0123456789+-=()abcdefghijklmnoprstuvwxyz", strict=True))  # fmt: skip
_LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ",
                    "0123456789+-=()aehijklmnoprstuvx", strict=True))  # fmt: skip
_UNICODE_SCRIPT = re.compile(f"[{''.join(_RAISED)}]+|[{''.join(_LOWERED)}]+")
_BARRED = re.compile("(\\w)[\u0305\u0304]")
_SET = re.compile(r"(?<![^\s=(,:∈$])\{((?:[^{}\\]|\{[^{}\\]*\})*[,|](?:[^{}\\]|\{[^{}\\]*\})*)\}")
_SPACE = re.compile(
    r"\\(?:mspace|hspace|vspace|mskip|hskip|kern|mkern)\*?\s*(?:\{[^{}]*\}|-?[\d.]+\s*[a-z]{2})"
)
_TEXT_SIGNS = {
    "textquotesingle": "'", "textgreater": ">", "textless": "<", "textbar": "|",
    "textasciicircum": "^", "textdollar": "$", "textasciitilde": "~", "textbackslash": " ",
}  # fmt: skip
_TEXT_SIGN = re.compile(rf"\\({'|'.join(_TEXT_SIGNS)})(?:\{{\}}| )?")
_ENVIRONMENT = re.compile(
    r"\\(begin|end)\s*\{\s*(cases|array|matrix|smallmatrix|pmatrix|bmatrix|vmatrix|enumerate"
    r"|itemize|tabular|eqnarray\*?|alignat\*?|aligned|subequations|quote|tasks)\s*\}"
    r"(?:\s*\[[a-z]+\])?(?:(?<=[yr]\})\s*\{[^{}]*\})?"
)
_BRACKETS = {
    "cases": (r" \{ ", " "), "pmatrix": (" ( ", " ) "), "bmatrix": (" [ ", " ] "),
    "vmatrix": (" | ", " | "),
}  # fmt: skip
_ITEM = re.compile(r"\\item(?![A-Za-z])(?:\s*\[([^\[\]]*)\])?")
_SPACED_WORD = re.compile(
    r"\\(operatorname\*?|mathrm|text|textrm|mbox|hbox)\s*"
    r"\{((?:[\s~]*[A-Za-z\d](?=[\s~}]))+[\s~]*)\}"
)
_PMOD = re.compile(r"\\pmod\s*(?:\{([^{}]*)\}|(\w))")
_DEGREE = re.compile(r"(?:\^\s*)?\{?\s*\\degree(?![A-Za-z])\s*\}?")


def level_text(text: str) -> str:
    """Return a text with the spellings of its characters levelled.

    Args:
        text: a statement or a solution, as it stands.

    Returns:
        A text for the scan of tokens; nothing for a person to read.
    """
    if "&" in text:
        text = _ENTITY.sub(lambda match: html.unescape(match[0]), text)
    if "</su" in text:
        text = _SCRIPT_TAG.sub(_script, text)
    if not text.isascii():
        text = _UNICODE_SIGN.sub(lambda match: _UNICODE[match[0]], text)
        text = _UNICODE_SCRIPT.sub(_plain_script, text)
        text = _BARRED.sub(r"\\bar{\1} ", text)
    if _STARTS_LIKE_LABEL.match(text):
        text = _without_label(text)
    if "\n" in text or "**" in text or text[:1] in "#-*•":
        text = _BOLD.sub(r"\1", _BULLET.sub("", _DIVIDED.sub("", text)))
    text = _level_numbers(text)
    if "{" in text and "$" not in text and r"\(" not in text and r"\[" not in text:
        text = _SET.sub(_set, text)
    if "\\" in text:
        text = _level_latex(text)
    if r"\(" in text or r"\[" in text:
        text = _FORMULA.sub(_letters_apart, text)
    elif "$" in text:
        text = _DOLLARS.sub(_letters_apart, text)
    if _NAME.search(text) and len(_LARGE.findall(text)) <= len(_SMALL.findall(text)):
        text = _NAME.sub(_name_apart, text)
    return text


def _script(match: re.Match[str]) -> str:
    return f"{'^' if match[1][2] in 'pP' else '_'}{{{match[2]}}}"


def _plain_script(match: re.Match[str]) -> str:
    run = match[0]
    if run[0] in _RAISED:
        return f"^{{{''.join(_RAISED[sign] for sign in run)}}}"
    return f"_{{{''.join(_LOWERED[sign] for sign in run)}}}"


def _set(match: re.Match[str]) -> str:
    """Write a set that was typed without backslashes, `{1, 2}`, as LaTeX has it."""
    inner = match[1].replace("{", r"\{").replace("}", r"\}")
    return rf"\{{{inner}\}}"


def _without_label(text: str) -> str:
    """Leave out the number that a booklet gives a problem, if something follows it."""
    match = _LABEL.match(text)
    return text[match.end() :] if match and match.end() < len(text) else text


def _level_numbers(text: str) -> str:
    if "--" in text:
        text = _LONG_MINUS.sub("-", text)
    if "." in text:
        text = _DOTS.sub(r" \\dots ", _NO_ZERO.sub("0.", text))
    if "," in text and _THREE_DIGITS.search(text):
        text = _THOUSANDS.sub(lambda match: re.sub(r"\D", "", match[0]), text)
    return text


def _level_latex(text: str) -> str:
    if "{ " in text or "{~" in text or "~}" in text:
        text = _SPACED_WORD.sub(_word_together, text)
    if r"\colon" in text:
        text = text.replace(r"\colon", " : ")
    if r"\pmod" in text:
        text = _PMOD.sub(lambda match: rf"(\mod {match[1] or match[2]})", text)
    if r"\degree" in text:
        text = _DEGREE.sub(r"^\\circ ", text)
    if "space" in text or "kern" in text or "skip" in text:
        text = _SPACE.sub(" ", text)
    if r"\text" in text:
        text = _TEXT_SIGN.sub(lambda match: _TEXT_SIGNS[match[1]], text)
    if r"\begin" in text or r"\item" in text:
        text = _ITEM.sub(lambda match: f" {match[1] or ''} ", _ENVIRONMENT.sub(_bracket, text))
    return text


def _bracket(match: re.Match[str]) -> str:
    opening, closing = _BRACKETS.get(match[2], (" ", " "))
    return opening if match[1] == "begin" else closing


def _word_together(match: re.Match[str]) -> str:
    words = [re.sub(r"\s+", "", word) for word in match[2].split("~")]
    return f"\\{match[1]}{{{' '.join(words)}}}"


def _letters_apart(match: re.Match[str]) -> str:
    """Write the letters of a formula apart: `ABC`, `A B C` and `A BC` look the same in print."""
    whole = match[0]
    body = match[1] or match[2] or match[3]
    if (body[0].isdigit() and body[-1].isspace()) or _PROSE.search(body):
        return whole  # "$5 and $7"
    return _FORMULA_WORD.sub(_formula_word_apart, whole)


def _formula_word_apart(match: re.Match[str]) -> str:
    upright = match[1]
    if upright is None:
        return _apart(match[0])
    words = upright.lower().split()
    if len(words) != 1 or words[0] in _CONNECTIVES or words[0] in COMMAND_OF_WORD:
        return match[0]
    return f" {' '.join(upright.strip())} "


def _name_apart(match: re.Match[str]) -> str:
    return match[0] if match[0].lower() in _EMPHASISED else _apart(match[0])


def _apart(name: str) -> str:
    if name[0] in "\\[{" or name.lower() in COMMAND_OF_WORD:
        return name
    return f" {' '.join(name)} "
