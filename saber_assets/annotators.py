"""Which annotator a profile asks for, ready to use, and what identifies it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import polars as pl

from saber_assets.annotation.annotator import Annotator
from saber_assets.annotation.lexical import REVISION, LexicalAnnotator
from saber_assets.materialize import Values
from saber_resources.settings import Settings

Kind = Literal["lexical", "llm"]
Step = Literal["topic_scores", "summary", "pairwise_judge"]


def annotator_values(settings: Settings, kind: Kind, step: Step) -> Values:
    """Return what identifies an annotator at one step: stale is whatever was made by another."""
    if kind == "lexical":
        return {"annotator": {"kind": "lexical", "revision": REVISION}}
    from saber_resources.prompts import load_prompt

    return {
        "annotator": {"kind": "llm", "model": settings.profile.llm.model},
        "prompts": {step: load_prompt(step).fingerprint},
    }


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
    from saber_resources.prompts import load_prompt

    with open_gateway(settings.profile.llm, settings.workdir.responses) as gateway:
        yield LlmAnnotator(
            gateway,
            topic_scores=load_prompt("topic_scores"),
            summary=load_prompt("summary"),
            pairwise_judge=load_prompt("pairwise_judge"),
            re_asks=settings.profile.llm.re_asks,
        )
