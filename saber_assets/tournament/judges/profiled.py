"""The profiled judge: compares technique profiles, each extracted once, instead of solutions.

The plain judge works out the techniques of all three problems in every call: a problem in twenty
pairings is analysed twenty times. Here each problem is analysed once, in a call of its own whose
answer is kept in the store, and a pairing shows the statements with these profiles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from saber_assets.annotation.annotator import Comparison, Failure, Problem
from saber_assets.annotation.replies.judging import (
    TechniqueProfile,
    read_profile,
    read_verdict,
)
from saber_assets.asking import Asker, PromptTemplate


@dataclass(frozen=True)
class ProfiledProblem:
    """What the prompt `profiled_judge` shows of a problem."""

    statement: str
    profile: str


class ProfiledJudge:
    """Compares statements and technique profiles.

    Args:
        asker: asks the model.
        profile_prompt: `technique_profile`, with `statement` and `solution`.
        judge_prompt: `profiled_judge`, with `query`, `first` and `second`, each a
            ProfiledProblem.
    """

    def __init__(
        self, asker: Asker, profile_prompt: PromptTemplate, judge_prompt: PromptTemplate
    ) -> None:
        self.name = f"{asker.model} (profiled)"
        self._asker = asker
        self._profile_prompt = profile_prompt
        self._judge_prompt = judge_prompt
        self._profiles: dict[str, str | Failure] = {}

    def compare(self, comparisons: Sequence[Comparison]) -> list[int | Failure]:
        """Return 1 or 2; a pair with a problem without profile is a Failure."""
        self._extract(comparisons)
        outcomes = [self._missing(pair) for pair in comparisons]
        places = [place for place, outcome in enumerate(outcomes) if outcome is None]
        answers = self._asker.ask(
            [comparisons[place] for place in places],
            self._judge_prompt,
            self._values,
            lambda pair: read_verdict,
            lambda pair: pair.label,
        )
        answered = dict(zip(places, answers, strict=True))
        return [
            answered[place] if outcome is None else outcome
            for place, outcome in enumerate(outcomes)
        ]

    def _extract(self, comparisons: Sequence[Comparison]) -> None:
        missing: dict[str, Problem] = {
            problem.problem_id: problem
            for pair in comparisons
            for problem in (pair.query, pair.first, pair.second)
            if problem.problem_id not in self._profiles
        }
        answers = self._asker.ask(
            list(missing.values()),
            self._profile_prompt,
            lambda problem: {"statement": problem.statement, "solution": problem.solution},
            lambda problem: read_profile,
            lambda problem: problem.problem_id,
        )
        for problem_id, answer in zip(missing, answers, strict=True):
            self._profiles[problem_id] = (
                answer if isinstance(answer, Failure) else profile_text(answer)
            )

    def _missing(self, pair: Comparison) -> Failure | None:
        for problem in (pair.query, pair.first, pair.second):
            profile = self._profiles[problem.problem_id]
            if isinstance(profile, Failure):
                return Failure(f"problem {problem.problem_id} has no profile: {profile.reason}")
        return None

    def _values(self, pair: Comparison) -> Mapping[str, Any]:
        return {
            name: ProfiledProblem(problem.statement, str(self._profiles[problem.problem_id]))
            for name, problem in (
                ("query", pair.query),
                ("first", pair.first),
                ("second", pair.second),
            )
        }


def profile_text(profile: TechniqueProfile) -> str:
    """Return a profile as the lines that the judge reads."""
    lines = [f"- {entry.role}: {entry.name} ({entry.why})" for entry in profile.techniques]
    if profile.objects:
        lines.append(f"- objects: {'; '.join(profile.objects)}")
    steps = " ".join(f"({number}) {step}" for number, step in enumerate(profile.keySteps, start=1))
    return "\n".join([*lines, f"- steps: {steps}"])
