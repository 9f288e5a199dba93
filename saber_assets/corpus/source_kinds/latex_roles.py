"""What an environment is: problem, solution, answer, hint, or something that separates them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from saber_assets.corpus.source_kinds.latex_declarations import Declared

Role = Literal[
    "problem",
    "solution",
    "answer",
    "hint",
    "proof",
    "claim",
    "example",
    "questions",
    "problem_list",
    "solution_list",
    "list",
    "heading",
    "",
]
"""What an environment is; the last ones hold items, or matter only for what they separate."""

CHOOSABLE = ("problem", "solution", "answer", "hint")
"""Roles that the option `environments` may name."""

NAMES: dict[Role, str] = {
    "problem": "problem prob exercise exer exercice exo xca question ques quest aufgabe uebung "
    "übung uebungsaufgabe problema ejercicio esercizio exercicio task defproblem zadanie opgave",
    "solution": "solution sol soln solu loesung lösung solucion soluzione solucao corrige "
    "psolution onlysolution solutionorbox solutionorlines solutionordottedlines solutionorgrid",
    "answer": "answer ans antwort respuesta risposta reponse shortanswer finalanswer",
    "hint": "hint hints hinweis tipp indication",
    "proof": "proof beweis demonstration",
    "claim": "theorem thm lemma lem proposition prop corollary cor claim conjecture fact",
    "example": "example exa eg exmp beispiel",
    "questions": "questions exerciselist",
    "problem_list": "exercises problems xcb problemlist aufgaben questionlist",
    "solution_list": "solutions answers solutionlist answerlist loesungen",
    "list": "enumerate itemize description parts subparts subsubparts compactenum inparaenum",
}
_ROLE_OF: dict[str, Role] = {name: role for role, names in NAMES.items() for name in names.split()}
_WORDS: tuple[tuple[Role, re.Pattern[str]], ...] = (
    ("hint", re.compile(r"\b(?:hints?|hinweis|tipp)\b", re.IGNORECASE)),
    (
        "solution",
        re.compile(
            r"\bsolutions?\b|\blösung|\bl\\\"osung|\bloesung|\bsoluci[oó]n|\bsoluzion|\bsolução"
            r"|\bcorrig[eé]|\bрешени|\brozwiązani|\břešení|\bmegold|\boplossing|解",
            re.IGNORECASE,
        ),
    ),
    ("answer", re.compile(r"\banswers?\b|\bantwort|\brespuesta|\bréponse|\bответ", re.IGNORECASE)),
    (
        "problem",
        re.compile(
            r"\bproblem(?:s|e|a|as|i)?\b|\bexercis|\bexercice|\bquestions?\b|aufgabe|\bübung|\\\"ubung"
            r"|\bejercicio|\besercizi|\bexercíci|\bзадач|\bупражн|\bzadani|\btasks?\b|\bpuzzle"
            r"|\bopgave|\bfeladat|\bpříklad|問題|题|習題",
            re.IGNORECASE,
        ),
    ),
    ("proof", re.compile(r"\bproof\b|\bbeweis\b", re.IGNORECASE)),
    ("example", re.compile(r"\bexamples?\b|\bbeispiel", re.IGNORECASE)),
    (
        "claim",
        re.compile(
            r"\btheorem|\blemma|\bproposition|\bcorollar|\bclaim|\bconjecture", re.IGNORECASE
        ),
    ),
)


class Roles:
    """Knows what each environment is, from the option, the declarations, and its name.

    Args:
        declared: name -> declaration; declarations of the document itself come first.
        chosen: role -> names from the option `environments`; such a role has no others. A name
            also stands for environments that are declared with it as their title.
    """

    def __init__(
        self, declared: Mapping[str, Declared], chosen: Mapping[str, Sequence[str]]
    ) -> None:
        self.declared = declared
        self._chosen = {_key(name): role for role in CHOOSABLE for name in chosen.get(role, ())}
        self._fixed = frozenset(role for role in CHOOSABLE if role in chosen)
        self._known: dict[str, Role] = {}

    def of(self, name: str) -> Role:
        """Return an environment's role, "" for one that doesn't matter."""
        if name not in self._known:
            self._known[name] = self._find(name)
        return self._known[name]

    def arguments(self, name: str) -> tuple[bool, int]:
        """Return whether it may take an argument in brackets, and how many in braces."""
        declared = self.declared.get(name)
        if declared is None:
            return True, 1 if name == "defproblem" else 0
        return declared.optional or declared.theorem, declared.arguments

    def is_proof(self, name: str) -> bool:
        """Tell whether an environment is a proof by nature, whatever it was chosen for."""
        return self._default(name, self.declared.get(name)) == "proof"

    def _find(self, name: str) -> Role:
        declared = self.declared.get(name)
        title = _key(declared.title or "") if declared and declared.theorem else ""
        for key in (_key(name), title):
            if key and key in self._chosen:
                return self._chosen[key]  # type: ignore[return-value]
        role = self._default(name, declared)
        if role in self._fixed:
            # a problem or solution that wasn't chosen still ends the reach of others
            return "claim" if role == "problem" else ""
        return role

    def _default(self, name: str, declared: Declared | None) -> Role:
        by_name = _ROLE_OF.get(_key(name), "")
        if declared is None or declared.title is None:
            return by_name
        if not declared.theorem:
            return by_name or self._by_code(declared)
        return _by_words(declared.title) or ("" if _has_letters(declared.title) else by_name)

    def _by_code(self, declared: Declared) -> Role:
        role = _by_words(declared.title or "", only=("solution", "answer", "problem"))
        if role or not declared.wraps or declared.wraps not in self.declared:
            return role
        return self._default(declared.wraps, None)


def _key(name: str) -> str:
    name = re.sub(r"\\[A-Za-z]+\*?|[{}]", "", name)
    return name.strip().rstrip("*").strip().casefold()


def _by_words(text: str, only: Sequence[Role] = ()) -> Role:
    return next((r for r, words in _WORDS if (not only or r in only) and words.search(text)), "")


def _has_letters(text: str) -> bool:
    return any(character.isalpha() for character in re.sub(r"\\[A-Za-z]+", "", text))


def is_solution_title(text: str) -> bool:
    """Tell whether a heading announces solutions or answers."""
    return _by_words(text, only=("solution", "answer")) != ""
