"""The topic DAG as a person gives it, and the rules that it must obey."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import networkx as nx

from saber_assets.errors import InputError

_EXAMPLES = 5
_CYCLES_SHOWN = 3


@dataclass(frozen=True)
class Dag:
    """A rooted directed acyclic graph of topics; build it with `build_dag`, which checks it.

    Attributes:
        ids: each topic's id, without '/', in the order of the file.
        labels: names as people write them, in the order of `ids`.
        parents: ids of each topic's parents; empty for the root only.
        aliases: surface forms of each topic in texts, possibly none.
        root: id of the only topic without a parent.
    """

    ids: tuple[str, ...]
    labels: tuple[str, ...]
    parents: tuple[tuple[str, ...], ...]
    aliases: tuple[tuple[str, ...], ...]
    root: str


def build_dag(
    ids: Sequence[str],
    labels: Sequence[str],
    parents: Sequence[Sequence[str]],
    aliases: Sequence[Sequence[str]],
    origin: str = "the ontology",
    places: Sequence[str] | None = None,
) -> Dag:
    """Check the parts of a DAG and put them together.

    Args:
        ids: each topic's id.
        labels: in the order of `ids`.
        parents: ids of the parents of each topic; repeats count once.
        aliases: surface forms of each topic.
        origin: what errors call the source, usually the file's path.
        places: where each topic stands ("line 7"), for errors.

    Returns:
        The checked DAG.

    Raises:
        InputError: no topic, an id that is empty, repeated or holds a '/', an unknown parent,
            a cycle (which is named), or not exactly one root.
        ValueError: when the lengths differ.
    """
    if not len(ids) == len(labels) == len(parents) == len(aliases):
        raise ValueError("ids, labels, parents and aliases must have equal lengths")
    if not ids:
        raise InputError(f"{origin} holds no topic", "give at least a root and its subjects")
    _check_ids(ids, origin, places)
    parents_of = {
        topic: tuple(dict.fromkeys(above)) for topic, above in zip(ids, parents, strict=True)
    }
    _check_parents(parents_of, origin)
    _check_cycles(parents_of, origin)
    root = _only_root(parents_of, origin)
    return Dag(
        tuple(ids),
        tuple(labels),
        tuple(parents_of.values()),
        tuple(tuple(dict.fromkeys(forms)) for forms in aliases),
        root,
    )


def _check_ids(ids: Sequence[str], origin: str, places: Sequence[str] | None) -> None:
    first_at: dict[str, int] = {}
    for number, topic in enumerate(ids):
        where = origin if places is None else f"{origin} {places[number]}"
        if not topic.strip():
            raise InputError(f"{where}: a topic has no id", "give each topic an id")
        if "/" in topic:
            raise InputError(
                f"{where}: the id {topic!r} holds a '/', which separates the topics of a path",
                "write another character",
            )
        if topic in first_at:
            before = "" if places is None else f" (first at {places[first_at[topic]]})"
            raise InputError(
                f"{where}: the id {topic!r} is used twice{before}",
                "keep one row a topic and list all of its parents there",
            )
        first_at[topic] = number


def _check_parents(parents_of: Mapping[str, Sequence[str]], origin: str) -> None:
    unknown = [
        (topic, parent)
        for topic, above in parents_of.items()
        for parent in above
        if parent not in parents_of
    ]
    if unknown:
        topic, parent = unknown[0]
        more = f" (and {len(unknown) - 1} more such parents)" if len(unknown) > 1 else ""
        raise InputError(
            f"{origin}: the topic {topic!r} names the parent {parent!r}, which does not exist"
            f"{more}",
            "add the parent or correct its id",
        )


def _check_cycles(parents_of: Mapping[str, Sequence[str]], origin: str) -> None:
    for topic, above in parents_of.items():
        if topic in above:
            raise InputError(f"{origin}: the topic {topic!r} is its own parent", "remove that edge")
    graph = nx.DiGraph()
    graph.add_nodes_from(sorted(parents_of))
    graph.add_edges_from(
        sorted((parent, topic) for topic, above in parents_of.items() for parent in above)
    )
    if nx.is_directed_acyclic_graph(graph):
        return
    knots = sorted(sorted(c) for c in nx.strongly_connected_components(graph) if len(c) > 1)
    shown = "; ".join(_cycle_text(graph, knot) for knot in knots[:_CYCLES_SHOWN])
    topics = sum(len(knot) for knot in knots)
    groups = "1 group" if len(knots) == 1 else f"{len(knots)} groups"
    raise InputError(
        f"{origin} has cycles, in {groups} of topics that reach each other ({topics} topics): "
        f"{shown}{'; ...' if len(knots) > _CYCLES_SHOWN else ''}",
        "remove one edge of each cycle",
    )


def _cycle_text(graph: nx.DiGraph, knot: Sequence[str]) -> str:
    """Return one cycle of a strongly connected component as "a -> b -> a"."""
    inside = set(knot)
    inner = nx.DiGraph()
    inner.add_nodes_from(knot)
    inner.add_edges_from((a, b) for a in knot for b in sorted(graph.successors(a)) if b in inside)
    edges = nx.find_cycle(inner, source=knot[0])
    nodes = [edge[0] for edge in edges]
    start = nodes.index(min(nodes))
    turned = [*nodes[start:], *nodes[:start]]
    return " -> ".join([*turned, turned[0]])


def _only_root(parents_of: Mapping[str, Sequence[str]], origin: str) -> str:
    roots = [topic for topic, above in parents_of.items() if not above]
    if len(roots) == 1:
        return roots[0]
    named = ", ".join(repr(topic) for topic in sorted(roots)[:_EXAMPLES])
    more = f" and {len(roots) - _EXAMPLES} more" if len(roots) > _EXAMPLES else ""
    raise InputError(
        f"{origin} has {len(roots)} topics without a parent ({named}{more}), so that most of the "
        "topics can't be reached from any one of them",
        "make one of them the root and give the others a parent, or add a common root",
    )
