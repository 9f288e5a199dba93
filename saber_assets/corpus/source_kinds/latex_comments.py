r"""LaTeX without its comments, as TeX reads it, with the way back to the line in the file.

Removed are `%` to the end of the line (not `\%`, and nothing in verbatim text), `comment`
environments and `\iffalse ... \fi`. Everything else stays as it is.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field

LONGEST_GROUP = 5000
"""Characters in a group or option that are looked at; bounds the work on unclosed braces."""

_SHORT_GROUP = 120
_PATIENCE = 500
_LONGEST_VERB = 1000
_BRACKET = re.compile(r"\\.|[{}\]]", re.DOTALL)
_VERBATIM = (
    r"verbatim\*?|[BLSV]?Verbatim\*?|lstlisting|minted|filecontents\*?|alltt|asy|asydef|luacode\*?"
    r"|sageblock|sagesilent|pycode|python"
)
_MARK = re.compile(
    rf"%|\\(?:verb\*?(?![A-Za-z@*])|lstinline(?![A-Za-z@])|iffalse(?![A-Za-z@])"
    rf"|begin\{{(?P<env>comment|{_VERBATIM})\}})"
)
_CONDITIONAL = re.compile(r"\\(?P<word>if[A-Za-z@]*|fi|else)(?![A-Za-z@])")
_NO_CONDITIONAL = frozenset(
    [
        "iff",
        "ifthenelse",
        "ifdef",
        "ifundef",
        "ifcsdef",
        "ifstrequal",
        "ifstrempty",
        "ifblank",
        "ifbool",
        "iftoggle",
    ]
)


@dataclass(slots=True)
class Clean:
    """A text without comments.

    Attributes:
        text: what is left.
        pieces: (offset in `text`, offset in the source) where each kept stretch starts, sorted.
        verbatim: (start, end) in `text` of verbatim material, sorted and disjoint.
    """

    text: str
    pieces: list[tuple[int, int]]
    verbatim: list[tuple[int, int]]

    def source_offset(self, offset: int) -> int:
        """Return where in the source the character at this offset of `text` stands."""
        at = max(bisect_right(self.pieces, (offset, 1 << 62)) - 1, 0)
        out, source = self.pieces[at] if self.pieces else (0, 0)
        return source + offset - out


def is_escaped(text: str, at: int) -> bool:
    r"""Tell whether an odd number of backslashes stands before `at`, as in `\%`."""
    start = at
    while start > 0 and text[start - 1] == "\\":
        start -= 1
    return (at - start) % 2 == 1


class Spans:
    """Sorted stretches that a scan from left to right has to leave alone."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        self._spans = sorted(spans)
        self._next = 0
        self._end = -1

    def hold(self, at: int) -> bool:
        """Tell whether `at` lies in one; calls come with growing `at`."""
        while self._next < len(self._spans) and self._spans[self._next][0] <= at:
            self._end = max(self._end, self._spans[self._next][1])
            self._next += 1
        return at < self._end


class Groups:
    """Finds the ends of balanced groups in one text.

    Groups longer than `LONGEST_GROUP` count as unclosed; after `_PATIENCE` unclosed ones only
    short groups are found, so that a text full of them costs no more than its length.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._unclosed = 0

    def end(self, at: int) -> int | None:
        """Return the offset after the group `{...}` or `[...]` that starts at `at`, or None.

        Braces always balance; brackets end at the first closing one outside braces.
        """
        opening = self.text[at : at + 1]
        if not opening or opening not in "{[":
            return None
        longest = LONGEST_GROUP if self._unclosed < _PATIENCE else _SHORT_GROUP
        depth = 0
        for match in _BRACKET.finditer(self.text, at, min(len(self.text), at + longest)):
            character = match[0]
            if character == "{":
                depth += 1
            elif character == "}":
                depth -= 1
                if depth < 0 or (depth == 0 and opening == "{"):
                    return match.end() if depth == 0 else None
            elif character == "]" and opening == "[" and depth == 0:
                return match.end()
        self._unclosed += 1
        return None

    def content(self, at: int) -> tuple[str, int] | None:
        """Return what is in the group at `at`, and the offset after it, or None."""
        end = self.end(at)
        return None if end is None else (self.text[at + 1 : end - 1], end)


@dataclass(slots=True)
class _Stripper:
    """One pass over a source; `done` is how much of it has been kept or removed."""

    source: str
    done: int = 0
    length: int = 0
    joined: bool = False
    kept: list[str] = field(default_factory=list)
    pieces: list[tuple[int, int]] = field(default_factory=list)
    verbatim: list[tuple[int, int]] = field(default_factory=list)
    unclosed: set[str] = field(default_factory=set)

    def keep_to(self, end: int) -> None:
        if end <= self.done:
            return
        self.pieces.append((self.length, self.done))
        self.kept.append(self.source[self.done : end])
        self.length += end - self.done
        self.done = end
        self.joined = False

    def keep_verbatim(self, start: int, end: int) -> None:
        self.keep_to(start)
        self.verbatim.append((self.length, self.length + end - start))
        self.keep_to(end)

    def find(self, needle: str, start: int) -> int:
        """Find, but never search twice for what isn't there any more."""
        if needle in self.unclosed:
            return -1
        found = self.source.find(needle, start)
        if found < 0:
            self.unclosed.add(needle)
        return found

    def comment(self, at: int) -> int:
        """Remove the comment at a percent sign; return where to go on."""
        source = self.source
        eol = source.find("\n", at)
        if eol < 0:
            self.keep_to(at)
            self.done = len(source)
            return self.done
        after = eol + 1
        while after < len(source) and source[after] in " \t":
            after += 1
        blank = after >= len(source) or source[after] == "\n"
        line = source.rfind("\n", self.done, at) + 1
        joined = self.joined and line == 0 and not source[self.done : at].strip()
        line = max(line, self.done)
        starts_line = line == 0 or source[line - 1] == "\n"
        if starts_line and not joined and not source[line:at].strip():
            self.keep_to(line)
            self.done = eol + 1
            return self.done
        if not joined:
            self.keep_to(at)
        if blank or (not joined and self._splits_word(at, after)):
            self.done = eol
        else:
            self.done = after
            self.joined = True
        return max(self.done, at + 1)

    def _splits_word(self, at: int, after: int) -> bool:
        r"""Tell whether joining would make `\foo%` and `bar` one command."""
        source = self.source
        if not source[after].isalpha():
            return False
        start = at
        while 0 < start > at - 80 and (source[start - 1].isalpha() or source[start - 1] == "@"):
            start -= 1
        word = 0 < start < at and source[start - 1] == "\\"
        return word and not is_escaped(source, start - 1)

    def verb(self, at: int, end: int) -> int:
        r"""Pass over `\verb|...|`."""
        source = self.source
        if end >= len(source) or source[end].isspace():
            return end
        closing = {"{": "}"}.get(source[end], source[end])
        line = source.find("\n", end, end + _LONGEST_VERB)
        stop = line if line >= 0 else min(len(source), end + _LONGEST_VERB)
        close = source.find(closing, end + 1, stop)
        if close < 0:
            return end
        self.keep_verbatim(at, close + 1)
        return close + 1

    def environment(self, at: int, end: int, name: str) -> int:
        """Remove a `comment` environment, or pass over a verbatim one."""
        close = self.find(f"\\end{{{name}}}", end)
        if close < 0:
            return end
        after = close + len(f"\\end{{{name}}}")
        if name == "comment":
            self.keep_to(at)
            self.done = after
        else:
            self.keep_verbatim(at, after)
        return after

    def iffalse(self, at: int, end: int) -> int:
        r"""Remove `\iffalse` to its `\else` or `\fi`."""
        if "iffalse" in self.unclosed:
            return end
        depth = 1
        for match in _CONDITIONAL.finditer(self.source, end):
            word = match["word"]
            if word == "fi":
                depth -= 1
            elif word == "else":
                depth -= depth == 1
            elif word not in _NO_CONDITIONAL:
                depth += 1
            if depth == 0:
                self.keep_to(at)
                self.done = match.end()
                return self.done
        self.unclosed.add("iffalse")
        return end


def strip_comments(source: str) -> Clean:
    r"""Return a LaTeX source without its comments.

    A line that holds only a comment goes with its line end; a comment after text takes its line
    end and the indentation that follows, as in TeX, except before a blank line, and where a
    command word would run into a letter. Time is linear in the length of the source.
    """
    work = _Stripper(source)
    position = 0
    while match := _MARK.search(source, position):
        at, position = match.span()
        if is_escaped(source, at):
            position = at + 1
        elif match[0] == "%":
            position = work.comment(at)
        elif match["env"]:
            position = work.environment(at, position, match["env"])
        elif match[0].startswith("\\iff"):
            position = work.iffalse(at, position)
        else:
            position = work.verb(at, position)
    work.keep_to(len(source))
    return Clean("".join(work.kept), work.pieces, work.verbatim)
