"""Counts, information content, Lin and best-match average against numbers computed elsewhere."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.ontology.information_content import assignment_counts, information_content
from saber_assets.ontology.lin import best_match_average, lin, lin_matrix

GOLDEN = Path(__file__).parents[1] / "golden"
SHARED = Path(__file__).parents[2].parent / "shared"


def golden(name):
    return json.loads((GOLDEN / name).read_text())


class PathTree:
    """The tree of all paths in use, parents first."""

    def __init__(self, problems):
        paths = {
            "/" + "/".join(p.strip("/").split("/")[: n + 1])
            for t in problems
            for p in t
            for n in range(p.count("/"))
        }
        ordered = sorted(paths, key=lambda p: (p.count("/"), p))
        self.node = {path: i for i, path in enumerate(ordered)}
        self.parent = np.array([self.node.get(p.rsplit("/", 1)[0], -1) for p in ordered])
        self.depth = np.array([p.count("/") - 1 for p in ordered])
        self.sets = [[self.node[p] for p in topics] for topics in problems]
        self.counts = assignment_counts(self.parent, self.sets)
        self.ic = information_content(self.counts, int(self.counts[0]))
        self.lin = lin_matrix(self.parent, self.depth, self.ic, np.arange(len(ordered)))

    def check_nodes(self, rows):
        for row in rows:
            node = self.node[row["path"]]
            assert self.counts[node] == row["c"]
            assert self.ic[node] == pytest.approx(row["ic"], abs=1e-9)
        order = [self.node[row["path"]] for row in rows]
        return self.lin[np.ix_(order, order)]


def average_of_lists(x, y, similarity):
    """The official average, in which a topic that is listed twice counts twice."""
    if not x or not y:
        return 0.0
    block = similarity[np.ix_(x, y)]
    return (block.max(axis=1).sum() + block.max(axis=0).sum()) / (len(x) + len(y))


def test_small_dag():
    case = golden("01_ontology_small_dag.json")
    expected = case["expected"]
    tree = PathTree(case["input"]["problems"])
    assert tree.counts[0] == expected["N_assignments"]
    assert tree.check_nodes(expected["seen_tree_nodes"]) == pytest.approx(
        np.array(expected["lin"]), abs=1e-9
    )
    compared = 0
    for i, x in enumerate(tree.sets):
        for j, y in enumerate(tree.sets):
            assert average_of_lists(x, y, tree.lin) == pytest.approx(
                expected["bma"][i][j], abs=1e-9
            )
            if len(set(x)) == len(x) and len(set(y)) == len(y):
                ours = best_match_average(x, y, tree.lin)
                assert ours == pytest.approx(expected["bma"][i][j], abs=1e-9)
                compared += 1
    assert compared == 49 * 49


def check_medium_tree(case):
    expected = case["expected"]
    parent = np.array(case["input"]["parent"])
    depth = np.zeros(len(parent), dtype=int)
    for node in range(1, len(parent)):
        depth[node] = depth[parent[node]] + 1
    counts = assignment_counts(parent, case["input"]["problems"])
    ic = information_content(counts, expected["N_assignments"])
    assert depth.max() == expected["max_depth_edges"]
    assert (counts > 0).sum() == expected["seen_nodes"]
    for node, count, content in expected["node_c_ic"]:
        assert counts[node] == count
        assert ic[node] == pytest.approx(content, abs=1e-9)
    seen = np.flatnonzero(counts)
    at = {int(node): i for i, node in enumerate(seen)}
    matrix = lin_matrix(parent, depth, ic, seen)
    for left, right, value in expected["lin_pairs"]:
        assert matrix[at[left], at[right]] == pytest.approx(value, abs=1e-9)
    sets = [[at[node] for node in topics] for topics in case["input"]["problems"]]
    for i, row in enumerate(expected["bma_upper_triangle_first_150"]):
        for offset, value in enumerate(row):
            assert best_match_average(sets[i], sets[i + offset], matrix) == pytest.approx(
                value, abs=1e-9
            )


def test_medium_tree():
    check_medium_tree(golden("01_ontology_medium_tree.json"))


def test_medium_tree_in_full():
    path = SHARED / "oracles" / "01_ontology_medium_tree.json"
    if not path.exists():
        pytest.skip("the full oracle is not beside the checkout")
    check_medium_tree(json.loads(path.read_text()))


@pytest.mark.parametrize("name", golden("01_ontology_edge_cases.json")["input"])
def test_edge_cases(name):
    case = golden("01_ontology_edge_cases.json")
    expected = case["expected"][name]
    tree = PathTree(case["input"][name]["problems"])
    assert tree.counts[0] == expected["N"]
    assert tree.check_nodes(expected["nodes"]) == pytest.approx(np.array(expected["lin"]), abs=1e-9)
    distinct = expected["bma_of_distinct_problems"]
    sets = [[tree.node[path] for path in topics] for topics in distinct["problems"]]
    for x, row in zip(sets, distinct["matrix"], strict=True):
        for y, value in zip(sets, row, strict=True):
            assert average_of_lists(x, y, tree.lin) == pytest.approx(value, abs=1e-9)
            # topic sets are sets here: a topic listed twice counts once
            ours = best_match_average(x, y, tree.lin)
            assert ours == pytest.approx(
                average_of_lists(sorted(set(x)), sorted(set(y)), tree.lin), abs=1e-12
            )
            if name != "duplicate_in_list":
                assert ours == pytest.approx(value, abs=1e-9)


@st.composite
def annotated_trees(draw):
    size = draw(st.integers(1, 25))
    parent = [-1] + [draw(st.integers(0, node - 1)) for node in range(1, size)]
    sets = draw(
        st.lists(st.lists(st.integers(0, size - 1), max_size=4), min_size=1, max_size=8).filter(any)
    )
    return parent, sets


def ancestors(parent, node):
    found = [node]
    while parent[found[-1]] >= 0:
        found.append(parent[found[-1]])
    return found


@settings(max_examples=60, deadline=None)
@given(annotated_trees())
def test_lin_and_average_equal_brute_force(tree):
    parent, sets = tree
    depth = [len(ancestors(parent, node)) - 1 for node in range(len(parent))]
    counts = assignment_counts(parent, sets)
    total = sum(map(len, sets))
    for node in range(len(parent)):
        below = sum(node in ancestors(parent, other) for topics in sets for other in topics)
        assert counts[node] == below
    ic = information_content(counts, total)
    assert np.isinf(ic[counts == 0]).all()
    used = sorted({node for topics in sets for node in topics})
    matrix = lin_matrix(np.array(parent), np.array(depth), ic, used)
    assert np.array_equal(matrix, matrix.T)
    assert ((matrix >= 0) & (matrix <= 1)).all()
    for i, left in enumerate(used):
        assert matrix[i, i] == (1.0 if ic[left] > 0 else 0.0)
        for j, right in enumerate(used):
            common = set(ancestors(parent, left)) & set(ancestors(parent, right))
            lowest = max(common, key=depth.__getitem__)
            both = ic[left] + ic[right]
            assert matrix[i, j] == pytest.approx(2 * ic[lowest] / both if both else 0.0, abs=1e-12)
            assert lin(np.array(parent), np.array(depth), ic, left, right) == matrix[i, j]
    rows = [[used.index(node) for node in topics] for topics in sets]
    for x in rows:
        for y in rows:
            value = best_match_average(x, y, matrix)
            assert 0.0 <= value <= 1.0
            assert value == pytest.approx(best_match_average(y, x, matrix), abs=1e-12)
            expected = average_of_lists(sorted(set(x)), sorted(set(y)), matrix)
            assert value == pytest.approx(expected, abs=1e-12)


def test_misuse_is_refused():
    with pytest.raises(ValueError, match="no assignment reaches it"):
        lin_matrix(np.array([-1, 0]), np.array([0, 1]), np.array([0.0, math.inf]), [1])
    with pytest.raises(ValueError, match="before its children"):
        assignment_counts([-1, 2, 0], [[1]])
    with pytest.raises(ValueError, match="must be in"):
        assignment_counts([-1, 0], [[2]])
    with pytest.raises(ValueError, match="must be in"):
        information_content(np.array([3, 1]), 2)
    with pytest.raises(IndexError):
        best_match_average([0], [2], np.eye(2))
