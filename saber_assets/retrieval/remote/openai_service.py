"""Vectors of an OpenAI-compatible endpoint, through OpenAI's own client: it retries by itself."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saber_assets.errors import InputError
from saber_assets.retrieval.encoding.contract import Side
from saber_assets.retrieval.reasons import said
from saber_assets.retrieval.remote.remote_encoder import Input, TextRefusedError

RETRIES = 8
TIMEOUT = 120.0
_TOO_LONG = re.compile(
    r"context.{0,10}(length|size)|too (long|large)|(exceed|maximum|max).{0,60}token"
    r"|reduce the length|reduce your prompt",
    re.IGNORECASE,
)
_NOT_DESCRIBED = (AttributeError, TypeError, ValueError, OverflowError, RecursionError)
"""What comes of an answer that isn't built as OpenAI's."""
_AGAIN = "then run again: what was answered is kept"


class OpenAiService:
    """Asks `/embeddings` of an endpoint.

    Args:
        url: of the endpoint, which usually ends in /v1.
        model: its name there.
        key: "" where the endpoint wants none.
        key_variable: the variable that the key came from.
        dimensions: length of vector to ask for, or None for what the model gives.
        extra: what else each request says, beyond OpenAI's own fields.
        retries: how often a request is repeated; the client doubles its pauses, waits as long as
            the endpoint asks it to up to two minutes, and gives up where it asks for more.
        timeout: seconds until an answer counts as lost.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key: str = "",
        key_variable: str | None = None,
        dimensions: int | None = None,
        extra: Mapping[str, Any] | None = None,
        retries: int = RETRIES,
        timeout: float = TIMEOUT,
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise InputError(f"'{url}' is no http URL", "correct `served` in systems.toml")
        from openai import DefaultHttpxClient, OpenAI  # a second to import

        self._url, self._model, self._key = url, model, key
        self._key_variable = key_variable
        self._more: dict[str, Any] = {} if dimensions is None else {"dimensions": dimensions}
        if extra:
            self._more["extra_body"] = dict(extra)
        try:
            self._client = OpenAI(
                api_key=key or "none",
                base_url=url,
                max_retries=retries,
                timeout=timeout,
                # the texts are for this host alone
                http_client=DefaultHttpxClient(follow_redirects=False, timeout=timeout),
            )
        except Exception as error:  # noqa: BLE001 (of whichever HTTP library the client has)
            raise InputError(
                f"'{url}' is no URL ({said(str(error), key)})", "correct `served` in systems.toml"
            ) from None

    @property
    def place(self) -> str:
        """What it is called in a sentence."""
        return f"the endpoint {self._url}"

    def vectors(self, inputs: Sequence[Input], side: Side) -> NDArray[np.float32]:
        """Return one vector an input, in their order; both sides are asked for alike.

        Raises:
            TextRefusedError: for something that these inputs hold.
            InputError: for something that a person must mend.
        """
        import openai

        asked: Any = list(inputs)
        try:
            answer = self._client.embeddings.create(model=self._model, input=asked, **self._more)
        except openai.APIStatusError as error:
            raise self._fault(error) from None
        except openai.APIConnectionError as error:
            reason = said(str(error.__cause__ or error), self._key)
            raise InputError(
                f"{self.place} doesn't answer ({reason})",
                f"start it or check its URL, {_AGAIN}",
            ) from None
        except openai.OpenAIError as error:
            raise InputError(
                f"{self.place} gives no vectors ({said(str(error), self._key)})",
                "check that it is an endpoint for embeddings",
            ) from None
        except _NOT_DESCRIBED as error:  # of the client, decoding the answer
            raise self._malformed(said(str(error), self._key)) from None
        return self._ordered(answer, len(inputs))

    def _ordered(self, answer: Any, asked: int) -> NDArray[np.float32]:
        """Return the vectors of an answer, which the client hands on whatever it is."""
        try:
            rows = sorted(answer.data or [], key=lambda row: row.index)
            numbers = [row.index for row in rows]
        except _NOT_DESCRIBED:
            raise self._malformed("no list of numbered vectors") from None
        if numbers != list(range(asked)):
            raise self._malformed(f"{len(rows)} vectors for {asked} texts")
        try:
            found = np.array([row.embedding for row in rows], dtype=np.float32)
        except _NOT_DESCRIBED:
            raise self._malformed("vectors of several lengths, or no numbers") from None
        if found.ndim != 2:
            raise self._malformed("vectors that are no lists of numbers")
        return found

    def _malformed(self, what: str) -> InputError:
        return InputError(
            f"{self.place} answered with something else than vectors ({what})",
            "check that it is an endpoint for embeddings: it isn't what the card describes",
        )

    def _fault(self, error: Any) -> Exception:
        """Return what a status means."""
        stated = error.body.get("message") if isinstance(error.body, dict) else None
        status, told = error.status_code, said(str(stated or error.message), self._key)
        if status in (401, 403):  # what the server says may hold a part of the key
            where = (
                f"set {self._key_variable} to a valid one"
                if self._key_variable
                else "name the variable with its key as key_variable in systems.toml"
            )
            return InputError(f"{self.place} refuses the key", where)
        if 300 <= status < 400:
            there = said(error.response.headers.get("Location", "nowhere"), self._key)
            return InputError(
                f"{self.place} redirects to {there}",
                "state the URL that answers itself as `served` in systems.toml",
            )
        if status == 404:
            return InputError(
                f"{self.place} has no model '{self._model}', or is no endpoint for embeddings",
                "check `served` (it usually ends in /v1) and `served_model` in systems.toml",
            )
        if status == 429 and "quota" in told:
            return InputError(f"{self.place} says that the quota is used up", f"raise it, {_AGAIN}")
        if status == 429:
            return InputError(f"{self.place} is asked too often", f"wait, {_AGAIN}")
        too_long = bool(_TOO_LONG.search(told))
        if status >= 500 and not too_long:
            return InputError(f"{self.place} fails ({told})", f"mend it, {_AGAIN}")
        return TextRefusedError(f"{self.place} refuses it ({told})", too_long=too_long)
