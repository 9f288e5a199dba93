"""The steps of cleaning, in their order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from saber_assets.corpus.cleaning.answers import (
    annotations_removed,
    final_answer_in,
    final_answer_removed,
)
from saber_assets.corpus.cleaning.bbcode import bbcode_to_text
from saber_assets.corpus.cleaning.characters import (
    composed,
    invisible,
    line_ends,
    lost_backslashes,
    white_space,
)
from saber_assets.corpus.cleaning.diagrams import diagrams_in, diagrams_set_aside, images_marked
from saber_assets.corpus.cleaning.dollars import delimiters, money_escaped
from saber_assets.corpus.cleaning.html import html_to_text
from saber_assets.corpus.cleaning.metadata import metadata_stripped

REVISION = 2
"""Raised by hand when a step changes what it does: cleaned tables are stale then."""
ROUNDS = 6
"""How often a step, and the list, may change a text before it counts as one that never settles."""

Part = Literal["both", "statement", "solution"]


class Outcome(NamedTuple):
    """A text after a step, what the step took out of it, and whether it settled."""

    text: str
    taken: list[str]
    settled: bool


@dataclass(frozen=True, slots=True)
class Step:
    """One step of cleaning.

    Attributes:
        name: what `Cleaned.steps` and docs/cleaning.md call it.
        description: one line: what it changes.
        function: from text to text.
        part: to which texts of a record it is applied.
        takes: what it keeps of what it takes out, or None.
        taken: from a text, in order, what the function takes out of it.
    """

    name: str
    description: str
    function: Callable[[str], str]
    part: Part = "both"
    takes: Literal["answer", "diagrams"] | None = None
    taken: Callable[[str], tuple[str, ...]] | None = None

    def apply(self, text: str) -> str:
        """Return the text after the step; applied to that, it changes nothing.

        The text stays as it is where the step would leave no letter or digit of a text that has
        some, or wouldn't settle within `ROUNDS`.
        """
        return self.run(text).text

    def run(self, text: str) -> Outcome:
        """Apply the step, and return also what it took out, and whether it settled."""
        taken: list[str] = []
        now = text
        for _ in range(ROUNDS):
            after = self.function(now)
            if after == now:
                break
            if self.taken is not None:
                taken += self.taken(now)
            now = after
        else:
            return Outcome(text, [], settled=False)
        if now == text or (not has_content(now) and has_content(text)):
            return Outcome(text, [], settled=True)
        return Outcome(now, taken, settled=True)


def has_content(text: str) -> bool:
    """Tell whether a text has a letter or a digit."""
    return any(map(str.isalnum, text))


STEPS: tuple[Step, ...] = (
    Step(
        "lost_backslashes",
        "control characters that were the beginning of a LaTeX command get their backslash back",
        lost_backslashes,
    ),
    Step("line_ends", "every kind of line end becomes a line feed", line_ends),
    Step("invisible", "characters without width and control characters go", invisible),
    Step("composed", "characters are composed (Unicode NFC, never NFKC)", composed),
    Step("html", "HTML becomes text; `a<b` and `<12` survive", html_to_text),
    Step(
        "diagrams",
        "Asymptote, TikZ and PSTricks code is set aside; `[diagram]` stands for it",
        diagrams_set_aside,
        takes="diagrams",
        taken=diagrams_in,
    ),
    Step("bbcode", "BBCode becomes text; `[0,1)` and `[x]` survive", bbcode_to_text),
    Step("images", "pictures become `[image]`, with what they show, if said", images_marked),
    Step("annotations", "calculator annotations `<<2*3=6>>` go", annotations_removed),
    Step(
        "final_answer",
        "a last line `#### 42` becomes the answer",
        final_answer_removed,
        part="solution",
        takes="answer",
        taken=final_answer_in,
    ),
    Step("money", r"dollars that are money become `\$`, so that the others pair up", money_escaped),
    Step("delimiters", r"`\(...\)` becomes `$...$` and `\[...\]` becomes `$$...$$`", delimiters),
    Step(
        "metadata",
        "contest, problem number, points and author at the ends of a statement go",
        metadata_stripped,
        part="statement",
    ),
    Step("white_space", "runs of spaces and of blank lines become one; the ends go", white_space),
)
"""All steps, in the order in which they are applied."""

STEP_NAMES = tuple(step.name for step in STEPS)
MARKUP_STEPS = ("html", "bbcode", "images")
"""The steps that turn markup into text, without which nobody can read a post."""
