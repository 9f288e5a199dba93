"""Reads replies to the prompts `topic_scores` and `summary`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saber_assets.annotation.annotator import Summary
from saber_assets.json_reply import ReplyError, parse_object

MAX_CORE_WORDS = 30
MAX_SUPPORTING = 3


def topics_schema(
    schema: Mapping[str, Any] | None, names: Sequence[str]
) -> Mapping[str, Any] | None:
    """Return the JSON schema of a prompt on topics with the offered names spelled out.

    A server that holds its model to a schema then can't return another name, nor leave one out.

    Args:
        schema: of the prompt. It asks for `scores`, whose `additionalProperties` is the schema of
            one score, or for the `best` name alone.
        names: what is offered, distinct, the current topic first.

    Returns:
        The schema as it is where it has neither part.
    """
    properties = (schema or {}).get("properties", {})
    if asks_for_best(schema):
        # the current topic last: small models like what they read first
        return {**(schema or {}), "properties": {"best": {"enum": [*names[1:], names[0]]}}}
    score = properties.get("scores", {}).get("additionalProperties")
    if not isinstance(score, Mapping):
        return schema
    scores = {
        "type": "object",
        "properties": dict.fromkeys(names, score),
        "required": list(names),
        "additionalProperties": False,
    }
    return {**(schema or {}), "properties": {**properties, "scores": scores}}


def asks_for_best(schema: Mapping[str, Any] | None) -> bool:
    """Tell whether a prompt on topics asks for the best name alone: easier for a small model."""
    return "best" in (schema or {}).get("properties", {})


def read_best(reply: str, names: Sequence[str]) -> tuple[float, ...]:
    """Return 1 for the name that a reply chooses and 0 for the others, in their order.

    Raises:
        ReplyError: for a name that wasn't offered, and for none.
    """
    best = parse_object(reply).get("best")
    if not isinstance(best, str):
        raise ReplyError("the key 'best' with one of the names is missing")
    if best not in names:
        raise ReplyError(f"this name was not offered: {best}")
    return tuple(float(name == best) for name in names)


def read_scores(reply: str, names: Sequence[str]) -> tuple[float, ...]:
    """Return the scores of the offered names, in their order.

    Raises:
        ReplyError: for names that weren't offered, missing names, and scores outside [0, 1].
    """
    scores = parse_object(reply).get("scores")
    if not isinstance(scores, dict):
        raise ReplyError("the key 'scores' with an object of names and numbers is missing")
    unknown = sorted(scores.keys() - set(names))
    if unknown:
        raise ReplyError(f"these names were not offered: {', '.join(unknown[:5])}")
    missing = [name for name in names if name not in scores]
    if missing:
        raise ReplyError(f"these names have no score: {', '.join(missing[:5])}")
    return tuple(_share(scores[name], f"the score of '{name}'") for name in names)


def read_summary(reply: str) -> Summary:
    """Return the summary that a reply gives as JSON.

    Raises:
        ReplyError: for missing keys, wrong types, and more words or ideas than allowed.
    """
    value = parse_object(reply)
    nothing = value.get("noCoreIdea")
    if not isinstance(nothing, bool):
        raise ReplyError("'noCoreIdea' must be true or false")
    core = value.get("coreIdea", "" if nothing else None)
    if not isinstance(core, str):
        raise ReplyError("'coreIdea' must be a string")
    core = "" if nothing else " ".join(core.split())
    if not nothing and not core:
        raise ReplyError("'coreIdea' is empty though 'noCoreIdea' is false")
    if len(core.split()) > MAX_CORE_WORDS:
        raise ReplyError(
            f"'coreIdea' has {len(core.split())} words and may have {MAX_CORE_WORDS} at most"
        )
    supporting = _strings(value.get("supportingIdeas", []), "supportingIdeas")
    if len(supporting) > MAX_SUPPORTING:
        raise ReplyError(f"'supportingIdeas' may have {MAX_SUPPORTING} entries at most")
    return Summary(
        no_core_idea=nothing,
        core_idea=core,
        supporting_ideas=supporting,
        keywords=_strings(value.get("keywords", []), "keywords"),
        confidence=_share(value.get("confidence"), "'confidence'"),
    )


def _share(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ReplyError(f"{what} must be a number from 0 to 1")
    if not 0 <= value <= 1:  # before any conversion: an integer may be too long for a float
        raise ReplyError(f"{what} must be from 0 to 1")
    return float(value)


def _strings(value: Any, key: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise ReplyError(f"'{key}' must be a list of strings")
    return tuple(stripped for entry in value if (stripped := entry.strip()))
