"""Marked-up topics: field names mark fields, and any other < and > is text."""

from __future__ import annotations

import html

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.publishing.trec_topics import topics_of

UNEQUAL = "Prove that $a<b$ and $c>d$ for all $x<y>z$."
PIECES = st.sampled_from(["<", ">", "a", "b", "$", " ", "/", "=", "\n", "<b>", "</p>", "<x y>"])
TEXTS = st.lists(PIECES, max_size=12).map(lambda found: f"w{''.join(found)}w")
FORMS = {
    "open": "<top>\n<num> Number: 7\n<title> {}\n<desc> Description:\nmore\n</top>\n",
    "closed": "<top><num>7</num><title>{}</title><desc>more</desc></top>",
    "attributes": '<topic number="7"><query lang="en">{}</query><narrative>n</narrative></topic>',
    "no field": '<topic number="7">{}</topic>',
}


def read(tmp_path, text: str) -> dict[str, str]:
    path = tmp_path / "topics.txt"
    path.write_text(text, encoding="utf-8")
    return {key: asked for _, key, asked in topics_of(path)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("topics")


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@settings(max_examples=60, deadline=None)
@given(text=TEXTS)
def test_any_text_with_brackets_survives(form, folder, text) -> None:
    whole = " ".join(text.split())
    assert read(folder, form.format(text)) == {"7": whole}
    assert read(folder, form.format(html.escape(text))) == {"7": whole}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_inequalities(form, tmp_path) -> None:
    assert read(tmp_path, form.format(UNEQUAL)) == {"7": UNEQUAL}


def test_a_closed_field_holds_whatever_it_holds(tmp_path) -> None:
    text = "<top><num>1</num><title>what does <desc> mean</title><desc>no</desc></top>"
    assert read(tmp_path, text) == {"1": "what does <desc> mean"}


def test_a_number_ends_at_an_unknown_field(tmp_path) -> None:
    text = "<top>\n<num> Number: 9\n<grade> hard\n<title> one\n</top>"
    assert read(tmp_path, text) == {"9": "one"}


def test_fields_with_a_language_in_front(tmp_path) -> None:
    text = "<top><num>C041</num><EN-title>Pesticides</EN-title><EN-desc>more</EN-desc></top>"
    assert read(tmp_path, text) == {"C041": "Pesticides"}


def test_fields_that_are_no_query(tmp_path) -> None:
    with pytest.raises(ValueError, match="no title"):
        read(tmp_path, '<topic number="1"><disease>x</disease><gene>y</gene></topic>')
