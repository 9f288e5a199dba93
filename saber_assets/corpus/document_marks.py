r"""Finds the lines of a document that head its problems, solutions and parts.

Only a line's beginning can be a heading, after decoration such as `##`, `**` or `\section*{`, and
only as a whole phrase: "Problem 3.", "3. Aufgabe", "Solution 2 (by induction):", "Lösung zu
Aufgabe 3". "Problem 3 shows that" is no heading.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from saber_assets.corpus import document_words as words

MarkKind = Literal["problem", "solution", "answer", "proof", "problems", "solutions"]
Style = Literal["environment", "word", "heading", "bold", "dot", "bracket"]
STYLES: tuple[Style, ...] = ("environment", "word", "heading", "bold", "dot", "bracket")
"""How problems are headed, the clearest way first; a part of a document has one of them."""

_LINE = re.compile(r"[^\n\f\r\u2028\u2029]+")
_DECORATION = re.compile(
    r"""(?:\s|>|\#{1,6}|[*_]{1,3}(?=\S)
    |\\(?:noindent|bigskip|medskip|smallskip|par|bf|large|Large|centering)\b
    |\\(?:sub)*section\*?\s*\{|\\(?:sub)?paragraph\*?\s*\{|\\(?:chapter|part)\*?\s*\{
    |\\(?:textbf|textsc|textit|emph|underline|item)\s*[{\[]|\{(?=\\bf|\\large|\\Large))*""",
    re.VERBOSE,
)
_CLOSERS = re.compile(r"(?:[ \t]*(?:[*_]{1,3}|[}\]]))*[ \t]*")
_STOP = re.compile(
    r"(?<!\bnr)(?<!\bno)(?<!\bn)(?:[.:)]+(?=\s|$|[*_}\]])|(?<=\s)[-–—](?=\s)|\s*[*_}\]])", re.I
)
_NOTE = re.compile(r"\([^()$\n]*\)|\[[^\[\]$\n]*\]")
_TOKEN = re.compile(r"[^\W_]+(?:\.\d+)?[º°]?")
_LABEL = re.compile(r"([A-Z]{0,2})[-.\s]?(\d{1,3}(?:\.\d{1,2})?)")
_ROMAN = re.compile(r"(?=[IVX])(X{0,3})(IX|IV|V?I{0,3})")
_ROMAN_PART = re.compile(r"(?:[ivxl]+|[a-z])\Z")
_BARE = re.compile(r"([A-Z]{0,2}-?\d{1,3})(?:\s*([.)])(?=\s|$|[*_}\]])|(?=\s*(?:$|[*_}\]])))")
_ORDINAL_HEAD = re.compile(
    r"(\d{1,3})\s*(?:\.|[-–]?(?:er|re|e|ère|ème|eme|a|o|ª|º)\.?)?\s+([^\W\d_]+)(?![^\W_])"
)
_GLUED = re.compile(r"([^\W\d_][^\W_]*?)(\d{1,3})")
_ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{([A-Za-zäöüßé]+)\*?\}(?:\[[^\]\n]*\])?")
_CONTENTS = re.compile(r"(?:\.[ \t]*){4,}\d*\s*$")
_PLAIN = re.compile(r"\A[^$\\=<>]*\Z")
_LONGEST_HEADING = 90
_LONGEST_TITLE = 8
_ITEM = re.compile(r"\\item\b")
_REPEATED = 3


@dataclass(frozen=True, slots=True)
class Mark:
    """A heading.

    Attributes:
        start: offset of its line.
        end: offset where what it heads begins.
        kind: a problem, a solution, its answer, a proof, or a part of problems or solutions.
        label: "3" or "A1", or "".
        style: of the headings of problems.
        alternative: it says to be another solution of the same problem.
        names_problem: the label is that of a problem, such as in "Solution to Problem 3".
        closing: it ends what stands before it, and heads nothing.
    """

    start: int
    end: int
    kind: MarkKind
    label: str = ""
    style: Style = "word"
    alternative: bool = False
    names_problem: bool = False
    closing: bool = False


@dataclass(frozen=True, slots=True)
class _Phrase:
    kind: MarkKind
    label: str = ""
    alternative: bool = False
    names_problem: bool = False


def find_marks(text: str) -> list[Mark]:
    """Return all headings of a document, in order; which of them count is for a reader to tell."""
    repeated = _repeated_lines(text)
    found: list[Mark] = []
    for line in _LINE.finditer(text):
        found.extend(_marks_of(line[0], line.start(), line[0].strip() in repeated))
    return found


def _repeated_lines(text: str) -> set[str]:
    """Return lines that stand in the text three times or more, such as running heads."""
    counts = Counter(line[0].strip() for line in _LINE.finditer(text))
    return {line for line, times in counts.items() if times >= _REPEATED and line}


def _marks_of(line: str, offset: int, repeated: bool) -> Iterator[Mark]:
    environments = list(_environment_marks(line, offset))
    if environments:
        yield from environments
        return
    prefix = _DECORATION.match(line)
    begin = prefix.end() if prefix else 0
    core = line[begin:]
    if not core or _CONTENTS.search(core):
        return
    decorated = bool(line[:begin].strip())
    apart = decorated and not _ITEM.search(line[:begin])
    if core[0].islower() and not decorated:
        return  # the rest of a sentence from the line before
    mark = _word_mark(core, offset, offset + begin, apart)
    if mark is None and not repeated:
        mark = _bare_mark(line[:begin], core, offset, offset + begin, decorated)
    if mark is not None:
        yield mark


def _environment_marks(line: str, offset: int) -> Iterator[Mark]:
    for match in _ENVIRONMENT.finditer(line):
        word = words.fold(match[2])
        kind: MarkKind
        if word in words.PROBLEM:
            kind = "problem"
        elif word in words.SOLUTION | words.ANSWER | words.PROOF:
            kind = "solution"
        else:
            continue
        start = offset + match.start()
        yield Mark(
            start, offset + match.end(), kind, style="environment", closing=match[1] == "end"
        )


def _word_mark(core: str, start: int, begin: int, apart: bool) -> Mark | None:
    masked = _NOTE.sub(lambda match: " " * len(match[0]), core)
    ordinal = _ORDINAL_HEAD.match(masked)
    skip = ordinal.end() if ordinal and _heads(ordinal[2]) else 0
    first, length = _segment(masked, skip)
    phrase = _phrase(first, apart)
    if phrase is None and len(masked) < _LONGEST_HEADING:
        whole = _phrase(masked, apart)
        if whole and whole.kind in ("problems", "solutions"):
            phrase, length = whole, len(masked)
    if phrase is None or length > _LONGEST_HEADING:
        return None
    if phrase.kind in ("problem", "solution"):
        second, further = _segment(masked[length:].lstrip(" \t-–—:"), 0)
        gap = len(masked) - length - len(masked[length:].lstrip(" \t-–—:"))
        other = _phrase(second, apart)
        if other and {phrase.kind, other.kind} == {"problem", "solution"}:
            named = _named(phrase, other)
            if named:
                phrase, length = named, length + gap + further
    closers = _CLOSERS.match(core, length)
    end = closers.end() if closers else length
    return Mark(
        start,
        begin + end,
        phrase.kind,
        phrase.label,
        "word",
        phrase.alternative,
        phrase.names_problem,
    )


def _named(first: _Phrase, second: _Phrase) -> _Phrase | None:
    """Return the solution that "Problem 3: Solution" or "Solution: Problem 3" heads."""
    problem, solution = (first, second) if first.kind == "problem" else (second, first)
    if not problem.label or solution.label or solution.alternative:
        return None
    return _Phrase("solution", problem.label, names_problem=True)


def _heads(word: str) -> bool:
    return words.fold(word) in words.PROBLEM | words.SOLUTION


def _segment(masked: str, skip: int) -> tuple[str, int]:
    """Return the text up to the first stop, and the length with the stop."""
    stop = _STOP.search(masked, skip)
    if stop is None:
        return masked.rstrip(), len(masked.rstrip())
    return masked[: stop.start()], stop.end()


def _phrase(text: str, apart: bool) -> _Phrase | None:
    tokens = [token for raw in _TOKEN.findall(text) for token in _split(raw)]
    if not tokens or len(tokens) > 12:
        return None
    folded = [words.fold(token) for token in tokens]
    kinds = [_kind(token) for token in folded]
    whole = text.strip(" \t-–—.:")
    part = _part(folded, kinds, free=apart or whole.isupper()) if _PLAIN.search(text) else None
    if part:
        return part
    if "solution" in kinds:
        return _solution_phrase(tokens, kinds)
    if kinds == ["answer"]:
        return _Phrase("answer")
    if kinds == ["proof"]:
        return _Phrase("proof")
    if kinds == ["alternative"] and folded[0] in words.LONE_ALTERNATIVE:
        return _Phrase("solution", alternative=True)
    return _problem_phrase(tokens, kinds, whole)


def _split(token: str) -> list[str]:
    """Split "Problem1" in two; leave "Prob1em" and "A1" whole."""
    if _kind(words.fold(token)) != "":
        return [token]
    match = _GLUED.fullmatch(token)
    if match and _heads(match[1]):
        return [match[1], match[2]]
    return [token]


def _kind(folded: str) -> str:
    for kind, known in (
        ("problem", words.PROBLEM),
        ("solution", words.SOLUTION),
        ("alternative", words.ALTERNATIVE),
        ("ordinal", words.ORDINAL),
        ("answer", words.ANSWER),
        ("proof", words.PROOF),
        ("number", words.NUMBER_MARKS),
        ("solutions", words.SOLUTIONS),
        ("problems", words.PROBLEMS),
        ("connecting", words.CONNECTING),
    ):
        if folded in known:
            return kind
    return ""


def _part(folded: list[str], kinds: list[str], free: bool) -> _Phrase | None:
    """Return the part that a line heads; only a line set apart may hold words that aren't known."""
    places = [place for place, kind in enumerate(kinds) if kind in ("problems", "solutions")]
    if not places or places[0] > 3 or "solution" in kinds:
        return None
    between = folded[places[0] + 1 : places[-1]]
    if any(word in words.JOINING for word in between):
        return None
    known = all(
        kind not in ("", "number")
        or word in words.PART
        or (len(word) <= 3 and (word.isdigit() or _ROMAN_PART.match(word)))
        for word, kind in zip(folded, kinds, strict=True)
    )
    if not known and (not free or len(folded) > _LONGEST_TITLE):
        return None
    return _Phrase("solutions" if kinds[places[0]] == "solutions" else "problems")


def _solution_phrase(tokens: list[str], kinds: list[str]) -> _Phrase | None:
    number = ""
    labels: list[str] = []
    alternative = names = False
    for token, kind in zip(tokens, kinds, strict=True):
        found = _label_of(token)
        if kind == "ordinal":
            alternative = True
            number = str(words.ORDINAL[words.fold(token)])
        elif kind == "alternative":
            alternative = True
        elif kind in ("problem", "problems"):
            names = True
        elif found:
            labels.append(found)
        elif kind not in ("solution", "connecting", "number", "answer", "proof"):
            return None
    if len(labels) != 1 and (names or len(labels) > 1):
        if not names or len(labels) != 2:
            return None
        # "Solution 2 of Problem 3"
        alternative = labels[0] != "1"
        labels = labels[1:]
    label = labels[0] if labels else number
    return _Phrase("solution", label, alternative and number != "1", names)


def _problem_phrase(tokens: list[str], kinds: list[str], whole: str) -> _Phrase | None:
    rest = [token for token, kind in zip(tokens, kinds, strict=True) if kind != "number"]
    left = [kind for kind in kinds if kind != "number"]
    if left == ["problem"]:
        return _Phrase("problem") if whole == tokens[0] else None
    if left.count("problem") != 1 or left[0] != "problem":
        if len(left) == 2 and left[1] == "problem" and (label := _label_of(rest[0].rstrip("º°"))):
            return _Phrase("problem", label)
        return None
    label = _label_of("".join(rest[1:])) if len(rest) <= 3 else ""
    return _Phrase("problem", label) if label else None


def _label_of(token: str) -> str:
    match = _LABEL.fullmatch(token)
    if match:
        return match[1] + match[2].lstrip("0")
    roman = _ROMAN.fullmatch(token)
    if roman and token:
        units = {"": 0, "I": 1, "II": 2, "III": 3, "IV": 4, "V": 5, "VI": 6, "VII": 7, "VIII": 8}
        return str(10 * len(roman[1]) + ({**units, "IX": 9}[roman[2]]))
    ordinal = re.fullmatch(r"(\d{1,3})(?:er|re|e|a|o|ème|ère|eme)", token)
    return ordinal[1] if ordinal else ""


def _bare_mark(before: str, core: str, start: int, begin: int, decorated: bool) -> Mark | None:
    match = _BARE.match(core)
    if match is None:
        return None
    label = match[1].replace("-", "")
    lettered = label[0].isalpha()
    if match[2] is None and not decorated:
        return None
    if "#" in before or "section" in before or "paragraph" in before:
        style: Style = "heading"
    elif decorated and ("*" in before or "_" in before or "bf" in before or "item" in before):
        style = "bold"
    else:
        style = "bracket" if match[2] == ")" else "dot"
    if lettered and match[2] == ")" and style == "bracket":
        return None
    closers = _CLOSERS.match(core, match.end())
    label = re.sub(r"(?<![0-9])0+(?=\d)", "", label)
    return Mark(start, begin + (closers.end() if closers else match.end()), "problem", label, style)
