"""Unfolding, domains and the removal of ancestors."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.errors import InputError
from saber_assets.ontology.dag import build_dag
from saber_assets.ontology.tables import ONTOLOGY_TREE
from saber_assets.ontology.tree import domain_of, keep_most_specific, remove_ancestors, unfold

GOLDEN = Path(__file__).parents[1] / "golden"


def dag_of(edges, root="m"):
    parents = {root: []}
    for parent, child in edges:
        parents.setdefault(parent, [])
        parents.setdefault(child, []).append(parent)
    ids = list(parents)
    return build_dag(ids, [i.title() for i in ids], list(parents.values()), [()] * len(ids))


def test_small_dag_of_the_oracle():
    case = json.loads((GOLDEN / "01_ontology_small_dag.json").read_text())
    tree = unfold(dag_of(case["input"]["edges"], case["input"]["root"]))
    assert sorted(tree["path"]) == sorted(case["expected"]["tree_paths"])
    assert tree["depth"].max() == case["expected"]["tree_depth_edges"]
    counts = dict(tree["topic"].value_counts().iter_rows())
    assert counts == case["expected"]["paths_per_topic"]


def test_a_diamond_is_duplicated_in_preorder():
    tree = unfold(dag_of([("m", "b"), ("m", "algebra"), ("algebra", "x"), ("b", "x"), ("x", "y")]))
    assert tree["path"].to_list() == [
        "/m", "/m/algebra", "/m/algebra/x", "/m/algebra/x/y", "/m/b", "/m/b/x", "/m/b/x/y",
    ]  # fmt: skip
    assert tree["parent_id"].to_list() == [-1, 0, 1, 2, 0, 4, 5]
    assert tree["domain"].to_list() == [None, "Algebra", "Algebra", "Algebra", None, None, None]
    ONTOLOGY_TREE.conform(tree)


@st.composite
def dags(draw):
    size = draw(st.integers(1, 12))
    parents = [[]] + [
        sorted(draw(st.sets(st.integers(0, node - 1), min_size=1, max_size=3)))
        for node in range(1, size)
    ]
    order = draw(st.permutations(range(size)))
    return [f"t{i}" for i in order], [[f"t{p}" for p in parents[i]] for i in order]


@settings(max_examples=60, deadline=None)
@given(dags())
def test_one_node_for_each_path_from_the_root(dag):
    ids, parents = dag
    tree = unfold(build_dag(ids, ids, parents, [()] * len(ids)))
    graph = nx.DiGraph()
    graph.add_nodes_from(ids)
    graph.add_edges_from((p, c) for c, above in zip(ids, parents, strict=True) for p in above)
    expected = {"/t0"} | {
        "/" + "/".join(path)
        for topic in ids
        if topic != "t0"
        for path in nx.all_simple_paths(graph, "t0", topic)
    }
    assert len(tree) == len(expected)
    assert set(tree["path"]) == expected
    rows = tree.rows(named=True)
    for row in rows[1:]:
        assert row["path"] == f"{rows[row['parent_id']]['path']}/{row['topic']}"
        assert row["depth"] == rows[row["parent_id"]]["depth"] + 1
    ONTOLOGY_TREE.conform(tree)


def test_explosive_duplication_is_refused_before_it_is_built():
    edges = [("m", "a0"), ("m", "b0")]
    for level in range(200):
        edges += [(s + str(level), t + str(level + 1)) for s in "ab" for t in "ab"]
    with pytest.raises(InputError, match=r"unfolds into about 10\^60 tree nodes, more than 200000"):
        unfold(dag_of(edges))


def wide_dag(topics, most_parents):
    """A DAG of so many topics on eight levels, each under one or more topics of the level above."""
    random = Random(1)
    levels = sorted(random.choices(range(1, 8), k=topics - 1))
    members = {0: ["m"]} | {level: [] for level in range(1, 8)}
    parents = [[]]
    for place, level in enumerate(levels, start=1):
        members[level].append(f"t{place:05d}")
        above = members[level - 1]
        count = min(len(above), random.randint(1, most_parents))
        parents.append(random.sample(above, count))
    return [topic for level in members.values() for topic in level], parents


@pytest.mark.timeout(120)
def test_ten_thousand_topics_with_several_parents_unfold():
    ids, parents = wide_dag(10_000, 2)
    tree = unfold(build_dag(ids, ids, parents, [()] * len(ids)))
    assert sum(len(above) > 1 for above in parents) > 3000
    copies = {"m": 1}  # parents come before their children
    for topic, above in zip(ids[1:], parents[1:], strict=True):
        copies[topic] = sum(copies[parent] for parent in above)
    assert dict(tree["topic"].value_counts().iter_rows()) == copies
    assert tree.height > 3 * len(ids)
    ONTOLOGY_TREE.conform(tree)


@pytest.mark.timeout(120)
def test_ten_thousand_topics_with_many_parents_are_refused():
    ids, parents = wide_dag(10_000, 9)
    message = r"unfolds into \d+ tree nodes, more than 200000 \('t\d+' has the most copies\): "
    with pytest.raises(InputError, match=message + "remove parents .*ontology.max_nodes"):
        unfold(build_dag(ids, ids, parents, [()] * len(ids)))


def test_the_bound_is_exact():
    dag = dag_of([("m", "a"), ("m", "b"), ("a", "c"), ("b", "c")])
    assert unfold(dag, max_nodes=5).height == 5
    with pytest.raises(InputError, match="5 tree nodes, more than 4"):
        unfold(dag, max_nodes=4)


def test_deep_chains_need_no_recursion():
    chain = [("m", "1")] + [(str(i), str(i + 1)) for i in range(1, 4000)]
    assert unfold(dag_of(chain))["depth"].max() == 4000
    with pytest.raises(InputError, match="so deep"):
        unfold(dag_of([("m", "1")] + [(str(i), str(i + 1)) for i in range(1, 20000)]))


@pytest.mark.parametrize(
    ("label", "domain"),
    [
        ("Algebra", "Algebra"),
        ("NumberTheory", "Number Theory"),
        ("number-theory", "Number Theory"),
        ("Number theory", "Number Theory"),
        ("CalculusandAnalysis", "Calculus and Analysis"),
        ("Calculus & Analysis", "Calculus and Analysis"),
        ("Mathematical_analysis", "Calculus and Analysis"),
        ("Discrete Mathematics", "Combinatorics"),
        ("ProbabilityandStatistics", "Combinatorics"),
        ("recreational mathematics", "Combinatorics"),
        ("GEOMETRY", "Geometry"),
        ("Topology", None),
        ("Applied Mathematics", None),
        ("Algebraic Geometry", None),
        ("", None),
    ],
)
def test_domains(label, domain):
    assert domain_of(label) == domain


def test_ancestor_removal_of_the_oracle():
    case = json.loads((GOLDEN / "01_ancestor_removal.json").read_text())
    for paths, result in zip(
        case["input"]["topic_lists"], case["expected"]["results"], strict=True
    ):
        assert remove_ancestors(paths) == result["paper"]


@settings(max_examples=60, deadline=None)
@given(dags(), st.data())
def test_both_versions_of_the_removal_agree(dag, data):
    ids, parents = dag
    tree = unfold(build_dag(ids, ids, parents, [()] * len(ids)))
    nodes = data.draw(st.lists(st.integers(0, tree.height - 1), max_size=8))
    kept = keep_most_specific(nodes, tree["parent_id"].to_numpy())
    paths = tree["path"].to_list()
    assert sorted(paths[n] for n in kept) == remove_ancestors([paths[n] for n in nodes])
    assert kept == sorted(set(kept))
