r"""Steps on formula delimiters and dollars.

The convention: `$...$` in a line, `$$...$$` on its own, `\$` is money; environments such as
`align` stay whole. A pair that has a dollar inside (`\[ x \text{ if $x>0$} \]`) stays as it is.
"""

from __future__ import annotations

from saber_assets.corpus.cleaning.formulas import is_money, spans
from saber_assets.corpus.cleaning.regions import outside_verbatim, pieces


@outside_verbatim
def money_escaped(text: str) -> str:
    r"""Write dollars that are money as `\$`, so that the other ones pair up."""
    if "$" not in text:
        return text
    places = [span.start for span in spans(text) if span.kind == "money"]
    out: list[str] = []
    done = 0
    for place in places:
        out += [text[done:place], "\\"]
        done = place
    return "".join([*out, text[done:]]) if out else text


@outside_verbatim
def delimiters(text: str) -> str:
    r"""Write `\(...\)` as `$...$` and `\[...\]` as `$$...$$`."""
    if "\\(" not in text and "\\[" not in text:
        return text
    out: list[str] = []
    done = 0
    for kind, start, end in spans(text):
        if kind not in ("paren", "bracket"):
            continue
        inner = text[start + 2 : end - 2]
        formula = f"$${inner}$$" if kind == "bracket" else f"${_trimmed(inner)}$"
        if not inner.strip() or (kind == "paren" and _reads_as_money(formula, text[end : end + 2])):
            continue
        space = " " if kind == "paren" else "\n"
        before = text[done:start]
        if before.endswith("$") or (not before and out and out[-1].endswith("$")):
            before += space
        after = space if text[end : end + 1] == "$" else ""
        out += [before, formula + after]
        done = end
    return "".join([*out, text[done:]]) if out else text


def _trimmed(inner: str) -> str:
    r"""Trim white space, but not that of a last `\ `."""
    short = inner.strip()
    return short + " " if (len(short) - len(short.rstrip("\\"))) % 2 else short


def _reads_as_money(formula: str, following: str) -> bool:
    return is_money(formula + following, 0, len(formula) - 1)


def has_unpaired_dollar(text: str) -> bool:
    """Tell whether a dollar outside verbatim text has no partner."""
    if "$" not in text:
        return False
    return any(
        span.kind == "stray"
        for verbatim, piece in pieces(text)
        if not verbatim
        for span in spans(piece)
    )
