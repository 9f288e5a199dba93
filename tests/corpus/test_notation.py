"""Notations that are levelled before duplicates are looked for, and those that never are."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.corpus.decisive import decisive_tokens
from saber_assets.corpus.linear_formulas import level_tokens
from saber_assets.corpus.notation import level_text
from saber_assets.corpus.tokens import shingle_tokens


@pytest.mark.parametrize(
    "spellings",
    [
        (r"$\frac{a+b}{2}$", r"\( { a + b \over 2 } \)", "(a+b)/2", r"$ \dfrac { a + b } { 2 } $"),
        (r"$\frac{1}{2}$", "1/2", "½", r"\frac12", r"{1\over2}", "1⁄2"),
        (r"$\frac{7\pi}{4}$", "7π/4", "(7pi)/4", r"$7\pi/4$"),
        (r"$\frac{1}{x^2}$", "1/x^2", "1/x²", "1/(x^2)"),
        (r"$x^{\frac{1}{2}}$", "x^(1/2)", r"$x^\frac12$", r"$x^{1 \over 2}$"),
        (r"$\binom{n}{k}$", r"{n \choose k}"),
        (r"$\sqrt{x+1}$", "sqrt(x+1)", "√(x+1)", r"\sqrt { x + 1 }"),
        (r"$x_{n+1} \le 3$", "xₙ₊₁ ≤ 3", "x_(n+1) <= 3"),
        (r"$\sum_{k=1}^{n} k$", r"$\sum^n_{k=1} k$", "∑_(k=1)^n k"),
        (r"quadrilateral $ABCD$", r"quadrilateral $A B C D$", "quadrilateral ABCD"),
        (r"$f'(x)$", r"$f^{\prime}(x)$", "f′(x)"),
        (r"$f\colon \mathbb{R} \to \mathbb{R}$", r"$f: \R\to\R$", r"$f: {\Bbb R} \to {\Bbb R}$"),
        (r"$|x|$", r"$\abs{x}$", r"$\left\lvert x \right\rvert$"),
        (r"$\{1, 2\}$", "{1,2}", r"$\set{1,2}$"),
        (r"$\sin x$", r"$\operatorname { s i n } x$", "sin x"),
        (r"$a \equiv 3 \pmod{5}$", "a ≡ 3 (mod 5)"),
        (r"$90^\circ$", "90°", r"$90^{\circ}$", r"$90\degree$"),
        (r"$1,000$", "1000", r"$1{,}000$", r"$1\,000$"),
        ("0.5", ".5"),
        ("$1, 2, \\dots, n$", "1,2,...,n", "1, 2, . . . , n"),
        (r"$f=\begin{cases} 1 \\ 2 \end{cases}$",
         r"$f=\left\{ \begin{array}{l} 1 \\ 2 \end{array} \right.$"),
        (r"$\begin{pmatrix} 1 & 2 \end{pmatrix}$",
         r"$\left( \begin{array}{cc} 1 & 2 \end{array} \right)$"),
        ("a rectangle", "a rec-\ntangle"),
        ("x &lt; 3 &amp; y", "x < 3 & y"),
        ("x<sup>2</sup>", "x^2"),
        (r"{\bf Theorem of Ptolemy.} Find", r"\textbf{Theorem of Ptolemy.} Find"),
        (r"$x \not= 2$", r"$x \ne 2$"),
        (r"$\varepsilon > 0$", r"$\epsilon > 0$", "ε > 0"),
        (r"\begin{enumerate} \item[(a)] Find it. \end{enumerate}", "(a) Find it."),
    ],
)  # fmt: skip
def test_spellings_of_one_thing(spellings):
    assert {tuple(shingle_tokens(text)) for text in spellings} == {
        tuple(shingle_tokens(spellings[0]))
    }


@pytest.mark.parametrize(
    "label",
    ["Problem 3. ", "**Problem 3.** ", r"\textbf{Exercise 4.2} ", "12. ", "(7) ", "Question 5: ",
     "### Problem 4\n\n", "Example 2\n", "Q4. ", r"\noindent\textbf{3.} ", "Problem 2-4. "],
)  # fmt: skip
def test_a_number_before_the_problem_is_left_out(label):
    assert shingle_tokens(label + "Find all $n$.") == ["find", "all", "n"]


@pytest.mark.parametrize(
    ("text", "digits"),
    [("3 pens cost 5.", ["3", "5"]), ("12", ["12"]), ("Problem 3", ["3"]),
     ("2.5 metres", ["2.5"]), ("(1) + (2)", ["1", "2"]), ("5) x", ["5"])],
)  # fmt: skip
def test_numbers_that_are_the_problem_stay(text, digits):
    assert [token for token in shingle_tokens(text) if token[0].isdigit()] == digits


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (r"$x^{(n)}$", r"$x^n$"),
        (r"$\{x\}$", "$x$"),
        (r"$\frac{a+b}{c}$", r"$a+\frac{b}{c}$"),
        (r"$\frac{1}{2x}$", r"$\frac{1}{2}x$"),
        (r"$\sqrt{x+1}$", r"$\sqrt{x}+1$"),
        (r"$x^{n+1}$", "$x^n+1$"),
        (r"$a\cdot b$", r"$a\times b$"),
        (r"$\sin^2 x$", r"$\cos^2 x$"),
        ("f(x)/2", "fx/2"),
        (r"$\overline{AB}$", "$AB$"),
        (r"$\mathbb{R}^+$", "$r^+$"),
        (r"$\lfloor x \rfloor$", r"$\lceil x \rceil$"),
        ("$P$ and $Q$", "$Q$ and $P$"),
        ("$ab$", "$ba$"),
        (r"$|x-1|$", "$x-1$"),
        ("A's age", "B's age"),
        ("1,000", "1,001"),
        ("0.5", "5"),
    ],
)
def test_what_says_something_stays(left, right):
    left, right = shingle_tokens(left), shingle_tokens(right)
    assert left != right
    assert decisive_tokens(left) != decisive_tokens(right)


def test_money_is_no_formula():
    tokens = shingle_tokens("It costs $500 for each guest and $20 for a meal.")
    assert tokens[2:6] == ["500", "for", "each", "guest"]
    assert "meal" in tokens


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=80) | st.text("\\{}^_$(x)1/ ab\nfrcov,.&#*<sup>'", max_size=60))
def test_any_text_can_be_levelled(text):
    tokens = level_tokens(shingle_tokens(text))
    assert not {"{", "}"} & set(tokens)
    assert isinstance(level_text(text), str)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(["+", "-", "=", "x", "7", "12", "\\le", "\\sin", ",", "<"]),
                min_size=1, max_size=20))  # fmt: skip
def test_digits_signs_and_letters_all_stay(parts):
    text = " ".join(part for part in parts if part != ",")
    assert shingle_tokens(text) == text.split()


def test_depth_costs_no_recursion():
    deep = "{x+" * 20_000 + "1" + "}" * 20_000
    assert shingle_tokens(deep)[-1] == "1"
    assert len(shingle_tokens("(" * 3000 + r"\frac{1}{2}" + ")/3" * 3000)) > 3000
