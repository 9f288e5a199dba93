"""The ordinal judge: each candidate gets a score of its own (SPEC, "Other judges")."""

from __future__ import annotations

from collections.abc import Sequence

from saber_assets.annotation.annotator import Comparison, Failure, Problem
from saber_assets.annotation.replies.judging import read_score
from saber_assets.asking import Asker, PromptTemplate

Pair = tuple[str, str]


class OrdinalJudge:
    """Prefers the candidate with the higher score from 0 to 100; equal scores are a tie.

    A candidate is scored once for each query: kept here for the run, and in the store for the
    next one.

    Args:
        asker: asks the model.
        prompt: `ordinal_judge`, with `query` and `candidate`, each a Problem.
    """

    def __init__(self, asker: Asker, prompt: PromptTemplate) -> None:
        self.name = f"{asker.model} (ordinal)"
        self._asker = asker
        self._prompt = prompt
        self._scores: dict[Pair, int | Failure] = {}

    def compare(self, comparisons: Sequence[Comparison]) -> list[int | Failure]:
        """Return 1 or 2 for the higher score, 0 for equal scores."""
        missing: dict[Pair, tuple[Problem, Problem]] = {}
        for pair in comparisons:
            for candidate in (pair.first, pair.second):
                key = (pair.query.problem_id, candidate.problem_id)
                if key not in self._scores:
                    missing[key] = (pair.query, candidate)
        answers = self._asker.ask(
            list(missing.values()),
            self._prompt,
            lambda item: {"query": item[0], "candidate": item[1]},
            lambda item: read_score,
            lambda item: f"{item[0].problem_id}|{item[1].problem_id}",
        )
        self._scores.update(zip(missing, answers, strict=True))
        return [self._outcome(pair) for pair in comparisons]

    def _outcome(self, pair: Comparison) -> int | Failure:
        query_id = pair.query.problem_id
        scores: list[int] = []
        for candidate in (pair.first, pair.second):
            score = self._scores[query_id, candidate.problem_id]
            if isinstance(score, Failure):
                return Failure(f"candidate {candidate.problem_id} has no score: {score.reason}")
            scores.append(score)
        if scores[0] == scores[1]:
            return 0
        return 1 if scores[0] > scores[1] else 2
