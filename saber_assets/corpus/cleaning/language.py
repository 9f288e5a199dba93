"""Tells the language of a statement by its script and its function words.

Small and deterministic: no model, no learning, no floating point that depends on order. Formulas
and LaTeX commands are taken out first. A text with too few words of its language is "und"
(undetermined), never guessed.
"""

from __future__ import annotations

import re
from collections import Counter

from saber_assets.corpus.cleaning.diagrams import without_placeholders
from saber_assets.corpus.cleaning.formulas import spans
from saber_assets.corpus.cleaning.profiles import LETTERS, SCRIPTS, WORDS

UNDETERMINED = "und"
_LONGEST = 4000  # characters that are looked at
_COMMAND = re.compile(
    r"\\(?:begin|end|label|ref|eqref|cite|usepackage)\s?\{[^{}]{0,100}\}|\\[A-Za-z]+\*?|https?:\S+"
)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_FEWEST_HITS = 2
_SMALLEST_SHARE = 0.12  # of the words that must be known
_SMALLEST_LEAD = 1.25  # over the second language

_WEIGHT: dict[str, list[tuple[str, int]]] = {}
for _language, _words in WORDS.items():
    for _word in _words:
        _WEIGHT.setdefault(_word, []).append((_language, 0))
for _word, _entries in _WEIGHT.items():
    _weight = 12 // len(_entries)  # a word of several languages says less
    _WEIGHT[_word] = [(language, _weight) for language, _ in _entries]


def language_of(text: str) -> str:
    """Return the language as ISO 639-1 code, or "und" where the text does not tell.

    Args:
        text: cleaned; only its first 4,000 characters are looked at.
    """
    words = _WORD.findall(_prose(text[:_LONGEST]))
    script, letters = _script(words)
    if script == "latin":
        return _by_words(words, LETTERS["latin"], WORDS)
    if script == "cyrillic":
        return _by_words(words, LETTERS["cyrillic"], WORDS)
    if script == "arabic":
        joined = "".join(words)
        return "fa" if any(letter in joined for letter in "پچژگی") else "ar"
    if script == "han":
        return "zh" if letters >= 4 else UNDETERMINED
    return script if letters >= 4 else UNDETERMINED


def _prose(text: str) -> str:
    out: list[str] = []
    done = 0
    for kind, start, end in spans(text):
        if kind not in ("money", "stray"):
            out.append(text[done:start])
            done = end
    return without_placeholders(_COMMAND.sub(" ", " ".join([*out, text[done:]])))


def _script(words: list[str]) -> tuple[str, int]:
    """Return the script that most letters belong to, with their number.

    Words of one letter don't count, since they are names of points and variables; where a text
    is in another script, words in Latin letters count half, for the same reason.
    """
    counts: Counter[str] = Counter()
    for word in words:
        if word.isascii():
            counts["latin"] += len(word) if len(word) > 1 else 0
            continue
        for letter in word:
            counts[_script_of(ord(letter))] += 1
    counts["latin"] //= 2
    if counts["ja"] * 10 >= counts["han"] and counts["ja"]:
        counts["ja"] += counts.pop("han", 0)
    del counts[""]
    if not counts:
        return "latin", 0
    return max(sorted(counts.items()), key=lambda item: item[1])


def _script_of(code: int) -> str:
    for name, ranges in SCRIPTS.items():
        if any(first <= code <= last for first, last in ranges):
            return name
    return ""


def _by_words(words: list[str], letters: dict[str, str], known: dict[str, frozenset[str]]) -> str:
    words = [
        word.lower().replace("’", "'") for word in words if len(word) > 1 or not word.isascii()
    ]
    scores: Counter[str] = Counter()
    hits: Counter[str] = Counter()
    for word in words:
        for language, weight in _WEIGHT.get(word, ()):
            scores[language] += weight
            hits[language] += 1
        if not word.isascii():
            for letter in set(word):
                for language in letters.get(letter, "").split():
                    scores[language] += 4
    best = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:2]
    if not best or hits[best[0][0]] < _FEWEST_HITS:
        return UNDETERMINED
    enough = hits[best[0][0]] >= _SMALLEST_SHARE * len(words)
    leads = len(best) == 1 or best[0][1] >= _SMALLEST_LEAD * best[1][1]
    return best[0][0] if enough and leads else UNDETERMINED
