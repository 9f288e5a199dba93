"""The annotator that asks a language model: topic scores, summaries, plain pairwise verdicts."""

from __future__ import annotations

from collections.abc import Sequence

from saber_assets.annotation.annotator import Comparison, Failure, Problem, Summary, TopicTask
from saber_assets.annotation.replies.annotating import (
    asks_for_best,
    read_best,
    read_scores,
    read_summary,
    topics_schema,
)
from saber_assets.annotation.replies.judging import read_verdict
from saber_assets.asking import Asker, ChatModel, ChatRequest, PromptTemplate

__all__ = ["ChatModel", "ChatRequest", "LlmAnnotator"]


class LlmAnnotator:
    """An Annotator that asks a language model (SPEC, "Topic sets", "Summary", "Tournament").

    Args:
        chat: the model.
        topic_scores: prompt with `path`, `names`, `statement`, `solution`.
        summary: prompt with `statement`, `solution`.
        pairwise_judge: prompt with `query`, `first`, `second`, each a Problem.
        re_asks: how often a reply that can't be used is asked for again.
    """

    def __init__(
        self,
        chat: ChatModel,
        topic_scores: PromptTemplate,
        summary: PromptTemplate,
        pairwise_judge: PromptTemplate,
        re_asks: int = 2,
    ) -> None:
        self.name = chat.model
        self._asker = Asker(chat, re_asks)
        self._topic_scores = topic_scores
        self._summary = summary
        self._judge = pairwise_judge

    def score_topics(self, tasks: Sequence[TopicTask]) -> list[tuple[float, ...] | Failure]:
        """Return a score in [0, 1] for each offered name of each task."""
        schema = self._topic_scores.schema
        read = read_best if asks_for_best(schema) else read_scores
        return self._asker.ask(
            tasks,
            self._topic_scores,
            lambda task: {
                "path": task.path,
                "names": task.names,
                "statement": task.problem.statement,
                "solution": task.problem.solution,
            },
            lambda task: lambda reply: read(reply, task.names),
            lambda task: f"{task.problem.problem_id}|{' > '.join(task.path)}",
            schema_of=lambda task: topics_schema(schema, task.names),
        )

    def summarise(self, problems: Sequence[Problem]) -> list[Summary | Failure]:
        """Return the core idea of each solution."""
        return self._asker.ask(
            problems,
            self._summary,
            lambda problem: {"statement": problem.statement, "solution": problem.solution},
            lambda problem: read_summary,
            lambda problem: problem.problem_id,
        )

    def compare(self, comparisons: Sequence[Comparison]) -> list[int | Failure]:
        """Return 1 where the first candidate is the more useful one, 2 where the second is."""
        return self._asker.ask(
            comparisons,
            self._judge,
            lambda pair: {"query": pair.query, "first": pair.first, "second": pair.second},
            lambda pair: read_verdict,
            lambda pair: pair.label,
        )
