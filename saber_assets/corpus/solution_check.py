r"""Tells a solution from a remark that there is none ("Omitted.", "See above.", "[image]").

A short answer ("42", "x = 3", "none", "no solution") is a solution: the check looks for texts
that *only* say that the solution is elsewhere, and never judges length.
"""

from __future__ import annotations

import re

from saber_assets.corpus.tokens import INVISIBLE

LONGEST_REMARK = 160
"""Texts with more characters are never remarks; they are not looked at."""

_LOOKS = re.compile(
    r"\\(?:textit|textbf|emph|text|mbox|it|bf|em|quad|qquad|square|blacksquare|qed|hfill)\b\*?"
    r"|\\(?:begin|end)\{(?:proof|solution)\}"
    r"|[∎□■]|q\.?e\.?d\b\.?",
    re.IGNORECASE,
)
_PICTURE = re.compile(
    r"!\[[^\]]*\]\([^)]*\)"
    r"|\[(?:image|img|figure|picture|graph)[^\]]*\]"
    r"|<img[^>]*>"
    r"|\\includegraphics\*?(?:\[[^\]]*\])?\{[^}]*\}",
    re.IGNORECASE,
)
_HEADING = re.compile(
    r"^(?:(?:the |a )?(?:full |complete |detailed )?(?:proof|solution|answer|sol|ans)s?"
    r"\b(?: of[^:.]{0,40})? ?[:.] ?)+",
)
_SPACE_AND_SIGNS = re.compile(r"[\s{}$*_#\"“”()\[\]]+")

_THING = (
    r"(?:(?:the |a |an |its |this |full |complete |detailed |formal |easy |simple )*"
    r"(?:proof|solution|answer|argument|verification|derivation|computation|calculation|detail)s?)"
)
_PLACE = (
    r"(?:above|below|earlier|before|previous(?:ly)?|text|textbook|book|notes|lecture notes|"
    r"attachment|attached|attached (?:file|image|picture)|figure|image|picture|diagram|graph|"
    r"video|link|comments?|thread|back of (?:the )?book|answer key|appendix|next page|ref|"
    r"(?:previous|next|first|second|last|other) (?:problem|solution|part|exercise|post|answer)|"
    r"(?:solution|proof|answer|post|link|figure|image|picture|discussion)s? "
    r"(?:above|below|attached|in the (?:text|book|appendix)))"
)
_READER = r"(?:(?:to|for|by) (?:the )?(?:interested |curious |diligent )?(?:reader|student)s?)"
_EASE = (
    r"(?:trivial(?:ly)?|obvious(?:ly)?|clear(?:ly)?|evident(?:ly)?|immediate(?:ly)?|easy|"
    r"straightforward|self-evident|left out|routine|simple|well[- ]known)"
)
_REMARK = re.compile(
    "|".join(
        [
            rf"(?:{_THING} )?(?:is |are |was |were )?(?:here )?(?:omitted|skipped)"
            rf"(?: here| for (?:brevity|now|lack of space))?",
            rf"(?:we |i )?(?:omit|skip) {_THING}",
            rf"(?:please )?(?:see|cf|refer to|look at|check|as in|same as|similar to|as) "
            rf"(?:the |in the |in )?(?:{_PLACE}|\[?ref\]?)",
            r"(?:done|shown|proved|proven|given|discussed|solved) (?:above|below|earlier)",
            rf"(?:{_THING} )?(?:is |are |will be )?left (?:as an? (?:\w+ )?exercise ?)?{_READER}?"
            rf"(?: as an? (?:\w+ )?exercise)?",
            rf"(?:{_THING} )?(?:is )?(?:an? )?(?:\w+ )?exercise(?: {_READER})?",
            rf"(?:{_THING} |this |it )?(?:is )?(?:quite |very |rather )?{_EASE}"
            rf"(?: (?:proof|and (?:left|omitted).*))?",
            r"(?:n/a|na|nan|null|todo|tbd|tba|wip|pending|placeholder|unknown|to be added"
            r"|to be done|to be determined|to be announced|coming soon|not available|unavailable"
            r"|not provided|not given|none given|none provided|none available)",
            rf"(?:no |without )(?:(?:official|written|known|full) )?{_THING}"
            r"(?: (?:is |was )?(?:available|provided|given|yet))+",
            rf"{_THING} (?:is |are |was |were )?(?:not (?:available|provided|given|known|included)"
            r"|unavailable|missing|to follow|coming soon|to be added)(?: yet)?",
            rf"(?:{_THING}|sol|ans)",
            r"answers?(?: may| will)? vary",
            r"hint(?: (?:above|below))?",
        ]
    )
)
_UNREADABLE = re.compile(r"[^\w\\+=<>≤≥∞∅√%°!/|^-]")


def is_real_solution(solution: str) -> bool:
    r"""Tell whether a text that is not empty says more than that the solution is elsewhere.

    Args:
        solution: the solution as read.

    Returns:
        False for "Omitted.", "See above.", "Proof left to the reader", "Trivial.", a bare
        heading, a bare picture, punctuation only, and their like; true for all else, short
        answers included.
    """
    if len(solution) > LONGEST_REMARK:
        return True
    text = _PICTURE.sub(" ", _LOOKS.sub(" ", INVISIBLE.sub("", solution)))
    text = _SPACE_AND_SIGNS.sub(" ", text).strip().lower()
    bare = text.strip(" .,;:!?…-–—'`~\\/")
    if not bare or not _UNREADABLE.sub("", bare):
        return _shows_a_sign(text)
    if _REMARK.fullmatch(bare):
        return False
    body = _HEADING.sub("", text).strip(" .,;:!?…-–—'`~")
    return bool(body) and not _REMARK.fullmatch(body)


def _shows_a_sign(text: str) -> bool:
    """Tell whether what is left of a text without words holds a sign that can be an answer."""
    return any(character in "+=<>≤≥∞∅√%°" for character in text)
