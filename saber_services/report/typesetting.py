"""Texts of problems as HTML: everything escaped, formulas as MathML."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from markupsafe import Markup, escape

from saber_assets.evaluation.word_math_split import Formula, formulas
from saber_services.report.mathml import convert

LONGEST_TEXT = 20_000
"""Characters of a text beyond which it is shown as it is written, without looking for formulas."""
LONGEST_SHOWN = 100_000
MOST_EXAMPLES = 20

_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_BLANKS = re.compile(r"\s+")


def printable(text: str) -> str:
    """Return a text with the characters replaced that an HTML page must not contain."""
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)


def end_outside(text: str, longest: int, found: Sequence[Formula]) -> int:
    """Return where to cut a text near `longest` characters: at a space, and in no formula.

    Args:
        text: longer than that.
        longest: characters, about.
        found: the formulas of the text.
    """
    crossing = next((one for one in found if one.start < longest < one.stop), None)
    if crossing is not None:
        return crossing.start if crossing.start > longest // 2 else crossing.stop
    space = max(text.rfind(blank, longest * 3 // 4, longest + 1) for blank in " \n")
    if space <= 0:
        return longest
    return next((one.stop for one in found if one.start < space < one.stop), space)


class Typesetter:
    """Sets texts, and counts the formulas.

    Attributes:
        formulas: how many were met.
        left: how many stay as they are written, because they can't be converted.
        examples: some of those.
        long_texts: texts that are too long to look for formulas.
    """

    def __init__(self) -> None:
        self.formulas = 0
        self.left = 0
        self.examples: Counter[str] = Counter()
        self.long_texts = 0

    def __call__(self, text: str) -> Markup:
        """Return a whole text as HTML."""
        clean = printable(text.strip())
        if len(clean) > LONGEST_TEXT:
            self.long_texts += 1
            shown = clean[:LONGEST_SHOWN]
            return escape(shown) + ("" if shown == clean else " …")
        return self._set(clean, list(formulas(clean)))

    def short(self, text: str, longest: int) -> Markup:
        """Return the beginning of a text on one line, cut outside its formulas.

        Args:
            text: any.
            longest: characters of the source, about.
        """
        clean = printable(_BLANKS.sub(" ", text[: 8 * longest]).strip())
        found = list(formulas(clean))
        if len(clean) <= longest and len(text) <= 8 * longest:
            return self._set(clean, found, inline=True)
        end = end_outside(clean, longest, found)
        kept = [formula for formula in found if formula.stop <= end]
        return self._set(clean[:end].rstrip(), kept, inline=True) + " …"

    def plain(self, text: str, longest: int) -> Markup:
        """Return the beginning of a text on one line, its formulas as they are written."""
        clean = printable(_BLANKS.sub(" ", text[: 8 * longest]).strip())
        return escape(clean if len(clean) <= longest else clean[:longest].rstrip() + " …")

    def _set(self, text: str, found: list[Formula], inline: bool = False) -> Markup:
        parts: list[Markup] = []
        last = 0
        for formula in found:
            parts.append(escape(text[last : formula.start]))
            parts.append(self._formula(text[formula.start : formula.stop], formula, inline))
            last = formula.stop
        parts.append(escape(text[last:]))
        return Markup("").join(parts)

    def _formula(self, source: str, formula: Formula, inline: bool) -> Markup:
        self.formulas += 1
        body = source if formula.is_environment else formula.body
        made = convert(body.strip(), formula.is_display and not inline)
        if made is not None:
            return made
        self.left += 1
        if source in self.examples or len(self.examples) < MOST_EXAMPLES:
            self.examples[source] += 1
        return Markup("<code>{}</code>").format(source)
