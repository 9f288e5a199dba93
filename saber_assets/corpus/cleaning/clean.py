"""Cleans the texts of a record: an ordered list of small steps, applied until nothing changes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from saber_assets.corpus.cleaning.answers import boxed_answer
from saber_assets.corpus.cleaning.diagrams import count_images, without_placeholders
from saber_assets.corpus.cleaning.dollars import has_unpaired_dollar
from saber_assets.corpus.cleaning.language import language_of
from saber_assets.corpus.cleaning.steps import (
    MARKUP_STEPS,
    ROUNDS,
    STEP_NAMES,
    STEPS,
    Step,
    has_content,
)

FLAGS = {
    "figure_only": "the statement is nothing but an image, diagram or reference",
    "no_letters": "the statement has no letter but in LaTeX commands",
    "unpaired_dollar": "a dollar sign has no partner and doesn't look like money",
    "mojibake": "a text looks as if it was decoded with the wrong character set",
    "unsettled": "a text doesn't settle under a step, which was not applied to it",
}
"""What can be flagged, with what each means; flagged texts are kept as they are."""

_COMMAND = re.compile(r"\\[A-Za-z]+")
_MOJIBAKE = re.compile("\ufffd|[ÃÂ][\u0080-\u00bf]|â€[\u0080-\u00bf™œ˜“”¦¢]|Ð[\u0080-\u00bf]Ñ")


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A record after cleaning.

    Attributes:
        problem: the statement.
        solutions: as many as given, in their order; "" for an empty one.
        answer: of the first solution that has a final-answer line or a box, or None.
        diagrams: drawing code that was set aside, of the statement first.
        images: how many images statement and solutions mark.
        language: of the statement (of the solutions where it doesn't tell), ISO 639-1 or "und".
        steps: names of the steps that changed something, in their order.
        flags: names of `FLAGS`.
    """

    problem: str
    solutions: tuple[str, ...]
    answer: str | None
    diagrams: tuple[str, ...]
    images: int
    language: str
    steps: tuple[str, ...]
    flags: tuple[str, ...]


class Change(NamedTuple):
    """What one step did to one text: `step` is like "html in the problem"."""

    step: str
    before: str
    after: str


@dataclass(slots=True)
class _Run:
    """One text on its way through the steps."""

    text: str
    steps: set[str] = field(default_factory=set)
    answers: list[str] = field(default_factory=list)
    diagrams: list[str] = field(default_factory=list)
    settled: bool = True
    reverted: bool = False


def clean_record(
    problem: str, solutions: Sequence[str], *, without: Collection[str] = ()
) -> Cleaned:
    """Clean the statement and the solutions of a record.

    Cleaning what was cleaned changes nothing, and no text that has a letter or digit is emptied.
    Time is linear in the length of the texts.

    Args:
        problem: the statement, of any kind of source.
        solutions: the preferred one first.
        without: names of steps to leave out.

    Returns:
        The texts, and what was found in them.

    Raises:
        ValueError: for a name in `without` that is no step.
    """
    steps = _chosen(without)
    statement = _run(problem, "statement", steps)
    runs = [_run(solution, "solution", steps) for solution in solutions]
    everything = [statement, *runs]
    changed = set().union(*(run.steps for run in everything))
    texts = [run.text for run in everything]
    language = language_of(statement.text)
    if language == "und" and runs:
        language = language_of(runs[0].text)
    return Cleaned(
        problem=statement.text,
        solutions=tuple(run.text for run in runs),
        answer=_answer(runs),
        diagrams=tuple(diagram for run in everything for diagram in run.diagrams),
        images=sum(map(count_images, texts)),
        language=language,
        steps=tuple(name for name in STEP_NAMES if name in changed),
        flags=tuple(_flags(texts, settled=all(run.settled for run in everything))),
    )


def trace(problem: str, solutions: Sequence[str], *, without: Collection[str] = ()) -> list[Change]:
    """Return what each step that changed something did, in the order in which it was done.

    Args:
        problem: as for `clean_record`.
        solutions: as for `clean_record`.
        without: as for `clean_record`.

    Returns:
        (step, text before, text after), the statement first. The last `after` of a text is what
        `clean_record` returns for it.
    """
    steps = _chosen(without)
    changes: list[Change] = []
    for number, text in enumerate([problem, *solutions]):
        place = "the problem" if number == 0 else f"solution {number}"
        run = _run(text, "solution" if number else "statement", steps)
        if run.reverted:
            continue
        for step, before, after in _history(text, "solution" if number else "statement", steps):
            changes.append(Change(f"{step.name} in {place}", before, after))
    return changes


def markup_to_text(text: str) -> str:
    """Turn HTML, BBCode and Markdown pictures into text, and leave all else as it is."""
    steps = [step for step in STEPS if step.name in MARKUP_STEPS]
    now = text
    for _ in range(ROUNDS):
        before = now
        for step in steps:
            now = step.apply(now)
        now = now.strip() if has_content(now) else now
        if now == before:
            return now
    return text


def _chosen(without: Collection[str]) -> tuple[Step, ...]:
    unknown = sorted(set(without) - set(STEP_NAMES))
    if unknown:
        raise ValueError(f"there is no step {unknown[0]!r}; the steps are {', '.join(STEP_NAMES)}")
    return tuple(step for step in STEPS if step.name not in without)


def _run(text: str, part: str, steps: Sequence[Step]) -> _Run:
    """Apply the steps to a text until none changes it; leave one that doesn't settle alone."""
    run = _Run(text)
    for _ in range(ROUNDS):
        before = run.text
        for step in steps:
            if step.part not in ("both", part):
                continue
            after, taken, settled = step.run(run.text)
            run.settled &= settled
            if after != run.text:
                run.steps.add(step.name)
                run.text = after
                _keep(run, step, taken)
        if run.text == before:
            return run
    return _Run(text, settled=False, reverted=True)


def _keep(run: _Run, step: Step, taken: list[str]) -> None:
    if step.takes == "answer":
        run.answers += taken
    elif step.takes == "diagrams":
        run.diagrams += taken


def _history(text: str, part: str, steps: Sequence[Step]) -> Iterator[tuple[Step, str, str]]:
    before = None
    while text != before:
        before = text
        for step in steps:
            if step.part in ("both", part) and (after := step.apply(text)) != text:
                yield step, text, after
                text = after


def _answer(runs: Sequence[_Run]) -> str | None:
    for run in runs:
        if run.answers:
            return run.answers[-1]
        if (boxed := boxed_answer(run.text)) is not None:
            return boxed
    return None


def _flags(texts: Sequence[str], *, settled: bool) -> Iterator[str]:
    statement = texts[0]
    if has_content(statement):
        rest = without_placeholders(statement)
        if not has_content(rest):
            yield "figure_only"
        elif not any(map(str.isalpha, _COMMAND.sub("", rest))):
            yield "no_letters"
    if any(map(has_unpaired_dollar, texts)):
        yield "unpaired_dollar"
    if any(not text.isascii() and _MOJIBAKE.search(text) for text in texts):
        yield "mojibake"
    if not settled:
        yield "unsettled"
