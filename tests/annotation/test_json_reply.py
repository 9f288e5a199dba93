from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.json_reply import ReplyError, parse_object

COMMANDS = [
    *("frac", "times", "nu", "beta", "rho", "begin", "neq", "nabla", "not", "text", "theta"),
    *("tau", "tan", "to", "right", "rangle", "forall", "bar", "binom", "boxed", "bmod", "notin"),
    *("newline", "alpha", "sum", "varepsilon", "underline", "upsilon"),
]


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        (r'{"s":"\frac12\times\nu"}', r"\frac12\times\nu"),
        (r'{"s":"\\frac12\\times\\nu"}', r"\frac12\times\nu"),
        (r'{"s":"\neq \nabla \not\in \rho \begin{x}"}', r"\neq \nabla \not\in \rho \begin{x}"),
        (r'{"s":"one\n2 and\n\nThen"}', "one\n2 and\n\nThen"),
        (r'{"s":"caf\u00e9 \uparrow"}', "café \\uparrow"),
        (r'{"s":"\(x\) \{1\} \, \$5"}', r"\(x\) \{1\} \, \$5"),
        (r'{"s":"say \"hi\" and/or \/"}', 'say "hi" and/or /'),
        (r'{"s":"\\frac{a}{b}\ne is irrational"}', "\\frac{a}{b}\ne is irrational"),
        (r'{"s":"x \ne y"}', r"x \ne y"),
        (r'{"s":"\\frac12 \times 3"}', r"\frac12 \times 3"),
        ('{"s":"two\nlines"}', "two\nlines"),
        (r'{"s":"ends with a backslash \\"}', "ends with a backslash \\"),
        (r'{"s":"\textbf{x}\tfrac12\bar x\right)"}', r"\textbf{x}\tfrac12\bar x\right)"),
    ],
)  # fmt: skip
def test_strings(reply, value):
    assert parse_object(reply) == {"s": value}


@pytest.mark.parametrize(
    "reply",
    [
        '```json\n{"a": 1}\n```',
        '```\n{"a": 1,}\n```\nHope this helps {really}!',
        'Sure! Here it is:\n{"a": 1}\nLet me know.',
        'The set $\\{1, 2\\}$ and {this}. {"a": 1}',
        '{"a": 1,\n}',
        'Format: {"a": 0}. Mine: {"a": 1}',
        '{"a": 1} {}',
        '```json\n{"a": 1}\n``` not {"a": 2}',
    ],
)
def test_wrappings(reply):
    assert parse_object(reply) == {"a": 1}


def test_commas_and_braces_inside_strings_are_left_alone():
    assert parse_object('{"a": ",}", "b": ["x,]", ], "c": {"d": "}{",},}') == {
        "a": ",}", "b": ["x,]"], "c": {"d": "}{"},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        ("no idea", "no JSON object"),
        ("", "no JSON object"),
        ("[1, 2]", "no JSON object"),
        ('{"a": 1', "middle of its JSON object"),
        ('{"a": "x', "middle of a JSON string"),
        ('{"a": NaN}', "not a finite number"),
        ('{"a": 1, "a": 2}', "key 'a' twice"),
        ("{'a': 1}", "not valid JSON"),
    ],
)
def test_refused_with_a_sentence(reply, sentence):
    with pytest.raises(ReplyError, match=sentence):
        parse_object(reply)


def latex_texts():
    piece = st.one_of(
        st.sampled_from(COMMANDS).map(lambda command: f"\\{command} "),
        st.text(alphabet='abnrtufe {}$^_"/\n,.é→', max_size=6),
    )
    return st.lists(piece, max_size=8).map(lambda parts: "".join([*parts, "\\frac"]))


@given(st.dictionaries(st.text(alphabet="abc", min_size=1), latex_texts(), min_size=1))
@settings(max_examples=150, deadline=None)
def test_properly_escaped_latex_survives_unchanged(value):
    assert parse_object(json.dumps(value)) == value
    assert parse_object("Here:\n```json\n" + json.dumps(value, indent=2) + "\n```") == value


@given(
    st.lists(st.sampled_from(COMMANDS), min_size=1, max_size=6), st.sampled_from(["{x}", " ", "1"])
)
@settings(max_examples=150, deadline=None)
def test_unescaped_latex_never_becomes_a_control_character(commands, after):
    text = "".join(f"\\{command}{after}" for command in commands)
    [value] = parse_object('{"s": "' + text + '"}').values()
    assert value == text
    assert not re.search(r"[\x00-\x1f]", value)


@given(st.text(max_size=60))
@settings(max_examples=150, deadline=None)
def test_any_text_parses_or_is_refused(text):
    for reply in (text, "{" + text, '{"a": "' + text):
        try:
            assert isinstance(parse_object(reply), dict)
        except ReplyError as error:
            assert str(error)


def test_many_open_braces_cost_no_time():
    with pytest.raises(ReplyError):
        parse_object("{" * 20_000)
    with pytest.raises(ReplyError):
        parse_object('{"a": ' * 20_000 + "1" + "}" * 20_000)
