r"""HTML to text, for text in which `<` is more often a sign than the beginning of a tag.

A tag is what has the name of an HTML element and, if anything, attributes with a value. A name
that could be a variable or a word (`<b>`, `<p>`, `<map>`) is a tag only where its closing tag
follows. So `a<b`, `<b<c$`, `x<y>z`, `<12` and `<Step 1>` survive.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html.entities import name2codepoint

from saber_assets.corpus.cleaning.regions import Token, matched, outside_verbatim

_VOID = frozenset({"br", "hr", "img", "wbr"})
_OPEN_END = frozenset({"li", "td", "th", "tr", "thead", "tbody", "tfoot", "dt", "dd"})
_BLOCK = {
    "address", "article", "aside", "blockquote", "center", "dd", "details", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6",
    "header", "li", "main", "nav", "ol", "pre", "section", "summary", "table", "tbody",
    "tfoot", "thead", "tr", "ul",
}  # fmt: skip
_INLINE = {
    "a", "abbr", "acronym", "annotation", "b", "bdi", "bdo", "big", "body", "button",
    "caption", "cite", "code", "del", "dfn", "em", "font", "head", "html", "i", "iframe",
    "ins", "kbd", "label", "mark", "math", "mfrac", "mi", "mn", "mo", "mrow", "msqrt",
    "mstyle", "msub", "msup", "mtext", "nobr", "noscript", "p", "q", "s", "samp", "script",
    "semantics", "small", "span", "strike", "strong", "style", "sub", "sup", "svg", "td",
    "textarea", "th", "title", "tt", "u", "var",
}  # fmt: skip
_TABLE = {"table", "thead", "tbody", "tfoot", "tr", "td", "th"}
_DROPPED = frozenset({"style", "head", "title", "script", "noscript", "iframe", "svg"})
_KNOWN = _VOID | _OPEN_END | _BLOCK | _INLINE

_VALUE = r"""(?:"[^"]{0,20000}"|'[^']{0,20000}'|[^\s"'<>=`]{1,2000})"""
_TAG = re.compile(
    r"<(?P<close>/?)(?P<name>[A-Za-z][A-Za-z0-9]{0,11})"
    rf"(?P<attributes>(?:\s{{1,50}}[A-Za-z_:][\w:.-]{{0,60}}\s{{0,9}}=\s{{0,9}}{_VALUE})*)"
    r"\s{0,50}/?>"
)
_ATTRIBUTE = re.compile(r"""([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>=`]+))""")
_COMMENT = re.compile(r"<!--|-->")
_REVEAL = re.compile(
    r"(class=.[^<>]{0,200}cmty-hide-heading[^<>]{0,200}>)\s{0,9}Click to reveal hidden text"
    r"(?=\s{0,9}</)"
)
_DOCTYPE = re.compile(r"<!doctype [^<>]{0,300}>", re.IGNORECASE)

_NAMES = "|".join(sorted({*name2codepoint, "apos"}))
_ENTITY = re.compile(
    rf"&(?:amp;)*(?:(?P<name>{_NAMES})|#(?P<decimal>\d{{1,7}})|#[xX](?P<hex>[\da-fA-F]{{1,6}}));"
)
_GONE = frozenset({0xAD, 0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x2060, 0xFEFF})
_FILE_NAME = re.compile(r"[\w .%()-]*\.\w{2,4}|(?:image|img|figure|picture|photo|\W*)", re.I)
_FORMULA_IMAGE = re.compile(r"latex|tex\b|math|asy", re.IGNORECASE)


def html_to_text(text: str) -> str:
    r"""Turn HTML into text.

    Paragraphs, lists and table rows become lines, cells are separated by ` | `, `<sup>`/`<sub>`
    become `^{...}`/`_{...}`, an image of a formula its LaTeX, another image `[image]` or
    `[image: what it shows]`; scripts, styles and comments go, entities become characters.
    """
    if "<" in text:
        text = _tags(text)
    return _entities(text) if "&" in text else text


@outside_verbatim
def _tags(text: str) -> str:
    if "<!" in text:
        text = _DOCTYPE.sub("", _without_comments(text))
    if "Click to reveal" in text:  # what the forum's page writes on a [hide] without a title
        text = _REVEAL.sub(r"\1", text)
    marks = [mark for mark in _TAG.finditer(text) if mark["name"].lower() in _KNOWN]
    return _render(text, marks) if marks else text


def _without_comments(text: str) -> str:
    kept: list[str] = []
    done, opened = 0, -1
    for mark in _COMMENT.finditer(text):
        if mark[0] == "<!--":
            opened = mark.start() if opened < 0 else opened
        elif opened >= 0:
            kept.append(text[done:opened])
            done, opened = mark.end(), -1
    return "".join([*kept, text[done:]])


def _render(text: str, marks: Sequence[re.Match[str]]) -> str:
    tokens = [Token(m.start(), m.end(), m["name"].lower(), bool(m["close"])) for m in marks]
    pairs = matched(tokens)
    closing = {end: start for start, end in pairs.items()}
    out = _Text()
    done = 0
    last = ""
    for index, (token, mark) in enumerate(zip(tokens, marks, strict=True)):
        if token.start < done:
            continue
        partner = pairs.get(index)
        if not _is_tag(text, token, partner is not None):
            continue
        between = text[done : token.start]
        if not (between.isspace() and token.name in _TABLE and last in _TABLE):
            out.add(between)
        done, last = token.end, token.name
        if token.name in ("br", "hr") and text[done : done + 1] == "\n":
            done += 1
        if partner is not None and token.name in _DROPPED | {"math"}:
            out.add(_replacement(text[token.start : tokens[partner].end], token.name))
            done = tokens[partner].end
        elif token.name == "img":
            out.add(_image(_attributes(mark["attributes"])))
        else:
            _put_sign(token, index in closing or partner is not None, out)
    out.add(text[done:])
    return "".join(out.parts)


def _is_tag(text: str, token: Token, paired: bool) -> bool:
    if paired or token.closes or token.name in _VOID | _OPEN_END:
        return True
    return token.name == "p" and (token.start == 0 or text[token.start - 1] in "\n>")


class _Text:
    """The text made so far; keeps two formulas apart that would become one."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def add(self, piece: str) -> None:
        if not piece:
            return
        if self.parts and self.parts[-1].endswith("$") and piece.startswith("$"):
            self.parts.append(" ")
        self.parts.append(piece)

    def line(self) -> None:
        """Begin a line, unless one has begun."""
        if self.parts and not self.parts[-1].endswith("\n"):
            self.parts.append("\n")

    def in_row(self) -> bool:
        """Tell whether a cell of the same table row comes before."""
        for part in reversed(self.parts):
            if stripped := part.rstrip(" "):
                return not stripped.endswith("\n")
        return False


def _put_sign(token: Token, paired: bool, out: _Text) -> None:
    """Put what stands for a tag that only sets or separates text."""
    if token.name in ("sup", "sub"):
        if paired:
            out.add("}" if token.closes else _OPEN[token.name])
    elif token.name in ("td", "th"):
        out.add(" | " if not token.closes and out.in_row() else "")
    elif token.name == "p":
        out.add("\n\n")
    elif token.name in ("br", "hr"):
        out.add("\n")
    elif token.name in _BLOCK and not (token.name == "tr" and token.closes):
        out.line()
        out.add("- " if token.name == "li" and not token.closes else "")


_OPEN = {"sup": "^{", "sub": "_{"}


def _replacement(element: str, name: str) -> str:
    """Return what stands for an element whose content is no text: its LaTeX, or nothing."""
    head, _, rest = element.partition(">")
    content = rest.rpartition("</")[0]
    if name == "script":
        if "math/tex" not in head:
            return ""
        return f"$${content}$$" if "mode=display" in head else f"${content}$"
    if name == "math":
        _, mark, tail = content.partition('encoding="application/x-tex">')
        latex = tail.partition("</annotation>")[0] if mark else ""
        if latex:
            display = 'display="block"' in head
            return f"$${_entities(latex)}$$" if display else f"${_entities(latex)}$"
        return _ANY_TAG.sub(" ", content)
    return ""


_ANY_TAG = re.compile(r"</?[A-Za-z][^<>]{0,2000}>")


def _attributes(text: str) -> dict[str, str]:
    return {
        name.lower(): _entities(double or single or bare)
        for name, double, single, bare in _ATTRIBUTE.findall(text)
    }


def _image(attributes: dict[str, str]) -> str:
    alternative = attributes.get("alt", "").strip()
    about = attributes.get("class", "") + " " + attributes.get("src", "")
    if alternative.startswith("[asy") or _is_formula(alternative):
        return alternative
    if alternative and _FORMULA_IMAGE.search(about):
        return f"${alternative}$"
    return image_mark(alternative)


def _is_formula(text: str) -> bool:
    ends = (("$", "$"), (r"\(", r"\)"), (r"\[", r"\]"), (r"\begin{", "}"))
    return any(len(text) > 2 and text.startswith(a) and text.endswith(b) for a, b in ends)


def image_mark(alternative: str) -> str:
    """Return the mark of an image: `[image]`, or `[image: ...]` with what it is said to show."""
    said = " ".join(alternative.replace("[", "(").replace("]", ")").split())
    return "[image]" if _FILE_NAME.fullmatch(said) else f"[image: {said}]"


def _entities(text: str) -> str:
    return _ENTITY.sub(_character, text)


def _character(mark: re.Match[str]) -> str:
    if name := mark["name"]:
        code = name2codepoint.get(name, 0x27)
    else:
        code = int(mark["decimal"]) if mark["decimal"] else int(mark["hex"], 16)
    if code in _GONE:
        return ""
    if code in (0x0A, 0x0D, 0xA0):
        return " " if code == 0xA0 else "\n"
    if code < 0x20 or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000 or code > 0x10FFFF:
        return mark[0]
    return chr(code)
