"""Which annotator a profile asks for, ready to use, and what identifies it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import polars as pl

from saber_assets.annotation.annotator import Annotator
from saber_assets.annotation.lexical import REVISION, LexicalAnnotator
from saber_assets.content_hash import content_hash
from saber_assets.materialize import Values, code_version
from saber_assets.model_prompts import LLM_POOL, prompt_of
from saber_resources.chat_source import open_chat, wrapped
from saber_resources.settings import Settings
from saber_resources.worker_hold import worker_opener

Kind = Literal["lexical", "llm"]
Step = Literal[
    "topic_scores",
    "summary",
    "pairwise_judge",
    "ordinal_judge",
    "technique_profile",
    "profiled_judge",
    "query_rewriting",
    "leakage_audit",
]


def annotator_values(settings: Settings, kind: Kind, *steps: Step) -> Values:
    """Return what identifies an annotator at one step: stale is whatever was made by another."""
    if kind == "lexical":
        return {"annotator": {"kind": "lexical", "revision": REVISION}}
    return {
        "annotator": {"kind": "llm", "model": settings.profile.llm.model},
        "prompts": {step: prompt_of(settings, step).fingerprint for step in steps},
    }


def pool_of(kind: Kind) -> str | None:
    """Return the pool that an asset needs a slot of, by who annotates or judges there."""
    return LLM_POOL if kind == "llm" else None


def verdict_maker(who: Values, kind: Kind, tree: pl.DataFrame) -> str:
    """Return a hash of all that a verdict on two given candidates depends on.

    The heuristic reads the ontology; a language model is never shown it.

    Args:
        who: what identifies the judge.
        kind: `lexical` or `llm`.
        tree: ONTOLOGY_TREE.
    """
    read = {"ontology": content_hash(tree)} if kind == "lexical" else {}
    return code_version(1, {**who, **read})


@contextmanager
def open_annotator(settings: Settings, kind: Kind, tree: pl.DataFrame) -> Iterator[Annotator]:
    """Yield the annotator; connections and the response store are closed afterwards.

    Args:
        settings: where the endpoint and the store are.
        kind: `lexical`, the heuristic, or `llm`.
        tree: ONTOLOGY_TREE.

    Raises:
        SetupError: when the language model isn't configured or can't be reached.
    """
    if kind == "lexical":
        yield LexicalAnnotator(tree)
        return
    # only here: it isn't needed by heuristics
    from saber_assets.annotation.llm import LlmAnnotator

    store, own = settings.workdir.responses, worker_opener(settings)
    with open_chat(settings.profile.llm, store, own) as chat:
        yield wrapped(
            LlmAnnotator(
                chat,
                topic_scores=prompt_of(settings, "topic_scores"),
                summary=prompt_of(settings, "summary"),
                pairwise_judge=prompt_of(settings, "pairwise_judge"),
                re_asks=settings.profile.llm.re_asks,
            )
        )
