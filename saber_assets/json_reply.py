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
import math
import re
from dataclasses import dataclass
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
_BEGINS_OBJECT = re.compile(r"""\{\s*(?:["'}]|//|/\*|#|[A-Za-z_][\w-]*\s*:)""")
"""A brace that is meant to begin an object, well or badly written; other braces are LaTeX."""
_STRING_OR_BRACKET = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*\\?("|\Z)|[{}\[\]]', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_FENCE = "```"
_CUT = "the reply ends in the middle of"
_READINGS = 50
"""How often a text may be read through before it is given up: bounds the time."""


class ReplyError(ValueError):
    """A reply that can't be used; its sentence is fit to be shown to the model."""


@dataclass(frozen=True)
class _Found:
    """An object in a reply, or what is wrong with it."""

    value: dict[str, Any] | None
    fault: ReplyError | None
    fenced: bool


def parse_object(reply: str) -> dict[str, Any]:
    r"""Return the JSON object in a reply.

    Accepted around it: prose and code fences. Mended in it: trailing commas, line breaks inside
    strings, and single backslashes of LaTeX. Of several objects the last one counts: models state
    their answer last. Fenced ones come before others, empty ones after all. Where the one that
    counts is faulty or cut off, no other takes its place, neither an earlier draft nor a part of
    it.

    Args:
        reply: the text of a reply.

    Raises:
        ReplyError: when there is no complete object, a key is repeated, a number is not finite,
            or a string holds half a character (a lone surrogate).
    """
    found, fault = _objects(reply)
    if not found:
        raise fault or ReplyError("the reply holds no JSON object")
    counted = [entry for entry in found if entry.fenced] or found
    chosen = next((entry for entry in reversed(counted) if entry.value != {}), counted[-1])
    if chosen.value is None:
        raise chosen.fault or ReplyError("the reply holds no JSON object")
    return chosen.value


def _objects(text: str) -> tuple[list[_Found], ReplyError | None]:
    """Return what begins like an object, in order, and the first fault of any other brace."""
    found: list[_Found] = []
    stray: ReplyError | None = None
    budget = _READINGS * (len(text) + 100)
    fences, behind, start = 0, 0, text.find("{")
    while start >= 0:
        fences += text.count(_FENCE, behind, start)
        behind = start
        meant = _BEGINS_OBJECT.match(text, start) is not None
        value, fault, end = _object_at(text, start)
        if value is not None or meant:
            found.append(_Found(value, fault, fences % 2 == 1))
            behind = end
        else:
            budget -= end - start
            stray, end = stray or fault, start + 1
        if budget < 0:
            raise ReplyError("the reply holds too many braces that begin no JSON object")
        start = text.find("{", end)
    return found, stray


def _object_at(text: str, start: int) -> tuple[dict[str, Any] | None, ReplyError | None, int]:
    """Return the object that begins at a brace, or its fault, and where the text goes on."""
    end = len(text)
    try:
        end = _end_of(text, start)
        value = json.loads(
            _mended(text[start:end]),
            strict=False,
            object_pairs_hook=_without_repeats,
            parse_constant=_refuse,
            parse_float=_finite,
        )
    except ReplyError as error:
        return None, error, end
    except RecursionError:
        return None, ReplyError("the JSON in the reply is nested too deeply"), end
    except ValueError as error:  # also an integer of thousands of digits
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "a number is too long"
        return None, ReplyError(f"the reply is not valid JSON ({reason})"), end
    return value, None, end


def _end_of(text: str, start: int) -> int:
    """Return the position after the bracket that closes the object beginning at `start`."""
    depth = 0
    for part in _STRING_OR_BRACKET.finditer(text, start):
        sign = part[0][0]
        if sign == '"':
            if not part[1]:
                raise ReplyError(f"{_CUT} a JSON string")
            continue
        depth += 1 if sign in "{[" else -1
        if depth == 0:
            return part.end()
    raise ReplyError(f"{_CUT} its JSON object")


def _mended(text: str) -> str:
    """Copy an object, mending backslashes and trailing commas."""
    out: list[str] = []
    position, proper = 0, _escapes_properly(text)
    while position < len(text):
        sign = text[position]
        if sign == '"':
            string, position = _mended_string(text, position, proper)
            out.append(string)
            continue
        position += 1
        if sign in "}]":
            _drop_trailing_comma(out)
        out.append(sign)
    return "".join(out)


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
    raise ReplyError(f"{_CUT} a JSON string")


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
    for key, entry in pairs:
        _refuse_halves(key)
        _refuse_halves(entry)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise ReplyError(f"the reply has the key '{repeated}' twice")
    return value


def _refuse(constant: str) -> float:
    raise ReplyError(f"the reply holds {constant}, which is not a finite number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ReplyError(f"the reply holds {digits[:20]}, which is not a finite number")
    return number


def _refuse_halves(value: Any) -> None:
    """Refuse lone surrogates in a string or a list of strings: no file could hold them."""
    for entry in value if isinstance(value, list) else (value,):
        if isinstance(entry, list):
            _refuse_halves(entry)
        elif isinstance(entry, str) and _SURROGATE.search(entry):
            raise ReplyError("a string in the reply holds half a character (a lone surrogate)")
