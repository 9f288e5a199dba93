"""Topics of TREC: lines of id and text, JSON lines, or the marked-up form of the ad hoc tracks.

<top>
<num> Number: 301
<title> International Organized Crime
<desc> Description: ...
<narr> Narrative: ...
</top>

The fields of that form are closed, or end where the next one begins. Only names that such files use
begin a field: whatever else stands between < and > is text, as in "$a<b$ and $c>d$".
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

from saber_assets.errors import InputError
from saber_assets.publishing.release_files import id_field, lines_of, rows_of, text_field, text_of

Topic = tuple[str, str, str]
"""Where it stands, its id, its text."""

_TOPIC = re.compile(r"<(top|topic)(?=[\s>])([^>]*)>(.*?)</\1\s*>", re.DOTALL | re.IGNORECASE)
_IDS = ("num", "number", "id", "identifier")
_TEXTS = ("title", "query", "question", "desc", "description")
"""What is taken as the query, the first that isn't empty."""
_OTHERS = (
    *("narr", "narrative", "dom", "head", "smry", "con", "fac", "def", "nat", "time"),
    *("querytime", "querytweettime", "subtopic", "note", "summary", "need", "context", "tags"),
    *("disease", "gene", "variant", "demographic", "other"),
)
"""Fields of the tracks that are no part of the query, but end one."""
_FIELD = re.compile(
    rf"<(?:[a-z]{{2}}-)?({'|'.join((*_IDS, *_TEXTS, *_OTHERS))})"
    r"""(?:\s+[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*'))*\s*>""",
    re.IGNORECASE,
)
"""What begins a field; CLEF puts a language in front, as in <EN-title>."""
_NUMBER = re.compile(r"""\b(?:number|num|id)\s*=\s*["']([^"']+)["']""", re.IGNORECASE)
_LABEL = re.compile(r"^\s*(?:number|topic|description)\s*:", re.IGNORECASE)


def topics_of(path: Path) -> Iterator[Topic]:
    """Yield the topics of a file.

    A number is an id without its leading zeros, as qrels have it, in the marked-up form.

    Args:
        path: JSON lines by its name; marked up where it holds `<top>` or `<topic>`; else lines of
            id, tab, text.

    Raises:
        InputError: with file and row, for what can't be read.
    """
    if path.name.lower().endswith((".jsonl", ".jsonl.gz")):
        for row in rows_of([path]):
            yield row.place, id_field(row, "id", "_id"), text_field(row, "contents", "text")
        return
    text = text_of(path)
    if re.search(r"<top(ic)?[\s>]", text, re.IGNORECASE):
        yield from _marked_up(path, text)
        return
    for place, line in lines_of(path):
        key, tab, rest = line.partition("\t")
        if not tab:
            raise InputError(f"{place} has no tab", "write id, tab, text on each line")
        yield place, key.strip(), rest


def _marked_up(path: Path, text: str) -> Iterator[Topic]:
    found = list(_TOPIC.finditer(text))
    opened = len(re.findall(r"<top(?:ic)?(?=[\s>])", text, re.IGNORECASE))
    if len(found) < opened:
        raise InputError(
            f"{path} opens {opened} topics and closes {len(found)}", "close each with </top>"
        )
    for topic in found:
        place = f"{path} line {text.count(chr(10), 0, topic.start()) + 1}"
        fields = _fields(topic[3])
        number = _NUMBER.search(topic[2])
        key = number[1] if number else next((fields[n] for n in _IDS if fields.get(n)), "")
        asked = next((fields[name] for name in _TEXTS if fields.get(name)), "")
        if not asked and not fields:
            asked = _plain(topic[3])
        if not key or not asked:
            lacking = "number" if not key else "title"
            raise InputError(f"{place}: the topic has no {lacking}", "give it one, or delete it")
        yield place, (key.lstrip("0") or key) if key.isdecimal() else key, asked


def _fields(body: str) -> dict[str, str]:
    """Return the text of each field by its lower-case name; the first one counts."""
    fields: dict[str, str] = {}
    mark = _FIELD.search(body)
    while mark:
        name = mark[1].lower()
        closed = re.compile(rf"</(?:[a-z]{{2}}-)?{name}\s*>", re.IGNORECASE).search(
            body, mark.end()
        )
        following = _FIELD.search(body, closed.end() if closed else mark.end())
        end = closed.start() if closed else following.start() if following else len(body)
        text = body[mark.end() : end]
        fields.setdefault(name, _plain(text.partition("<")[0] if name in _IDS else text))
        mark = following
    return fields


def _plain(text: str) -> str:
    """Return a field's text without its label, on one line."""
    return " ".join(html.unescape(_LABEL.sub("", text, count=1)).split())
