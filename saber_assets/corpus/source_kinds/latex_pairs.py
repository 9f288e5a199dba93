r"""Which solution belongs to which problem of a LaTeX document.

A solution inside a problem is its own. One that names a label, or the problem's number, belongs
there. Any other belongs to the problem before it, unless a heading stands between them: then as
many solutions as there are problems before the heading are taken in order, and if the counts
differ nothing is guessed: they are orphans.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from saber_assets.corpus.source_kinds.latex_environments import Node
from saber_assets.corpus.source_kinds.latex_roles import Roles, is_solution_title

MOST_LABELS = 50
"""Labels of one statement that solutions may refer to."""

_LABEL = re.compile(r"\\[A-Za-z]*label\s?\{([^{}\n]{1,200})\}")
_COMMAND = re.compile(r"\\[A-Za-z]+\*?(?:\[[^\]\n]{0,80}\])?(?:\{[^{}\n]{0,80}\})?|\\.")
_SEPARATORS = ("questions", "list", "problem_list", "solution_list")
_LONGEST_GAP = 300


@dataclass(slots=True)
class Paired:
    """A problem with what belongs to it.

    Attributes:
        problem: its node.
        solutions: nodes of its solutions, in order.
        answers: nodes of its short answers.
        hints: nodes of its hints.
        labels: by which it can be referred to.
        parts: whether the solutions are those of its parts, which together make one.
    """

    problem: Node
    solutions: list[Node] = field(default_factory=list)
    answers: list[Node] = field(default_factory=list)
    hints: list[Node] = field(default_factory=list)
    labels: tuple[str, ...] = ()
    parts: bool = False


class Pairing:
    """Pairs the nodes of one document.

    Args:
        text: of the document.
        top: its nodes.
        roles: what environments are.

    Attributes:
        pairs: problems in the order of the document.
        orphans: solutions without a problem, in order; those with `refs` may find theirs in
            another document.
    """

    def __init__(self, text: str, top: Sequence[Node], roles: Roles) -> None:
        self.pairs: list[Paired] = []
        self.orphans: list[Node] = []
        self._text = text
        self._roles = roles
        self._referring: list[Node] = []
        self._scopes: list[Sequence[Node]] = [top]
        while self._scopes:
            _Run(self).take(self._sequence(self._scopes.pop()))
        self.pairs.sort(key=lambda pair: pair.problem.start)
        self._refer()
        self.orphans.sort(key=lambda node: node.start)

    def _sequence(self, nodes: Sequence[Node]) -> Iterator[Node]:
        """Yield nodes in order; what only groups others is replaced by what it holds."""
        for node in nodes:
            if node.role in _SEPARATORS:
                yield from self._sequence(node.children)
                continue
            yield node
            if node.role in ("claim", "example"):
                yield from self._sequence(node.children)
            elif node.role in ("solution", "proof", "hint", "answer"):
                inner = [n for n in node.children if _holds_problem(n)]
                if inner:
                    self._scopes.append(node.children)

    def problem(self, node: Node) -> Paired:
        """Start the record of a problem with what stands inside it."""
        pair = Paired(node)
        inside = list(_inside(node))
        pair.solutions = [n for n in inside if n.role == "solution"]
        pair.answers = [n for n in inside if n.role == "answer"]
        pair.hints = [n for n in inside if n.role == "hint"]
        pair.parts = len(pair.solutions) > 1 and any(
            _COMMAND.sub("", piece).strip(" \n\t{}[]()~") for piece in self.pieces(node)[1:-1]
        )
        own = [node.options["label"]] if "label" in node.options else []
        found = _LABEL.findall("".join(self.pieces(node)))
        pair.labels = tuple(dict.fromkeys(own + found))[:MOST_LABELS]
        self.pairs.append(pair)
        return pair

    def pieces(self, node: Node) -> list[str]:
        """Return a node's text without the solutions, answers and hints inside it."""
        pieces = []
        at = node.body
        for inner in _inside(node):
            if inner.start >= at:
                pieces.append(self._text[at : inner.start])
                at = inner.after
        pieces.append(self._text[at : node.end])
        return pieces

    def follows_closely(self, before: Node, node: Node) -> bool:
        """Tell whether only blanks and spacing commands stand between two nodes."""
        gap = self._text[before.after : node.start]
        return len(gap) <= _LONGEST_GAP and not _COMMAND.sub("", gap).strip(" \n\t{}[]~")

    def refers(self, node: Node) -> None:
        """Keep a solution that names its problem until all problems are known."""
        self._referring.append(node)

    def is_proof(self, node: Node) -> bool:
        """Tell whether a node is a proof by nature."""
        return node.role == "proof" or (not node.implicit and self._roles.is_proof(node.name))

    def _refer(self) -> None:
        by_label: dict[str, Paired] = {}
        for pair in self.pairs:
            for label in pair.labels:
                by_label.setdefault(label, pair)
        for node in self._referring:
            target = next((by_label[ref] for ref in node.refs if ref in by_label), None)
            if target is not None:
                attach(target, node)
            elif node.role != "proof":
                self.orphans.append(node)


class _Run:
    """Pairs the nodes of one scope from first to last."""

    def __init__(self, pairing: Pairing) -> None:
        self._pairing = pairing
        self._problems: list[Paired] = []
        self._section = 0
        self._separated = ""
        self._owner = ""
        self._unproved = False
        self._last: Node | None = None
        self._answered = False
        self._listed: list[Node] = []

    def take(self, nodes: Iterator[Node]) -> None:
        """Pair the nodes of the scope."""
        for node in nodes:
            if node.role == "heading":
                self._heading(node)
            elif node.role == "problem":
                self._problem(node)
            elif node.role in ("claim", "example"):
                self._owner = node.role
                self._unproved = self._unproved or node.role == "claim"
            elif node.role in ("solution", "answer", "proof"):
                self._solution(node)
        self._finish_list()

    def _heading(self, node: Node) -> None:
        self._separated = (
            "solutions" if is_solution_title(node.title) else (self._separated or "other")
        )

    def _problem(self, node: Node) -> None:
        self._finish_list()
        if self._answered:
            self._problems.clear()
            self._section = 0
            self._answered = False
        elif self._separated:
            self._section = len(self._problems)
        self._problems.append(self._pairing.problem(node))
        self._separated = self._owner = ""
        self._last = node

    def _solution(self, node: Node) -> None:
        pairing = self._pairing
        if node.refs:
            pairing.refers(node)
            return
        proof = pairing.is_proof(node)
        unproved, self._unproved = self._unproved, self._unproved and not proof
        if self._owner == ("claim" if proof else "example"):
            if not proof:
                pairing.orphans.append(node)
            return
        if node.role == "proof":
            close = self._last is not None and pairing.follows_closely(self._last, node)
            if not is_solution_title(node.title) and (unproved or not close):
                return
        if not self._problems:
            pairing.orphans.append(node)
        elif self._listed or (
            self._separated and not (self._single() and self._separated == "solutions")
        ):
            self._listed.append(node)
        else:
            attach(self._problems[-1], node)
            self._answered = True
            self._last = node

    def _single(self) -> bool:
        return self._answered or len(self._problems) - self._section == 1

    def _finish_list(self) -> None:
        """Pair a list of solutions with the problems before it, or make them orphans."""
        listed, self._listed = self._listed, []
        if not listed:
            return
        problems = [] if self._answered else self._problems
        if len(listed) > 1 or self._separated == "solutions":
            for group in (self._by_number(problems, listed), problems[self._section :], problems):
                if group and len(group) == len(listed):
                    for pair, node in zip(group, listed, strict=True):
                        attach(pair, node)
                    self._answered = True
                    return
        self._pairing.orphans.extend(listed)

    def _by_number(self, problems: Sequence[Paired], listed: Sequence[Node]) -> list[Paired]:
        """Return the problem that each solution names, or nothing unless all do."""
        titled = [pair for pair in problems if pair.problem.title]
        named = {pair.problem.title: pair for pair in titled}
        found = [named[node.title] for node in listed if node.title in named]
        return found if len(found) == len(listed) and len(named) == len(titled) else []


def attach(pair: Paired, node: Node) -> None:
    """Give a solution or answer to a problem."""
    (pair.answers if node.role == "answer" else pair.solutions).append(node)


def _inside(node: Node) -> Iterator[Node]:
    """Yield the solutions, answers and hints in a problem, in order, outermost only."""
    for child in node.children:
        if child.role in ("solution", "answer", "hint"):
            yield child
        elif child.role != "proof":
            yield from _inside(child)


def _holds_problem(node: Node) -> bool:
    return node.role == "problem" or any(_holds_problem(child) for child in node.children)
