r"""A labelled set of near-duplicates, made from real problems; seeded.

Each pair is a real record and a variant of it. Kinds that are the same problem, typeset again:

* spelling: upper case in the prose, other white space;
* typesetting: `\dfrac` for `\frac`, `\(` for `$`, `\left(`, `\leq`, thin spaces, `x^{2}`;
* ocr, old_tex, macros, typed, label: the ways of other authors (`typesettings.py`);
* mathml, unicode, html: what programs of others make of it (`foreign_typesetters.py`).

The same problem in other words:

* wording: the phrases that set a task, changed by a fixed list ("Find" to "Determine").

Kinds that are another problem:

* number: one number of the statement changed;
* sign: one operator or relation changed, `+` to `-`, `<` to `>`, `\sin` to `\cos`;
* asked: what is asked for changed, "area" to "perimeter", "even" to "odd";
* figure: the statement of a problem that points at a figure, with another problem's solution (as
  textbooks print one text under many figures);
* part: only the first of several questions.

A record gives at most one pair of a kind. Statements have at least 60 characters, so that every
method has something to compare. Pairs of which nothing but the formulas' delimiters changed are
left out.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks.typesettings import FOREIGN_KINDS, OWN, foreign, has_formula, is_plain, is_spoilt

RETYPESET_KINDS = ("spelling", "typesetting", *OWN)
SAME_KINDS = (*RETYPESET_KINDS, "wording")
OTHER_KINDS = ("number", "sign", "asked", "figure", "part")
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


_SIGNS = (
    (r"(?<=[\w)}])\s*\+\s*(?=[\w(\\])", " - "), (r"(?<=[\w)}])\s*-\s*(?=[\w(\\])", " + "),
    (r"<", ">"), (r">", "<"), (r"\\leq?(?![a-z])", r"\\ge"), (r"\\geq?(?![a-z])", r"\\le"),
    (r"\\sin(?![a-z])", r"\\cos"), (r"\\cos(?![a-z])", r"\\sin"), (r"\\cup", r"\\cap"),
    (r"\\cap", r"\\cup"), (r"\\times", "+"), (r"\\subseteq?", r"\\supset"),
)  # fmt: skip
_ASKED = (
    ("area", "perimeter"), ("perimeter", "area"), ("radius", "diameter"), ("length", "width"),
    ("height", "width"), ("median", "mean"), ("mean", "median"), ("maximum", "minimum"),
    ("minimum", "maximum"), ("largest", "smallest"), ("smallest", "largest"), ("even", "odd"),
    ("odd", "even"), ("domain", "range"), ("slope", "intercept"), ("sum", "product"),
    ("product", "sum"), ("increasing", "decreasing"), ("concave up", "concave down"),
    ("horizontal", "vertical"), ("vertical", "horizontal"), ("left", "right"), ("more", "less"),
    ("injective", "surjective"), ("converse", "contrapositive"), ("union", "intersection"),
    ("at least", "at most"), ("at most", "at least"), ("hours", "minutes"), ("days", "weeks"),
    ("positive", "negative"), ("negative", "positive"), ("mother", "father"), ("older", "younger"),
)  # fmt: skip


def _sign(record: Record, draw: random.Random) -> Record:
    def flip(match: re.Match[str]) -> str:
        pattern, replacement = draw.choice(fitting)
        places = list(re.finditer(pattern, match[0]))
        place = draw.choice(places)
        start, end = place.span()
        return match[0][:start] + place.expand(replacement) + match[0][end:]

    for match in re.finditer(r"\$[^$]{3,}\$", record.problem):
        fitting = [pair for pair in _SIGNS if re.search(pair[0], match[0])]
        if fitting:
            text = record.problem
            changed = text[: match.start()] + flip(match) + text[match.end() :]
            return Record(changed, record.solution)
    return record


def _asked(record: Record, draw: random.Random) -> Record:
    fitting = [pair for pair in _ASKED if re.search(rf"\b{pair[0]}\b", record.problem)]
    if not fitting:
        return record
    old, new = draw.choice(fitting)
    return Record(re.sub(rf"\b{old}\b", new, record.problem, count=1), record.solution)


def _retypeset(way: Callable[[str, random.Random], str]) -> Callable[..., Record]:
    def make(record: Record, draw: random.Random) -> Record:
        if way is not OWN["label"] and not has_formula(record.problem):
            return record
        text = way(record.problem, draw)
        return record if _bare(text) == _bare(record.problem) else Record(text, record.solution)

    return make


def _bare(text: str) -> str:
    return re.sub(r"\$|\\[()\[\]]|\s", "", text)


_MAKERS: dict[str, Callable[[Record, random.Random], Record]] = {
    "spelling": _spelling,
    "typesetting": _typesetting,
    "wording": _wording,
    **{way: _retypeset(function) for way, function in OWN.items()},
    "number": _number,
    "sign": _sign,
    "asked": _asked,
    "part": _part,
}


def labelled_pairs(
    records: list[Record], of_each: int, seed: int, interpreter: str | None = None
) -> list[Pair]:
    """Return up to `of_each` pairs of each kind.

    Args:
        records: real problems.
        of_each: pairs of each kind; fewer where the records do not give as many.
        seed: of the choice of records and of the changes.
        interpreter: a Python that has the programs of others; without it, their kinds are absent.

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
    return pairs if interpreter is None else pairs + _foreign(records, of_each, seed, interpreter)


def _foreign(records: list[Record], of_each: int, seed: int, interpreter: str) -> list[Pair]:
    """Return pairs of the kinds that programs of others make."""
    plain = [record for record in records if is_plain(record.problem)]
    chosen = random.Random(f"{seed} foreign").sample(plain, min(len(plain), 8 * of_each))
    written = foreign([record.problem for record in chosen], interpreter)
    pairs = []
    for kind in FOREIGN_KINDS:
        made = [
            Pair(kind, record, Record(texts[kind], record.solution))
            for record, texts in zip(chosen, written, strict=True)
            if not is_spoilt(texts.get(kind, "")) and _bare(texts[kind]) != _bare(record.problem)
        ]
        pairs += made[:of_each]
    return pairs
