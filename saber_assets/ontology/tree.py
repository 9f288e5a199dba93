"""Unfolds the topic DAG into a tree, one node for each path from the root (SPEC, "Ontology")."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from saber_assets.errors import InputError
from saber_assets.ontology.dag import Dag
from saber_assets.ontology.tables import ONTOLOGY_TREE

LONGEST_PATHS = 500_000_000
"""Bound on the characters of all paths together, against chains of thousands of topics."""

_DOMAIN_OF = {
    "algebra": "Algebra",
    "geometry": "Geometry",
    "numbertheory": "Number Theory",
    "calculusandanalysis": "Calculus and Analysis",
    "calculus": "Calculus and Analysis",
    "analysis": "Calculus and Analysis",
    "mathematicalanalysis": "Calculus and Analysis",
    "discretemathematics": "Combinatorics",
    "probabilityandstatistics": "Combinatorics",
    "recreationalmathematics": "Combinatorics",
    "combinatorics": "Combinatorics",
    "probability": "Combinatorics",
    "statistics": "Combinatorics",
}


def domain_of(first_level_label: str) -> str | None:
    """Return the domain of a first-level topic, or None where it has none.

    Case, spaces, hyphens, underscores and CamelCase make no difference; "&" reads "and".
    """
    letters = re.sub(r"[^a-z]", "", first_level_label.lower().replace("&", "and"))
    return _DOMAIN_OF.get(letters)


def unfold(dag: Dag, max_nodes: int = 200_000) -> pl.DataFrame:
    """Return the tree with one node for each path from the root.

    Args:
        dag: the checked DAG.
        max_nodes: bound on the nodes of the tree; each diamond of the DAG multiplies them.

    Returns:
        A frame of `ONTOLOGY_TREE` in preorder, children in the order of their ids.

    Raises:
        InputError: when the tree would have more than `max_nodes` nodes, or paths of more than
            `LONGEST_PATHS` characters; both are known before anything is built.
    """
    index = {topic: number for number, topic in enumerate(dag.ids)}
    children: list[list[int]] = [[] for _ in dag.ids]
    for child, parents in enumerate(dag.parents):
        for topic_id in parents:
            children[index[topic_id]].append(child)
    _refuse_explosion(dag, index, children, max_nodes)
    for below in children:
        below.sort(key=dag.ids.__getitem__)

    topics: list[int] = []
    parent_ids: list[int] = []
    depths: list[int] = []
    paths: list[str] = []
    domains: list[str | None] = []
    stack = [(index[dag.root], -1)]
    while stack:
        topic, parent = stack.pop()
        node = len(topics)
        topics.append(topic)
        parent_ids.append(parent)
        depth = 0 if parent < 0 else depths[parent] + 1
        depths.append(depth)
        paths.append(f"{paths[parent] if parent >= 0 else ''}/{dag.ids[topic]}")
        if depth < 2:
            domains.append(domain_of(dag.labels[topic]) if depth else None)
        else:
            domains.append(domains[parent])
        stack.extend((child, node) for child in reversed(children[topic]))
    return pl.DataFrame(
        {
            "node_id": np.arange(len(topics), dtype=np.int32),
            "parent_id": parent_ids,
            "topic": [dag.ids[topic] for topic in topics],
            "label": [dag.labels[topic] for topic in topics],
            "path": paths,
            "depth": depths,
            "domain": domains,
            "aliases": [list(dag.aliases[topic]) for topic in topics],
        },
        schema=ONTOLOGY_TREE.schema,
    )


def _refuse_explosion(
    dag: Dag, index: dict[str, int], children: Sequence[Sequence[int]], max_nodes: int
) -> None:
    """Count the paths to each topic, in topological order, before any is built."""
    copies = [0] * len(dag.ids)
    characters = [0] * len(dag.ids)
    root = index[dag.root]
    copies[root], characters[root] = 1, len(dag.root) + 1
    waiting = [len(parents) for parents in dag.parents]
    ready = deque([root])
    while ready:
        topic = ready.popleft()
        for child in children[topic]:
            copies[child] += copies[topic]
            characters[child] += characters[topic] + copies[topic] * (len(dag.ids[child]) + 1)
            waiting[child] -= 1
            if not waiting[child]:
                ready.append(child)
    total = sum(copies)
    worst = dag.ids[max(range(len(copies)), key=copies.__getitem__)]
    if total > max_nodes:
        shown = str(total) if total < 10**15 else f"about 10^{len(str(total)) - 1}"
        raise InputError(
            f"the ontology unfolds into {shown} tree nodes, more than {max_nodes} "
            f"({worst!r} has the most copies)",
            "remove parents from topics with many, or set a larger ontology.max_nodes",
        )
    if sum(characters) > LONGEST_PATHS:
        raise InputError(
            "the ontology is so deep that its paths fill more than "
            f"{LONGEST_PATHS // 10**6} million characters",
            "make it flatter or its ids shorter",
        )


def remove_ancestors(paths: Sequence[str]) -> list[str]:
    """Return the most specific of some topic paths: none is an ancestor of another.

    Args:
        paths: root-to-node paths, ids after slashes; repeats count once.

    Returns:
        Sorted paths. An ancestor is a prefix by whole segments: "/m/a" of "/m/a/b", not of "/m/ab".
    """
    ancestors = {path[: match.start()] for path in paths for match in re.finditer("/", path)}
    return sorted(set(paths) - ancestors)


def keep_most_specific(
    node_ids: Sequence[int], parent: NDArray[np.integer] | Sequence[int]
) -> list[int]:
    """Return the tree nodes of a set that are no ancestor of another one in it.

    Args:
        node_ids: nodes; repeats count once.
        parent: parent of each tree node, -1 for the root.

    Returns:
        Node ids, ascending.
    """
    wanted = set(node_ids)
    ancestors: set[int] = set()
    for node in wanted:
        above = int(parent[node])
        while above >= 0 and above not in ancestors:
            ancestors.add(above)
            above = int(parent[above])
    return sorted(int(node) for node in wanted - ancestors)
