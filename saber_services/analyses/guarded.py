"""How analyses ask retrievers: without disturbance, and without the faults of one ending all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext

from saber_assets.errors import InputError
from saber_assets.evaluation.text_scores import UnusableScoresError
from saber_assets.retrieval.entry import Entry
from saber_resources.lock import hold_models
from saber_services.analyses.kept import Kept


@contextmanager
def alone(kept: Kept, able: Mapping[str, Entry]) -> Iterator[None]:
    """Have the machine for models, where one of the retrievers runs a model.

    Raises:
        SetupError: when another process runs one in this workdir.
    """
    light = all(entry.is_light() for entry in able.values())
    with nullcontext() if light else hold_models(kept.settings.workdir.root, wait=False):
        yield


@contextmanager
def excused(unable: dict[str, str], name: str) -> Iterator[None]:
    """Leave a retriever out that can't be made or can't go on, with the reason."""
    try:
        yield
    except (InputError, UnusableScoresError) as error:
        unable[name] = str(error)
