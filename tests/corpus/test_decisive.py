"""What makes a near-duplicate another problem, and what leaves it what it is."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.corpus.decisive import decisive_tokens, differ_in_wording_only
from saber_assets.corpus.tokens import shingle_tokens


@pytest.mark.parametrize(
    ("left", "right", "only_wording"),
    [
        ("Find the area", "Determine the area", True),
        ("Show that it holds", "Prove that it holds", True),
        ("the graphs meet", "the graph meets", True),
        ("its colour", "its color", True),
        ("an isomorphism exists", "an isomoprhism exists", True),
        ("Find it", "Find it in simplest form", True),
        ("Find the area", "Find the perimeter", False),
        ("the mean of the list", "the median of the list", False),
        ("an injective map", "a surjective map", False),
        ("bottles of milk", "bottles of soda", False),
        ("10 inches long", "10 meters long", False),
        ("the y-intercept", "the interest", False),
        ("an integer", "an integral", False),
        ("go up the hill", "go down the hill", False),
        ("Find it", "Find it and sketch the circle with its centre and tangents", False),
    ],
)
def test_words_of_the_subject_matter(left, right, only_wording):
    tokens = shingle_tokens(left), shingle_tokens(right)
    assert differ_in_wording_only(*tokens) is only_wording
    assert differ_in_wording_only(*reversed(tokens)) is only_wording


@pytest.mark.parametrize(
    ("text", "decisive"),
    [
        ("Let a circle be given", ()),
        ("sides $a$ and $b$", ("b",)),
        ("the product $ab$", ("product", "a", "b")),
        ("$a + b$", ("a", "+", "b")),
        ("B's age", ("b",)),
        ("a 5 m rope", ("a", "5", "m")),
    ],
)
def test_articles_and_names(text, decisive):
    assert decisive_tokens(shingle_tokens(text)) == decisive


words = st.lists(st.sampled_from(["find", "area", "circle", "the", "graph", "12", "x"]), max_size=8)


@settings(max_examples=80, deadline=None)
@given(words, words)
def test_symmetric_and_reflexive(left, right):
    assert differ_in_wording_only(left, left)
    assert differ_in_wording_only(left, right) == differ_in_wording_only(right, left)
