r"""Formulas of hostile texts: what becomes of them, and what never does."""

from __future__ import annotations

import re
import time
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_services.report import mathml
from saber_services.report.mathml import convert
from saber_services.report.typesetting import LONGEST_TEXT, Typesetter

needs_converter = pytest.mark.skipif(
    not mathml.is_available(), reason="latex2mathml is not installed"
)
TAGS = frozenset([*mathml._ELEMENTS, "code"])


def check(made: str) -> None:
    """Assert that a set text is well formed and holds nothing but allowed elements."""
    tree = ElementTree.fromstring(f"<div>{made}</div>")
    for element in tree.iter():
        assert element is tree or element.tag in TAGS, element.tag
        for name in element.attrib:
            assert name in {*mathml._ATTRIBUTES, "class", "mathvariant"}, name


@needs_converter
@pytest.mark.parametrize(
    ("text", "piece"),
    [
        (r"$\frac12$", "<mfrac><mn>1</mn><mn>2</mn></mfrac>"),
        (r"\(a<b\)", "<mo>&lt;</mo>"),
        (r"\[x\]", '<math display="block">'),
        (r"$$x$$", '<math display="block">'),
        (r"\begin{align}a&=b\\c&=d\end{align}", '<mtd class="r"><mi>a</mi></mtd>'),
        (r"\begin{align*}a&=b\end{align*}", '<mtd class="l">'),
        (r"\begin{eqnarray}a&=&b\\c&\le&d\end{eqnarray}", "<mtable"),
        (r"$\begin{aligned}a&=b\\c&=d\end{aligned}$", "<mtable"),
        (r"$\begin{cases}1&x>0\\2&x<0\end{cases}$", "<mtable"),
        (r"\begin{equation}\label{one}x=1\nonumber\end{equation}", "<mi>x</mi><mo>=</mo>"),
        (r"$\boxed{3}$", '<mrow class="box">'),
        (r"$\cos x$", ">cos</mo>"),
        (r"$\text{if $x>0$}$", "if"),
    ],
)
def test_formulas_in_every_kind_of_delimiters(text, piece):
    setter = Typesetter()
    made = setter(text)
    check(made)
    assert piece in made
    assert (setter.formulas, setter.left) == (1, 0)
    assert "(1)" not in made


@pytest.mark.parametrize("text", ["It costs $5 and $7.", r"\$5", "a $ b", "no formula", ""])
def test_money_is_no_formula(text):
    setter = Typesetter()
    assert setter(text) == text
    assert setter.formulas == 0


@needs_converter
@pytest.mark.parametrize(
    "text",
    [
        r"$\text{<script>alert(1)</script>}$",
        r"$\text{<img src=x onerror=alert(1)>}$",
        r"$\href{javascript:alert(1)}{x}$",
        r"$\style{background:url(https://evil.example)}{x}$",
        r"$\class{evil}{x}$ $\color{red}{x}$ $\bbox[red]{x}$",
        r"$\unicode{x3c}script\unicode{x3e}$",
        r"$&lt;script&gt;$ &lt;script&gt; &#60;script&#62;",
        r"$\text{&#x3c;script&#x3e;}$",
        r"$\rule{99em}{99em}\hspace{-9999px}\kern-500em x$",
        r"$</math><script>alert(1)</script>$",
        r"$\operatorname{</mo><script>}$",
        "\\(x\\)\x00\x1b$\x07$\ud800",
    ],
)
def test_a_hostile_formula_becomes_nothing_but_allowed_elements(text):
    made = Typesetter()(text)
    check(made)
    assert "<script" not in made
    assert "javascript:" not in made or "<code>" in made
    assert not re.search(r"<[^>]*(?:href|style|src|on\w+)=", made)
    for length in re.findall(r'(?:width|height|depth|space)="([^"]*)"', made):
        assert abs(float(re.match(r"[+-]?[\d.]+", length)[0])) < 30


@needs_converter
@pytest.mark.parametrize(
    "source",
    [
        r"\frac{1}{2",
        "}{",
        r"\left( x",
        r"\unknowncommand x",
        "x_",
        r"a & b",
        r"a \\ b",
        "{" * 61 + "}" * 61,
        "{" * 5000,
        "x" * 5000,
        "   ",
    ],
)
def test_what_cannot_be_converted_stays_as_it_is_written_and_is_counted(source):
    assert convert(source) is None
    setter = Typesetter()
    made = setter(f"before \\({source}\\) after" if source.strip() else "$$ $$ $x$")
    check(made)
    if source.strip():
        assert setter.left == 1
        assert list(setter.examples) == [f"\\({source}\\)"]
        assert f"<code>\\({source}\\)</code>".replace("&", "&amp;") in made


@pytest.mark.parametrize(
    "piece", [r"\(", "$", "$ ", r"\[", "{", r"\begin{align}", "$x", r"\(\frac", "^{", "\\"]
)
def test_huge_texts_take_no_time(piece):
    text = piece * (LONGEST_TEXT // len(piece))
    begun = time.process_time()
    made = Typesetter()(text)
    Typesetter().short(text, 90)
    check(made)
    assert time.process_time() - begun < 8


def test_a_very_long_text_is_shown_as_it_is_written():
    setter = Typesetter()
    made = setter("$x$ <b> " * LONGEST_TEXT)
    assert setter.long_texts == 1
    assert made.startswith("$x$ &lt;b&gt; ")
    assert made.endswith(" …")


@needs_converter
def test_a_short_line_is_cut_outside_formulas():
    setter = Typesetter()
    assert setter.short("one\n two", 20) == "one two"
    made = setter.short("Let $x_1, x_2, x_3, x_4, x_5, x_6, x_7$ be numbers whose sum is one", 30)
    check(made)
    assert made.endswith("</math> …")
    assert setter.short("word " * 30, 22) == "word word word word …"


def test_without_the_converter_formulas_stay_as_they_are_written(monkeypatch):
    monkeypatch.setattr(mathml, "is_available", lambda: False)
    convert.cache_clear()
    setter = Typesetter()
    assert setter("so $x<1$") == "so <code>$x&lt;1$</code>"
    assert setter.left == 1
    convert.cache_clear()


PIECES = st.sampled_from(
    ["$", "$$", r"\(", r"\)", r"\[", r"\]", "{", "}", "x", "<", "&", " ", "_", "^", r"\frac", "'",
     r"\text", r"\href", r"\style", r"\begin{align}", r"\end{align}", r"\\", r"\left(", r"\right)",
     "javascript:", "<script>", '"', "&lt;", "\x00", r"\begin{matrix}", r"\end{matrix}", "5", "é"]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=25).map("".join))
def test_any_text_becomes_well_formed(text):
    setter = Typesetter()
    check(setter(text))
    check(setter.short(text, 12))
