r"""Phrases of forum posts by which the rules of `thread_rules` tell what a post is.

Each list is one alternative a line, written as a regular expression; case doesn't count.
"""

from __future__ import annotations

import re


def _phrases(*alternatives: str, lines: bool = False) -> re.Pattern[str]:
    """Return a pattern that finds any of the alternatives, at the beginning of a word."""
    flags = re.IGNORECASE | (re.MULTILINE if lines else 0)
    return re.compile("(?<!\\w)(?:" + "|".join(alternatives) + ")", flags)


TASK = _phrases(
    r"(?:prove|show|find|determine|compute|evaluate|calculate|solve|simplify|construct|verify|write)\b",
    r"(?:express|estimate|maximi[sz]e|minimi[sz]e|describe all|factor(?:i[sz]e)?)\b",
    r"how (?:many|much|long|far)\b",
    r"what (?:is|are|was|must)\b",
    r"(?:which of|for which|for what|who wins|who has a winning)\b",
    r"(?:is it (?:possible|true)|can (?:you|one|we)|(?:does|do|is|are) there)\b",
    r"(?:demuestre|demostrar|halle|hallar|determine|calcule)\b",
    r"(?:montrer|montrez|prouver|trouver|trouvez|déterminer)\b",
    r"(?:zeige|beweise|bestimme|finde)\b",
    r"(?:докажите|найдите|определите|вычислите)",
)
"""What asks for something, in English and the commonest other languages of the forum."""

MATHEMATICS = re.compile(
    r"\d|[=<>≤≥^+]|\\[a-z]|\$[^$]+\$|\b(?:integer|prime|triangle|circle|quadrilateral|polygon"
    r"|polynomial|function|sequence|set|graph|divisor|angle|number|point)s?\b",
    re.IGNORECASE,
)
"""A sign or a word of mathematics."""

REFERENCE = _phrases(
    r"(?:see|in|from|look at) the (?:\w+ )?(?:figure|diagram|picture|image|photo)\b",
    r"(?:see|in|from|look at) the (?:\w+ )?(?:attachment|file|pdf|link|book|previous post)\b",
    r"see (?:above|below)\b",
    r"(?:attached|attachment|screenshot)\b",
    r"(?:figure|diagram|picture|image) (?:below|above|attached|shows)\b",
    r"(?:as shown|shown (?:below|above))\b",
    r"(?:previous|above|other|last) (?:problem|post|thread|question)\b",
    r"(?:same thread|this (?:link|thread))\b",
    r"on page \d",
    r"problem \d+ (?:of|in|from|on) (?:the|my|your|this) (?:book|link|sheet|list|handout)\b",
)
"""What an opening post lacks and refers to."""

TALK = _phrases(
    r"is (?:this|my|the following|it) (?:\w+ )?(?:solution|proof|answer|approach|reasoning)?"
    r" ?(?:correct|right|valid|ok(?:ay)?)\b",
    r"(?:check )?my (?:proof|solution|attempt|approach)\b",
    r"where (?:did i|is the (?:mistake|error))\b",
    r"what(?:'s| is) wrong\b",
    r"how (?:do|can|should) (?:i|you) (?:learn|study|prepare|improve|get better|approach|start)\b",
    r"(?:any|some) (?:tips|advice|recommendations?|suggestions|resources)\b",
    r"(?:recommend|good books?|which book)",
    r"explain (?:to me )?(?:why|how|this|the)\b",
    r"(?:i )?don'?t understand\b",
    r"i(?:'m| am) stuck (?:at|on|in) (?:this|the) (?:step|part)\b",
    r"(?:sign ?up|register|registration|deadline|results are|congratulations|marathon)\b",
    r"mock (?:amc|aime|contest|olympiad)\b",
    r"discuss(?:ion)? (?:thread|here)\b",
    r"what (?:did you|score|was the cutoff)\b",
    r"(?:thoughts on|difficulty of)\b",
)
"""What an opening post says that isn't a problem: advice, announcements, somebody's proof."""

BREAKS_OFF = re.compile(
    r"(?:[,:]|\b(?:and|let|that|then|the|of|such|where|with|if|is)|\.{3}|…)\s*$", re.IGNORECASE
)
LISTED = re.compile(
    r"^[ \t]*(?:problem|question|p|q)?[ \t#]*\d{1,2}[ \t]*[.):]", re.IGNORECASE | re.MULTILINE
)
SOLUTION_HEADING = re.compile(
    r"(?:^|\n)[^\w\n]*(?:my |official |full )?(?:solution|proof)\s*[:.\n]", re.IGNORECASE
)

DEDUCTION = re.compile(
    r"\b(?:thus|so|hence|therefore|then|since|because|as|let|suppose|assume|consider|by|gives?"
    r"|giving|yields?|impl(?:y|ies|ying)|follows?|note|notice|observe|define|denote"
    r"|substitut(?:e|ing)|must|means|where|now|finally|contradiction|induction|case|if|equality"
    r"|(?:we|i) (?:have|get|obtain|see|find|conclude|know|claim|can)|otherwise|conversely)\b"
    r"|\\(?:implies|Rightarrow|Longrightarrow|iff|therefore|because)\b|[⇒⟹∴∵]|=>",
    re.IGNORECASE,
)
"""Words and signs by which an argument goes on."""

FORMULA = re.compile(
    r"\$[^$]+\$|\\\(.{1,2000}?\\\)|\\\[.{1,2000}?\\\]"
    r"|[\w)}\]]\s*(?:[=<>≤≥≡∣^]|\\(?:leq?|geq?|equiv|mid|cdot|neq?)\b)\s*[\w({\\|+-]",
    re.DOTALL,
)
"""A formula between signs, or a relation in plain text."""

NO_SOLUTION = _phrases(
    # hints and sketches
    r"(?:^[^\w\n]*(?:big |small |nice |another )?hints?\b|hint\s*:)",
    r"(?:just )?a (?:rough |quick |short )?(?:sketch|outline)\b",
    r"(?:sketch|outline|idea)\s*:",
    r"^[^\w\n]*(?:sketch|outline|idea)\b",
    r"(?:main|key|basic|general) idea\b",
    # what is left out
    r"(?:the )?rest (?:follows|is (?:easy|trivial|just|bash|routine|clear|similar|straight))",
    r"left (?:to|for) the reader\b",
    r"(?:easy|trivial) to finish\b",
    r"finish (?:it )?(?:yourself|from here|off)\b",
    r"details? (?:are |is )?(?:omitted|left)\b",
    r"too lazy\b",
    r"bash(?:es|ed|ing)? (?:it|the rest|out)\b",
    r"i(?:'ll| will) (?:post|edit|finish|complete|write)\b",
    r"to be continued\b",
    r"(?:partial (?:solution|result|progress)|(?:first|one) (?:part|direction) only)\b",
    r"i (?:only|just) (?:did|solved|proved|have|got|managed)\b",
    r"only part \w",
    # doubt
    r"i (?:can'?t|cannot|could ?n'?t|was unable to|don'?t know how to)\b",
    r"i(?:'m| am) (?:stuck|not sure|unsure)\b",
    r"not sure (?:if|whether|about|how)\b",
    r"i (?:think|guess) (?:this|it|the answer) (?:is|might|may)\b",
    r"is (?:this|that|it|my \w+) (?:correct|right|ok|valid|true)\b",
    r"(?:please )?(?:check|verify) (?:my|this|if)\b",
    r"any(?:one|body) (?:verify|check|help|else)\b",
    # it is elsewhere
    r"see (?:here|this|the (?:link|thread|attach\w+|above|post))\b",
    r"solution (?:is|can be found) (?:here|at|in the)\b",
    r"same (?:solution )?as (?:#|post|above|\w+'s)",
    r"(?:as in post|already posted|duplicate of|posted (?:before|here|many times))\b",
    # about somebody else's
    r"your (?:solution|proof|answer|argument|claim) (?:is|has|doesn|isn)",
    r"you (?:forgot|missed|made|assumed|should|need to|can'?t|have to)\b",
    r"(?:wrong|mistake|typo|incorrect|flaw(?:ed)?)\b",
    # another problem
    r"generali[sz]ation\s*:",
    r"stronger (?:version|result|inequality)\b",
    r"(?:similar|harder|related) problem\s*:",
    lines=True,
)
"""What makes a comment a hint, a part, a reference, a remark, or a text in doubt of itself."""

DIRECT_QUESTION = _phrases(
    r"(?:can|could) (?:you|some|any)\w*[^.!?\n]{0,300}\?",
    r"how (?:did|do|can|would) (?:you|we|i)\b[^.!?\n]{0,300}\?",
    r"why\b[^.!?\n]{0,300}\?",
    r"what (?:about|if|do you)\b[^.!?\n]{0,300}\?",
    r"where (?:did|does)\b[^.!?\n]{0,300}\?",
    r"(?:do you (?:have|mean|know)|does any)[^.!?\n]{0,300}\?",
)
"""A question to other people."""

_COMMON_WORDS = """
about above after again against because being below between could doing during given having their
there these those through under until which while would prove determine compute evaluate calculate
solve number numbers value values every exactly following satisfying satisfies problem please thanks
thank hello anyone integer integers positive least greatest denote right should where shows other
"""
COMMON_WORDS = frozenset(_COMMON_WORDS.split())
"""Words of five letters and more that say nothing about which problem it is."""
_SHORT_WORDS = """
a i of to in is it at on by be as or if an we so no do my me up all and any are but can did for had
has how its let nor not now off our out own the too was who why you get may one two see use sum set
six ten per via her his she him
"""
SHORT_WORDS = frozenset(_SHORT_WORDS.split())
"""Words of at most three letters that are no names of quantities."""
