r"""Judges forum threads by rules, without a model: cheap, conservative, and open to inspection.

The rules are made to be right about what they accept. They lose problems that a model would keep,
such as those in a language whose words of asking they don't know, and they don't check mathematics:
"answers the problem" means that a solution works with the problem's own quantities. What they need
from a text, BBCode or HTML or neither, they take off themselves.

* An opening post is a problem when it has 3 to 600 words, asks for something, holds mathematics,
  refers to no figure, file, link or other post, isn't about a proof of somebody, a contest or a
  book, doesn't break off, isn't a list of problems, and shows no solution.
* A comment is a substantive solution when its own words (quotations don't count) make at least
  three steps and 100 characters, with four words of deduction and pieces of mathematics together,
  and it isn't a question, a hint, a sketch, a reference, a correction, a part, or in doubt of
  itself.
* The most detailed of them has the most steps, deductions and mathematics; it must share two
  fifths of the numbers, names and longer words of the problem, or the next one is tried.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from saber_assets.corpus.solution_check import is_real_solution
from saber_assets.corpus.thread_funnel import Pick, SelfContainment, ThreadView
from saber_assets.corpus.thread_phrases import (
    BREAKS_OFF,
    COMMON_WORDS,
    DEDUCTION,
    DIRECT_QUESTION,
    FORMULA,
    LISTED,
    MATHEMATICS,
    NO_SOLUTION,
    REFERENCE,
    SHORT_WORDS,
    SOLUTION_HEADING,
    TALK,
    TASK,
)

FEWEST_WORDS, MOST_WORDS = 3, 600
"""Of an opening post."""
SHORTEST_SOLUTION = 100
"""Characters of a solution, whitespace aside from single spaces."""
FEWEST_STEPS = 3
"""Sentences or lines with content."""
FEWEST_DEDUCTIONS, FEWEST_FORMULAS, FEWEST_OF_BOTH = 1, 2, 4
"""Words like "hence", and formulas, of a solution."""
SMALLEST_OVERLAP = 0.4
"""Share of a problem's marks that a solution must hold."""

# --- what a post consists of ------------------------------------------------------------------

# Every repetition is bounded, or stops where the same beginning comes again, so that a post with
# thousands of unclosed tags takes no longer than others.
_INNER_QUOTE = re.compile(
    r"\[quote(?:=[^\]\[]*)?\](?:(?!\[quote).)*?\[/quote\]"
    r"|<blockquote\b[^<>]*>(?:(?!<blockquote).)*?</blockquote>",
    re.DOTALL | re.IGNORECASE,
)
_DEEPEST_QUOTE = 50
_IMG = re.compile(r'<img\b(?>"[^"]*"|[^"<>])*+>', re.IGNORECASE)
_LATEX_CLASS = re.compile(r'\bclass="latex', re.IGNORECASE)
_ALT = re.compile(r'\balt="([^"]*)"', re.IGNORECASE)
_IMAGE = re.compile(
    r"\[img[^\]\[]*\](?:(?!\[img).){0,2000}?\[/img\]"
    r"|\[attachment[^\]\[]*\](?:(?!\[attach).){0,500}?(?:\[/attachment\]|$|(?=\n))"
    r"|!\[[^\]\[]*\]\([^()]*\)|\[(?:image|figure)\]"
    r"|https?://\S{1,500}\.(?:png|jpe?g|gif|svg|bmp|webp)\b",
    re.DOTALL | re.IGNORECASE,
)
_LINK = re.compile(
    r"\[url[^\]\[]*\](?:(?!\[url).){0,2000}?\[/url\]|<a\b[^<>]*>(?:(?!<a\b).){0,2000}?</a>"
    r"|https?://\S+",
    re.DOTALL | re.IGNORECASE,
)
_FIGURE_CODE = re.compile(r"\[asy\](?:(?!\[asy\]).)*?\[/asy\]", re.DOTALL | re.IGNORECASE)
_LINE_TAG = re.compile(
    r"</?(?:p|div|li|ul|ol|br)\b[^<>]*>|\[/?(?:list|center|\*)[^\]\[]*\]|[\u2028\u2029]",
    re.IGNORECASE,
)
_TAG = re.compile(
    r"\[/?(?:b|i|u|s|hide|size|color|url|quote|code|email|spoiler|tip)(?:=[^\]\[]*)?\]"
    r"|</?(?:b|i|u|em|strong|span|font|sup|sub|a|code|pre|blockquote)\b[^<>]*>",
    re.IGNORECASE,
)
_HIDE = re.compile(r"\[hide[^\]\[]*\]((?:(?!\[hide).)*?)\[/hide\]", re.DOTALL | re.IGNORECASE)
_LONG_HIDE = 150
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_STEP = re.compile(r"(?<=[.!?;])\s+|\n+|\\\\|\$\$|\\\]")
_NUMBER_OR_NAME = re.compile(r"\d+|\\[A-Za-z]+|[^\W\d_]+")


class RulesThreadJudge:
    """A ThreadJudge that uses no model; its name says so."""

    name = "rules (no model)"

    def self_contained(self, views: Sequence[ThreadView]) -> list[SelfContainment]:
        """Tell whether each opening post is one problem, by the rules of this module."""
        answers = []
        for view in views:
            fault = opening_fault(view.problem)
            answers.append(SelfContainment(fault is None, fault or "asks for one definite thing"))
        return answers

    def substantive(self, views: Sequence[ThreadView]) -> list[tuple[bool, ...]]:
        """Tell of each comment whether it is a substantive solution."""
        return [
            tuple(comment_fault(comment) is None for comment in view.comments) for view in views
        ]

    def choose(self, views: Sequence[ThreadView]) -> list[Pick]:
        """Pick the most detailed comment that works with the problem's quantities."""
        return [_pick(view) for view in views]


def opening_fault(post: str) -> str | None:
    """Return why an opening post isn't one self-contained problem, or None.

    Args:
        post: readable text, BBCode or HTML.
    """
    if "\ufffd" in post:
        return "characters of it are lost"
    if any(len(hidden) >= _LONG_HIDE for hidden in _HIDE.findall(post)):
        return "it shows a solution"
    plain = _FIGURE_CODE.sub(" ", _with_latex_images(_without_quotes(post)))
    if _IMAGE.search(plain):
        return "it holds a picture or a file"
    text = _bare(plain)
    words = len(_WORD.findall(text))
    checks: tuple[tuple[bool, str], ...] = (
        (words < FEWEST_WORDS, "it is too short"),
        (words > MOST_WORDS, "it is too long for one problem"),
        (REFERENCE.search(text) is not None, "it refers to something that isn't in it"),
        (TALK.search(text) is not None, "it discusses or asks for advice"),
        (TASK.search(text) is None and "?" not in text, "it asks for nothing"),
        (MATHEMATICS.search(text) is None, "it holds no mathematics"),
        (SOLUTION_HEADING.search(text) is not None, "it shows a solution"),
        (BREAKS_OFF.search(text) is not None, "it breaks off"),
        (_lists_problems(text), "it lists several problems"),
    )
    return next((fault for holds, fault in checks if holds), None)


def comment_fault(comment: str) -> str | None:
    """Return why a comment isn't a substantive solution, or None.

    Args:
        comment: readable text, BBCode or HTML.
    """
    if "\ufffd" in comment:
        return "characters of it are lost"
    text = own_words(comment)
    if not text or not is_real_solution(text):
        return "it says nothing itself"
    if len(text) < SHORTEST_SOLUTION:
        return "it is too short"
    if NO_SOLUTION.search(text):
        return "it is a hint, a part, a reference, a remark or in doubt"
    if DIRECT_QUESTION.search(text) or text.rstrip().endswith("?"):
        return "it asks"
    steps, deductions, formulas = _detail(text)
    if steps < FEWEST_STEPS:
        return "it is a sketch"
    if deductions < FEWEST_DEDUCTIONS or deductions + formulas < FEWEST_OF_BOTH:
        return "it deduces hardly anything"
    if formulas < FEWEST_FORMULAS:
        return "it holds hardly any mathematics"
    return None


def own_words(post: str) -> str:
    """Return a post's text without quotations, pictures, links, figures' code and tags."""
    text = _with_latex_images(_without_quotes(post))
    return _bare(_IMAGE.sub(" ", _FIGURE_CODE.sub(" ", text)))


def overlap(problem: str, solution: str) -> float:
    """Return the share of a problem's marks that a solution holds, in [0, 1].

    Marks are numbers, LaTeX commands, names of one to three letters, and words of at least five
    letters that aren't common, each cut to five so that plurals agree. 1 where the problem has
    none.
    """
    wanted = _marks(own_words(problem))
    return len(wanted & _marks(own_words(solution))) / len(wanted) if wanted else 1.0


def _pick(view: ThreadView) -> Pick:
    def detail(position: int) -> tuple[int, int]:
        return -sum(_detail(own_words(view.comments[position]))), position

    best = 0.0
    for position in sorted(range(len(view.comments)), key=detail):
        share = overlap(view.problem, view.comments[position])
        if share >= SMALLEST_OVERLAP:
            return Pick(position, f"most detailed; it holds {share:.0%} of the problem's marks")
        best = max(best, share)
    return Pick(None, f"no solution holds more than {best:.0%} of the problem's marks")


def _detail(text: str) -> tuple[int, int, int]:
    """Return how many steps, words of deduction and pieces of mathematics a text has."""
    steps = sum(
        len(_WORD.findall(part)) + len(FORMULA.findall(part)) >= 2 for part in _STEP.split(text)
    )
    return steps, len(DEDUCTION.findall(text)), len(FORMULA.findall(text))


def _without_quotes(text: str) -> str:
    for _ in range(_DEEPEST_QUOTE):
        shorter = _INNER_QUOTE.sub(" ", text)
        if shorter == text:
            break
        text = shorter
    return text


def _with_latex_images(text: str) -> str:
    """Return a text with the images of formulas as LaTeX, and other images as "[image]"."""

    def formula(match: re.Match[str]) -> str:
        alt = _ALT.search(match[0])
        return f" {alt[1]} " if alt and _LATEX_CLASS.search(match[0]) else " [image] "

    return _IMG.sub(formula, text)


def _bare(text: str) -> str:
    text = _TAG.sub("", _LINE_TAG.sub("\n", _LINK.sub(" ", text)))
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


def _lists_problems(text: str) -> bool:
    starts = [match.start() for match in LISTED.finditer(text)]
    parts = [text[a:b] for a, b in pairwise([*starts, len(text)])]
    return sum(TASK.search(part) is not None for part in parts) >= 2


def _marks(text: str) -> set[str]:
    marks = set()
    for token in _NUMBER_OR_NAME.findall(text):
        word = token.lower()
        if token[0].isdecimal() or token[0] == "\\":
            marks.add(token)
        elif len(token) <= 3:
            if word not in SHORT_WORDS:
                marks.update(token)
        elif len(token) >= 5 and word not in COMMON_WORDS:
            marks.add(word[:5])
    return marks
