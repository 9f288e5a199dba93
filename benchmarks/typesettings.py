r"""Ways in which one statement is typeset: by hand of other authors, and by programs of others.

Written after how these texts look, not after what the tokenizer levels:

* ocr: as recognisers of formulas write: every sign of a formula by itself, runs of letters too,
  `\operatorname` for functions, `array` for matrices, lines broken at 60 characters with words
  divided;
* old_tex: plain TeX of the eighties: `{a \over b}`, `{n \choose k}`, `\Bbb`, `\hbox`, `$$`;
* macros: an author's own short names: `\R`, `\abs{x}`, `\set{...}`, `\floor{x}`, `\eps`;
* typed: a forum post without LaTeX: `x^(n+1)`, `(a+b)/2`, `sqrt(x)`, `>=`, `pi`;
* label: a number before the statement, as booklets have them; sheets' line breaks;
* mathml, unicode, html: `foreign_typesetters.py`.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path

FOREIGN_KINDS = ("mathml", "unicode", "html")

_FORMULA = re.compile(r"\$\$(.+?)\$\$|\\\[(.+?)\\\]|\$(.+?)\$|\\\((.+?)\\\)", re.DOTALL)
_SIGN = re.compile(
    r"\\(?:text|mathrm|mbox|textbf|textit|hbox)\s*\{[^{}]*\}|\\(?:begin|end)\s*\{[^{}]*\}"
    r"|\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|\S",
    re.DOTALL,
)
_PROSE = re.compile(
    r"(?<![\\A-Za-z{])[a-z]{2,} +[a-z]{2,}|\. [A-Z]|\d [a-z]{3,}|\\\$|[a-z], [a-z]{3,}"
)
_FUNCTIONS = (
    "sin", "cos", "tan", "cot", "sec", "csc", "log", "ln", "exp", "gcd", "det", "lim", "max",
    "min", "deg", "dim",
)  # fmt: skip
_INNER = r"((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)"
"""What stands between braces, two levels deep."""
LABELS = (
    "Problem {n}. ", "**Problem {n}.** ", "Exercise {m}.{n}. ", r"\textbf{{Exercise {m}.{n}}} ",
    "{n}. ", "{n}) ", "Question {n}: ", "**{n}.** ", "### Problem {n}\n\n", "Example {n}\n",
    "Problem {m}-{n}. ", "Q{n}. ", "({n}) ", r"\noindent\textbf{{{n}.}} ", "Task {n}. ",
)  # fmt: skip


def formulas(text: str, write: Callable[[str], str]) -> str:
    """Replace each formula, its delimiters included."""
    return _FORMULA.sub(lambda match: write(next(filter(None, match.groups()))), text)


def has_formula(text: str) -> bool:
    """Tell whether a statement has a formula, and dollars that can only be delimiters."""
    bodies = [next(filter(None, found)) for found in _FORMULA.findall(text)]
    return text.count("$") % 2 == 0 and bool(bodies) and not any(map(_PROSE.search, bodies))


def is_plain(text: str) -> bool:
    """Tell whether a statement has LaTeX in its formulas only, as a page of the web has."""
    return has_formula(text) and not re.search(r"[\\{}<]", _FORMULA.sub("", text))


def _pieces(body: str, out: list[str]) -> None:
    for piece in _SIGN.findall(body):
        name = piece[1:]
        if name in _FUNCTIONS:
            out.append(rf"\operatorname {{ {' '.join(name)} }}")
        elif "{" in piece and piece.startswith((r"\text", r"\mathrm", r"\mbox")):
            word = piece[piece.index("{") + 1 : -1]
            if not word.replace(" ", "").replace("~", "").isalpha():
                out.append(piece)
                continue
            out.append(rf"\mathrm {{ {'~'.join(' '.join(part) for part in word.split())} }}")
        elif piece in (r"\dfrac", r"\tfrac"):
            out.append(r"\frac")
        elif piece not in (r"\,", r"\;", r"\!", r"\:", r"\ "):
            out.append(piece)


def ocr(text: str, draw: random.Random) -> str:
    """Return a statement as recognised from a scan."""

    def spaced(body: str) -> str:
        body = re.sub(r"\\(frac|dfrac|tfrac)\s*(\d)\s*(\d)", r"\\frac{\2}{\3}", body)
        body = re.sub(r"([\^_])\s*([A-Za-z0-9])", r"\1{\2}", body)
        body = body.replace(r"\begin{cases}", r"\left\{ \begin{array}{l}")
        body = body.replace(r"\end{cases}", r"\end{array} \right.")
        body = body.replace(r"\begin{pmatrix}", r"\left( \begin{array}{ll}")
        body = body.replace(r"\end{pmatrix}", r"\end{array} \right)")
        body = re.sub(r"(?<!\\left)(?<!\\left )\(([^()]*)\)", r"\\left( \1 \\right)", body)
        out: list[str] = []
        _pieces(body, out)
        return f"$ {' '.join(out)} $" if draw.random() < 0.5 else rf"\( {' '.join(out)} \)"

    written = formulas(text, spaced)
    parts = re.split(r"(\$ .*? \$|\\\( .*? \\\))", written, flags=re.DOTALL)
    lines = []
    for place, part in enumerate(parts):
        if place % 2:
            lines.append(part)
        else:
            divided = re.sub(
                r"\b([a-z]{4})([a-z]{4,})\b",
                lambda m: f"{m[1]}-\n{m[2]}" if draw.random() < 0.05 else m[0],
                part,
            )
            lines.append(divided.replace(". ", ".\n"))
    return "".join(lines)


def old_tex(text: str, _: random.Random) -> str:
    """Return a statement in plain TeX."""

    def written(body: str) -> str:
        for _ in range(3):
            body = re.sub(
                rf"\\[dt]?frac\s*\{{{_INNER}\}}\s*\{{{_INNER}\}}", r"{\1 \\over \2}", body
            )
            body = re.sub(
                rf"\\[dt]?binom\s*\{{{_INNER}\}}\s*\{{{_INNER}\}}", r"{\1 \\choose \2}", body
            )
        body = re.sub(r"\\[dt]?frac\s*(\d)\s*(\d)", r"{\1\\over\2}", body)
        body = re.sub(r"\\mathbb\s*\{(\w)\}", r"{\\Bbb \1}", body)
        body = re.sub(r"\\(?:text|mbox)\s*\{([^{}]*)\}", r"\\hbox{\1}", body)
        body = re.sub(r"\\operatorname\s*\{(\w+)\}", r"\\mathop{\\rm \1}\\nolimits ", body)
        body = re.sub(r"\\(?:leq|leqslant)(?![a-z])", r"\\le ", body)
        body = re.sub(r"\\(?:geq|geqslant)(?![a-z])", r"\\ge ", body)
        body = re.sub(r"\\neq(?![a-z])", r"\\not=", body)
        return f"${body}$" if len(body) < 40 else f"$${body}$$"

    return formulas(text, written)


_MACROS = (
    (r"\\mathbb\s*\{?([RNZQC])\}?", r"\\\1 "), (r"\\varepsilon(?![a-z])", r"\\eps "),
    (r"(?<!\\)\|([^|\\]{1,40})(?<!\\)\|", r"\\abs{\1}"),
    (r"\\(?:left)?\\lfloor(.{1,40}?)\\(?:right)?\\?rfloor", r"\\floor{\1}"),
    (r"\\(?:left)?\\lceil(.{1,40}?)\\(?:right)?\\?rceil", r"\\ceil{\1}"),
    (r"\\\{([^{}]{1,40}?)\\\}", r"\\set{\1}"), (r"\\(?:dots|ldots|cdots)(?![a-z])", r"\\dotsc "),
    (r"\\[dt]?frac\{", r"\\tfrac{"), (r"\\infty(?![a-z])", r"\\infty{}"),
    (r"\\triangle(?![a-z])", r"\\triangle\\,"), (r"\\cdot(?![a-z])", r"{\\cdot}"),
    (r"\\Rightarrow(?![a-z])", r"\\implies "), (r"\\rightarrow(?![a-z])", r"\\to "),
    (r"\\emptyset(?![a-z])", r"\\varnothing "),
)  # fmt: skip


def macros(text: str, _: random.Random) -> str:
    """Return a statement with the short names of another author."""

    def written(body: str) -> str:
        for pattern, replacement in _MACROS:
            body = re.sub(pattern, replacement, body)
        return f"\\( {body} \\)"

    return formulas(text, written)


_TYPED = (
    (r"\\(?:left|right|displaystyle|limits)(?![A-Za-z])", ""), (r"\\[,;:! ]", " "),
    (r"\\(?:leq?|leqslant)(?![a-z])", "<="), (r"\\(?:geq?|geqslant)(?![a-z])", ">="),
    (r"\\neq?(?![a-z])", "!="), (r"\\(?:ldots|cdots|dots)(?![a-z])", "..."),
    (r"\\(?:to|rightarrow)(?![a-z])", "->"), (r"\\infty(?![a-z])", "∞"),
    (r"\\mathbb\s*\{?([RNZQC])\}?", r"\1"),
    (r"\\(?:text|mathrm|operatorname)\s*\{([^{}]*)\}", r"\1"),
    (r"\\in(?![a-z])", "∈"), (r"\\(?:circ)(?![a-z])", "°"), (r"\^\s*\{?\s*°\s*\}?", "°"),
    (r"\\pmod\s*\{([^{}]*)\}", r"(mod \1)"),
    (r"\\(alpha|beta|theta|pi|lambda|omega)(?![a-z])", r" \1 "),
    (r"\\(sin|cos|tan|cot|sec|csc|log|ln|exp|gcd|max|min)(?![a-z])", r" \1 "),
)  # fmt: skip


def typed(text: str, _: random.Random) -> str:
    """Return a statement as typed on a keyboard; itself where a formula is beyond that."""

    def group(match: re.Match[str]) -> str:
        body = match[1].strip()
        return body if re.fullmatch(r"\w|\d+|pi|alpha|beta|theta", body) else f"({body})"

    if re.search(r"[^^{\s]\s*\\circ|\\cdot|\\times", text):
        return text  # no sign on a keyboard says just that

    def written(body: str) -> str:
        for pattern, replacement in _TYPED:
            body = re.sub(pattern, replacement, body)
        body = re.sub(r"\\[dt]?frac\s*(\d)\s*(\d)", r"\1/\2", body)
        for _ in range(3):
            body = re.sub(
                r"\\[dt]?frac\s*(\{[^{}]*\})\s*(\{[^{}]*\})",
                lambda m: "/".join(re.sub(r"^\{(.*)\}$", group, part) for part in m.groups()),
                body,
            )
            body = re.sub(r"\\sqrt\s*\{([^{}]*)\}", r" sqrt(\1)", body)
            body = re.sub(r"(?<=[\^_])\{([^{}]*)\}", group, body)
        return body

    out = formulas(text, written)
    return text if "\\" in out or "{" in out else out


def label(text: str, draw: random.Random) -> str:
    """Return a statement with its number in a booklet, in lines of a page."""
    head = draw.choice(LABELS).format(n=draw.randint(1, 40), m=draw.randint(1, 9))
    return head + textwrap.fill(text, draw.choice([50, 72, 90]), break_long_words=False)


OWN: dict[str, Callable[[str, random.Random], str]] = {
    "ocr": ocr, "old_tex": old_tex, "macros": macros, "typed": typed, "label": label,
}  # fmt: skip
"""Ways by name: a statement and a source of chance to the statement typeset again."""


_SPOILT = re.compile("[łØøð]|±od|≤ft|_,|⁻_|backslash|\\\\\\\\[a-z]")
"""Slips of the programs of others that make another text: `\\log` read as `\\l` and "og"."""


def is_spoilt(text: str) -> bool:
    """Tell whether a program of others lost or misread a part of the statement."""
    return not text or _SPOILT.search(text) is not None


def foreign(texts: list[str], interpreter: str) -> list[dict[str, str]]:
    """Return what the programs of others make of each statement, way by way.

    Args:
        texts: statements.
        interpreter: a Python that has pypandoc, latex2mathml and unicodeit.
    """
    script = Path(__file__).with_name("foreign_typesetters.py")
    done = subprocess.run(
        [interpreter, str(script)], input=json.dumps(texts), text=True, check=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    answer: list[dict[str, str]] = json.loads(done.stdout)
    return answer
