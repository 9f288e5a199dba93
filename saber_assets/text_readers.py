"""Who reads threads and documents, as a profile asks for it, and what identifies them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from saber_assets.corpus.document_rules import RulesDocumentCutter
from saber_assets.corpus.documents import DocumentCutter
from saber_assets.corpus.thread_funnel import LlmThreadJudge, ThreadJudge
from saber_assets.corpus.thread_rules import RulesThreadJudge
from saber_assets.materialize import Values
from saber_assets.model_prompts import LLM_POOL, prompt_of
from saber_resources.chat_source import open_chat
from saber_resources.settings import Settings
from saber_resources.worker_hold import worker_opener

THREAD_PROMPTS = ("aops_self_contained", "aops_solutions", "aops_choose")


def reader_values(settings: Settings, *prompts: str) -> Values:
    """Return what identifies the reader where it asks these prompts."""
    if settings.profile.corpus.annotator == "rules":
        return {"reader": {"kind": "rules"}}
    return {
        "reader": {"kind": "llm", "model": settings.profile.llm.model},
        "prompts": {name: prompt_of(settings, name).fingerprint for name in prompts},
    }


def reader_pool(settings: Settings) -> str | None:
    """Return the pool that a reading asset needs a slot of."""
    return LLM_POOL if settings.profile.corpus.annotator == "llm" else None


def reader_kinds(settings: Settings) -> tuple[Literal["ai", "heuristic"]]:
    """Return how the graph shows a reading asset."""
    return ("ai",) if settings.profile.corpus.annotator == "llm" else ("heuristic",)


def document_prompts(settings: Settings) -> tuple[str, ...]:
    """Return the prompts that documents are read with."""
    translation = ("translation",) if settings.profile.corpus.translate else ()
    return ("document_segmentation", "latex_normalisation", *translation)


@contextmanager
def open_thread_judge(settings: Settings) -> Iterator[ThreadJudge]:
    """Yield who decides about threads; connections are closed afterwards.

    Raises:
        SetupError: when the language model isn't configured or can't be reached.
    """
    if settings.profile.corpus.annotator == "rules":
        yield RulesThreadJudge()
        return
    with _chat(settings) as chat:
        self_contained, solutions, choose = (prompt_of(settings, name) for name in THREAD_PROMPTS)
        re_asks = settings.profile.llm.re_asks
        yield LlmThreadJudge(chat, self_contained, solutions, choose, re_asks)


@contextmanager
def open_cutter(settings: Settings) -> Iterator[DocumentCutter]:
    """Yield who cuts documents; connections are closed afterwards.

    Raises:
        SetupError: when the language model isn't configured or can't be reached.
    """
    corpus = settings.profile.corpus
    if corpus.annotator == "rules":
        yield RulesDocumentCutter()
        return
    from saber_assets.corpus.llm_document_cutter import LlmDocumentCutter

    with _chat(settings) as chat:
        yield LlmDocumentCutter(
            chat,
            prompt_of(settings, "document_segmentation"),
            prompt_of(settings, "translation") if corpus.translate else None,
            prompt_of(settings, "latex_normalisation"),
            re_asks=settings.profile.llm.re_asks,
            most_characters=corpus.max_document_characters,
        )


@contextmanager
def _chat(settings: Settings) -> Iterator[Any]:
    with open_chat(
        settings.profile.llm, settings.workdir.responses, worker_opener(settings)
    ) as chat:
        yield chat
