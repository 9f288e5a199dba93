"""A reply's JSON object, checked against a pydantic model."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from saber_assets.json_reply import ReplyError, parse_object


class ReplyModel(BaseModel):
    """What a reply must hold: no further keys, and no value of another type is converted."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


Model = TypeVar("Model", bound=ReplyModel)


def read_model(reply: str, model: type[Model]) -> Model:
    """Return the object in a reply as a model.

    Raises:
        ReplyError: naming the first key that is missing, unknown or wrong.
    """
    value = parse_object(reply)
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the object"
        rule = first["msg"].removeprefix("Value error, ")
        raise ReplyError(f"'{place[:80]}': {rule[:1].lower()}{rule[1:]}") from error
