from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.annotation.annotator import Failure, Problem
from saber_assets.annotation.tables import TOPIC_FAILURES, TOPIC_SETS
from saber_assets.annotation.topic_walk import early_stops, kept_children, walk_topics
from saber_assets.ontology.tables import ONTOLOGY_TREE

#      0 M
#      1 Algebra      2 Quadratic (leaf)   3 Cubic (leaf)
#      4 Geometry     5 Circle   6 Tangent (leaf)   7 Chord (leaf)
ROWS = [
    (0, -1, "M", "Mathematics", "/M", 0, None),
    (1, 0, "A", "Algebra", "/M/A", 1, "Algebra"),
    (2, 1, "Q", "Quadratic", "/M/A/Q", 2, "Algebra"),
    (3, 1, "C", "Cubic", "/M/A/C", 2, "Algebra"),
    (4, 0, "G", "Geometry", "/M/G", 1, "Geometry"),
    (5, 4, "O", "Circle", "/M/G/O", 2, "Geometry"),
    (6, 5, "T", "Tangent", "/M/G/O/T", 3, "Geometry"),
    (7, 5, "H", "Chord", "/M/G/O/H", 3, "Geometry"),
]


def tree_of(rows=ROWS) -> pl.DataFrame:
    names = list(ONTOLOGY_TREE.columns)
    return pl.DataFrame(
        [dict(zip(names, (*row, []), strict=True)) for row in rows], schema=ONTOLOGY_TREE.schema
    )


class Scripted:
    """Scores by a table {(problem_id, node): score}; what is not in it scores 0."""

    name = "scripted"

    def __init__(self, scores, broken=()):
        self.scores, self.broken, self.batches = scores, set(broken), []

    def score_topics(self, tasks):
        self.batches.append([(task.problem.problem_id, task.node_ids[0]) for task in tasks])
        self.tasks = tasks
        return [
            Failure("no answer")
            if (task.problem.problem_id, task.node_ids[0]) in self.broken
            else tuple(self.scores.get((task.problem.problem_id, n), 0.0) for n in task.node_ids)
            for task in tasks
        ]


def problem(name: str) -> Problem:
    return Problem(name, f"statement {name}", f"solution {name}")


def test_walk_takes_close_children_and_stops_at_nodes_without_one():
    scores = {
        ("p", 1): 1.0, ("p", 4): 0.9, ("p", 2): 0.6, ("p", 3): 1.0, ("p", 5): 0.2,
    }  # fmt: skip
    sets, failures = walk_topics([problem("p")], tree_of(), Scripted(scores))
    row = sets.row(0, named=True)
    # Algebra (1.0) leads to Cubic; Geometry (0.9 of 0..1) is visited and scores more than Circle
    assert row["node_ids"] == [3, 4]
    assert row["paths"] == ["/M/A/C", "/M/G"]
    assert row["domains"] == ["Algebra", "Geometry"]
    assert row["calls"] == 3
    assert row["depth"] == 2
    assert row["annotator"] == "scripted"
    assert failures.is_empty()
    assert TOPIC_SETS.faults(sets) == [] and TOPIC_FAILURES.faults(failures) == []


def test_raw_scores_are_not_stretched():
    scores = {("p", 1): 0.5, ("p", 4): 0.4}
    normalised, _ = walk_topics([problem("p")], tree_of(), Scripted(scores))
    raw, _ = walk_topics([problem("p")], tree_of(), Scripted(scores), normalise=False)
    assert normalised["node_ids"].to_list() == [[1]]
    assert raw["node_ids"].to_list() == [[]]


def test_stop_at_the_root_leaves_the_set_empty():
    scores = {("p", 0): 1.0, ("p", 1): 0.3}
    sets, _ = walk_topics([problem("p")], tree_of(), Scripted(scores))
    assert sets["node_ids"].to_list() == [[]]
    assert sets["depth"].to_list() == [0]
    assert sets["domains"].to_list() == [[]]


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("normalise", [True, False])
def test_equal_scores_prefer_no_child(value, normalise):
    assert kept_children([value] * 4, [0, 1, 2, 3], 0.85, normalise) == []


def test_keep_is_inclusive():
    assert kept_children([0.0, 0.85, 1.0, 0.84], [0, 1, 2, 3], 0.85, True) == [1, 2]


def test_failure_of_one_task_fails_only_its_problem_and_is_never_guessed():
    scores = {(p, n): 1.0 for p in "ab" for n in (1, 2, 5, 6)}
    scores |= {("a", 4): 0.9, ("b", 4): 0.9}
    annotator = Scripted(scores, broken=[("a", 4)])
    sets, failures = walk_topics([problem("a"), problem("b")], tree_of(), annotator)
    assert sets["problem_id"].to_list() == ["b"]
    assert sets["node_ids"].to_list() == [[2, 6]]
    assert failures.rows() == [("a", "no answer")]
    assert annotator.batches[2] == [("b", 5)], "a failed problem asks no further"


def test_one_batch_a_level_in_order_and_progress_adds_up():
    scores = {("a", 4): 0.9, ("a", 5): 0.95, ("a", 7): 1.0, ("b", 1): 0.9, ("b", 2): 1.0}
    done = []
    annotator = Scripted(scores)
    walk_topics([problem(p) for p in "abc"], tree_of(), annotator, progress=done.append)
    assert annotator.batches == [[("a", 0), ("b", 0), ("c", 0)], [("a", 4), ("b", 1)], [("a", 5)]]
    assert sum(done) == 3


def test_equal_labels_are_offered_under_different_names():
    rows = [*ROWS[:4], (4, 0, "G", "Algebra", "/M/G", 1, "Geometry")]
    annotator = Scripted({})
    walk_topics([problem("p")], tree_of(rows), annotator)
    assert annotator.tasks[0].names == ("Mathematics", "Algebra", "Algebra [G]")
    assert annotator.tasks[0].path == ("Mathematics",)


@given(st.permutations(list("abcdef")), st.randoms(use_true_random=False))
@settings(max_examples=15, deadline=None)
def test_result_depends_on_neither_order_nor_batch(order, random):
    scores = {(p, n): (hash_of(p, n) % 7) / 6 for p in "abcdef" for n in range(8)}
    alone = pl.concat([walk_topics([problem(p)], tree_of(), Scripted(scores))[0] for p in "abcdef"])
    shuffled, _ = walk_topics([problem(p) for p in order], tree_of(), Scripted(scores))
    assert shuffled.sort("problem_id").equals(alone)
    tops = shuffled["node_ids"].to_list()
    assert all(0 not in nodes for nodes in tops)


def hash_of(name: str, node: int) -> int:
    return ord(name) * 31 + node * 17


@pytest.mark.parametrize("bad", [(1.0,), (1.5, 0.0, 0.0), (float("nan"), 0.0, 0.0)])
def test_an_annotator_that_breaks_the_protocol_is_named(bad):
    annotator = Scripted({})
    annotator.score_topics = lambda tasks: [bad for _ in tasks]
    with pytest.raises(ValueError, match="scripted"):
        walk_topics([problem("p")], tree_of(), annotator)


def test_misuse_is_refused():
    with pytest.raises(ValueError, match="distinct"):
        walk_topics([problem("p"), problem("p")], tree_of(), Scripted({}))
    with pytest.raises(ValueError, match="keep"):
        walk_topics([], tree_of(), Scripted({}), keep=0)
    sets, failures = walk_topics([], tree_of(), Scripted({}))
    assert sets.is_empty() and failures.is_empty()


@pytest.mark.parametrize("window", [1, 2, 3, 1000])
def test_windows_change_nothing_and_end_before_the_next_begins(window):
    problems = [problem(name) for name in "uvwxyz"]
    scores = {(p, n): (hash_of(p, n) % 7) / 6 for p in "uvwxyz" for n in range(8)}
    expected, _ = walk_topics(problems, tree_of(), Scripted(scores))
    annotator = Scripted(scores)
    found, failures = walk_topics(problems, tree_of(), annotator, window=window)
    assert found.equals(expected) and failures.is_empty()
    asked = [name for batch in annotator.batches for name, _ in batch]
    first, last = {}, {}
    for place, name in enumerate(asked):
        first.setdefault(name, place)
        last[name] = place
    for start in range(0, len(problems) - window, window):
        now = [p.problem_id for p in problems[start : start + window]]
        then = [p.problem_id for p in problems[start + window : start + 2 * window]]
        assert max(last[name] for name in now) < min(first[name] for name in then)


def test_early_stops_are_walks_that_ended_above_a_leaf():
    sets = pl.DataFrame(
        {"node_ids": [[1], [3], [], [2, 3]]}, schema={"node_ids": pl.List(pl.Int32)}
    )
    tree = pl.DataFrame({"parent_id": [-1, 0, 0, 1]})
    assert early_stops(sets, tree) == 2
    assert early_stops(sets.clear(), tree) == 0
