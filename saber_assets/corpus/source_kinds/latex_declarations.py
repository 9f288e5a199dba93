r"""What a LaTeX source declares: theorem-like and own environments, and shorthands for them.

Read are `\newtheorem` and its kin, `\declaretheorem`, `\defthm`, `\newenvironment`,
`\newtcolorbox`, `\NewDocumentEnvironment`, `\Newassociation`, `\DeclareExerciseType`, and
commands that stand for `\begin{...}` or `\end{...}`. Macros are not expanded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from saber_assets.corpus.source_kinds.latex_comments import Groups, Spans, is_escaped

DECLARES = re.compile(
    r"\\(?P<command>newtheorem|declaretheorem|spnewtheorem|newmdtheoremenv|mdtheorem|newshadetheorem"
    r"|newtheoremrep|defthm|newthm|newtcbtheorem|NewTcbTheorem|newtcolorbox|renewtcolorbox"
    r"|NewTColorBox|DeclareTColorBox|newmdenv|(?:re)?newenvironment"
    r"|(?:New|Renew|Provide|Declare)DocumentEnvironment|Newassociation|DeclareExerciseType"
    r"|(?:re)?newcommand|providecommand|(?:New|Renew|Declare|Provide)DocumentCommand"
    r"|DeclareRobustCommand|def|gdef)(?![A-Za-z@])\*?"
)
_THEOREMS = frozenset(
    [
        "newtheorem",
        "spnewtheorem",
        "newmdtheoremenv",
        "mdtheorem",
        "newshadetheorem",
        "newtheoremrep",
        "defthm",
        "newthm",
        "newtcbtheorem",
        "NewTcbTheorem",
    ]
)
_WORD = re.compile(r"\\[A-Za-z@]+")
_PARAMETERS = re.compile(r"#[^{}\n]{0,80}")
_BLANK = re.compile(r"[ \t]*\n?[ \t]*")
_MOST_ARGUMENTS = 9
_SHORTHAND = re.compile(r"\s*\\(?P<be>begin|end)\s*\{(?P<env>[^{}\\\n]{1,80})\}\s*")
_KEY = re.compile(r"(?:name|title|heading)\s*=\s*(?:\{(?P<braced>[^{}]*)\}|(?P<plain>[^,{}]*))")
_EXERCISE_ENV = re.compile(r"(?P<key>exercise|solution)-env\s*=\s*\{?(?P<name>[A-Za-z*]+)")
_WRAPPED = re.compile(r"\\begin\s*\{([^{}\\\n]{1,80})\}")


@dataclass(frozen=True, slots=True)
class Declared:
    """One declared environment.

    Attributes:
        title: what it prints as its heading, as far as the declaration says, or None.
        theorem: declared by a command for theorems, whose title tells what it is.
        optional: takes an argument in brackets.
        arguments: how many arguments in braces it takes.
        wraps: the first environment that its own code opens, or "".
    """

    title: str | None
    theorem: bool
    optional: bool
    arguments: int
    wraps: str = ""


@dataclass(slots=True)
class Declarations:
    """All declarations of a text.

    Attributes:
        environments: name -> declaration, the last one of a name.
        shorthands: command word -> ("begin" or "end", environment).
        spans: (start, end) of the declarations, which hold no problems themselves.
    """

    environments: dict[str, Declared] = field(default_factory=dict)
    shorthands: dict[str, tuple[str, str]] = field(default_factory=dict)
    spans: list[tuple[int, int]] = field(default_factory=list)


def declarations(text: str, verbatim: Iterable[tuple[int, int]] = ()) -> Declarations:
    """Return what a comment-free text declares; linear in its length."""
    found = Declarations()
    if not DECLARES.search(text):
        return found
    reader = Groups(text)
    skip = Spans(verbatim)
    end = 0
    for match in DECLARES.finditer(text):
        at = match.start()
        if at < end or skip.hold(at) or is_escaped(text, at):
            continue
        groups, end = _arguments(reader, match.end(), match["command"])
        if groups:
            found.spans.append((at, end))
            _declare(found, match["command"], groups)
    return found


def _arguments(groups: Groups, at: int, command: str) -> tuple[list[tuple[str, str]], int]:
    r"""Return the arguments after a command as (bracket, content), and where they end.

    A command word in place of the first group counts as one: `\def\bt{...}`, `\newcommand\bt{...}`.
    """
    text = groups.text
    found: list[tuple[str, str]] = []
    plain = command in ("def", "gdef")
    most = 2 if plain else _MOST_ARGUMENTS
    while len(found) < most:
        start = _after_blank(text, at)
        if not found and (word := _WORD.match(text, start)):
            found.append(("{", word[0]))
            at = word.end()
            if plain and (parameters := _PARAMETERS.match(text, at)):
                at = parameters.end()
                found.append(("[", parameters[0]))
                most = 3
            continue
        group = groups.content(start)
        if group is None:
            break
        found.append((text[start], group[0]))
        at = group[1]
    return found, at


def _after_blank(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _declare(found: Declarations, command: str, groups: list[tuple[str, str]]) -> None:
    braced = [content for bracket, content in groups if bracket == "{"]
    if not braced or "#" in braced[0]:
        return
    name = braced[0].strip()
    if command.endswith(("command", "Command")) or command in ("def", "gdef"):
        body = _SHORTHAND.fullmatch(braced[-1]) if len(groups) == 2 else None
        if body and len(braced) == 2:
            found.shorthands[name.removeprefix("\\")] = (body["be"], body["env"])
    elif command == "declaretheorem":
        options = " ".join(content for bracket, content in groups if bracket == "[")
        key = _KEY.search(options)
        title = (key["braced"] or key["plain"]) if key else None
        for one in name.split(","):
            found.environments[one.strip()] = Declared(title or one.strip(), True, True, 0)
    elif command in _THEOREMS:
        title = braced[1] if len(braced) > 1 else None
        boxed = command.endswith(("tcbtheorem", "TcbTheorem"))
        found.environments[name] = Declared(title, True, True, 2 if boxed else 0)
    elif command == "DeclareExerciseType":
        for match in _EXERCISE_ENV.finditer(braced[-1]):
            title = "Exercise" if match["key"] == "exercise" else "Solution"
            found.environments[match["name"]] = Declared(title, True, True, 0)
    elif command == "Newassociation":
        title = braced[1] if len(braced) > 1 else None
        found.environments[name] = Declared(title, False, False, 0)
    else:
        found.environments[name] = _own(command, groups, braced)


def _own(command: str, groups: list[tuple[str, str]], braced: list[str]) -> Declared:
    """Read an environment that is declared by its code."""
    code = braced[1] if len(braced) > 1 else ""
    if command.endswith("DocumentEnvironment"):
        signature = re.sub(r"\{[^{}]*\}|\s", "", code)
        code = braced[2] if len(braced) > 2 else ""
        optional = any(c in signature for c in "oO")
        arguments = sum(c in "mrR" for c in signature)
    else:
        first = next(i for i, (bracket, _) in enumerate(groups) if bracket == "{")
        after = [content for bracket, content in groups[first + 1 :] if bracket == "["]
        count = int(after[0]) if after and after[0].strip().isdigit() else 0
        optional = len(after) > 1
        arguments = min(max(count - optional, 0), _MOST_ARGUMENTS)
    wraps = _WRAPPED.search(code)
    return Declared(code, False, optional, arguments, wraps[1] if wraps else "")
