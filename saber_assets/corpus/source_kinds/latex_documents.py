r"""From the files of a collection to its documents: each start file with what it includes."""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_right
from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from saber_assets.corpus.source_kinds.latex_comments import (
    Clean,
    Spans,
    is_escaped,
    strip_comments,
)
from saber_assets.corpus.source_kinds.latex_files import (
    LARGEST_FILE,
    LATEX_SUFFIXES,
    OutsideError,
    Tree,
    decode,
    inner_name,
)

LARGEST_DOCUMENT = 64 * 2**20
"""Characters of a document with all that it includes."""
DEEPEST_INCLUDE = 40
MOST_INCLUDES = 20_000

_INCLUDE = re.compile(
    r"\\(?P<command>input|include|subfile|subfileinclude|(?:sub)?import|(?:sub)?inputfrom"
    r"|(?:sub)?includefrom)(?![A-Za-z@])\*?[ \t]{0,9}"
    r"(?:\{(?P<first>[^{}\n]{0,500})\}(?:[ \t]{0,9}\{(?P<second>[^{}\n]{0,500})\})?"
    r"|(?P<bare>[A-Za-z0-9_./\-]{1,200}))"
)
_STOP = re.compile(r"\\(?:endinput(?![A-Za-z@])|end[ \t]{0,9}\{document\})")
_BEGIN = re.compile(r"\\begin[ \t]{0,9}\{document\}")
_TWO_PARTS = ("import", "from")


class Diagnostic(NamedTuple):
    """Something that couldn't be read as it stands.

    Attributes:
        location: file and line.
        what: one sentence.
        lost: whether text may be missing for it.
    """

    location: str
    what: str
    lost: bool


class Use(NamedTuple):
    """One inclusion of a file in a document; `end` is where its text ends there."""

    name: str
    end: int


@dataclass(slots=True)
class Flat:
    """A document with all that it includes, without comments.

    Attributes:
        text: the whole.
        body: where its `document` environment starts, or 0.
        verbatim: stretches of verbatim text.
        diagnostics: files that couldn't be read.
        notes: file name -> what was assumed about its encoding.
        pieces: (offset, index in `uses`, offset in the file) where each stretch starts.
        uses: each inclusion of a file.
        lines: file name -> offsets of its line ends.
    """

    text: str = ""
    body: int = 0
    verbatim: list[tuple[int, int]] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    pieces: list[tuple[int, int, int]] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    lines: dict[str, list[int]] = field(default_factory=dict)

    def place(self, offset: int) -> tuple[str, int]:
        """Return the file of a character, and its offset there."""
        if not self.pieces:
            return "", 0
        at = max(bisect_right(self.pieces, (offset, 1 << 62)) - 1, 0)
        out, use, source = self.pieces[at]
        return self.uses[use].name, source + offset - out

    def line(self, offset: int) -> tuple[str, int]:
        """Return the file and line, counted from 1, of a character."""
        name, source = self.place(offset)
        return name, bisect_right(self.lines.get(name, []), source - 1) + 1

    def file_end(self, offset: int) -> int:
        """Return where the included file that a character belongs to ends in the text."""
        if not self.pieces:
            return len(self.text)
        at = max(bisect_right(self.pieces, (offset, 1 << 62)) - 1, 0)
        return self.uses[self.pieces[at][1]].end


def line_ends(text: str) -> list[int]:
    """Return the offsets of all line ends."""
    return [match.start() for match in re.finditer("\n", text)]


def includes(clean: Clean) -> list[re.Match[str]]:
    r"""Return the `\input` and the like of a text, in order."""
    if "\\in" not in clean.text and "\\sub" not in clean.text and "\\im" not in clean.text:
        return []
    spans = Spans(clean.verbatim)
    return [
        match
        for match in _INCLUDE.finditer(clean.text)
        if not spans.hold(match.start()) and not is_escaped(clean.text, match.start())
    ]


def resolve(tree: Tree, match: re.Match[str], root: str, current: str) -> str | None:
    """Return the file that an inclusion names, or None where there is none.

    Looked for beside the document's start file, beside the including file, and in the folders
    above it.

    Raises:
        OutsideError: where the name can only lead out of the collection.
    """
    name = (match["first"] if match["bare"] is None else match["bare"]).strip().strip('"')
    if match["second"] is not None and match["command"].endswith(_TWO_PARTS):
        name = posixpath.join(name, match["second"].strip())
    if not name:
        return None
    inside = False
    link_out = False
    for folder in _places(root, current):
        for suffix in ("", *LATEX_SUFFIXES):
            try:
                candidate = inner_name(posixpath.join(folder, name + suffix))
            except OutsideError:
                continue
            inside = True
            try:
                if tree.size(candidate) is not None:
                    return candidate
            except OutsideError:
                link_out = True
    if link_out or not inside:
        raise OutsideError(name)
    return None


def _places(root: str, current: str) -> list[str]:
    """Return the folders where an included file may lie: documents are built from any of them."""
    places = dict.fromkeys((posixpath.dirname(root), posixpath.dirname(current)))
    above = posixpath.dirname(current)
    while above:
        above = posixpath.dirname(above)
        places[above] = None
    return list(places)


def load(tree: Tree, name: str) -> tuple[str, str | None]:
    """Return a file's text and what was assumed about its encoding.

    Raises:
        ValueError: where it can't be read; the message says why.
    """
    try:
        size = tree.size(name)
    except OutsideError as error:
        raise ValueError("it leads out of the collection") from error
    if size is None:
        raise ValueError("there is no such file")
    if size > LARGEST_FILE:
        raise ValueError(f"it has more than {LARGEST_FILE // 2**20} MiB")
    try:
        return decode(tree.read(name))
    except OSError as error:
        raise ValueError(error.strerror or str(error)) from error


class Flattener:
    """Joins documents; keeps the comment-free text of the last files it has read."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._known: dict[str, tuple[Clean, list[int], str | None]] = {}
        self._held = 0
        self._targets: dict[tuple[str, str, str], str | None] = {}

    def resolve(self, match: re.Match[str], root: str, current: str) -> str | None:
        """Return the file that an inclusion names, as `resolve`, and remember it."""
        key = (match[0], posixpath.dirname(root), posixpath.dirname(current))
        if key not in self._targets:
            self._targets[key] = resolve(self._tree, match, root, current)
        return self._targets[key]

    def flatten(self, root: str) -> Flat:
        """Return the document that starts at a file."""
        join = _Join(root)
        self._add(join, (root,))
        flat = join.flat
        flat.text = "".join(join.out)
        if match := _BEGIN.search(flat.text):
            flat.body = match.end()
        return flat

    def clean(self, name: str) -> tuple[Clean, list[int], str | None]:
        """Return a file without comments, its line ends and what was assumed of its encoding.

        Raises:
            ValueError: where it can't be read.
        """
        if name not in self._known:
            text, assumed = load(self._tree, name)
            if self._held + len(text) > LARGEST_DOCUMENT:
                self._known.clear()
                self._held = 0
            self._held += len(text)
            self._known[name] = (strip_comments(text), line_ends(text), assumed)
        return self._known[name]

    def _add(self, join: _Join, above: tuple[str, ...]) -> None:
        flat, name = join.flat, above[-1]
        use = len(flat.uses)
        flat.uses.append(Use(name, join.length))
        try:
            clean, flat.lines[name], assumed = self.clean(name)
        except ValueError as error:
            flat.diagnostics.append(Diagnostic(name, f"{name} can't be read: {error}", True))
            return
        if assumed:
            flat.notes[name] = assumed
        body, stop = _body(clean)
        start = 0 if len(above) == 1 else body
        left_out = clean.text.count("\\begin{", stop)
        if left_out:
            what = f"{name}: {left_out} environments after its end are not read"
            flat.diagnostics.append(Diagnostic(name, what, False))
        for match in includes(clean):
            if not start <= match.start() < stop:
                continue
            before_body = len(above) == 1 and match.start() < body
            target = self._target(join, clean, match, above, lost=not before_body)
            if target is not None:
                join.append(use, clean, start, match.start())
                self._add(join, (*above, target))
                start = match.end()
        join.append(use, clean, start, stop)
        flat.uses[use] = Use(name, join.length)

    def _target(
        self,
        join: _Join,
        clean: Clean,
        match: re.Match[str],
        above: tuple[str, ...],
        lost: bool,
    ) -> str | None:
        """Return the file to include, or None and a diagnostic."""
        written = match[0]
        if "#" in written or written.count("\\") > 1:
            return None  # macros make the name
        try:
            target = self.resolve(match, join.root, above[-1])
        except OutsideError:
            what = f"{written} leads out of the collection and is not followed"
        else:
            if target is None:
                what = f"{written}: there is no such file in the collection"
                lost = lost and match["bare"] is None  # as in `\\input xy`, a part of TeX
            elif target in above:
                what, lost = f"{written}: {target} includes itself", False
            elif len(above) >= DEEPEST_INCLUDE:
                what = f"{written}: files are included more than {DEEPEST_INCLUDE} deep"
            elif join.length > LARGEST_DOCUMENT or len(join.flat.uses) > MOST_INCLUDES:
                what = f"{written}: the document is too large to be joined"
            else:
                return target
        line = bisect_right(join.flat.lines[above[-1]], clean.source_offset(match.start()) - 1) + 1
        join.flat.diagnostics.append(Diagnostic(f"{above[-1]} line {line}", what, lost))
        return None


class _Join:
    """A document in the making."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.flat = Flat()
        self.out: list[str] = []
        self.length = 0

    def append(self, use: int, clean: Clean, start: int, stop: int) -> None:
        """Append a stretch of a file's comment-free text."""
        if stop <= start:
            return
        shift = self.length - start
        first = max(bisect_right(clean.pieces, (start, 1 << 62)) - 1, 0)
        for out, source in clean.pieces[first:]:
            if out >= stop:
                break
            at = max(out, start)
            self.flat.pieces.append((at + shift, use, source + at - out))
        first = bisect_right(clean.verbatim, (start, -1))
        for begin, end in clean.verbatim[max(first - 1, 0) :]:
            if begin >= stop:
                break
            if end > start:
                self.flat.verbatim.append((begin + shift, end + shift))
        self.out.append(clean.text[start:stop])
        self.length += stop - start


def _body(clean: Clean) -> tuple[int, int]:
    r"""Return where a file's `document` starts and where its text ends.

    Several documents may stand in one file, one after the other.
    """
    spans = Spans(clean.verbatim)
    begin = _BEGIN.search(clean.text)
    last = clean.text.rfind("\\begin{document}")
    for match in _STOP.finditer(clean.text):
        at = match.start()
        if not spans.hold(at) and not is_escaped(clean.text, at) and at > last:
            return (begin.end() if begin and begin.end() <= at else 0), at
    return (begin.end() if begin else 0), len(clean.text)


def start_files(graph: dict[str, list[str]]) -> list[str]:
    """Return the files that a collection's documents start at, the farthest reaching first.

    Args:
        graph: file -> files that it includes.

    Returns:
        Files that no other includes; where only a circle includes them, the first of it. Each
        file is reached from one of them.
    """
    included = {target for name, targets in graph.items() for target in targets if target != name}
    roots = [name for name in graph if name not in included]
    reach = {name: len(_reached(graph, name, set(), 1000)) for name in roots}
    roots.sort(key=lambda name: (-reach[name], name))
    seen: set[str] = set()
    for name in roots:
        _reached(graph, name, seen)
    for name in sorted(graph):
        if name not in seen:
            roots.append(name)
            _reached(graph, name, seen)
    return roots


def _reached(
    graph: dict[str, list[str]], start: str, seen: set[str], most: int = 1 << 62
) -> set[str]:
    seen.add(start)
    waiting = deque([start])
    while waiting and len(seen) < most:
        for name in graph.get(waiting.popleft(), ()):
            if name not in seen:
                seen.add(name)
                waiting.append(name)
    return seen
