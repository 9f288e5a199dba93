"""Front matter of a document: `key: value` lines at its top, taken as plain text.

This is no YAML: `no`, `2020-01-01` and `12:30` stay what they are, and nothing is executed.
"""

from __future__ import annotations

import re

LONGEST = 20_000
"""Characters of front matter; a longer one is text."""

_FENCE = re.compile(r"\A\ufeff?---[ \t]*\n")
_CLOSE = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.MULTILINE)
_ENTRY = re.compile(r"(?P<key>[A-Za-z_][\w .\-]{0,60}?)[ \t]*:(?:[ \t]+(?P<value>.*)|[ \t]*)\Z")
_LATEX_ENTRY = re.compile(r"\A[ \t]*%+[ \t]*(?P<key>[A-Za-z]{2,20})[ \t]*:[ \t]*(?P<value>\S.*)\Z")
_LATEX_KEYS = frozenset(
    ["language", "lang", "contest", "competition", "year", "source", "author", "title", "license"]
)

_ALL_CODES = (
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy "
    "da de dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu "
    "hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb "
    "lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om "
    "or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw "
    "ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu"
)
_CODES = frozenset(_ALL_CODES.split())
_NAMES = {
    "english": "en", "german": "de", "deutsch": "de", "french": "fr", "français": "fr",
    "francais": "fr", "spanish": "es", "español": "es", "espanol": "es", "italian": "it",
    "italiano": "it", "portuguese": "pt", "português": "pt", "russian": "ru", "русский": "ru",
    "chinese": "zh", "中文": "zh", "japanese": "ja", "日本語": "ja", "korean": "ko",
    "한국어": "ko", "polish": "pl", "polski": "pl", "czech": "cs", "slovak": "sk",
    "romanian": "ro", "română": "ro", "bulgarian": "bg", "български": "bg", "croatian": "hr",
    "hrvatski": "hr", "serbian": "sr", "slovenian": "sl", "hungarian": "hu", "magyar": "hu",
    "dutch": "nl", "nederlands": "nl", "turkish": "tr", "vietnamese": "vi", "greek": "el",
    "ukrainian": "uk", "swedish": "sv", "finnish": "fi", "estonian": "et", "hebrew": "he",
    "arabic": "ar", "persian": "fa",
}  # fmt: skip


def language_code(text: str) -> str | None:
    """Return the ISO 639-1 code that a code, a locale or a language's name stands for, or None.

    >>> language_code("de-AT"), language_code("German"), language_code("x")
    ('de', 'de', None)
    """
    text = text.strip().casefold()
    if text in _NAMES:
        return _NAMES[text]
    code = re.split(r"[-_]", text, maxsplit=1)[0]
    return code if code in _CODES else None


def split_front_matter(text: str) -> tuple[dict[str, str], str]:
    r"""Return the entries of a Markdown document's front matter, and the text after it.

    It stands between `---` and `---` (or `...`) at the very top. Keys are in lower case. Quotes
    around a value are taken off; indented lines and `- item` lines continue the value before
    them, after a line end. Where a line is none of these it is no front matter but text.

    >>> split_front_matter("---\nyear: 1998\nlang: no\n---\nText")
    ({'year': '1998', 'lang': 'no'}, 'Text')
    """
    opening = _FENCE.match(text)
    closing = _CLOSE.search(text, opening.end(), LONGEST) if opening else None
    if opening is None or closing is None:
        return {}, text
    entries: dict[str, str] = {}
    last = ""
    for line in text[opening.end() : closing.start()].split("\n"):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        entry = _ENTRY.match(line)
        if entry is not None:
            last = entry["key"].strip().lower()
            entries.setdefault(last, _unquoted((entry["value"] or "").strip()))
        elif last and (line[0] in " \t" or stripped.startswith("- ")):
            value = _unquoted(stripped.removeprefix("- ").strip())
            entries[last] = f"{entries[last]}\n{value}".strip()
        else:
            return {}, text
    return entries, text[closing.end() :]


def latex_front_matter(text: str) -> dict[str, str]:
    """Return entries such as `% language: de` from the comment lines at the top of LaTeX."""
    entries: dict[str, str] = {}
    for line in text[:LONGEST].split("\n")[:60]:
        if not line.strip():
            continue
        if not line.lstrip().startswith("%"):
            break
        entry = _LATEX_ENTRY.match(line)
        if entry is not None and entry["key"].lower() in _LATEX_KEYS:
            entries.setdefault(entry["key"].lower(), _unquoted(entry["value"].strip()))
    return entries


def _unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value
