"""What an endpoint is sent of a text: the windows of the encoding contract.

With the model's tokenizer at hand, that is the token numbers of each window. Without one, a text
that surely fits is sent as it is, and for any other the endpoint's own tokenizer is asked. Both
give the model the same tokens. An endpoint that shares no tokenizer is sent texts, and what it
finds too long is cut in halves.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saber_assets.errors import InputError
from saber_assets.retrieval.encoding.contract import (
    PROBE,
    Contract,
    Envelope,
    Ids,
    Side,
    special_tokens,
    windows,
    with_eos,
)
from saber_assets.retrieval.remote.json_endpoint import JsonEndpoint, StatusError
from saber_assets.retrieval.remote.remote_encoder import Input, TextRefusedError, cut

REVISION = 1
SPARE = 16
"""Tokens that special ones may take, over the bytes of a text."""
PROBE_TEXT = "Let $f(x)=\\frac{x^2}{3}$. Prove that 17 ≤ π·n."

TAILS = ("circle ", "two letters ")
LEAST_TAIL = 16
"""What two texts end with that tell whether a server reads all of a text; words, at least."""
SAME = 1e-3
"""How far two vectors of the same tokens may lie apart, over their greatest number."""

Embed = Callable[[list[Input]], NDArray[np.float32]]
"""From texts to their vectors, one a row."""

EXACT = "windows"
"""The mode of whoever knows the tokens."""

Tokens = Callable[[str, bool], Ids]
"""From a text to its token numbers, with special ones if the second argument says so."""

Dialect = Callable[[str, str, bool], dict[str, Any]]
"""From a model's name, a text, and whether special tokens are wanted to a request."""

_DIALECTS: tuple[Dialect, ...] = (
    # vLLM's
    lambda model, text, special: {"model": model, "prompt": text, "add_special_tokens": special},
    # llama.cpp's
    lambda model, text, special: {"content": text, "add_special": special},
)


class WholeTexts:
    """Texts in their templates, cut in halves where the service finds them too long."""

    def __init__(self, query_template: str, document_template: str) -> None:
        self._templates = {"query": query_template, "document": document_template}

    @property
    def mode(self) -> str:
        """How texts are cut."""
        return "halves"

    def of(self, text: str, side: Side) -> list[Input]:
        """Return the text in its template; nothing for an empty one."""
        whole = self._templates[side].replace("{" + side + "}", text, 1)
        return [whole] if whole else []

    def halves(self, text: str) -> list[str]:
        """Return the text in two parts."""
        return cut(text, 2)

    def with_query_template(self, template: str) -> WholeTexts:
        """Return others of which queries stand in another template."""
        return WholeTexts(template, self._templates["document"])


class TokenWindows:
    """The windows of a contract.

    Args:
        contract: templates, end-of-text token and window.
        tokens: the model's tokenizer.
        eos: number of the end-of-text token, None where the contract has none.
        short_as_text: whether a text that surely fits is sent without asking the tokenizer, if
            that gives the same tokens.
        place: whose windows they are, for a message.
    """

    def __init__(
        self,
        contract: Contract,
        tokens: Tokens,
        eos: int | None,
        *,
        short_as_text: bool,
        place: str,
    ) -> None:
        self._contract, self._tokens, self._eos, self._place = contract, tokens, eos, place
        special = special_tokens(tokens)
        self._envelopes = {side: self._envelope(side, special) for side in ("query", "document")}
        ends = eos is None or special.tail[-1:] == [eos]
        self._end = "" if ends else contract.eos
        self._short_as_text = short_as_text and (
            tokens(PROBE + self._end, True) == with_eos(tokens(PROBE, True), eos)
        )

    @property
    def mode(self) -> str:
        """How texts are cut: into the same tokens, whoever tells them."""
        return EXACT

    def of(self, text: str, side: Side) -> list[Input]:
        """Return the windows of a text, none for one without tokens."""
        before, after = self._contract.around(side)
        written = before + text + after
        if self._short_as_text and self._surely_fits(written):
            ended = written if self._end and written.endswith(self._end) else written + self._end
            if ended:
                return [ended]
        whole = with_eos(self._tokens(written, True), self._eos)
        bare = [] if len(whole) <= self._contract.window else self._tokens(text, False)
        pieces = windows(whole, bare, self._envelopes[side], self._contract.window)
        return [piece for piece in pieces if piece]

    def halves(self, text: str) -> list[str]:
        """Refuse: these windows are those of the model.

        Raises:
            InputError: always.
        """
        window = self._contract.window
        raise InputError(
            f"{self._place} reads fewer tokens at a time than the model's window of {window}",
            f"serve it with --max-model-len {window}, or state a smaller window in systems.toml",
        )

    def with_query_template(self, template: str) -> TokenWindows:
        """Return others of which queries stand in another template."""
        return TokenWindows(
            replace(self._contract, query_template=template),
            self._tokens,
            self._eos,
            short_as_text=self._short_as_text,
            place=self._place,
        )

    def _surely_fits(self, written: str) -> bool:
        return len(written.encode("utf-8")) + SPARE <= self._contract.window

    def _envelope(self, side: str, special: Envelope) -> Envelope:
        before, after = self._contract.around("query" if side == "query" else "document")
        tail = [*(self._tokens(after, False) if after else []), *special.tail]
        head = [*special.head, *(self._tokens(before, False) if before else [])]
        return Envelope(head, with_eos(tail, self._eos))


class ServedWindows:
    """The windows of a contract at an endpoint, which is asked what it can do when first needed.

    Args:
        contract: templates, end-of-text token and window.
        embed: the server's vectors of some texts.
        endpoint: the server, without its /v1.
        model: its name there.
        tokenizer: file of the model's tokenizer, or None.
        place: what the endpoint is called in a sentence.
    """

    def __init__(
        self,
        contract: Contract,
        embed: Embed,
        endpoint: JsonEndpoint,
        model: str,
        tokenizer: Path | None,
        place: str,
    ) -> None:
        self._contract, self._embed = contract, embed
        self._endpoint, self._model = endpoint, model
        self._file, self._place = tokenizer, place
        self._lock = threading.Lock()
        self._found: TokenWindows | WholeTexts | None = None
        self._fault: InputError | None = None

    @property
    def mode(self) -> str:
        """How texts are cut.

        Where a server isn't there, or is refused, nothing will be embedded, and what was kept of
        the contract's own windows can be read.
        """
        try:
            return self._windows().mode
        except InputError:
            return EXACT

    def of(self, text: str, side: Side) -> list[Input]:
        """Return the windows of a text, none for one without tokens."""
        return self._windows().of(text, side)

    def halves(self, text: str) -> list[str]:
        """Return a text in two parts, where nobody knows its tokens."""
        return self._windows().halves(text)

    def with_query_template(self, template: str) -> ServedWindows:
        """Return others of which queries stand in another template."""
        contract = replace(self._contract, query_template=template)
        return ServedWindows(
            contract, self._embed, self._endpoint, self._model, self._file, self._place
        )

    def _windows(self) -> TokenWindows | WholeTexts:
        with self._lock:
            if self._fault is not None:  # the others that wait here needn't try again
                raise self._fault
            if self._found is None:
                try:
                    self._found = self._choose()
                except InputError as error:
                    self._fault = error
                    raise
                except (TextRefusedError, KeyError, TypeError, ValueError) as error:
                    self._fault = InputError(
                        f"{self._place} gives no tokens of a short text ({error})",
                        "check which model it serves",
                    )
                    raise self._fault from None
            return self._found

    def _choose(self) -> TokenWindows | WholeTexts:
        served = served_tokens(self._endpoint, self._model, self._place)
        if self._file is not None:
            tokens = file_tokens(self._file)
            if served is not None and served(PROBE_TEXT, True) != tokens(PROBE_TEXT, True):
                raise InputError(
                    f"{self._place} splits texts into other tokens than {self._file}",
                    "check which model it serves, or remove that file",
                )
            return self._by_tokens(tokens, short_as_text=False)
        if served is not None:
            return self._by_tokens(served, short_as_text=True)
        if self._contract.eos:
            raise InputError(
                f"{self._place} has no /tokenize, so nobody can tell whether it ends texts with "
                f"{self._contract.eos}",
                "put the model's tokenizer.json into a folder and state it as `weights` in "
                "systems.toml",
            )
        check_reads_all(self._embed, self._contract.window, self._place)
        return WholeTexts(self._contract.query_template, self._contract.document_template)

    def _by_tokens(self, tokens: Tokens, *, short_as_text: bool) -> TokenWindows:
        eos = None
        if self._contract.eos:
            found = tokens(self._contract.eos, False)
            if len(found) != 1:
                raise InputError(
                    f"'{self._contract.eos}' is no single token of the model at {self._place}",
                    "check which model it serves, and eos in systems.toml",
                )
            eos = found[0]
        return TokenWindows(
            self._contract, tokens, eos, short_as_text=short_as_text, place=self._place
        )


def check_reads_all(embed: Embed, window: int, place: str) -> None:
    """Refuse a server that embeds the head of a long text as if it were the text.

    Two texts are embedded that differ only behind the window. A server that finds them too long
    says so, and their like will be cut; one that reads more than the window tells them apart.

    Args:
        embed: the server's vectors.
        window: tokens that the model reads at a time.
        place: what the server is called in a sentence.

    Raises:
        InputError: when both get the same vector.
    """
    head = "number " * window  # a token a word, or more
    often = max(LEAST_TAIL, window // 4)
    try:
        one, other = embed([head + word * often for word in TAILS])
    except TextRefusedError:
        return
    if np.abs(one - other).max() <= SAME * np.abs(one).max():
        raise InputError(
            f"{place} embeds only the head of a text that is longer than {window} tokens, and "
            "doesn't say so",
            "serve the model with something that has /tokenize, such as vLLM, or put its "
            "tokenizer.json into a folder and state that as `weights` in systems.toml",
        )


def file_tokens(file: Path) -> Tokens:
    """Return the tokenizer of a file tokenizer.json, without the truncation that it may ask for."""
    from tokenizers import Tokenizer

    made = Tokenizer.from_file(str(file))
    made.no_truncation()
    made.no_padding()
    return lambda text, special: list(made.encode(text, add_special_tokens=special).ids)


def served_tokens(endpoint: JsonEndpoint, model: str, place: str) -> Tokens | None:
    """Return the tokenizer of an endpoint, None where it offers none."""
    for dialect in _DIALECTS:
        try:
            if _numbers(endpoint.post("tokenize", dialect(model, PROBE, False))):
                return _asking(endpoint, model, dialect, place)
        except InputError:
            raise
        except StatusError as error:
            if error.status in (401, 403):
                raise InputError(
                    f"{place} refuses the key", "check key_variable in systems.toml"
                ) from None
        except (KeyError, TypeError, ValueError):
            continue
    return None


def _asking(endpoint: JsonEndpoint, model: str, dialect: Dialect, place: str) -> Tokens:
    def tokens(text: str, special: bool) -> Ids:
        try:
            return _numbers(endpoint.post("tokenize", dialect(model, text, special)))
        except StatusError as error:
            reason = f"{place} can't split it into tokens ({error})"
            if 400 <= error.status < 500:
                raise TextRefusedError(reason) from None
            raise InputError(reason, "mend it, then run again: what was answered is kept") from None

    return tokens


def _numbers(answer: Any) -> Ids:
    try:
        return [int(number) for number in answer["tokens"]]
    except OverflowError:
        raise ValueError("infinite numbers of tokens") from None
