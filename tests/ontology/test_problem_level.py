"""IC and Lin on counts of problems instead of assignments, as goatools computes them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from saber_assets.ontology.information_content import information_content
from saber_assets.ontology.lin import lin, lin_matrix

GOLDEN = Path(__file__).parents[1] / "golden"
ORACLE = json.loads(
    (GOLDEN / "01_ontology_problem_level_goatools.json").read_text(encoding="utf-8")
)["expected"]
PROBLEMS = json.loads((GOLDEN / "01_ontology_small_dag.json").read_text(encoding="utf-8"))["input"][
    "problems"
]


def ancestors(path: str) -> list[str]:
    """A path with all paths above it, the root's first."""
    steps = path.strip("/").split("/")
    return ["/" + "/".join(steps[: end + 1]) for end in range(len(steps))]


@pytest.fixture(scope="module")
def tree():
    """Paths in preorder, with parent, depth and the number of problems at or below each."""
    topics = [problem["topics"] if isinstance(problem, dict) else problem for problem in PROBLEMS]
    below = [{node for path in paths for node in ancestors(path)} for paths in topics]
    paths = sorted(set().union(*below), key=lambda path: path.split("/"))
    number = {path: place for place, path in enumerate(paths)}
    parent = np.array([number.get(path.rpartition("/")[0], -1) for path in paths], dtype=np.int64)
    depth = np.array([path.count("/") - 1 for path in paths], dtype=np.int64)
    counts = np.array([sum(path in nodes for nodes in below) for path in paths], dtype=np.int64)
    return number, parent, depth, counts


def test_counts_and_information_content(tree):
    number, _, _, counts = tree
    assert int(counts[0]) == ORACLE["N_problems"]
    ic = information_content(counts, ORACLE["N_problems"])
    for path, count in ORACLE["count"].items():
        assert int(counts[number[path]]) == count
        assert ic[number[path]] == pytest.approx(ORACLE["ic"][path], abs=1e-9)


def test_lin_and_the_common_ancestor(tree):
    number, parent, depth, counts = tree
    ic = information_content(counts, ORACLE["N_problems"])
    matrix = lin_matrix(parent, depth, ic, np.arange(len(number)))
    for left, right, expected, resnik in ORACLE["lin_resnik_pairs"]:
        a, b = number[left], number[right]
        if ic[a] == ic[b] == 0:  # goatools: 1; ours is 0 by definition
            assert lin(parent, depth, ic, a, b) == matrix[a, b] == 0
            continue
        assert lin(parent, depth, ic, a, b) == pytest.approx(expected, abs=1e-9)
        assert matrix[a, b] == pytest.approx(expected, abs=1e-9)
        assert expected * (ic[a] + ic[b]) / 2 == pytest.approx(resnik, abs=1e-9)
