"""The retrievers that a workdir has on its board, ready to be made."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from saber_assets.retrieval.entry import Entry
from saber_assets.retrieval.registry import registry
from saber_resources.chat_source import open_chat
from saber_resources.settings import Settings


def retrievers_of(settings: Settings) -> dict[str, Entry]:
    """Return the entries in force, by name; see `registry`.

    Those that ask a language model reach it as the profile's section `llm` says, at their own
    endpoint; answers are kept in the workdir's response store.

    Raises:
        InputError: for an unknown name, or a malformed list of own retrievers.
    """

    def opened(model: str, url: str, key_variable: str) -> AbstractContextManager[Any]:
        llm = settings.profile.llm.model_copy(
            update={"model": model, "endpoints": (url,), "api_key_variable": key_variable}
        )
        return open_chat(llm, settings.workdir.responses)

    return registry(settings.profile.retrieval.retrievers, settings.workdir.own_retrievers, opened)
