r"""A labelled set of near-duplicates, made by rule from real problems; seeded.

Each pair is a real record and a variant of it. Kinds that are the same problem:

* spelling: upper case in the prose, other white space;
* typesetting: `\dfrac` for `\frac`, `\(` for `$`, `\left(`, `\leq`, thin spaces, `x^{2}`;
* wording: the phrases that set a task, changed by a fixed list ("Find" to "Determine").

Kinds that are another problem:

* number: one number of the statement changed;
* figure: the statement of a problem that points at a figure, with another problem's solution (as
  textbooks print one text under many figures);
* part: only the first of several questions.

A record gives at most one pair of a kind. Statements have at least 60 characters, so that every
method has something to compare.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

SAME_KINDS = ("spelling", "typesetting", "wording")
OTHER_KINDS = ("number", "figure", "part")
SHORTEST = 60

_MATHEMATICS = re.compile(
    r"(\$[^$]*\$|\\\(.*?\\\)|\\\[.*?\\\]|\[image[^\]]*\]|\\[A-Za-z]+(?:\[[^\]]*\])?(?:\{[^{}]*\})?)",
    re.DOTALL,
)
_NUMBER = re.compile(r"(?<![\w.\\])\d+(?![\w.])")
_FIGURE = re.compile(
    r"\[image|figure|diagram|picture|shaded|shown|(graph|table) below", re.IGNORECASE
)
_PHRASES = (
    (r"\bFind all\b", "Determine all"), (r"\bFind\b", "Determine"), (r"\bfind\b", "determine"),
    (r"\bProve that\b", "Show that"), (r"\bShow that\b", "Prove that"),
    (r"\bshow that\b", "prove that"), (r"\bHow many\b", "What number of"),
    (r"\bhow many\b", "what number of"), (r"\bLet\b", "Suppose that"), (r"\bGiven that\b", "If"),
    (r"\bDetermine whether\b", "Decide whether"), (r"\bDetermine\b", "Find"),
    (r"\bEvaluate\b", "Calculate"), (r"\bCompute\b", "Calculate"), (r"\bWhat is\b", "Calculate"),
    (r"\bsuch that\b", "for which"), (r"\bsatisfying\b", "that satisfy"),
    (r"\buse\b", "apply"), (r"\bstate\b", "give"), (r"\bsolve\b", "work out"),
    (r"\bpeople\b", "persons"), (r"\bbuys\b", "purchases"), (r"\bbought\b", "purchased"),
    (r"\bearns\b", "makes"), (r"\bin total\b", "altogether"), (r"\baltogether\b", "in total"),
    (r"\balso\b", "as well"), (r"\bbegins\b", "starts"), (r"\bkids\b", "children"),
)  # fmt: skip
_TYPESETTING = (
    (r"\\frac(?![a-z])", r"\\dfrac"), (r"\\le(?![a-z])", r"\\leq "), (r"\\ge(?![a-z])", r"\\geq "),
    (r"\\(c|l)dots(?![a-z])", r"\\dots "), (r"(?<!\\left)\(([^()]*)\)", r"\\left(\1\\right)"),
    (r"\^(\w)(?!\w)", r"^{\1}"), (r"\s*=\s*", r" =\\, "),
)  # fmt: skip


class Record(NamedTuple):
    """A statement and its solution."""

    problem: str
    solution: str


class Pair(NamedTuple):
    """A record, a variant of it, and what was changed."""

    kind: str
    original: Record
    variant: Record


def read_records(paths: list[Path]) -> list[Record]:
    """Return the solved problems of JSON-lines files, plain or gzipped, without equal texts."""
    found: dict[str, Record] = {}
    for path in paths:
        text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for line in text.splitlines():
            row = json.loads(line)
            problem, solution = row.get("problem") or "", row.get("solution") or ""
            if len(problem) >= SHORTEST and solution:
                found.setdefault(" ".join(problem.split()), Record(problem, solution))
    return list(found.values())


def _prose(text: str, change: Callable[[str], str]) -> str:
    """Change the prose, and leave the mathematics alone."""
    parts = _MATHEMATICS.split(text)
    return "".join(part if place % 2 else change(part) for place, part in enumerate(parts))


def _spelling(record: Record, draw: random.Random) -> Record:
    upper = _prose(record.problem, lambda prose: re.sub(r"[A-Za-z]{3,}", _upper, prose))
    pieces = re.split(
        r"(?<=[a-zA-Z.,]) (?=[a-zA-Z]{2})", upper if draw.random() < 0.5 else record.problem
    )
    joints = [draw.choice(["  ", "\n", " \n ", "\t"]) for _ in pieces]
    spaced = "".join(piece + joint for piece, joint in zip(pieces, joints, strict=True))
    return Record(spaced.strip() + "\n", record.solution)


def _upper(match: re.Match[str]) -> str:
    return match[0].upper()


def _typesetting(record: Record, _: random.Random) -> Record:
    def set_again(match: re.Match[str]) -> str:
        body = match[1]
        for pattern, replacement in _TYPESETTING:
            body = re.sub(pattern, replacement, body)
        return rf"\({body}\)"

    return Record(re.sub(r"(?<!\$)\$([^$]+)\$(?!\$)", set_again, record.problem), record.solution)


def _wording(record: Record, _: random.Random) -> Record:
    def reword(prose: str) -> str:
        out, at = "", 0
        while at < len(prose):
            for pattern, replacement in _COMPILED:
                match = pattern.match(prose, at)
                if match:
                    out, at = out + replacement, match.end()
                    break
            else:
                out, at = out + prose[at], at + 1
        return out

    return Record(_prose(record.problem, reword), record.solution)


_COMPILED = [(re.compile(pattern), replacement) for pattern, replacement in _PHRASES]


def _number(record: Record, draw: random.Random) -> Record:
    places = list(_NUMBER.finditer(record.problem))
    if not places:
        return record
    place = draw.choice(places)
    other = int(place[0]) + draw.choice([1, 2, 3, 10])
    text = record.problem
    return Record(text[: place.start()] + str(other) + text[place.end() :], record.solution)


def _part(record: Record, _: random.Random) -> Record:
    first, mark, rest = record.problem.partition("?")
    if "?" in rest and len(first) >= SHORTEST:
        return Record(first + mark, record.solution)
    cut = re.search(r"\((?:b|ii)\)", record.problem)
    if cut and cut.start() >= SHORTEST:
        return Record(record.problem[: cut.start()].strip(), record.solution)
    return record


_MAKERS: dict[str, Callable[[Record, random.Random], Record]] = {
    "spelling": _spelling,
    "typesetting": _typesetting,
    "wording": _wording,
    "number": _number,
    "part": _part,
}


def labelled_pairs(records: list[Record], of_each: int, seed: int) -> list[Pair]:
    """Return up to `of_each` pairs of each kind.

    Args:
        records: real problems.
        of_each: pairs of each kind; fewer where the records do not give as many.
        seed: of the choice of records and of the changes.

    Returns:
        Pairs, kind by kind. The text of a variant differs from the original's, except for kind
        "figure", where only the solution does.
    """
    pairs: list[Pair] = []
    for kind in (*SAME_KINDS, *OTHER_KINDS):
        draw = random.Random(f"{seed} {kind}")
        shuffled = draw.sample(records, len(records))
        if kind == "figure":
            pointing = [record for record in shuffled if _FIGURE.search(record.problem)]
            made = [
                (record, Record(record.problem, other.solution))
                for record, other in zip(pointing, pointing[1:] + pointing[:1], strict=True)
                if record.solution.split() != other.solution.split()
            ]
        else:
            made = [(record, _MAKERS[kind](record, draw)) for record in shuffled]
            made = [
                (record, variant) for record, variant in made if record.problem != variant.problem
            ]
        pairs += [Pair(kind, record, variant) for record, variant in made[:of_each]]
    return pairs
