"""The Annotator protocol: what a language model, or a heuristic in its place, must do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from saber_assets.asking import Failure

__all__ = [
    "Annotator",
    "Comparison",
    "Failure",
    "Problem",
    "Summary",
    "TopicTask",
    "Verdict",
]


@dataclass(frozen=True)
class Problem:
    """A solved problem as an annotator sees it."""

    problem_id: str
    statement: str
    solution: str


@dataclass(frozen=True)
class TopicTask:
    """Score a visited node and its children for one problem.

    Attributes:
        problem: the problem with its solution.
        path: labels from the root to the visited node.
        node_ids: tree node of each offered name; the visited node itself first.
        names: the offered names, unique, in the same order.
    """

    problem: Problem
    path: tuple[str, ...]
    node_ids: tuple[int, ...]
    names: tuple[str, ...]


@dataclass(frozen=True)
class Summary:
    """The core idea of a solution (SPEC, section 2)."""

    no_core_idea: bool
    core_idea: str
    supporting_ideas: tuple[str, ...]
    keywords: tuple[str, ...]
    confidence: float


@dataclass(frozen=True)
class Comparison:
    """Which of two candidates helps more with the query; `first` is shown first."""

    query: Problem
    first: Problem
    second: Problem

    @property
    def label(self) -> str:
        """The three ids, for the record."""
        return f"{self.query.problem_id}|{self.first.problem_id}|{self.second.problem_id}"


@dataclass(frozen=True)
class Verdict:
    """Which candidate is preferred, by a judge that also says how sure it is.

    Attributes:
        winner: 1 or 2; 0 for a tie.
        confidence: probability of the preferred side, [0.5, 1]; 0.5 for a tie.
    """

    winner: int
    confidence: float


class Annotator(Protocol):
    """Scores topics, summarises solutions and compares candidates.

    Each method takes a batch and returns one result for each item, in order; an item that failed
    after its retries gives a Failure. How a batch is run (concurrency, caching) is the
    annotator's own business; results must not depend on how items are batched.
    """

    name: str
    """Goes into the tables and the pages; a heuristic says there that it is one."""

    def score_topics(self, tasks: Sequence[TopicTask]) -> list[tuple[float, ...] | Failure]:
        """Return a score in [0, 1] for each offered name of each task."""
        ...

    def summarise(self, problems: Sequence[Problem]) -> list[Summary | Failure]:
        """Return the core idea of each solution."""
        ...

    def compare(self, comparisons: Sequence[Comparison]) -> list[int | Failure]:
        """Return 1 where the first candidate is the more useful one, 2 where the second is."""
        ...
