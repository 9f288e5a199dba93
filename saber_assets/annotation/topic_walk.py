"""The walk down the topic tree that assigns each problem its topics (SPEC, "Topic sets").

From the root, the annotator scores the visited node and its children; children that come close to
the best are visited next, and a node none of whose children comes close is assigned. The walk is
breadth-first over many problems at once, so that an annotator gets one large batch a level. A batch
is ordered by problem: calls on one problem follow each other, and a server that keeps the beginning
of recent prompts reads the problem once. For the same reason, and to bound memory, the walk takes a
window of problems down to the leaves before it begins with the next.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import polars as pl

from saber_assets.annotation.annotator import Annotator, Failure, Problem, TopicTask
from saber_assets.annotation.tables import TOPIC_FAILURES, TOPIC_SETS
from saber_assets.ontology.tree import keep_most_specific

KEEP = 0.85
WINDOW = 1024
"""Problems that walk together: enough to keep a thousand calls in flight, and few enough for their
texts to be in a server's prefix cache still when the next level asks about them."""
ROOT = 0


@dataclass(frozen=True)
class _Offer:
    """What is offered at one visited node, the same for every problem."""

    path: tuple[str, ...]
    node_ids: tuple[int, ...]
    names: tuple[str, ...]


@dataclass
class _Walk:
    """How far one problem has come."""

    problem: Problem
    frontier: list[int]
    assigned: list[int] = field(default_factory=list)
    calls: int = 0
    failure: str | None = None


class _Tree:
    """The columns of ONTOLOGY_TREE as lists indexed by node_id, and the offers made from them."""

    def __init__(self, tree: pl.DataFrame) -> None:
        ordered = tree.sort("node_id")
        if ordered["node_id"].to_list() != list(range(ordered.height)) or ordered.is_empty():
            raise ValueError("the tree's node_id must run from 0 without gaps")
        self.parent: list[int] = ordered["parent_id"].to_list()
        self.label: list[str] = ordered["label"].to_list()
        self.topic: list[str] = ordered["topic"].to_list()
        self.path: list[str] = ordered["path"].to_list()
        self.depth: list[int] = ordered["depth"].to_list()
        self.domain: list[str | None] = ordered["domain"].to_list()
        self.children: list[list[int]] = [[] for _ in self.parent]
        for node, parent in enumerate(self.parent):
            if parent >= 0:
                self.children[parent].append(node)
        self._offers: dict[int, _Offer] = {}

    def offer(self, node: int) -> _Offer:
        """Return the node and its children with names that are unique among them."""
        if node not in self._offers:
            node_ids = (node, *self.children[node])
            self._offers[node] = _Offer(self._labels_down_to(node), node_ids, self._names(node_ids))
        return self._offers[node]

    def _labels_down_to(self, node: int) -> tuple[str, ...]:
        labels = []
        while node >= 0:
            labels.append(self.label[node])
            node = self.parent[node]
        return tuple(reversed(labels))

    def _names(self, node_ids: Iterable[int]) -> tuple[str, ...]:
        """Labels; one that was used before gets its topic id, then a number, in brackets."""
        names: list[str] = []
        for node in node_ids:
            name, number = self.label[node], 2
            if name in names:
                name = f"{self.label[node]} [{self.topic[node]}]"
            while name in names:
                name = f"{self.label[node]} [{self.topic[node]} {number}]"
                number += 1
            names.append(name)
        return tuple(names)


def walk_topics(
    problems: Sequence[Problem],
    tree: pl.DataFrame,
    annotator: Annotator,
    keep: float = KEEP,
    normalise: bool = True,
    progress: Callable[[int], None] | None = None,
    window: int = WINDOW,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Assign topics to problems by walking the tree from its root.

    A node all of whose offered scores are equal prefers no child: the walk stops there, with
    normalised and with raw scores. The root is never assigned. A topic of the DAG that sits at
    several tree nodes may be reached, and is then assigned, on several paths.

    Args:
        problems: with distinct problem_id.
        tree: frame of ONTOLOGY_TREE.
        annotator: scores a node and its children.
        keep: a child is visited when its score is at least this, in (0, 1].
        normalise: min-max over node and children first; False takes the raw scores.
        progress: called with the number of problems that a level finished.
        window: problems that walk together; results don't depend on it.

    Returns:
        Frames of TOPIC_SETS and TOPIC_FAILURES, both in the order of `problems`. A problem any of
        whose scoring tasks failed is in the second only.

    Raises:
        ValueError: repeated problem_id, keep or window out of range, or an annotator that breaks
            its protocol (wrong number of results or scores, a score outside [0, 1]).
    """
    if not 0 < keep <= 1:
        raise ValueError(f"keep must be in (0, 1], not {keep}")
    if window < 1:
        raise ValueError(f"window must be at least 1, not {window}")
    if len({problem.problem_id for problem in problems}) != len(problems):
        raise ValueError("problem_id must be distinct")
    nodes = _Tree(tree)
    walks = [_Walk(problem, [ROOT]) for problem in problems]
    for start in range(0, len(walks), window):
        active = walks[start : start + window]
        while active:
            _take_level(active, nodes, annotator, keep, normalise)
            remaining = [walk for walk in active if walk.frontier]
            if progress is not None and len(remaining) < len(active):
                progress(len(active) - len(remaining))
            active = remaining
    return _topic_sets(walks, nodes, annotator.name), _failures(walks)


def early_stops(topic_sets: pl.DataFrame, tree: pl.DataFrame) -> int:
    """Count the problems whose walk ended at an inner node at least once, the root included.

    Args:
        topic_sets: frame of TOPIC_SETS.
        tree: frame of ONTOLOGY_TREE.
    """
    inner = tree["parent_id"].unique().cast(pl.Int32).implode()
    stopped = topic_sets.select(
        (pl.col("node_ids").list.set_intersection(inner).list.len() > 0)
        | (pl.col("node_ids").list.len() == 0)
    )
    return int(stopped.to_series().sum())


def _take_level(
    walks: Sequence[_Walk], nodes: _Tree, annotator: Annotator, keep: float, normalise: bool
) -> None:
    """Score everything on the frontiers in one batch and move each frontier one level down."""
    tasks: list[TopicTask] = []
    owners: list[tuple[_Walk, int]] = []
    for walk in walks:
        for node in walk.frontier:
            if nodes.children[node]:
                offer = nodes.offer(node)
                tasks.append(TopicTask(walk.problem, offer.path, offer.node_ids, offer.names))
                owners.append((walk, node))
            elif node != ROOT:
                walk.assigned.append(node)
        walk.frontier = []
    results = annotator.score_topics(tasks) if tasks else []
    if len(results) != len(tasks):
        raise ValueError(f"{annotator.name} gave {len(results)} results for {len(tasks)} tasks")
    for (walk, node), task, result in zip(owners, tasks, results, strict=True):
        walk.calls += 1
        if isinstance(result, Failure):
            walk.failure = walk.failure or result.reason
            continue
        kept = kept_children(_checked(result, task, annotator.name), task.node_ids, keep, normalise)
        if kept:
            walk.frontier.extend(kept)
        elif node != ROOT:
            walk.assigned.append(node)
    for walk in walks:
        if walk.failure is not None:
            walk.frontier = []


def kept_children(
    scores: Sequence[float], node_ids: Sequence[int], keep: float, normalise: bool
) -> list[int]:
    """Return the children to visit next, in the order offered.

    Args:
        scores: of the visited node and then of its children, in [0, 1].
        node_ids: of the same length.
        keep: least score of a child that is kept.
        normalise: whether scores are min-max normalised first.

    Returns:
        Nothing when all scores are equal: they say nothing about where to go.
    """
    low, high = min(scores), max(scores)
    if low == high:
        return []
    if normalise:
        scores = [(score - low) / (high - low) for score in scores]
    return [node for node, score in zip(node_ids[1:], scores[1:], strict=True) if score >= keep]


def _checked(scores: Sequence[float], task: TopicTask, name: str) -> Sequence[float]:
    if len(scores) != len(task.node_ids):
        raise ValueError(f"{name} gave {len(scores)} scores for {len(task.node_ids)} names")
    if not all(math.isfinite(score) and 0 <= score <= 1 for score in scores):
        raise ValueError(f"{name} gave a score outside [0, 1] to {task.problem.problem_id}")
    return scores


def _topic_sets(walks: Sequence[_Walk], nodes: _Tree, annotator: str) -> pl.DataFrame:
    rows = []
    for walk in walks:
        if walk.failure is not None:
            continue
        chosen = keep_most_specific(walk.assigned, nodes.parent)
        domains = {domain for node in chosen if (domain := nodes.domain[node]) is not None}
        rows.append(
            {
                "problem_id": walk.problem.problem_id,
                "node_ids": chosen,
                "paths": [nodes.path[node] for node in chosen],
                "domains": sorted(domains),
                "calls": walk.calls,
                "depth": max((nodes.depth[node] for node in chosen), default=0),
                "annotator": annotator,
            }
        )
    return TOPIC_SETS.conform(pl.DataFrame(rows, schema=TOPIC_SETS.schema))


def _failures(walks: Sequence[_Walk]) -> pl.DataFrame:
    rows = [
        {"problem_id": walk.problem.problem_id, "reason": walk.failure}
        for walk in walks
        if walk.failure is not None
    ]
    return TOPIC_FAILURES.conform(pl.DataFrame(rows, schema=TOPIC_FAILURES.schema))
