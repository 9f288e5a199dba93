r"""Answers and calculator annotations: `<<12/60=0.2>>`, `#### 42`, `\boxed{42}`."""

from __future__ import annotations

import re

from saber_assets.corpus.cleaning.regions import outside_verbatim

_ANNOTATION = re.compile(r"<<[\d\s.,+*/()=%$x^:-]{1,200}>>")
_FINAL = re.compile(r"(?:\A|\n)[ \t]{0,9}#### ?([^\n#][^\n]{0,500})\s*\Z")
_BOXED = re.compile(r"\\boxed\s{0,9}\{")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)


@outside_verbatim
def annotations_removed(text: str) -> str:
    """Remove calculator annotations, arithmetic between `<<` and `>>`."""
    return _ANNOTATION.sub("", text) if "<<" in text else text


def final_answer_removed(text: str) -> str:
    """Remove a last line `#### 42`, which is the answer; where it is all there is, its mark."""
    if "####" not in text or not (mark := _FINAL.search(text)):
        return text
    rest = text[: mark.start()]
    return rest if any(map(str.isalnum, rest)) else mark[1].strip()


def final_answer_in(text: str) -> tuple[str, ...]:
    """Return the answer that `final_answer_removed` takes out, if any."""
    mark = _FINAL.search(text) if "####" in text else None
    return (mark[1].strip(),) if mark else ()


def boxed_answer(text: str) -> str | None:
    r"""Return the content of the last `\boxed{...}` whose braces match, or None.

    Nested braces belong to it; so does a box in the box. An empty box is none.
    """
    if "\\boxed" not in text:
        return None
    boxes = {mark.end() for mark in _BOXED.finditer(text)}
    found: str | None = None
    opened: list[int] = []
    for mark in _BRACE.finditer(text):
        if mark[0] == "{":
            opened.append(mark.end())
        elif mark[0] == "}" and opened:
            start = opened.pop()
            if start in boxes:
                found = text[start : mark.start()].strip() or found
    return found
