r"""Takes the contest, number, points and author off a statement.

Only at its very beginning or end, only in forms that can be nothing else, and only where a
statement is left. "Problem 5 of the list asks ..." and "IMO 1987 was held in Havana." stay.
"""

from __future__ import annotations

import re

_CONTESTS = (
    r"(?:IMO(?: ?Shortlist| ?Longlist| ?SL| ?LL)?|ISL|IMOSL|AMC ?(?:8|10|12)? ?[AB]?|AHSME|AJHSME"
    r"|AIME ?I{0,2}|USA(?:J?MO|MTS)|USA (?:TST|TSTST|MO)|TSTST|HMMT|HMIC|PUMaC|CMIMC|BMT|SMT|ARML"
    r"|Putnam|APMO|EGMO|JBMO|BMO|MEMO|RMM|CGMO|CMO|INMO|RMO|KMO|JMO|NIMO|OMO|ELMO|ToT"
    r"|(?:Balkan|Baltic|Benelux|Nordic|Iberoamerican|Ibero-American|Cono Sur|Central American|Asian"
    r" Pacific|Middle European|All-Russian|All Russian|All-Union|Moscow|Saint Petersburg"
    r"|St\.? Petersburg|Canad(?:a|ian)|Chin(?:a|ese)|Japan(?:ese)?|Kore(?:a|an)|Vietnam(?:ese)?"
    r"|Iran(?:ian)?|India(?:n)?|Turk(?:ey|ish)|Romania(?:n)?|Bulgaria(?:n)?|German(?:y)?"
    r"|French|France|British|Irish|Ireland|Australia(?:n)?|Austria(?:n)?|Brazil(?:ian)?"
    r"|Hungar(?:y|ian)|Pol(?:and|ish)|Czech(?:-(?:and-)?Slovak| and Slovak)?|Ukrain(?:e|ian)"
    r"|Swiss|Switzerland|Swedish|Serbia(?:n)?|Croatia(?:n)?|Kosovo|Mexic(?:o|an)|Taiwan"
    r"|Hong Kong|Singapore|Thailand|Philippines?|Greece|Hellenic|Ital(?:y|ian)|Spain|Spanish"
    r"|Dutch|Belgi(?:um|an)|Slovenia(?:n)?|Kazakhstan|Mongolia(?:n)?|Math(?:ematical)?)"
    r"(?: (?:National|Mathematic(?:al|s)|Math|Maths|Junior|Senior|Girls'?|Team|IMO|Selection|Way"
    r"|Final)){0,3} (?:MO|TST|Olympiad|Way|Contest|Competition|Cup|Tournament|Selection Test"
    r"|Mathematical Olympiad)|Tournament of (?:the )?Towns|Baltic Way|K[uü]rsch[aá]k"
    r"|Iberoamerican|E[oö]tv[oö]s)"
)
_YEAR = r"(?:(?:1[89]|20)\d\d(?:[/-–](?:\d{4}|\d\d))?)"
_NUMBERED = (
    r"(?:(?:Problem|Prob\.|Question|Exercise|Task|Example|Day|Round|Grade|Part|Division|No\.|P|Q)"
    r" ?#? ?[A-Z]?\d{1,3}[A-Za-z]?|#\d{1,3}|[ACGNB]\d{1,2}|Shortlist|Longlist|Finals?"
    r"|Team Round|Guts Round|Algebra|Geometry|Combinatorics|Number Theory|Calculus|TST|SL)"
)
_SEPARATOR = r"(?:\s?[,;:/|–—-]\s?| of the | of | from | \(?| )"
_CITATION = (
    rf"(?:{_YEAR} )?{_CONTESTS}(?:{_SEPARATOR}(?:{_YEAR}|{_NUMBERED}|\d{{1,2}})\)?){{0,4}}"
    rf"|{_NUMBERED}(?:{_SEPARATOR})(?:{_YEAR} )?{_CONTESTS}"
    rf"(?:{_SEPARATOR}(?:{_YEAR}|{_NUMBERED}|\d{{1,2}})\)?){{0,3}}"
)
_HAS_NUMBER = re.compile(r"\d")
_HEADING = (
    r"(?:Problem|Exercise|Question|Task|Problema|Problème|Exercice|Exercício|Ejercicio|Aufgabe"
    r"|Übung|Esercizio|Zadanie|Opgave|Úloha|Feladat|Задача|Упражнение)"
)
_NUMBER = r"(?:[A-Z]\.?)?\d{1,4}(?:[.-]\d{1,3}){0,3}[a-zA-Z]?"
_POINTS = r"\d{1,3}(?:\.5)? ?(?:points?|pts?\.?|marks?|p\.|Punkte|puntos|баллов|балла)"
_MARKUP = (
    r"(?:#{1,6} {1,3}|\*{1,3}|_{1,2}|\\(?:textbf|textit|emph|section\*?|subsection\*?)\{){0,2}"
)
_END_MARKUP = r"(?:\*{1,3}|_{1,2}|\})?"
_NEXT = r"(?=[A-Z$\\(\"“‘'¿¡\d\[*]|[^\x00-\x7f])"
_STOP = rf"(?:[.:)\]]{{1,2}}{_END_MARKUP}\s+|{_END_MARKUP}[.:]?\s*\n\s*)"

_WORD_OF_NAME = r"(?:[^\W\d_][\w.'’-]{0,30}|&|\+)"
_NAMES = rf"(?-i:[^\W\d_a-z])[\w.'’-]{{0,30}}(?:,? {_WORD_OF_NAME}){{0,11}}"
_AUTHOR = (
    r"(?:(?:Problem )?(?:Proposed|Posed|Suggested|Submitted|Contributed|Authored) by|Proposer[s:]?"
    rf"|Author\(?s?\)?:)\s{{1,3}}{_NAMES}(?: ?\([^()\n$]{{2,40}}\))?"
)
_BEGINNINGS = (
    # Problem 5.   **Problem 3.2** (IMO 1987, P3):   Aufgabe 4 (10 Punkte).
    re.compile(
        rf"{_MARKUP}{_HEADING} ?(?:№|No\.|#|n°)? ?{_NUMBER}{_END_MARKUP}"
        rf"(?: ?[(\[](?:{_CITATION}|{_POINTS})[)\]])?(?:{_STOP}){_NEXT}"
    ),
    # IMO 1987, Problem 3.   2003 AMC 12A #14:   [Putnam 1999 A1]
    re.compile(rf"{_MARKUP}[(\[]?(?P<cited>{_CITATION})(?:{_STOP}){_NEXT}"),
    re.compile(rf"[(\[](?P<cited>{_CITATION})[)\]][.:]?\s+{_NEXT}"),
    re.compile(
        rf"(?P<cited>(?:{_YEAR} )?{_CONTESTS}(?:{_SEPARATOR}{_YEAR})?{_SEPARATOR}"
        rf"(?:#|Problem |P)\d{{1,2}})\s+{_NEXT}"
    ),
    # (10 points)
    re.compile(rf"[(\[]{_POINTS}[)\]][.:]?\s+{_NEXT}"),
    # (Proposed by A. Author, Country)
    re.compile(rf"[(\[]{_AUTHOR}\.?[)\]]\.?\s+{_NEXT}"),
)
_GAP = r"(?<!\s)\s*+"
_LINE = r"(?<!\s)(?=[^\S\n]{0,20}\n)\s++"
_ENDINGS = (
    # (Proposed by A. Author, Country)   [Proposed by A. Author]   on its own line, or last sentence
    re.compile(rf"{_GAP}[(\[]{_AUTHOR}\.?[)\]]\.?\s*\Z", re.IGNORECASE),
    re.compile(rf"(?:(?<=[.?!$)\]])\s++|{_LINE})[-–—*_]{{0,3}} ?{_AUTHOR}[.*_]{{0,3}}\s*\Z", re.I),
    re.compile(rf"{_GAP}[(\[](?P<cited>{_CITATION})[)\]]\.?\s*\Z"),
    re.compile(rf"{_LINE}[-–—]{{0,3}} ?(?P<cited>{_CITATION})\.?\s*\Z"),
    re.compile(rf"{_GAP}[(\[]{_POINTS}[)\]]\.?\s*\Z"),
)
_SHORTEST = 8  # letters and digits that must be left
_LONGEST_END = 300  # characters at the end in which to look


def metadata_stripped(text: str) -> str:
    """Strip contest, problem number, points and author from both ends of a statement.

    Nothing is stripped where fewer than eight letters and digits would be left.
    """
    for pattern in _BEGINNINGS:
        mark = pattern.match(text.lstrip()[:_LONGEST_END])
        if mark and _certain(mark):
            text = _if_enough_left(text.lstrip()[mark.end() :], text)
    for pattern in _ENDINGS:
        start = max(0, len(text) - _LONGEST_END)
        mark = pattern.search(text, start)
        if mark and mark.start() > start and _certain(mark):
            text = _if_enough_left(text[: mark.start()], text)
    return text


def _certain(mark: re.Match[str]) -> bool:
    """Tell whether a citation has a number: "Putnam" alone is a name."""
    cited = mark.groupdict().get("cited")
    return cited is None or bool(_HAS_NUMBER.search(cited))


def _if_enough_left(rest: str, text: str) -> str:
    return rest if sum(map(str.isalnum, rest)) >= _SHORTEST else text
