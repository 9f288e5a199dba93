r"""JSON from a language model's reply, with the LaTeX in its strings kept whole.

Models write `{"s": "\frac12\times\nu"}`. A JSON parser reads form feed, tab and newline there, and
nobody notices. So every backslash is looked at before the first parse: what can only be LaTeX is
escaped, what is properly escaped stays.

The one ambiguity is a command whose rest is a word of its own: `\ne` is "not equal", or a newline
and "e". It is read as a newline where the reply escapes its other LaTeX properly (`\\frac`, and no
backslash that JSON forbids), and as LaTeX elsewhere.
"""

from __future__ import annotations

import json
import re
from typing import Any

_COMMANDS = {
    "n": (
        "nabla natural ncong ne nearrow neg neq newcommand newline nexists ngeq ngtr ni nleq nless "
        "nmid nolimits nonumber norm normalsize not notag notin nparallel nprec nsim nsubset "
        "nsubseteq nsucc nsupset nsupseteq ntriangleleft nu nwarrow"
    ),
    "r": (
        "raisebox rangle rbrace rbrack rceil ref renewcommand rfloor rho right rightarrow "
        "rightharpoonup rightleftharpoons rightrightarrows risingdotseq rm root rtimes rVert rvert"
    ),
    "t": (
        "tag tan tanh tau tbinom text textbf textit textrm textsf textstyle textsuperscript "
        "texttt tfrac theta therefore thickspace thinspace tilde times tiny to top tr triangle "
        "triangledown triangleleft trianglelefteq triangleq triangleright tt twoheadrightarrow"
    ),
}
_KNOWN = {escape: frozenset(names.split()) for escape, names in _COMMANDS.items()}
_WORDS_AFTER_ESCAPE = frozenset(
    [
        *("ncong", "ne", "ni", "nless", "nmid", "nexists", "nparallel", "nprec", "nsim"),
        *("nsubset", "nsucc", "nsupset", "nu", "rm", "tan", "to", "tr", "tt"),
    ]
)
"""Commands that are also an escape and then a plausible word or variable."""

_LETTERS = re.compile(r"[A-Za-z]*")
_HEX = re.compile(r"[0-9a-fA-F]{4}")
_ESCAPED_COMMAND = re.compile(r"(?<!\\)(?:\\\\)+[A-Za-z]")
_FORBIDDEN_ESCAPE = re.compile(r'(?<!\\)(?:\\\\)*\\(?:[^"\\/bfnrtu]|u(?![0-9a-fA-F]{4}))')
_MAX_FAULTS = 50
"""Braces that begin no object before a text is given up: each costs one reading of the rest."""
_FENCE = re.compile(r"```[A-Za-z]*\s*\n?(.*?)```", re.DOTALL)


class ReplyError(ValueError):
    """A reply that can't be used; its sentence is fit to be shown to the model."""


def parse_object(reply: str) -> dict[str, Any]:
    r"""Return the JSON object in a reply.

    Accepted around it: prose and code fences. Mended in it: trailing commas, line breaks inside
    strings, and single backslashes of LaTeX. Of several objects the last one counts: models state
    their answer last. Fenced ones come before others.

    Args:
        reply: the text of a reply.

    Raises:
        ReplyError: when there is no complete object, a key is repeated, or a number is not finite.
    """
    faults: list[ReplyError] = []
    for text in (*reversed(_FENCE.findall(reply)), reply):
        found: list[dict[str, Any]] = []
        faults = []
        start = text.find("{")
        while start >= 0 and len(faults) < _MAX_FAULTS:
            try:
                value, start = _object_at(text, start)
                found.append(value)
            except ReplyError as error:
                faults.append(error)
                start += 1
            start = text.find("{", start)
        if found:
            return next((value for value in reversed(found) if value), found[-1])
    raise faults[0] if faults else ReplyError("the reply holds no JSON object")


def _object_at(text: str, start: int) -> tuple[dict[str, Any], int]:
    """Return the object that begins at a brace, and where the text goes on after it."""
    source, end = _mended(text, start)
    try:
        value = json.loads(
            source, strict=False, object_pairs_hook=_without_repeats, parse_constant=_refuse
        )
    except json.JSONDecodeError as error:
        raise ReplyError(f"the reply is not valid JSON ({error.msg})") from error
    except RecursionError as error:
        raise ReplyError("the JSON in the reply is nested too deeply") from error
    return value, end


def _mended(text: str, start: int) -> tuple[str, int]:
    """Copy the object that begins at `start`, mending backslashes and trailing commas."""
    out: list[str] = []
    depth, position, proper = 0, start, _escapes_properly(text)
    while position < len(text):
        sign = text[position]
        if sign == '"':
            string, position = _mended_string(text, position, proper)
            out.append(string)
            continue
        position += 1
        if sign in "{[":
            depth += 1
        elif sign in "}]":
            depth -= 1
            _drop_trailing_comma(out)
        out.append(sign)
        if depth == 0:
            return "".join(out), position
    raise ReplyError("the reply ends in the middle of its JSON object")


def _drop_trailing_comma(out: list[str]) -> None:
    last = len(out) - 1
    while last >= 0 and out[last].isspace():
        last -= 1
    if last >= 0 and out[last] == ",":
        del out[last]


def _mended_string(text: str, start: int, proper: bool) -> tuple[str, int]:
    """Copy the string that begins at a quotation mark; return it and the position after it."""
    out = ['"']
    position = start + 1
    while position < len(text):
        sign = text[position]
        if sign == '"':
            return "".join([*out, '"']), position + 1
        if sign != "\\":
            out.append(sign)
            position += 1
            continue
        following = text[position + 1 : position + 2]
        if _is_escape(text, position + 1, proper):
            out.append(sign + following)
            position += 2
        else:
            out.append("\\\\")
            position += 1
    raise ReplyError("the reply ends in the middle of a JSON string")


def _is_escape(text: str, position: int, proper: bool) -> bool:
    """Whether the backslash before `position` begins a JSON escape rather than LaTeX."""
    sign = text[position : position + 1]
    if sign in {'"', "\\", "/"}:
        return True
    if sign == "u":
        return _HEX.match(text, position + 1) is not None
    if not sign or sign not in "bfnrt":
        return False
    letters = _LETTERS.match(text, position)
    command = letters[0] if letters else sign
    if len(command) == 1:
        return True
    if sign in "bf":
        return False
    if command in _KNOWN[sign]:
        return proper and command in _WORDS_AFTER_ESCAPE
    return proper or sign == "n"


def _escapes_properly(text: str) -> bool:
    return _ESCAPED_COMMAND.search(text) is not None and _FORBIDDEN_ESCAPE.search(text) is None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise ReplyError(f"the reply has the key '{repeated}' twice")
    return value


def _refuse(constant: str) -> float:
    raise ReplyError(f"the reply holds {constant}, which is not a finite number")
