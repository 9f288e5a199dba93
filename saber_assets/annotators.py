"""Which annotator a profile asks for, ready to use, and what identifies it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import polars as pl

from saber_assets.annotation.annotator import Annotator
from saber_assets.annotation.lexical import REVISION, LexicalAnnotator
from saber_assets.materialize import Values, code_version, content_hash
from saber_resources.prompts import Prompt, load_prompt
from saber_resources.settings import Settings

Kind = Literal["lexical", "llm"]
Step = Literal["topic_scores", "summary", "pairwise_judge"]


def annotator_values(settings: Settings, kind: Kind, step: Step) -> Values:
    """Return what identifies an annotator at one step: stale is whatever was made by another."""
    if kind == "lexical":
        return {"annotator": {"kind": "lexical", "revision": REVISION}}
    return {
        "annotator": {"kind": "llm", "model": settings.profile.llm.model},
        "prompts": {step: prompt_of(settings, step).fingerprint},
    }


def verdict_maker(settings: Settings, kind: Kind, tree: pl.DataFrame) -> str:
    """Return a hash of all that a verdict on two given candidates depends on.

    The heuristic reads the ontology; a language model is never shown it.
    """
    values = annotator_values(settings, kind, "pairwise_judge")
    read = {"ontology": content_hash(tree)} if kind == "lexical" else {}
    return code_version(1, {**values, **read})


def prompt_of(settings: Settings, step: Step) -> Prompt:
    """Return the workdir's own version of a prompt, or the one that ships with the project."""
    own = settings.workdir.prompts
    return load_prompt(step, own if (own / f"{step}.md").is_file() else None)


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
    # only here: the client library takes a second to import
    from saber_assets.annotation.llm import LlmAnnotator
    from saber_resources.llm_gateway import open_gateway

    with open_gateway(settings.profile.llm, settings.workdir.responses) as gateway:
        yield LlmAnnotator(
            gateway,
            topic_scores=prompt_of(settings, "topic_scores"),
            summary=prompt_of(settings, "summary"),
            pairwise_judge=prompt_of(settings, "pairwise_judge"),
            re_asks=settings.profile.llm.re_asks,
        )
