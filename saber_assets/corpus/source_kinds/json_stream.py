r"""Reads JSON of any size value by value: arrays of gigabytes, JSON Lines, one object a file.

A window slides over the text, and the standard decoder takes one value after the other out of it,
so that memory is bounded by the largest value. A value that can't be decoded comes as a `Broken`
with its beginning; reading goes on with the next one. What begins a value is told in an array by
the key that its objects begin with, and elsewhere by a line that begins with a brace.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from saber_assets.errors import InputError

SUFFIXES = (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".ndjson.gz")
"""How names of files end that this module reads."""
CHUNK = 1 << 20
"""Characters read at once."""
LONGEST_VALUE = 1 << 28
"""A longer value is refused: it would have to be held whole."""
_FRAGMENT = 4096
_NEAR_THE_END = 16
"""An error that near to the end of the window may be due to the cut, as in `tru|e`."""
_AFTER_NUMBER = 3
"""Characters behind a number that show that it doesn't go on, as `e-1` would."""

_BETWEEN = re.compile(r"[ \t\r\n,\x1e]*")
_FIRST_KEY = re.compile(r'\{\s*("(?:[^"\\]|\\.)*")\s*:')
_WRAPPED_ARRAY = re.compile(r'\{\s*"(?:topics|threads|items|rows|data)"\s*:\s*\[')
_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)
_CLOSING = re.compile(r"[\]}\s]*")
_OBJECT_LINE = "\n{"


class Broken(NamedTuple):
    """A value that can't be decoded: its beginning, and what is wrong."""

    fragment: str
    fault: str


class Placed(NamedTuple):
    """A decoded value, or a `Broken`, with its place in the file, such as "line 3"."""

    place: str
    value: Any


def iter_json(path: Path) -> Iterator[Placed]:
    """Yield the values of a file: the items of its array, or one object after the other.

    Args:
        path: a file of UTF-8 whose name ends in one of `SUFFIXES`; a byte order mark is accepted.
            Bytes that aren't UTF-8 come as lone surrogates.

    Raises:
        InputError: for a file that can't be opened or unpacked, is empty, doesn't begin like
            JSON, or holds a value longer than `LONGEST_VALUE`.
    """
    try:
        with _open(path) as stream:
            yield from _values(path, _Window(path, stream))
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise InputError(f"{path} can't be read to its end ({reason})", "get it anew") from error


def beginning(path: Path, characters: int = 1 << 16) -> str:
    """Return the beginning of a file as text, or "" where it can't be read; never raises."""
    try:
        with _open(path) as stream:
            return stream.read(characters)
    except (OSError, EOFError, zlib.error, ValueError):
        return ""


def _open(path: Path) -> TextIO:
    opener: Any = gzip.open if path.name.lower().endswith(".gz") else open
    stream: TextIO = opener(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="")
    return stream


class _Window:
    """The part of a text that is held; `at` is where reading stands in it."""

    def __init__(self, path: Path, stream: TextIO) -> None:
        self._path = path
        self._stream = stream
        self.text = ""
        self.at = 0
        self.line = 1
        self.ended = False

    def grow(self) -> bool:
        """Read on and forget what is behind; tell whether there was more."""
        held = len(self.text) - self.at
        if held > LONGEST_VALUE:
            raise InputError(
                f"{self._path} line {self.line} begins a value of more than {LONGEST_VALUE} "
                "characters",
                "write one topic a line, or an array of topics",
            )
        more = self._stream.read(max(CHUNK, held))
        self.ended = not more
        if more:
            self.text = self.text[self.at :] + more
            self.at = 0
        return bool(more)

    def advance(self, to: int) -> None:
        """Go on to a place in the window, counting lines."""
        self.line += self.text.count("\n", self.at, to)
        self.at = to

    def skip(self) -> str:
        """Go on to the next value or bracket; return its first character, or "" at the end."""
        while True:
            match = _BETWEEN.match(self.text, self.at)
            self.advance(match.end() if match else self.at)
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.grow():
                return ""

    def find(self, pattern: re.Pattern[str], after: int) -> int | None:
        """Return where a pattern matches next, at least `after` characters ahead, as a distance."""
        while True:
            match = pattern.search(self.text, self.at + after)
            if match:
                return match.start() - self.at
            if not self.grow():
                return None


def _values(path: Path, window: _Window) -> Iterator[Placed]:
    first = window.skip()
    if not first:
        raise InputError(f"{path} is empty", "give a file with at least one value")
    if first not in "[{":
        raise InputError(
            f"{path} isn't JSON: it begins with {window.text[window.at : window.at + 20]!a}",
            "give an array of objects or one object a line, in UTF-8",
        )
    wrapped = _WRAPPED_ARRAY.match(window.text, window.at)
    if first == "[" or wrapped:
        window.advance(wrapped.end() if wrapped else window.at + 1)
        return _array_values(window, wrapped is not None)
    return _line_values(window)


def _array_values(window: _Window, wrapped: bool) -> Iterator[Placed]:
    decoder = json.JSONDecoder(strict=False)
    key = None
    number = 0
    while (sign := window.skip()) and not (sign == "]" and _is_end(window, key, wrapped)):
        number += 1
        place = f"item {number} (line {window.line})"
        match = _FIRST_KEY.match(window.text, window.at)
        key = re.escape(match[1]) if match else key
        value = _decode(window, decoder)
        if isinstance(value, Broken):
            distance = _end_of_item(window, key)
            fragment = window.text[window.at : window.at + min(distance, _FRAGMENT)]
            window.advance(window.at + distance)
            value = Broken(fragment, value.fault)
        yield Placed(place, value)
    if not sign:
        yield Placed("the end", Broken("", "the array breaks off"))


def _is_end(window: _Window, key: str | None, wrapped: bool) -> bool:
    """Tell whether a bracket ends the array, rather than the wreck of a broken item in it."""
    if key and window.find(_beginning_of_item(key), 0) is not None:
        return False
    while window.grow():
        pass
    rest = _CLOSING.fullmatch(window.text, window.at + 1)
    return rest is not None or wrapped


def _beginning_of_item(key: str) -> re.Pattern[str]:
    return re.compile(rf",\s*\{{\s*{key}\s*:")


def _end_of_item(window: _Window, key: str | None) -> int:
    """Return how many characters a broken item has: up to its bracket, or where another begins.

    Brackets alone mislead where one is missing or a quote isn't closed; the key alone does where
    parts of an item begin with it too. Whatever ends the item sooner counts.
    """
    following = window.find(_beginning_of_item(key), 1) if key else None
    if following is None:
        while window.grow():
            pass
    stop = len(window.text) - window.at if following is None else following
    depth = 0
    for match in _BRACKET.finditer(window.text, window.at, window.at + stop):
        sign = match[0]
        if sign in "{[":
            depth += 1
        elif sign in "}]":
            depth -= 1
            if depth <= 0:
                end = match.end()
                separator = re.compile(r"\s*[,\]]").match(window.text, end)
                return end - window.at if separator and depth == 0 else stop
    return stop


def _line_values(window: _Window) -> Iterator[Placed]:
    decoder = json.JSONDecoder()
    lenient = json.JSONDecoder(strict=False)
    pattern = re.compile(re.escape(_OBJECT_LINE))
    while window.skip():
        place = f"line {window.line}"
        value = _decode(window, decoder)
        if isinstance(value, Broken):
            distance = window.find(pattern, 1)
            if distance is None:
                distance = len(window.text) - window.at
            piece = window.text[window.at : window.at + distance]
            window.advance(window.at + distance)
            value = _with_raw_controls(piece, lenient, value.fault)
        yield Placed(place, value)


def _with_raw_controls(piece: str, lenient: json.JSONDecoder, fault: str) -> Any:
    """Decode a piece whose strings hold raw tabs or line breaks, or return it as Broken."""
    try:
        return lenient.decode(piece)
    except (ValueError, RecursionError):
        return Broken(piece[:_FRAGMENT], fault)


def _decode(window: _Window, decoder: json.JSONDecoder) -> Any:
    """Return the value at the window's place and go on behind it; or a Broken, and stay."""
    while True:
        try:
            value, end = decoder.raw_decode(window.text, window.at)
        except json.JSONDecodeError as error:
            cut = error.msg.startswith("Unterminated string") or (
                len(window.text) - error.pos < _NEAR_THE_END
            )
            if cut and not window.ended and window.grow():
                continue
            return Broken("", error.msg[:1].lower() + error.msg[1:])
        except (ValueError, RecursionError) as error:
            return Broken("", str(error))
        whole = isinstance(value, (dict, list, str)) or end + _AFTER_NUMBER <= len(window.text)
        if not whole and window.grow():
            continue
        window.advance(end)
        return value
