"""The schema of a reply on topics names what is offered; a prompt may ask for the best alone."""

from __future__ import annotations

import pytest

from saber_assets.annotation.replies.annotating import asks_for_best, read_best, topics_schema
from saber_assets.json_reply import ReplyError
from saber_resources.prompts import load_prompt
from saber_resources.shipped import shipped


def test_the_offered_names_are_spelled_out_and_nothing_else_is_allowed():
    schema = load_prompt("topic_scores").schema
    names = ("Algebra", "Sums of [x^2] and \\(y\\)")
    found = topics_schema(schema, names)["properties"]["scores"]
    assert list(found["properties"]) == list(names)
    assert found["required"] == list(names)
    assert found["additionalProperties"] is False
    assert found["properties"]["Algebra"] == {"type": "number", "minimum": 0, "maximum": 1}
    assert "properties" not in schema["properties"]["scores"], "the prompt's own stays as it is"


def test_the_small_prompt_asks_for_one_name():
    schema = load_prompt("topic_scores", shipped("prompts") / "small").schema
    assert asks_for_best(schema)
    assert not asks_for_best(load_prompt("topic_scores").schema)
    found = topics_schema(schema, ("current", "a", "b"))
    assert found["properties"] == {"best": {"enum": ["a", "b", "current"]}}
    assert found["required"] == ["best"]


def test_the_best_name_scores_one_and_the_others_nothing():
    assert read_best('{"best": "b"}', ("a", "b", "c")) == (0.0, 1.0, 0.0)
    for reply in ('{"best": "d"}', '{"scores": {"a": 1}}', '{"best": 1}', "b"):
        with pytest.raises(ReplyError):
            read_best(reply, ("a", "b", "c"))


def test_a_schema_of_another_form_stays_as_it_is():
    assert topics_schema(None, ("a",)) is None
    other = {"type": "object", "properties": {"scores": {"type": "array"}}}
    assert topics_schema(other, ("a",)) == other
