"""The retrievers that a workdir has on its board, ready to be made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from saber_assets.asking import ChatRequest
from saber_assets.errors import UnavailableError
from saber_assets.retrieval.entry import Entry
from saber_assets.retrieval.registry import registry
from saber_resources.chat_source import open_chat
from saber_resources.errors import SetupError
from saber_resources.profiles import Llm
from saber_resources.settings import Settings


class ReachedModel:
    """A language model whose faults of set-up, such as a server that is gone, end a scoring run.

    Args:
        chat: the model; all else reaches it unchanged.
    """

    def __init__(self, chat: Any) -> None:
        self._chat = chat

    def __getattr__(self, name: str) -> Any:
        """Return what the model itself has."""
        return getattr(self._chat, name)

    def complete(self, requests: Sequence[ChatRequest]) -> Any:
        """Return one reply for each request, in order.

        Raises:
            UnavailableError: where none can come any more, whatever is asked.
        """
        try:
            return self._chat.complete(requests)
        except SetupError as error:
            raise UnavailableError(error.what, error.mend) from error


def section_of(llm: Llm, model: str, url: str, key_variable: str) -> Llm:
    """Return the profile's section for a retriever's model at an endpoint of its own.

    `max_cost` holds for it where it has a price, and where a key is sent: that may cost money, and
    is refused without a price. A server of one's own that takes no key costs nothing.
    """
    prices = llm.price_per_million
    priced = model in prices if isinstance(prices, dict) else prices is not None
    return llm.model_copy(
        update={
            "model": model,
            "endpoints": (url,),
            "api_key_variable": key_variable,
            "max_cost": llm.max_cost if priced or key_variable else None,
        }
    )


def retrievers_of(settings: Settings) -> dict[str, Entry]:
    """Return the entries in force, by name; see `registry`.

    Those that ask a language model reach it as the profile's section `llm` says, at their own
    endpoint; answers are kept in the workdir's response store.

    Raises:
        InputError: for an unknown name, or a malformed list of own retrievers.
    """

    @contextmanager
    def opened(model: str, url: str, key_variable: str) -> Iterator[ReachedModel]:
        llm = section_of(settings.profile.llm, model, url, key_variable)
        try:
            with open_chat(llm, settings.workdir.responses) as chat:
                yield ReachedModel(chat)
        except SetupError as error:
            raise UnavailableError(f"{model} can't be asked, {error.what}", error.mend) from error

    return registry(settings.profile.retrieval.retrievers, settings.workdir.own_retrievers, opened)
