r"""A summary made of the solution's own words: the sentence that names the most techniques.

Mathematics is cut out of the sentences, because the summary similarity compares technique words.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from saber_assets.annotation.annotator import Summary
from saber_assets.annotation.topic_evidence import TopicLexicon
from saber_assets.annotation.topic_words import topic_words

MAX_WORDS = 30
_MAX_TECHNIQUES = 3
_MAX_KEYWORDS = 8
_MIN_SENTENCE_WORDS = 4
_MIN_KNOWN_WORDS = 2
"""A sentence that names no topic needs this many words from the ontology to be of use."""
_KNOWN_WORD_SHARE = 0.1

_DISPLAYED = re.compile(
    r"\[asy\].*?\[/asy\]|\$\$.*?\$\$|\\\[.*?\\\]|\\begin\{([a-zA-Z]+\*?)\}.*?\\end\{\1\}", re.DOTALL
)
_INLINE = re.compile(r"\$[^$]{0,400}\$|\\\(.{0,400}?\\\)", re.DOTALL)
_COMMAND = re.compile(r"<<[^<>]*>>|#{2,}|\\[a-zA-Z]+\*?|[{}~]")
"""LaTeX left over outside mathematics, and the calculator marks of GSM8K."""
_SENTENCE_END = re.compile(r"(?<=[.!?;:])\s+|\n\s*\n|\n(?=\s*(?:[-*\d(]|Step|Case))")
_WORD = re.compile(r"[A-Za-z][A-Za-z'-]+")
_LEADING = re.compile(r"^(?:[^A-Za-z]+|(?:step|case|part|hint|solution|proof)\b[\s\d.:()]*)+", re.I)
_SHORT_MATHEMATICS = 8


@dataclass(frozen=True)
class _Sentence:
    text: str
    weight: float
    position: int


def extract_summary(solution: str, lexicon: TopicLexicon, specific: dict[int, float]) -> Summary:
    """Summarise a solution by its technique names and its most telling sentence.

    Args:
        solution: the solution's text.
        lexicon: phrases with weights.
        specific: evidence by topic number, as found in the solution; may be empty.

    Returns:
        A Summary whose core idea has at most 30 words; no_core_idea where the solution names no
        technique and no sentence of it speaks of mathematics.
    """
    techniques = _techniques(lexicon, specific)
    sentences = sorted(_sentences(solution, lexicon), key=lambda s: (-s.weight, s.position))
    if not techniques and not sentences:
        return Summary(True, "", (), (), 0.0)
    lead = f"Use {', '.join(techniques[:_MAX_TECHNIQUES])}" if techniques else ""
    best = sentences[0].text if sentences else ""
    core = ": ".join(part for part in (lead, best) if part)
    return Summary(
        no_core_idea=False,
        core_idea=_clip(core),
        supporting_ideas=tuple(_clip(s.text) for s in sentences[1:3] if s.weight > 0),
        keywords=tuple(techniques[:_MAX_KEYWORDS]),
        confidence=round(0.1 + 0.7 * (1 - math.exp(-sum(specific.values()) / 3)), 3),
    )


def _techniques(lexicon: TopicLexicon, specific: dict[int, float]) -> list[str]:
    """Labels of the strongest topics, none of which lies above another one listed."""
    ranked = sorted(specific, key=lambda n: (-specific[n], lexicon.topics[n]))
    above = {a for n in ranked for a in lexicon.ancestors[n] if a != n}
    labels: list[str] = []
    for number in ranked:
        if number not in above and lexicon.labels[number] not in labels:
            labels.append(lexicon.labels[number])
    return labels


def _sentences(solution: str, lexicon: TopicLexicon) -> list[_Sentence]:
    found: list[_Sentence] = []
    prose = _DISPLAYED.sub(" ", solution)
    for position, raw in enumerate(_SENTENCE_END.split(prose)):
        text = _plain(raw or "")
        if len(_WORD.findall(text)) < _MIN_SENTENCE_WORDS:
            continue
        words = topic_words(text)
        phrases = {hit.phrase for hit in lexicon.hits(words)}
        known = sorted(lexicon.idf[word] for word in set(words) if word in lexicon.idf)
        if phrases or len(known) >= _MIN_KNOWN_WORDS:
            weight = sum(sorted(lexicon.phrase_weights[phrase] for phrase in phrases))
            found.append(_Sentence(text, weight + _KNOWN_WORD_SHARE * sum(known), position))
    return found


def _plain(sentence: str) -> str:
    """Return the sentence without mathematics beyond single symbols, commands and numbering."""
    text = _INLINE.sub(lambda match: _short_or_nothing(match[0]), sentence)
    text = _COMMAND.sub(" ", text.replace("$", " "))
    text = _LEADING.sub("", " ".join(text.split()))
    return text.rstrip(" .,;:")


def _short_or_nothing(mathematics: str) -> str:
    return mathematics if len(mathematics) <= _SHORT_MATHEMATICS else " "


def _clip(text: str) -> str:
    words = text.split()
    return " ".join(words[:MAX_WORDS]).rstrip(" .,;:") + "."
