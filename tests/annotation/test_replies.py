"""Every prompt has a parser, and every parser its good, bad and generated malformed replies."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from dataclasses import asdict, is_dataclass
from pathlib import Path

import pytest
from pydantic import BaseModel

from saber_assets.annotation.replies.annotating import read_scores, read_summary
from saber_assets.annotation.replies.judging import read_profile, read_score, read_verdict
from saber_assets.corpus.llm_replies import (
    read_choice,
    read_normalised,
    read_segmentation,
    read_self_contained,
    read_substantive,
    read_translation,
)
from saber_assets.evaluation.llm_replies import read_audit, read_rewriting
from saber_assets.json_reply import ReplyError, parse_object
from saber_resources.prompts import load_prompt
from saber_resources.shipped import shipped

FOLDER = Path(__file__).parent / "replies"
READERS = {
    "topic_scores": lambda reply, given: read_scores(reply, given["names"]),
    "summary": lambda reply, given: read_summary(reply),
    "pairwise_judge": lambda reply, given: read_verdict(reply),
    "profiled_judge": lambda reply, given: read_verdict(reply),
    "ordinal_judge": lambda reply, given: read_score(reply),
    "technique_profile": lambda reply, given: read_profile(reply),
    "aops_self_contained": lambda reply, given: read_self_contained(reply),
    "aops_solutions": lambda reply, given: read_substantive(reply, given["comments"]),
    "aops_choose": lambda reply, given: read_choice(reply, given["solutions"]),
    "document_segmentation": lambda reply, given: read_segmentation(reply, given["document"]),
    "latex_normalisation": lambda reply, given: read_normalised(reply, given["text"]),
    "translation": lambda reply, given: read_translation(reply, given["document"]),
    "query_rewriting": lambda reply, given: read_rewriting(reply, given["statement"]),
    "leakage_audit": lambda reply, given: read_audit(reply, given["documents"]),
}
CASES = {name: json.loads((FOLDER / f"{name}.json").read_text("utf-8")) for name in READERS}
JSON_PROMPTS = sorted(name for name in READERS if load_prompt(name).schema is not None)


def plain(value):
    """A parsed value as JSON has it."""
    if isinstance(value, BaseModel):
        return value.model_dump()
    if is_dataclass(value):
        fields = asdict(value)
        return plain(list(fields.values()) if "core_idea" in fields else fields)
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    return value


def test_every_prompt_has_a_reader_and_enough_cases():
    assert {path.stem for path in shipped("prompts").glob("*.md")} == set(READERS)
    for name, case in CASES.items():
        assert len(case["good"]) >= 3 and len(case["bad"]) >= 5, name


@pytest.mark.parametrize(
    ("name", "place"),
    [(name, place) for name, case in CASES.items() for place in range(len(case["good"]))],
)
def test_good_replies(name, place):
    case = CASES[name]
    entry = case["good"][place]
    assert plain(READERS[name](entry["reply"], case["given"])) == entry["value"]


@pytest.mark.parametrize(
    ("name", "place"),
    [(name, place) for name, case in CASES.items() for place in range(len(case["bad"]))],
)
def test_bad_replies(name, place):
    case = CASES[name]
    entry = case["bad"][place]
    with pytest.raises(ReplyError, match=re.escape(entry["says"])) as caught:
        READERS[name](entry["reply"], case["given"])
    assert len(str(caught.value)) < 400, "it is shown to the model"


# --- malformed replies, generated -------------------------------------------------------------


def cut(reply, draw):
    return reply[: draw.randrange(len(reply))]


def beheaded(reply, draw):
    return reply[draw.randrange(1, len(reply)) :]


def hole(reply, draw):
    start = draw.randrange(len(reply))
    return reply[:start] + reply[start + draw.randrange(1, 20) :]


def stuttered(reply, draw):
    start = draw.randrange(len(reply))
    return reply[:start] + reply[max(0, start - draw.randrange(1, 40)) :]


def without_braces(reply, draw):
    return reply.replace(draw.choice('{}[]":,'), "")


def single_quoted(reply, draw):
    return reply.replace('"', "'")


def fenced_badly(reply, draw):
    return (
        draw.choice(["```json\n{}", "```\n{}\n````", "``{}``", "```json {} "])
        .format(reply.replace("{", "{{").replace("}", "}}"))
        .replace("{{", "{")
        .replace("}}", "}")
    )


def then_cut_again(reply, draw):
    return reply + "\nCorrection:\n```json\n" + cut(reply, draw)


def control_characters(reply, draw):
    place = draw.randrange(len(reply))
    return reply[:place] + draw.choice("\x00\x0b\ufeff\u2028\ud800\u200b") + reply[place:]


def latex_noise(reply, draw):
    return r"As $\left\{\frac{a}{b}\right\}$, $\{x \mid \text{{y}}\}$: " + reply


def nested(reply, draw):
    return '{"answer": ' + reply + "}" if draw.random() < 0.5 else "[" * 3 + reply + "]" * 3


def deep(reply, draw):
    return '{"a":' * 3000 + reply + "}" * 3000


def huge(reply, draw):
    return (
        reply + draw.choice(["x", "{", '"', "\\", '{"a": 1} ', "\\boxed{1} and ", "<text>"]) * 6_000
    )


def numbers_replaced(reply, draw):
    new = draw.choice(["NaN", "-Infinity", "1e999", "9" * 5000, "0x10", "1_0", "٣", "--1", "null"])
    return re.sub(r"(?<![\w.\\])\d+(?:\.\d+)?", lambda _: new, reply, count=1)


def types_replaced(reply, draw):
    new = draw.choice(["null", "[]", "{}", '"x"', "1", "true", "undefined"])
    return re.sub(r": *(?:true|false|null|[\d.]+|\"[^\"]*\")", lambda _: f": {new}", reply, count=1)


def key_twice(reply, draw):
    return re.sub(r"\{(\"\w+\": *[^,{}\[\]]+,)", r"{\1\1", reply, count=1)


def key_renamed(reply, draw):
    return re.sub(r'"(\w+)":', r'"\1 ":', reply, count=1)


def half_a_character(reply, draw):
    return re.sub(r'"([^"]*)"(?=[,\]}])', r'"\\ud800\1"', reply, count=1)


def shuffled(reply, draw):
    parts = reply.split(" ")
    draw.shuffle(parts)
    return " ".join(parts)


BREAKERS = [
    *(cut, beheaded, hole, stuttered, without_braces, single_quoted, fenced_badly, then_cut_again),
    *(control_characters, latex_noise, nested, deep, huge, numbers_replaced, types_replaced),
    *(key_twice, key_renamed, half_a_character, shuffled),
]
HARMLESS = {fenced_badly, latex_noise}
"""What surrounds a reply without touching it: the value must be the intended one, or refused."""
DRAWS = 6


def malformed(name):
    """Yield (breaker, intended value, malformed reply): for each good reply, each breaker."""
    for place, entry in enumerate(CASES[name]["good"]):
        for breaker in BREAKERS:
            for number in range(DRAWS):
                draw = random.Random(f"{name} {place} {breaker.__name__} {number}")
                yield breaker, entry["value"], breaker(entry["reply"], draw)


def says_it(value, reply) -> bool:
    """Whether a whole reply states a value, read by a strict parser of the last object in it.

    Breaking a reply may by chance give another sound reply (a digit cut out of a number): then
    the new value is what the text says.
    """
    for start in [m.start() for m in re.finditer(r"\{", reply)]:
        try:
            found, _ = json.JSONDecoder(strict=False).raw_decode(reply, start)
        except (ValueError, RecursionError):
            continue
        if found == value:
            return True
    return False


@pytest.mark.parametrize("name", READERS)
def test_malformed_replies_are_refused_or_read_as_meant(name):
    given, outcomes = CASES[name]["given"], Counter()
    for breaker, intended, reply in malformed(name):
        try:
            value = plain(READERS[name](reply, given))
        except ReplyError as error:
            assert str(error)
            outcomes["refused"] += 1
            continue
        if value == intended:
            outcomes["as meant"] += 1
            continue
        assert breaker not in HARMLESS, (breaker.__name__, reply[:300], value)
        outcomes["another"] += 1
        assert stated(name, value, reply), (breaker.__name__, reply[:400], value)
    assert sum(outcomes.values()) >= 200
    assert outcomes["refused"] >= 20
    assert outcomes["another"] <= 0.15 * sum(outcomes.values()), outcomes


def stated(name, value, reply) -> bool:
    """Whether a value that isn't the intended one is what the broken text says as a whole."""
    if name in {"pairwise_judge", "profiled_judge", "ordinal_judge"}:
        boxes = re.findall(r"\\boxed\s*\{[^{}]*(?:\{[^{}]*\})?\s*\}?", reply)
        digits = [re.search(r"\d+", box) for box in boxes]
        verdicts = [int(d[0]) for d in digits if d]
        return value in verdicts
    if name in JSON_PROMPTS:
        leaves = [leaf for leaf in leaves_of(value) if isinstance(leaf, str)]
        squeezed = re.sub(r"[\s\\]+", "", reply)
        return all(re.sub(r"[\s\\]+", "", leaf) in squeezed for leaf in leaves)
    if isinstance(value, str):
        return value in reply
    return all(leaf in reply for leaf in leaves_of(value) if isinstance(leaf, str))


def leaves_of(value):
    if isinstance(value, dict):
        return [leaf for entry in value.values() for leaf in leaves_of(entry)]
    if isinstance(value, list):
        return [leaf for entry in value for leaf in leaves_of(entry)]
    return [value]


def test_malformed_objects_are_refused_or_read_as_meant():
    """`parse_object` alone: what it returns is the intended object, or one that the text states."""
    outcomes = Counter()
    for name in JSON_PROMPTS:
        for entry in CASES[name]["good"]:
            meant = parse_object(entry["reply"])
            for breaker in BREAKERS:
                for number in range(2):
                    reply = breaker(entry["reply"], random.Random(f"{breaker.__name__} {number}"))
                    try:
                        value = parse_object(reply)
                    except ReplyError:
                        outcomes["refused"] += 1
                        continue
                    outcomes["as meant" if value == meant else "another"] += 1
                    if value != meant:
                        assert breaker not in HARMLESS, reply[:300]
                        assert breaker is not then_cut_again, reply[:300]
                        assert breaker is not cut or says_it(value, reply), reply[:300]
    assert sum(outcomes.values()) >= 200 and outcomes["refused"] > 100, outcomes


@pytest.mark.parametrize(
    "reply",
    [
        '{"scores": {"A": 1, "B": 0}',
        '{"a": 1} and finally {"a": 2',
        '```json\n{"a": 1}\n```\nCorrection:\n```json\n{"a": 2',
        '{"a": {"a": 1}, b: 2',
        "{'outer': {\"a\": 1}}",
        '{outer: {"a": 1}}',
        '{"a": 1, "b": {"a": 2}, }} {"a": 3, "b"}',
        '{ // note\n "a": {"a": 1}}',
        '{"a": ' + "9" * 5000 + "}",
        '{"a": 1e999}',
        '{"a": "\\ud800"}',
        '{"\\udfff": 1}',
        '{"a": ["x", ["\\ud83d"]]}',
        "{" * 3000 + "}" * 3000,
    ],
)
def test_neither_a_draft_nor_a_part_nor_half_a_character_is_taken(reply):
    with pytest.raises(ReplyError):
        parse_object(reply)


def test_a_fence_inside_a_string_does_not_cut_the_object():
    assert parse_object('```json\n{"a": "x ``` {\\"b\\": 1} ``` y"}\n```') == {
        "a": 'x ``` {"b": 1} ``` y'
    }
