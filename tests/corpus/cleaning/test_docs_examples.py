"""The examples of docs/cleaning.md are what the code does, and all steps are there, in order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from saber_assets.corpus.cleaning import FLAGS, STEP_NAMES, STEPS

PAGE = (Path(__file__).parents[3] / "docs" / "cleaning.md").read_text(encoding="utf-8")
SECTION = PAGE.split("## The steps")[1].split("\n## ")[0]
HEAD = re.compile(r"^\d+\. `(\w+)`: ", re.MULTILINE)
EXAMPLE = re.compile(r"^ +\* `([^`]*)` (?:becomes `([^`]*)`|(stays))$", re.MULTILINE)


def read(shown: str) -> str:
    text = re.sub("‹U\\+([0-9A-F]{4})›", lambda m: chr(int(m[1], 16)), shown)
    return text.replace("⏎", "\n")


def examples() -> list[tuple[str, str, str]]:
    found = []
    pieces = HEAD.split(SECTION)[1:]
    for name, body in zip(pieces[::2], pieces[1::2], strict=True):
        for before, after, stays in EXAMPLE.findall(body):
            found.append((name, read(before), read(before if stays else after)))
    return found


def test_the_steps_stand_in_their_order() -> None:
    assert tuple(HEAD.findall(SECTION)) == STEP_NAMES


def test_every_step_has_an_example_that_changes() -> None:
    assert {name for name, before, after in examples() if before != after} == set(STEP_NAMES)
    assert len(examples()) == SECTION.count("\n   * ") + SECTION.count("\n    * ")


@pytest.mark.parametrize(("name", "before", "after"), examples())
def test_examples_are_what_the_code_does(name: str, before: str, after: str) -> None:
    step = next(step for step in STEPS if step.name == name)
    text = step.apply(before)
    if name not in ("white_space",):
        text, after = text.strip(), after.strip()
    assert text == after


def test_flags_are_told() -> None:
    assert set(re.findall(r"`(\w+)` \(", PAGE.split("`flags`:")[1])) >= {"figure_only", "mojibake"}
    assert all(f"`{flag}`" in PAGE for flag in FLAGS)
