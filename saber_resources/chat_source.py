"""Where language models come from: the gateway, or what a caller puts in its place.

A plan puts a model there that only looks answers up, so that planning runs the same code as a
build and the two can't disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saber_resources.profiles import Llm

Opener = Callable[[Llm, Path], AbstractContextManager[Any]]
"""From the profile's section and the path of the response store to an opened chat model."""
Wrap = Callable[[Any], Any]
"""From whoever annotates or judges through the model to who does it in their place."""


@dataclass
class _Current:
    """What is in force."""

    opener: Opener | None = None
    wrap: Wrap | None = None


_current = _Current()


@contextmanager
def use_chat(opener: Opener, wrap: Wrap | None = None) -> Iterator[None]:
    """Take models from another source as long as the context lasts."""
    before = (_current.opener, _current.wrap)
    _current.opener, _current.wrap = opener, wrap
    try:
        yield
    finally:
        _current.opener, _current.wrap = before


@contextmanager
def open_chat(llm: Llm, store: Path, own: Opener | None = None) -> Iterator[Any]:
    """Yield the model of a profile; by default a gateway to its endpoints.

    Args:
        llm: the profile's section.
        store: path of the response store.
        own: what opens it where nothing else is in force, such as workers of our own.

    Raises:
        SetupError: when no model is configured or the store can't be opened.
    """
    with (_current.opener or own or _gateway)(llm, store) as chat:
        yield chat


def wrapped(annotator: Any) -> Any:
    """Return who annotates in place of an annotator that asks a model."""
    return annotator if _current.wrap is None else _current.wrap(annotator)


def _gateway(llm: Llm, store: Path) -> AbstractContextManager[Any]:
    # only here: the client library takes a second to import
    from saber_resources.llm_gateway import open_gateway

    return open_gateway(llm, store)
