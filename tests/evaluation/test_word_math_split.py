"""Splitting a text into formulas and words; which part a retriever goes by."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.evaluation.word_math_split import (
    highest_rated,
    math_against_words,
    preference,
    split,
)

CASES = {
    r"Find $x$ with $x^2=4$.": ("x x^2=4", "Find with ."),
    r"Find all \(n\) such that \[n^2 < 5\] holds": ("n n^2 < 5", "Find all such that holds"),
    "A ticket costs $5 and a meal $7.": ("", "A ticket costs $5 and a meal $7."),
    "$5 and $7": ("", "$5 and $7"),
    "He pays $5-$7 and gets $x$ back": ("x", "He pays $5-$7 and gets back"),
    "Let $ x + 1 $ be": ("x + 1", "Let be"),
    "Pay $ 5 dollars and $ 7 more": ("", "Pay $ 5 dollars and $ 7 more"),
    "$$a+b$$ and $$c$$": ("a+b c", "and"),
    r"\begin{align*} a &= b \\[2pt] c &= d \end{align*} done": (
        r"a &= b \\[2pt] c &= d",
        "done",
    ),
    r"It costs \$5 for $n$ nights": ("n", r"It costs \$5 for nights"),
    r"$\text{if } x$ then $y$": (r"\text{if } x y", "then"),
    "no formula": ("", "no formula"),
    "$x": ("", "$x"),
    "": ("", ""),
    "$a$$b$": ("", "$a$$b$"),
    r"price \$3 and \$4": ("", r"price \$3 and \$4"),
    r"$\$3 + x$": (r"\$3 + x", ""),
}


WORDS = ("word", "two words", "a")
FORMULAS = ("x", "x^2+1", r"\frac{a}{b}")


@pytest.mark.parametrize("text", CASES)
def test_split(text):
    parts = split(text)
    assert (parts.math, parts.words) == CASES[text]


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(FORMULAS)), max_size=6))
def test_what_is_put_together_comes_apart(pieces):
    parts = split(" ".join(f"{word} ${formula}$" for word, formula in pieces))
    assert parts.math == " ".join(formula for _, formula in pieces)
    assert parts.words == " ".join(word for word, _ in pieces)


@settings(max_examples=80, deadline=None)
@given(st.text(alphabet="$\\ab 5[](){}", max_size=40))
def test_nothing_is_invented(text):
    parts = split(text)
    for part in (parts.math, parts.words):
        assert set(part) <= set(text) | {" "}
    assert len(parts.math) + len(parts.words) <= len(text) + 1


def test_long_unclosed_texts_take_no_long_time():
    assert split("$x " * 20_000).math == ""
    assert split("\\[ a " * 5_000).math == ""


class Overlap:
    """The share of a query's characters that a document holds."""

    def score(self, query, documents):
        return [len(set(query) & set(text)) / len(set(query)) for text in documents]


class Broken:
    def score(self, query, documents):
        raise RuntimeError("out of memory")


def test_math_against_words():
    statements = {"q1": "find $xyz$", "q2": "find $xyz$", "q3": "no formula", "q4": "x $x$"}
    documents = {"q1": ["xyz", "xy"], "q2": ["find"], "q3": ["find"], "q4": ["x"]}
    done = []
    found = math_against_words(Overlap(), statements, documents, done.append)
    assert found["query_id"].to_list() == ["q1", "q2", "q4"]
    assert found["by_math"].to_list() == [True, False, None]
    assert found["math"][0] == pytest.approx((1 + 2 / 3) / 2)
    assert len(done) == 4
    said = preference(found)
    assert (said.queries, said.by_math, said.ties, said.failed) == (3, 1, 1, 0)
    assert said.share == pytest.approx(0.5)
    assert said.low < 0.5 < said.high


def test_a_failing_retriever_is_told_query_by_query():
    found = math_against_words(Broken(), {"q": "find $x$"}, {"q": ["x"]})
    assert "out of memory" in found["fault"][0]
    said = preference(found)
    assert (said.queries, said.failed) == (0, 1)
    assert np.isnan(said.share)


def test_highest_rated():
    ratings = pl.DataFrame(
        [("q", "a", 1.0), ("q", "b", 3.0), ("q", "c", 3.0), ("q", "d", None), ("r", "a", 0.0)],
        schema=["query_id", "candidate_id", "rating"],
        orient="row",
    )
    assert highest_rated(ratings, 2) == {"q": ["b", "c"], "r": ["a"]}
