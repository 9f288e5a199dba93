r"""The tokenizers, against golden tokens and against what must and must not be levelled."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.corpus.decisive import decisive_tokens
from saber_assets.corpus.tokens import (
    MATHEMATICS_STOP_WORDS,
    mathematics_tokens,
    shingle_tokens,
    shingles,
    summary_token_list,
    summary_tokens,
    whitespace_tokens,
)

GOLDEN = Path(__file__).parents[1] / "golden"


def test_summary_tokens_and_jaccard_of_the_oracle():
    case = json.loads((GOLDEN / "02_summary_jaccard.json").read_text())
    sentences = case["input"]["sentences"]
    assert [summary_token_list(s) for s in sentences] == case["expected"]["tokens"]
    assert set(case["tokens_removed_only_by_the_mathematics_part"]) <= MATHEMATICS_STOP_WORDS
    sets = [summary_tokens(s) for s in sentences]
    for i, row in enumerate(case["expected"]["jaccard_upper_triangle"]):
        for offset, value in enumerate(row):
            union = sets[i] | sets[i + offset]
            if union:  # two empty sets are defined by the caller
                ours = len(sets[i] & sets[i + offset]) / len(union)
                assert ours == pytest.approx(value, abs=1e-12)


def test_summary_tokens_are_ascii_runs():
    assert summary_token_list("Use LEMMA x^2_1, naïve αβ!") == ["use", "x^2_1", "na", "ve"]
    assert summary_tokens("The of theorem.") == frozenset()


def test_whitespace_tokens():
    assert whitespace_tokens("  Find $X$\u2028now ") == ["find", "$x$", "now"]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        (r"\frac{1}{2}", [r"\frac", "1", "2"]),
        ("Find x <= 3.5", ["find", "x", r"\le", "3.5"]),
        (r"$x^2$, $x^{2}$ and x²", ["x", "x^2", "x", "x^2", "and", "x", "x^2"]),
        (r"a_n + a_{n+1}", ["a", "a_n", "+", "a", "_", "n", "+", "1"]),
        (r"\left( a\cdot b \right)^2 \, 12", ["a", r"\times", "b", "^2", "12"]),
        ("a*b × c", ["a", r"\times", "b", r"\times", "c"]),
        ("Élève naïve δ", ["élève", "naïve", r"\delta"]),
        ("$5 and $7", ["5", "and", "7"]),
        ("a<b<c$", ["a", "<", "b", "<", "c"]),
        ("in [asy] draw(A--B); size(200); [/asy] ABC", ["in", "abc"]),
        ("", []),
        ("$$ {} ~", []),
    ],
)
def test_mathematics_tokens(text, tokens):
    assert mathematics_tokens(text) == tokens


@pytest.mark.parametrize(
    "group",
    [
        [r"\le", r"\leq", r"\leqslant", "≤", "<=", "⩽"],
        [r"\ge", r"\geq", "≥", ">="],
        [r"\ne", r"\neq", "≠", "!="],
        [r"\cdot", r"\times", "·", "×", "⋅", "*"],
        [r"\to", r"\rightarrow", "->", "→"],
    ],
)
def test_one_spelling_a_sign(group):
    assert {tuple(mathematics_tokens(f"a {sign} b")) for sign in group} == {
        ("a", group[0] if group[0] != r"\cdot" else r"\times", "b")
    }


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (r"Find $\dfrac{1}{2} x^{2}$.", r"find \(\frac12 x^2\)"),
        (r"\left(a+b\right)^2\,\leq\;c", "$(a+b)^2 ≤ c$"),
        (r"\begin{align*} x &= 1 \\ y &= 2 \end{align*}", r"\[ x = 1,\quad y = 2 \]"),
        ("a\u200b right‑angled triangle", "A right-angled Triangle"),
        ("caf\u00e9", "cafe\u0301"),
        ("area πr²", r"area $\pi r^2$"),
        (r"a \hspace{1cm} b \tag{3}", "a b"),
        (r"\text{if } x > 0", "if $x>0$"),
        ("𝑥 + 1", "x + 1"),
        (r"\frac{x}{y}", r"\frac x y"),
    ],
)
def test_typography_is_levelled(left, right):
    assert shingle_tokens(left) == shingle_tokens(right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("at most 12", "at most 17"),
        ("x^2+3x-4", "x^2-3x+4"),
        ("x^{2y}", "x^2y"),
        (r"\frac{a}{b+c}", r"\frac{a+b}{c}"),
        ("(a+b)c", "a+bc"),
        ("f'(x)", "f(x)"),
        ("a < b", "a > b"),
        (r"a \le b", "a < b"),
        ("2:3", "2 3"),
        ("5!", "5"),
        (r"\sin x", r"\cos x"),
        ("3.5", "35"),
        ("u × v", "u · v"),
        ("−3", "3"),
        ("|x|", "x"),
    ],
)
def test_mathematics_is_not_levelled(left, right):
    assert shingle_tokens(left) != shingle_tokens(right)
    assert decisive_tokens(shingle_tokens(left)) != decisive_tokens(shingle_tokens(right))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("at most five coins", "at least five coins"),
        ("find AB", "find BA"),
        ("3 pens and 5 books", "5 pens and 3 books"),
        ("n is odd", "n is even"),
        ("seven men", "eight men"),
    ],
)
def test_decisive_words_count(left, right):
    assert decisive_tokens(shingle_tokens(left)) != decisive_tokens(shingle_tokens(right))


def test_decisive_tokens_ignore_prose():
    left, right = shingle_tokens("Determine $x y$ now"), shingle_tokens("Find the $xy$")
    assert decisive_tokens(left) == decisive_tokens(right) == ("x", "y")


def test_shingles():
    assert shingles(["a", "b", "c"], 2) == {("a", "b"), ("b", "c")}
    assert shingles(["a", "b"], 3) == frozenset()
    with pytest.raises(ValueError, match="at least 1"):
        shingles(["a"], 0)


@settings(max_examples=200, deadline=None)
@given(
    st.text(alphabet=st.characters(), max_size=60) | st.text("\\{}^_$x1 +<=!.-'²π[]", max_size=40)
)
def test_any_text_has_tokens_without_braces_or_spaces(text):
    for token in shingle_tokens(text):
        assert token
        assert token.strip() == token or token.startswith("\\")
    for token in mathematics_tokens(text):
        assert token not in ("{", "}", "(", ")", "$")
    assert shingle_tokens(text + " ") == shingle_tokens(text) or text.endswith("\\")


def test_deep_braces_need_no_recursion():
    assert shingle_tokens("{" * 50_000 + "x" + "}" * 50_000) == ["x"]
