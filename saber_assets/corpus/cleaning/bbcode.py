"""BBCode to text, for text in which brackets are more often mathematics than marks.

A mark counts only with a known name and, for all but `[hide]`, its partner: `[0,1)`, `[x]`, `a[i]`
and `[ABC]` survive.
"""

from __future__ import annotations

import re

from saber_assets.corpus.cleaning.html import image_mark
from saber_assets.corpus.cleaning.regions import Token, matched, outside_verbatim

_PLAIN = {
    "b", "i", "u", "s", "size", "color", "colour", "font", "url", "email", "tip", "youtube",
    "justify", "float", "plain", "nobbcode", "code", "highlight",
}  # fmt: skip
_LINES = {
    "center", "left", "right", "indent", "list", "ul", "ol", "hide", "spoiler", "heading", "title",
}  # fmt: skip
_FORMULA = {"latex": "$", "tex": "$", "math": "$", "imath": "$", "dmath": "$$"}
_SCRIPT = {"sup": "^{", "sub": "_{"}
_RAW = frozenset({"asy", "code"})
_KNOWN = _PLAIN | _LINES | _RAW | {*_FORMULA, *_SCRIPT, "quote", "img", "attachment", "li"}

_MARK = re.compile(
    rf"(?<!\\)\[(?:(?P<close>/)?(?P<name>{'|'.join(sorted(_KNOWN, key=len, reverse=True))})"
    r"(?:=(?P<value>[^\[\]\n]{0,300})|[ ][^\[\]\n]{0,200})?|(?P<item>\*))\]",
    re.IGNORECASE,
)


@outside_verbatim
def bbcode_to_text(text: str) -> str:
    """Turn BBCode into text.

    Marks of looks and links leave their text. `[hide=Title]` is opened, with its title as a line.
    `[quote]` goes with what it quotes: it repeats another post. `[img]` and `[attachment]` become
    `[image]`, items of a `[list]` lines, `[sup]`/`[sub]` become `^{...}`/`_{...}`, `[latex]` a
    formula. `[asy]` stays for the step `diagrams`.
    """
    if "[" not in text:
        return text
    marks = list(_MARK.finditer(text))
    if not any(mark["name"] for mark in marks):
        return text
    return _render(text, marks)


def _render(text: str, marks: list[re.Match[str]]) -> str:
    tokens = _tokens(text, marks)
    pairs = matched(tokens)
    closings = set(pairs.values())
    out: list[str] = []
    done = in_list = 0
    for index, (token, mark) in enumerate(zip(tokens, marks, strict=True)):
        partner = pairs.get(index)
        if token.start < done or not _counts(token, partner, index in closings, in_list):
            continue
        end = token.end
        if token.name == "list":
            in_list += -1 if token.closes else 1
        if partner is not None and token.name in _RAW:
            inner = text[token.start : tokens[partner].end]
            if token.name == "code":
                inner = text[token.end : tokens[partner].start]
            out.append(text[done : token.start] + inner)
            done = tokens[partner].end
            continue
        if partner is not None and token.name in ("quote", "img", "attachment"):
            end = tokens[partner].end
        out.append(text[done : token.start] + _sign(token, mark, index in closings))
        done = end
    return "".join([*out, text[done:]])


def _tokens(text: str, marks: list[re.Match[str]]) -> list[Token]:
    """Return the marks as tokens; those inside `[asy]` and `[code]` get names of their own."""
    tokens: list[Token] = []
    last = {
        name: max((m.start() for m in marks if m["close"] and _name(m) == name), default=-1)
        for name in _RAW
    }
    inside = ""
    for mark in marks:
        name, closes = _name(mark), bool(mark["close"])
        if inside and not (closes and name == inside):
            name = f"in {inside}"
        elif inside:
            inside = ""
        elif name in _RAW and not closes and last[name] > mark.start():
            inside = name
        tokens.append(Token(mark.start(), mark.end(), name, closes))
    return tokens


def _name(mark: re.Match[str]) -> str:
    return "*" if mark["item"] else mark["name"].lower()


def _counts(token: Token, partner: int | None, is_partner: bool, in_list: int) -> bool:
    if token.name.startswith("in "):
        return False
    if token.name == "*":
        return in_list > 0
    if partner is not None or is_partner:
        return True
    return token.name == "hide" or (token.closes and token.name in _PLAIN | _LINES)


def _sign(token: Token, mark: re.Match[str], is_partner: bool) -> str:
    if token.name in ("*", "li"):
        return "" if token.closes else "\n- "
    if token.name in ("img", "attachment"):
        return image_mark("")
    if token.name in _FORMULA:
        return _FORMULA[token.name]
    if token.name in _SCRIPT:
        return "}" if token.closes else _SCRIPT[token.name]
    if token.name in ("hide", "spoiler") and not token.closes:
        title = (mark["value"] or "").strip().strip('"').strip()
        return f"\n{title}\n" if title else "\n"
    return "\n" if token.name in _LINES or token.name == "quote" else ""
