r"""Drawings in code (Asymptote, TikZ, PSTricks) and pictures: set aside, marked, counted.

Drawing code is thousands of characters that say nothing to a reader of text; a commutative diagram
(`tikzcd`, `xy`) is a formula and stays.
"""

from __future__ import annotations

import re

from saber_assets.corpus.cleaning.html import image_mark
from saber_assets.corpus.cleaning.regions import Token, outermost, outside_verbatim

DIAGRAM = "[diagram]"
"""What stands in the text for a drawing that was set aside."""

_NAMES = r"asy|asydef|tikzpicture|pspicture\*?"
_MARK = re.compile(
    rf"(?P<begin>\\begin)\{{(?P<name>{_NAMES})\}}|\\end\{{(?P<end>{_NAMES})\}}"
    r"|(?P<open>\[asy(?:[ =][^\[\]\n]{0,200})?\])|\[/asy\]",
    re.IGNORECASE,
)
_SUFFIX = r"\.(?:png|jpe?g|gif|svg|webp|bmp|tiff?|eps|pdf)"
_MARKDOWN = re.compile(
    r"!\[([^\[\]\n]{0,1000})\]\(\s{0,9}"
    rf"(?:(?:https?:|data:image|attachment:)[^()\s]*+|[^()\s]{{1,300}}{_SUFFIX}(?:\?[^()\s]*+)?)"
    r"(?:\s{1,9}\"[^\"\n]{0,300}\")?\s{0,9}\)",
    re.IGNORECASE,
)
_INCLUDE = re.compile(
    r"\\includegraphics\*?\s{0,9}(?:\[[^\[\]]{0,500}\])?\s{0,9}\{[^{}\n]{0,500}\}"
)
_IMAGE = re.compile(r"\[image(?::[^\[\]\n]{0,2000})?\]")
_PLACEHOLDER = re.compile(r"\[(?:image|diagram|figure|ref)(?::[^\[\]\n]{0,2000})?\]")


def _spans(text: str) -> list[tuple[int, int]]:
    if "[asy" not in text.lower() and "\\begin{" not in text:
        return []
    tokens = []
    for mark in _MARK.finditer(text):
        name = (mark["name"] or mark["end"] or "[asy]").lower()
        opens = bool(mark["begin"] or mark["open"])
        tokens.append(Token(mark.start(), mark.end(), name, not opens))
    return outermost(tokens)


def diagrams_set_aside(text: str) -> str:
    """Put `[diagram]` in the place of each drawing; one that isn't closed stays."""
    out: list[str] = []
    done = 0
    for start, end in _spans(text):
        out += [text[done:start], DIAGRAM]
        done = end
    return "".join([*out, text[done:]]) if out else text


def diagrams_in(text: str) -> tuple[str, ...]:
    """Return the drawings that `diagrams_set_aside` takes out, in order, as they stand."""
    return tuple(text[start:end] for start, end in _spans(text))


@outside_verbatim
def images_marked(text: str) -> str:
    r"""Put `[image]` for Markdown pictures and `\includegraphics`, with what they show, if said."""
    if "](" in text:
        text = _MARKDOWN.sub(lambda mark: image_mark(mark[1]), text)
    return _INCLUDE.sub("[image]", text) if "\\includegraphics" in text else text


def count_images(text: str) -> int:
    """Return the number of images that a cleaned text marks."""
    return len(_IMAGE.findall(text)) if "[image" in text else 0


def without_placeholders(text: str) -> str:
    """Return a text without the marks of images, diagrams, figures and references."""
    return _PLACEHOLDER.sub(" ", text) if "[" in text else text
