"""Which annotator a profile asks for, ready to use, and what identifies it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

import polars as pl

from saber_assets.annotation.annotator import Annotator
from saber_assets.annotation.asking import Asker
from saber_assets.annotation.lexical import REVISION, LexicalAnnotator
from saber_assets.materialize import Values
from saber_assets.tournament.judges.judge import PairJudge
from saber_resources.chat_source import open_chat, wrapped
from saber_resources.profiles import Judge
from saber_resources.prompts import Prompt, load_prompt
from saber_resources.settings import Settings
from saber_resources.worker_hold import worker_opener

LLM_POOL = "llm"
"""The pool of assets that ask a language model: one at a time uses the workers' GPUs."""

Kind = Literal["lexical", "llm"]
Step = Literal[
    "topic_scores",
    "summary",
    "pairwise_judge",
    "ordinal_judge",
    "technique_profile",
    "profiled_judge",
]
JUDGE_PROMPTS: Mapping[Judge, tuple[Step, ...]] = {
    "pairwise": ("pairwise_judge",),
    "majority": ("pairwise_judge",),
    "confidence": ("pairwise_judge",),
    "ordinal": ("ordinal_judge",),
    "profiled": ("technique_profile", "profiled_judge"),
}
"""The prompts that each judge uses, and no others."""


def annotator_values(settings: Settings, kind: Kind, *steps: Step) -> Values:
    """Return what identifies an annotator at one step: stale is whatever was made by another."""
    if kind == "lexical":
        return {"annotator": {"kind": "lexical", "revision": REVISION}}
    return {
        "annotator": {"kind": "llm", "model": settings.profile.llm.model},
        "prompts": {step: prompt_of(settings, step).fingerprint for step in steps},
    }


def judge_values(settings: Settings) -> Values:
    """Return what identifies the judge: its model, its kind, its votes, its own prompts."""
    judging = settings.profile.judging
    values = annotator_values(settings, judging.annotator, *JUDGE_PROMPTS[judging.judge])
    if judging.annotator == "lexical":
        return values
    judge: dict[str, Any] = {"judge": judging.judge}
    if judging.judge == "majority":
        judge |= {"votes": judging.votes, "vote_temperature": judging.vote_temperature}
    return {**values, "judging": judge}


def pool_of(kind: Kind) -> str | None:
    """Return the pool that an asset needs a slot of, by who annotates or judges there."""
    return LLM_POOL if kind == "llm" else None


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


@contextmanager
def open_judge(settings: Settings, tree: pl.DataFrame) -> Iterator[PairJudge]:
    """Yield the judge that the profile asks for; everything is closed afterwards.

    Args:
        settings: where the endpoint and the store are, and which judge is meant.
        tree: ONTOLOGY_TREE.

    Raises:
        SetupError: when the language model isn't configured or can't be reached.
    """
    judging = settings.profile.judging
    if judging.annotator == "lexical" or judging.judge == "pairwise":
        with open_annotator(settings, judging.annotator, tree) as annotator:
            yield annotator
        return
    with open_chat(settings.profile.llm, settings.workdir.responses) as chat:
        yield wrapped(_judge(settings, Asker(chat, settings.profile.llm.re_asks)))


def _judge(settings: Settings, asker: Asker) -> PairJudge:
    # only here: the others aren't needed
    from saber_assets.tournament.judges.confidence import ConfidenceJudge
    from saber_assets.tournament.judges.majority import MajorityJudge
    from saber_assets.tournament.judges.ordinal import OrdinalJudge
    from saber_assets.tournament.judges.profiled import ProfiledJudge

    judging = settings.profile.judging
    prompts = [prompt_of(settings, step) for step in JUDGE_PROMPTS[judging.judge]]
    if judging.judge == "majority":
        return MajorityJudge(asker, prompts[0], judging.votes, judging.vote_temperature)
    if judging.judge == "confidence":
        return ConfidenceJudge(asker, prompts[0])
    if judging.judge == "ordinal":
        return OrdinalJudge(asker, prompts[0])
    return ProfiledJudge(asker, *prompts)
