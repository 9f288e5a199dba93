r"""Which stretches of a LaTeX document are problems, solutions, answers and hints.

Environments are matched by a scan that knows only those that matter here, so that a stray or
missing `\end` of any other environment does no harm, and one of these costs no neighbour: an
environment that is never closed ends where the next problem or solution begins, at the next
heading, or with its file.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from saber_assets.corpus.source_kinds.latex_comments import Groups, Spans, is_escaped
from saber_assets.corpus.source_kinds.latex_declarations import Declarations
from saber_assets.corpus.source_kinds.latex_roles import (
    CHOOSABLE,
    NAMES,
    Role,
    Roles,
    is_solution_title,
)

DEEPEST = 60
"""Environments inside one another; deeper ones count as unclosed."""

_HEADINGS = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph")
_REFERENCE = re.compile(r"\\[A-Za-z]*ref\*?\s?\{([^{}\n]{1,200})\}")
_KEY_VALUE = re.compile(r"([A-Za-z][\w \-]{0,30}?)\s?=\s?(\{[^{}]*\}|[^,{}]*)(?:,|$)")
_REFERRING_KEYS = ("ref", "of", "exercise", "problem", "question")
_NUMBER = re.compile(r"[\w.:\-]{1,40}")


@dataclass(slots=True, eq=False)
class Node:
    """One environment, item or heading.

    Its text is `[body, end)`; with its marks it takes `[start, after)`.
    """

    role: Role
    name: str
    start: int
    body: int
    end: int = -1
    after: int = -1
    title: str = ""
    options: dict[str, str] = field(default_factory=dict)
    refs: tuple[str, ...] = ()
    closed: bool = False
    implicit: bool = False
    level: int = 99
    children: list[Node] = field(default_factory=list)


def _tokens(text: str, shorthands: Mapping[str, tuple[str, str]]) -> re.Pattern[str]:
    words = sorted(re.escape(word) for word in shorthands)
    if "{questions}" in text or "{ExerciseList}" in text:
        words += ["question", "titledquestion", "Exercise", "Answer"]
    if _HAS_LIST.search(text):
        words.append("item")
    commands = rf"|(?P<word>{'|'.join(words)})(?![A-Za-z@])" if words else ""
    return re.compile(
        r"\\(?:(?P<be>begin|end)[ \t]{0,9}\{(?P<env>[^{}\\\n]{1,80})\}"
        rf"|(?P<head>{'|'.join(_HEADINGS)})\*?(?=[{{\[]){commands})"
    )


_HAS_LIST = re.compile(
    r"\\begin\{(?:"
    + "|".join((NAMES["problem_list"] + " " + NAMES["solution_list"]).split())
    + ")",
    re.IGNORECASE,
)
_LISTS = ("problem_list", "solution_list")


class Scan:
    """One pass over a document that builds the tree of its nodes.

    Attributes:
        top: nodes that are in no other, in order, headings among them.
        faults: (offset, sentence) of stray and unclosed environments.
    """

    def __init__(
        self,
        text: str,
        start: int,
        roles: Roles,
        found: Declarations,
        verbatim: Sequence[tuple[int, int]],
        shorthands: Mapping[str, tuple[str, str]],
        file_end: Callable[[int], int] | None = None,
    ) -> None:
        self._text = text
        self._roles = roles
        self._groups = Groups(text)
        self._shorthands = shorthands
        self.faults: list[tuple[int, str]] = []
        self._root = Node("", "", start, start, len(text))
        self._stack = [self._root]
        self._headings: list[int] = []
        self._file_end = file_end
        skip = Spans([*verbatim, *found.spans])
        position = start
        for match in _tokens(text, shorthands).finditer(text, start):
            at = match.start()
            if at < position or skip.hold(at) or is_escaped(text, at):
                continue
            position = self._take(match)
        self._pop(1, len(text))

    @property
    def top(self) -> list[Node]:
        """Nodes that are in no other, in order."""
        return self._root.children

    def _take(self, match: re.Match[str]) -> int:
        at, end = match.span()
        if match["head"]:
            return self._heading(match["head"], at, end)
        edge, name = match["be"], match["env"]
        word: str = match.groupdict().get("word") or ""
        if word in self._shorthands:
            edge, name = self._shorthands[word]
        elif word:
            self._item(word, at, end)
            return end
        role = self._roles.of(name.strip())
        if not role or (role == "list" and not self._in_list()):
            return end
        if edge == "begin":
            return self._begin(role, name.strip(), at, end)
        self._end(role, name.strip(), at, end)
        return end

    def _in_list(self) -> bool:
        return any(node.role in _LISTS for node in self._stack)

    def _begin(self, role: Role, name: str, at: int, end: int) -> int:
        if role in CHOOSABLE and not self._roles.is_proof(name):
            depth = next(
                (
                    i
                    for i, n in enumerate(self._stack)
                    if n.role == role and n.name == name and not n.implicit
                ),
                0,
            )
            if depth:
                self._pop(depth, at)
        if len(self._stack) > DEEPEST:
            self._pop(1, at)
        node = Node(role, name, at, end)
        if role not in ("questions", "list", *_LISTS):
            node.body = self._read_arguments(node, end)
        self._push(node)
        return node.body

    def _push(self, node: Node) -> None:
        self._stack[-1].children.append(node)
        self._stack.append(node)

    def _read_arguments(self, node: Node, at: int) -> int:
        optional, arguments = self._roles.arguments(node.name)
        titles = []
        if optional and (group := self._groups.content(self._blank(at, "["))):
            self._read_options(node, group[0])
            at = group[1]
        for _ in range(arguments):
            group = self._groups.content(self._blank(at, "{"))
            if group is None:
                break
            titles.append(group[0].strip())
            at = group[1]
        if not arguments and node.role in ("solution", "answer") and self._text[at : at + 1] == "{":
            group = self._groups.content(at)
            if group and (_NUMBER.fullmatch(group[0]) or _REFERENCE.fullmatch(group[0].strip())):
                titles.append(group[0].strip())
                at = group[1]
        if titles:
            node.title = node.title or titles[0]
            if len(titles) > 1:
                node.options.setdefault("label", titles[1])
            node.refs += tuple(_REFERENCE.findall(" ".join(titles)))
        return at

    def _blank(self, at: int, opening: str) -> int:
        """Return where the group stands: after blanks, on this line or the next."""
        start = at
        lines = 0
        while start < len(self._text) and start - at < 200 and self._text[start] in " \t\n":
            lines += self._text[start] == "\n"
            start += 1
        return start if lines < 2 and self._text[start : start + 1] == opening else len(self._text)

    def _read_options(self, node: Node, content: str) -> None:
        content = content.strip()
        node.refs += tuple(_REFERENCE.findall(content))
        if not _KEY_VALUE.match(content):
            node.title = content
            return
        for key, value in _KEY_VALUE.findall(content):
            node.options[key.strip().lower()] = (
                value.strip().removeprefix("{").removesuffix("}").strip()
            )
        node.title = node.options.get("title", node.options.get("name", ""))
        node.refs += tuple(
            value
            for key in _REFERRING_KEYS
            if (value := node.options.get(key)) and "ref" not in value
        )

    def _end(self, role: Role, name: str, at: int, end: int) -> None:
        for depth in range(len(self._stack) - 1, 0, -1):
            node = self._stack[depth]
            if node.name == name and not node.implicit:
                self._pop(depth + 1, at)
                node.end, node.after, node.closed = at, end, True
                self._stack.pop()
                return
        if role not in ("list", "claim", "example", "proof"):
            self.faults.append((at, f"\\end{{{name}}} closes nothing"))

    def _item(self, word: str, at: int, end: int) -> None:
        wanted = ("questions",) if word != "item" else (*_LISTS, "list")
        depth = next(
            (i for i in range(len(self._stack) - 1, 0, -1) if self._stack[i].role in wanted), 0
        )
        if not depth:
            return
        holder = self._stack[depth]
        if word == "item":
            role = self._item_role(depth)
            if not role:
                return
        else:
            role = "solution" if word == "Answer" else "problem"
        self._pop(depth + 1, at)
        node = Node(role, holder.name, at, end, implicit=True)
        titled = self._blank(end, "{") if word == "titledquestion" else len(self._text)
        if group := self._groups.content(titled):
            node.title, node.body = group[0].strip(), group[1]
        if group := self._groups.content(self._blank(node.body, "[")):
            if word in ("question", "titledquestion"):
                node.options["points"] = group[0].strip()
            else:
                self._read_options(node, group[0])
            node.body = group[1]
        self._push(node)

    def _item_role(self, depth: int) -> Role:
        r"""Return what an `\item` of the list at this depth is; "" for one inside an item."""
        node = self._stack[depth]
        if node.role == "list":
            above = self._stack[depth - 1]
            if above.role not in _LISTS:
                return ""
            node = above
        return "problem" if node.role == "problem_list" else "solution"

    def _heading(self, word: str, at: int, end: int) -> int:
        level = _HEADINGS.index(word)
        self._headings.append(at)
        if self._text[end] == "[" and (short := self._groups.end(end)):
            end = short
        group = self._groups.content(end)
        title, after = group if group else ("", end)
        depth = next(
            (i for i, n in enumerate(self._stack) if n.name in _HEADINGS and n.level >= level), 0
        )
        if depth:
            self._pop(depth, at)
        outside = all(n.role not in CHOOSABLE for n in self._stack)
        refs = tuple(_REFERENCE.findall(title))
        node = Node(
            "heading", word, at, after, after, after, title.strip(), closed=True, level=level
        )
        if outside:
            if refs and is_solution_title(title):
                node = Node(
                    "solution", word, at, after, title=title.strip(), refs=refs, implicit=True
                )
                node.level = level
                self._push(node)
            else:
                self._stack[-1].children.append(node)
        return after

    def _pop(self, depth: int, at: int) -> None:
        """Take everything from `depth` on off the stack; what is not an item is unclosed.

        What an unclosed node swallowed from its first problem or solution on is handed to the
        node below it, outermost first, so that each child moves once.
        """
        kept = self._stack[depth - 1]
        for node in self._stack[depth:]:
            if node.implicit:
                node.end, node.after, node.closed = at, at, True
                kept = node
                continue
            cut = next(
                (
                    i
                    for i, c in enumerate(node.children)
                    if c.role in ("problem", "solution", "answer")
                ),
                len(node.children),
            )
            if node.role in ("questions", "list", "claim", "example", *_LISTS):
                cut = 0
            moved = node.children[cut:]
            del node.children[cut:]
            node.end = node.after = self._unclosed_end(node, moved, at)
            kept.children.extend(moved)
            if node.role not in ("list", "claim", "example", "proof"):
                self.faults.append((node.start, f"\\begin{{{node.name}}} is never closed"))
        del self._stack[depth:]

    def _unclosed_end(self, node: Node, moved: Sequence[Node], at: int) -> int:
        end = min(at, moved[0].start) if moved else at
        heading = bisect_left(self._headings, node.body)
        if heading < len(self._headings):
            end = min(end, self._headings[heading])
        if self._file_end:
            end = min(end, self._file_end(node.start))
        return max(end, node.body)
