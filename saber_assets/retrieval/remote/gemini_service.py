"""Vectors of Gemini's API.

It reads a text that is too long only in part, and doesn't say so: texts that may exceed the window
are counted first, by the API itself, and cut.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saber_assets.errors import InputError
from saber_assets.retrieval.encoding.contract import Side
from saber_assets.retrieval.reasons import said
from saber_assets.retrieval.remote.json_endpoint import JsonEndpoint, StatusError
from saber_assets.retrieval.remote.remote_encoder import Input, TextRefusedError, cut

REVISION = 1
URL = "https://generativelanguage.googleapis.com/v1beta"
KEY_HEADER = "x-goog-api-key"
_KEY_SIGNS = ("API_KEY", "API key")
_AGAIN = "then run again: what was answered is kept"


class GeminiService:
    """Asks `batchEmbedContents` and `countTokens` of a model.

    Args:
        endpoint: of the API, with the key in its headers.
        model: such as "gemini-embedding-001".
        key: to keep it out of messages.
        key_variable: the variable that it came from.
        tasks: task type of each side, None where the model takes none.
        dimensions: length of vector to ask for, or None for what the model gives.
    """

    def __init__(
        self,
        endpoint: JsonEndpoint,
        model: str,
        *,
        key: str,
        key_variable: str,
        tasks: Mapping[Side, str | None],
        dimensions: int | None,
    ) -> None:
        self._endpoint, self._model = endpoint, model
        self._key, self._key_variable = key, key_variable
        self._tasks, self._dimensions = tasks, dimensions

    @property
    def place(self) -> str:
        """What it is called in a sentence."""
        return f"Gemini's API ({self._model})"

    def vectors(self, inputs: Sequence[Input], side: Side) -> NDArray[np.float32]:
        """Return one vector an input, in their order.

        Raises:
            TextRefusedError: for something that these inputs hold.
            InputError: for something that a person must mend.
        """
        more: dict[str, Any] = {}
        if self._tasks.get(side) is not None:
            more["taskType"] = self._tasks[side]
        if self._dimensions is not None:
            more["outputDimensionality"] = self._dimensions
        requests = [
            {"model": f"models/{self._model}", "content": _content(text), **more} for text in inputs
        ]
        answer = self._post("batchEmbedContents", {"requests": requests})
        try:
            rows = [row["values"] for row in answer["embeddings"]]
            found = np.array(rows, dtype=np.float32)
        except (KeyError, TypeError, ValueError, OverflowError):
            raise self._malformed() from None
        if found.ndim != 2:
            raise self._malformed()
        return found

    def count(self, text: str) -> int:
        """Return how many tokens a text has; raises as `vectors` does."""
        answer = self._post("countTokens", {"contents": [_content(text)]})
        try:
            return int(answer["totalTokens"])
        except (KeyError, TypeError, ValueError, OverflowError):
            raise self._malformed() from None

    def _post(self, verb: str, body: Mapping[str, Any]) -> Any:
        try:
            return self._endpoint.post(f"models/{self._model}:{verb}", body)
        except StatusError as error:
            raise self._fault(error) from None

    def _malformed(self) -> InputError:
        return InputError(
            f"{self.place} answered with something else than it should",
            "check `served` and `model` in systems.toml",
        )

    def _fault(self, error: StatusError) -> Exception:
        """Return what a status means."""
        told = said(error.body, self._key)
        if error.status == 200:  # which isn't JSON
            return self._malformed()
        if 300 <= error.status < 400:
            return InputError(f"{self.place} redirects elsewhere", "check `served` in systems.toml")
        if error.status in (401, 403) or any(sign in error.body for sign in _KEY_SIGNS):
            return InputError(
                f"{self.place} refuses the key", f"set {self._key_variable} to a valid one"
            )
        if error.status == 404:
            return InputError(f"{self.place} has no such model", "check `model` in systems.toml")
        if error.status == 429:
            return InputError(
                f"{self.place} is asked too often, or its quota is used up", f"wait, {_AGAIN}"
            )
        if error.status >= 500 or "FAILED_PRECONDITION" in error.body:
            return InputError(f"{self.place} fails ({told})", f"mend that or wait, {_AGAIN}")
        return TextRefusedError(f"{self.place} refuses it ({told})")


class CountedTexts:
    """Texts in their templates, in as many parts as their tokens need.

    Args:
        templates: of each side, with the slot of its name.
        window: tokens that the model reads at a time.
        count: returns the tokens of a text; asked only where its bytes exceed the window.
    """

    def __init__(
        self, templates: Mapping[Side, str], window: int, count: Callable[[str], int]
    ) -> None:
        self._templates, self._window, self._count = templates, window, count

    @property
    def mode(self) -> str:
        """How texts are cut."""
        return "counted"

    def of(self, text: str, side: Side) -> list[Input]:
        """Return the text in its template, whole or in parts; nothing for an empty one."""
        whole = self._templates[side].replace("{" + side + "}", text, 1)
        if not whole:
            return []
        if len(whole.encode("utf-8")) <= self._window:
            return [whole]
        tokens = self._count(whole)
        if tokens <= self._window or len(text) < 2:
            return [whole]
        parts = cut(text, min(-(-tokens // self._window), len(text)))
        return [piece for part in parts for piece in self.of(part, side)]

    def halves(self, text: str) -> list[str]:
        """Return the text in two parts."""
        return cut(text, 2)

    def with_query_template(self, template: str) -> CountedTexts:
        """Return others of which queries stand in another template."""
        templates: dict[Side, str] = {**self._templates, "query": template}
        return CountedTexts(templates, self._window, self._count)


def _content(text: Input) -> dict[str, Any]:
    return {"parts": [{"text": text}]}
