"""Everyday words that point to a broad field without naming a topic.

"In how many ways", "real numbers" or "find all integers" say which field a problem belongs to,
long before any technique is named. Each is weak evidence for a first-level topic, looked up by its
label; an ontology without that label ignores the cue.
"""

from __future__ import annotations

from collections.abc import Mapping

_WORDS_BY_LABEL = {
    "Algebra": r"""
        polynomial equation inequality root real complex coefficient quadratic cubic solve simplify
        expression matrix logarithm exponent functional variable linear degree \ge \le sequence
    """,
    "Geometry": r"""
        triangle circle angle point line plane side perpendicular parallel area radius segment
        distance tangent bisector diagonal polygon sphere cube coordinate similar length
    """,
    "Number Theory": r"""
        integer prime divisible divisor divide remainder digit modulo congruent coprime gcd lcm
        multiple natural rational irrational odd even composite
    """,
    "Calculus and Analysis": r"""
        integral derivative limit differentiate continuous converge convergent integrate
        antiderivative velocity acceleration differential differentiable interval maximum minimum
        dx dy dt rate curve
    """,
    "Discrete Mathematics": r"""
        way choose arrange arrangement graph subset permutation combination color coloring player
        game vertex edge path board string element bijection set many people
    """,
    "Probability and Statistics": r"""
        probability random expected die coin card dice variance distribution sample
    """,
}

CUES: Mapping[str, str] = {
    word: label for label, words in _WORDS_BY_LABEL.items() for word in words.split()
}
"""Word, as `topic_words` gives it, to the label of the first-level topic that it points to."""
