"""The majority judge: the pairwise question asked several times (SPEC, "Other judges")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from saber_assets.annotation.annotator import Comparison, Failure
from saber_assets.annotation.replies.judging import read_verdict
from saber_assets.asking import Asker, PromptTemplate
from saber_assets.tournament.judges.judge import pair_values

CLOSE = 1
"""A margin of so many votes or less is a tie."""


class _Vote(NamedTuple):
    pair: Comparison
    number: int


class MajorityJudge:
    """Counts independent samples of the pairwise judge.

    A vote is told from the next by its sample index, so that the store keeps each of them. The
    votes of a pair follow each other: their prompts are the same. A pair with fewer than half of
    its votes left (rounded up) is a Failure; a margin of one or less is a tie.

    Args:
        asker: asks the model.
        prompt: `pairwise_judge`.
        votes: at least 2.
        temperature: of the samples; without any, all votes would be the same.
    """

    def __init__(
        self, asker: Asker, prompt: PromptTemplate, votes: int = 5, temperature: float = 1.0
    ) -> None:
        if votes < 2:
            raise ValueError(f"votes must be at least 2, got {votes}")
        if not temperature > 0:
            raise ValueError(f"the temperature of votes must be above 0, got {temperature}")
        self.name = f"{asker.model} (majority of {votes})"
        self._asker = asker
        self._prompt = prompt
        self._votes = votes
        self._temperature = temperature

    def compare(self, comparisons: Sequence[Comparison]) -> list[int | Failure]:
        """Return 1 or 2 for what most votes prefer, 0 for a tie."""
        answers = self._asker.ask_replies(
            [_Vote(pair, number) for pair in comparisons for number in range(self._votes)],
            self._prompt,
            lambda vote: pair_values(vote.pair),
            lambda vote: lambda reply: read_verdict(reply.text or ""),
            lambda vote: vote.pair.label,
            sampling={"temperature": self._temperature},
            sample=lambda vote: vote.number,
        )
        return [
            count(answers[start : start + self._votes])
            for start in range(0, len(answers), self._votes)
        ]


def count(votes: Sequence[int | Failure]) -> int | Failure:
    """Return what most votes say: 1, 2, or 0 for a margin of one or less.

    Returns:
        A Failure, with the first vote's reason, where fewer than half of the votes are there.
    """
    cast = [vote for vote in votes if isinstance(vote, int)]
    if 2 * len(cast) < len(votes) or not cast:
        reasons = [vote.reason for vote in votes if isinstance(vote, Failure)]
        return Failure(f"{len(reasons)} of {len(votes)} votes failed, the first: {reasons[0]}")
    margin = cast.count(1) - cast.count(2)
    if abs(margin) <= CLOSE:
        return 0
    return 1 if margin > 0 else 2
