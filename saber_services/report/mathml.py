r"""LaTeX formulas as MathML that a hostile text can't turn into anything else.

latex2mathml makes the elements. What it makes is not trusted: it writes `\text{<script>}` as it
stands, and `\href` and `\style` become attributes. So its elements are written again here, from a
list of allowed elements, attributes and values, with every text escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec
from xml.etree.ElementTree import Element

from markupsafe import Markup, escape

LONGEST_FORMULA = 3_000
DEEPEST = 60
MOST_KEPT = 50_000
"""Converted formulas that are remembered: the same ones occur again and again."""

_ELEMENTS = frozenset([
    "math", "menclose", "mfrac", "mi", "mn", "mo", "mover", "mpadded", "mphantom", "mroot", "mrow",
    "mspace", "msqrt", "mstyle", "msub", "msubsup", "msup", "mtable", "mtd", "mtext", "mtr",
    "munder", "munderover",
])  # fmt: skip
_LEAVES = frozenset(["mi", "mn", "mo", "mtext", "mspace"])
_TRUTH = re.compile(r"true|false")
_LENGTH = re.compile(r"[+-]?(?:\d|[12]\d)?(?:\.\d{1,4})?(?:em|ex|pt|px)|0")
_ATTRIBUTES = {
    "display": re.compile(r"block|inline"),
    "displaystyle": _TRUTH,
    "scriptlevel": re.compile(r"[+-]?[0-3]"),
    "stretchy": _TRUTH,
    "fence": _TRUTH,
    "separator": _TRUTH,
    "accent": _TRUTH,
    "movablelimits": _TRUTH,
    "form": re.compile(r"prefix|infix|postfix"),
    "linethickness": _LENGTH,
    **dict.fromkeys(
        ("width", "height", "depth", "lspace", "rspace", "voffset", "minsize", "maxsize"), _LENGTH
    ),
    "rowspan": re.compile(r"[1-9]"),
    "columnspan": re.compile(r"[1-9]"),
}
_CLASSES = {
    ("mathvariant", "bold"): "b",
    ("mathvariant", "bold-italic"): "b",
    ("mathvariant", "italic"): "i",
    ("columnalign", "left"): "l",
    ("columnalign", "right"): "r",
    ("notation", "box"): "box",
}
"""What browsers ignore in MathML Core and the style sheet does instead."""
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_FUNCTIONS = frozenset([
    "arccos", "arcsin", "arctan", "arg", "cos", "cosh", "cot", "coth", "csc", "deg", "det", "dim",
    "exp", "gcd", "hom", "ker", "lcm", "lg", "ln", "log", "max", "min", "sec", "sin", "sinh", "tan",
    "tanh",
])  # fmt: skip
_BARS = ("|", "‖")
_ENTITY = re.compile(r"&#x([0-9A-Fa-f]{2,6});")
_NO_CHARACTER = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
_NUMBERING = re.compile(r"\\(?:nonumber|notag)(?![A-Za-z])|\\label\s*\{[^{}]*\}")
_ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{([A-Za-z]+)\*?\}")
_ALIGNED = frozenset(["align", "aligned", "split", "eqnarray", "flalign"])
_STACKED = frozenset(["gather", "gathered", "multline"])
_PLAIN = frozenset(["equation", "displaymath", "math"])
_THREE_COLUMNS = re.compile(r"&([^&\\]{0,20}|\s*\\[A-Za-z]+\s*)&")


class _UnknownError(ValueError):
    """The formula holds something that the converter only copies."""


def is_available() -> bool:
    """Tell whether the converter is installed; without it formulas stay as they are written."""
    return find_spec("latex2mathml") is not None


@lru_cache(MOST_KEPT)
def convert(formula: str, display: bool = False) -> Markup | None:
    """Return a formula as a MathML element, or None where it can't be converted.

    Args:
        formula: LaTeX without the delimiters, but with the environment if it is one.
        display: whether it stands on a line of its own.
    """
    if len(formula) > LONGEST_FORMULA or not formula.strip() or not is_available():
        return None
    from latex2mathml.converter import convert_to_element

    source = _levelled(_NO_CHARACTER.sub("", formula))
    if not _is_balanced(source):
        return None
    try:
        made = convert_to_element(source, display="block" if display else "inline")
        return Markup("".join(_written(made)))  # noqa: S704 - of allowed elements, texts escaped
    except (Exception, RecursionError):  # noqa: BLE001 - whatever a foreign parser raises
        return None


def _levelled(source: str) -> str:
    """Return a formula with the environments that the converter knows, and without numbering."""
    text = _NUMBERING.sub("", source)
    if r"\begin" not in text:
        return text
    if "{eqnarray" in text:
        text = _THREE_COLUMNS.sub(r"&\1 ", text)
    return _ENVIRONMENT.sub(_known, text)


def _known(match: re.Match[str]) -> str:
    verb, name = match.groups()
    if name in _PLAIN:
        return ""
    if name in _ALIGNED:
        return rf"\{verb}{{align*}}"
    return rf"\{verb}{{matrix}}" if name in _STACKED else match[0]


def _is_balanced(source: str) -> bool:
    """Tell whether each brace has its partner, and none stands too deep."""
    depth = 0
    for brace in _BRACE.findall(source):
        depth += (brace == "{") - (brace == "}")
        if not 0 <= depth <= DEEPEST:
            return False
    return depth == 0


def _written(element: Element) -> Iterator[str]:
    """Yield an element as text.

    Raises:
        _UnknownError: for an element that isn't allowed, or a command that was only copied.
    """
    tag = element.tag.rpartition("}")[2]
    if tag not in _ELEMENTS or element.get("linebreak") is not None:
        raise _UnknownError(tag)
    text = _text(element, tag) if tag in _LEAVES and not len(element) else ""
    name, more = _in_core(tag, text)
    yield f"<{name}{''.join(_attributes(element))}{more}>{escape(text)}"
    for child in element:
        yield from _written(child)
    yield f"</{name}>"


def _in_core(tag: str, text: str) -> tuple[str, str]:
    """Return the element that browsers know for one, with the spaces that they don't put."""
    if tag == "menclose":
        return "mrow", ""
    if tag == "mi" and text in _FUNCTIONS:
        return "mo", ' form="prefix" lspace="0.167em" rspace="0.167em"'
    if tag == "mo" and text in _BARS:
        return "mo", ' lspace="0" rspace="0"'
    return tag, ""


def _attributes(element: Element) -> Iterator[str]:
    classes = []
    for key, value in element.attrib.items():
        allowed = _ATTRIBUTES.get(key)
        if allowed is not None and allowed.fullmatch(value):
            yield f' {key}="{value}"'
        elif (key, value) in _CLASSES:
            classes.append(_CLASSES[key, value])
        elif (key, value) == ("mathvariant", "normal"):
            yield ' mathvariant="normal"'
    if classes:
        yield f' class="{" ".join(classes)}"'


def _text(element: Element, tag: str) -> str:
    text = _ENTITY.sub(_character, element.text or "")
    if tag == "mtext":
        text = text.replace("$", "")
    elif text in ("&", "$"):
        raise _UnknownError(text)
    if re.search(r"\\[A-Za-z]", text):
        raise _UnknownError(text)
    return text


def _character(match: re.Match[str]) -> str:
    code = int(match[1], 16)
    return _NO_CHARACTER.sub("", chr(code)) if code < 0x110000 else ""
