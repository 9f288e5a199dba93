"""Which judge a profile asks for, ready to use, and what identifies it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import polars as pl

from saber_assets.annotators import Step, annotator_values, open_annotator
from saber_assets.asking import Asker
from saber_assets.materialize import Values
from saber_assets.model_prompts import prompt_of
from saber_assets.tournament.judges.confidence import ConfidenceJudge
from saber_assets.tournament.judges.judge import PairJudge
from saber_assets.tournament.judges.majority import MajorityJudge
from saber_assets.tournament.judges.ordinal import OrdinalJudge
from saber_assets.tournament.judges.profiled import ProfiledJudge
from saber_resources.chat_source import open_chat, wrapped
from saber_resources.profiles import Judge
from saber_resources.settings import Settings
from saber_resources.worker_hold import worker_opener

JUDGE_PROMPTS: Mapping[Judge, tuple[Step, ...]] = {
    "pairwise": ("pairwise_judge",),
    "majority": ("pairwise_judge",),
    "confidence": ("pairwise_judge",),
    "ordinal": ("ordinal_judge",),
    "profiled": ("technique_profile", "profiled_judge"),
}
"""The prompts that each judge uses, and no others."""


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
    store, own = settings.workdir.responses, worker_opener(settings)
    with open_chat(settings.profile.llm, store, own) as chat:
        yield wrapped(_judge(settings, Asker(chat, settings.profile.llm.re_asks)))


def _judge(settings: Settings, asker: Asker) -> PairJudge:
    judging = settings.profile.judging
    prompts = [prompt_of(settings, step) for step in JUDGE_PROMPTS[judging.judge]]
    if judging.judge == "majority":
        return MajorityJudge(asker, prompts[0], judging.votes, judging.vote_temperature)
    if judging.judge == "confidence":
        return ConfidenceJudge(asker, prompts[0])
    if judging.judge == "ordinal":
        return OrdinalJudge(asker, prompts[0])
    return ProfiledJudge(asker, *prompts)
