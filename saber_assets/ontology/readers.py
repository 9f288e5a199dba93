"""Reads an ontology: our CSV of topics, a CSV of edges, or a JSON tree of nested pages."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saber_assets.errors import InputError
from saber_assets.ontology.dag import Dag, build_dag

_SUFFIXES = (".csv", ".json", ".json.gz")


def read_ontology(path: Path) -> Dag:
    """Read a topic DAG.

    Three forms are told apart by suffix and header:

    * CSV `id,label,parents,aliases`: parents and aliases hold several values split by '|';
      label (default: the id with spaces for underscores) and aliases may be missing.
    * CSV `parent,child`, one edge a row; ids are their own labels, and a '/' in one is written
      "%2F".
    * JSON, gzipped or not: nested objects with `title`, `links` (the children) and optionally
      `url`. Equal pages with equal subtrees become one topic with several parents; unfolding
      gives the tree of the file back. CamelCase titles become readable labels.

    Args:
        path: the file.

    Returns:
        The checked DAG.

    Raises:
        InputError: for a file that can't be read or breaks a rule of `build_dag`; a cycle is
            named.
    """
    path = Path(path)
    name = path.name.lower()
    if not path.exists():
        raise InputError(f"{path} does not exist", "check the path")
    if path.is_dir():
        raise InputError(f"{path} is a folder", "name the ontology's file")
    if not name.endswith(_SUFFIXES):
        raise InputError(
            f"{path} has a suffix that is not known", f"give one of {', '.join(_SUFFIXES)}"
        )
    text = _text_of(path)
    if not text.strip():
        raise InputError(f"{path} is empty", "give a file with at least one topic")
    if name.endswith(".csv"):
        return _read_csv(path, text)
    return _read_tree(path, text)


def _text_of(path: Path) -> str:
    try:
        data = path.read_bytes()
        if path.name.lower().endswith(".gz"):
            data = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} can't be read ({error})", "check the file") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path} line {line} is not UTF-8", "save it in UTF-8") from error


# --- CSV --------------------------------------------------------------------------------------


def _read_csv(path: Path, text: str) -> Dag:
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        found = [name.strip() for name in reader.fieldnames or ()]
        reader.fieldnames = found
        rows = []
        for row in reader:
            values = {key: value for key, value in row.items() if key is not None}
            if None in row or None in values.values():
                raise InputError(
                    f"{path} line {reader.line_num} has more or fewer fields than the header",
                    "quote fields that hold commas",
                )
            rows.append((f"line {reader.line_num}", values))
    except csv.Error as error:
        raise InputError(
            f"{path} line {reader.line_num} is not valid CSV ({error})",
            "quote fields that hold commas or line breaks",
        ) from error
    if {"id", "parents"} <= set(found):
        return _from_topics(path, rows)
    if {"parent", "child"} <= set(found):
        return _from_edges(path, rows)
    raise InputError(
        f"{path} has the columns {', '.join(map(repr, found))}",
        "give the columns id, label, parents, aliases, or the columns parent, child",
    )


def _from_topics(path: Path, rows: Sequence[tuple[str, dict[str, str]]]) -> Dag:
    ids = [row["id"].strip() for _, row in rows]
    labels = [
        row.get("label", "").strip() or _spaced(topic)
        for topic, (_, row) in zip(ids, rows, strict=True)
    ]
    return build_dag(
        ids,
        labels,
        [_split(row["parents"]) for _, row in rows],
        [_split(row.get("aliases", "")) for _, row in rows],
        str(path),
        [place for place, _ in rows],
    )


def _from_edges(path: Path, rows: Sequence[tuple[str, dict[str, str]]]) -> Dag:
    parents: dict[str, list[str]] = {}
    for place, row in rows:
        parent, child = row["parent"].strip(), row["child"].strip()
        if not parent or not child:
            raise InputError(f"{path} {place}: an edge lacks an end", "name parent and child")
        parent_id, child_id = parent.replace("/", "%2F"), child.replace("/", "%2F")
        parents.setdefault(parent_id, [])
        parents.setdefault(child_id, []).append(parent_id)
    ids = list(parents)
    labels = [_spaced(topic.replace("%2F", "/")) for topic in ids]
    return build_dag(ids, labels, list(parents.values()), [()] * len(ids), str(path))


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split("|") if part.strip()]


def _spaced(topic: str) -> str:
    return topic.replace("_", " ").strip()


# --- JSON tree --------------------------------------------------------------------------------


def _read_tree(path: Path, text: str) -> Dag:
    try:
        root = json.loads(text)
    except RecursionError as error:
        raise InputError(
            f"{path} is nested too deep for JSON", "give it as a CSV with the columns parent, child"
        ) from error
    except ValueError as error:
        raise InputError(f"{path} is not valid JSON ({error})", "check the file") from error
    nodes, children = _preorder(path, root)
    shapes = _shapes(nodes, children)
    return _dag_of_shapes(path, nodes, children, shapes)


def _preorder(path: Path, root: object) -> tuple[list[dict[str, Any]], list[list[int]]]:
    """Return the tree's objects in preorder, and the numbers of each one's children."""
    nodes: list[dict[str, Any]] = []
    children: list[list[int]] = []
    stack: list[tuple[object, int, str]] = [(root, -1, "the outermost object")]
    while stack:
        node, parent, where = stack.pop()
        if not isinstance(node, dict) or not isinstance(node.get("title"), str):
            raise InputError(
                f"{path}: {where} is not an object with a title",
                'nest objects of the form {"url": ..., "title": ..., "links": [...]}',
            )
        links = node.get("links") or []
        if not isinstance(links, list):
            raise InputError(
                f"{path}: the links of {node['title']!r} are not a list", "give a list of objects"
            )
        number = len(nodes)
        nodes.append(node)
        children.append([])
        if parent >= 0:
            children[parent].append(number)
        inside = f"an entry in the links of {node['title']!r}"
        stack.extend((link, number, inside) for link in reversed(links))
    return nodes, children


def _shapes(nodes: Sequence[dict[str, Any]], children: Sequence[Sequence[int]]) -> list[int]:
    """Give equal numbers to nodes with the same page and the same subtree below.

    A page that one parent lists twice gets two numbers, because a DAG has no parallel edges.
    """
    known: dict[tuple[object, ...], int] = {}
    shapes = [0] * len(nodes)
    for number in range(len(nodes) - 1, -1, -1):
        below: list[int] = []
        for child in children[number]:
            shape, copy = shapes[child], 1
            while shape in below:
                copy += 1
                shape = known.setdefault(("copy", shapes[child], copy), len(known))
            shapes[child] = shape
            below.append(shape)
        node = nodes[number]
        key = (node.get("url"), node["title"], tuple(sorted(below)))
        shapes[number] = known.setdefault(key, len(known))
    return shapes


def _dag_of_shapes(
    path: Path,
    nodes: Sequence[dict[str, Any]],
    children: Sequence[Sequence[int]],
    shapes: Sequence[int],
) -> Dag:
    vocabulary = Vocabulary.of(node["title"] for node in nodes)
    id_of: dict[int, str] = {}
    labels: dict[int, str] = {}
    parents: dict[int, list[str]] = {}
    taken: dict[str, int] = {}
    for number in _level_order(children):
        node, shape = nodes[number], shapes[number]
        if shape not in id_of:
            stem = _page_id(node)
            taken[stem] = taken.get(stem, 0) + 1
            id_of[shape] = stem if taken[stem] == 1 else f"{stem}~{taken[stem]}"
            labels[shape] = readable_label(node["title"], vocabulary)
            parents[shape] = []
    for number, below in enumerate(children):
        for child in below:
            parents[shapes[child]].append(id_of[shapes[number]])
    return build_dag(
        list(id_of.values()),
        list(labels.values()),
        list(parents.values()),
        [()] * len(id_of),
        str(path),
    )


def _level_order(children: Sequence[Sequence[int]]) -> list[int]:
    """Return the nodes by depth, so that the uppermost of namesakes gets the plain id."""
    order = [0]
    for number in order:
        order.extend(children[number])
    return order


def _page_id(node: dict[str, Any]) -> str:
    """Return the last part of a page's address without its suffix, or its title."""
    url = node.get("url")
    tail = url.rstrip("/").rsplit("/", 1)[-1] if isinstance(url, str) else ""
    stem = re.sub(r"\.x?html?$", "", tail)
    is_page = bool(stem) and stem != tail
    return stem if is_page else node["title"].strip().replace("/", "-") or "untitled"


_CAMEL_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^A-Za-z0-9]+")
_GLUED = re.compile(r"([A-Z][a-z]{2,}?)(andthe|ofthe|inthe|and|of|in|the|for|to|with|on|by)")


@dataclass(frozen=True)
class Vocabulary:
    """The words of a set of CamelCase titles.

    Attributes:
        whole: words that end a title, to which therefore no joiner ("and", "of") is glued.
        seen: words that stand anywhere in a title, joiners glued to some.
    """

    whole: frozenset[str] = frozenset()
    seen: frozenset[str] = frozenset()

    @classmethod
    def of(cls, titles: Iterable[str]) -> Vocabulary:
        """Collect the words of some titles."""
        whole: set[str] = set()
        seen: set[str] = set()
        for title in titles:
            words = _CAMEL_WORD.findall(title)
            seen.update(words)
            whole.update(words[-1:])
        return cls(frozenset(whole), frozenset(seen))


def readable_label(title: str, vocabulary: Vocabulary | None = None) -> str:
    """Return a CamelCase title with spaces: "CalculusandAnalysis" as "Calculus and Analysis".

    Args:
        title: a title; one that has spaces or underscores already only loses the underscores.
        vocabulary: the words of its companions; a joiner is cut off a word only if the word is
            not whole, and what is left of it is a word or ("and", "of", "the") long enough to be
            one. By default the words of the title alone.

    Returns:
        The label.
    """
    if " " in title or "_" in title:
        return _spaced(title)
    words: list[str] = []
    parts = _CAMEL_WORD.findall(title)
    known = Vocabulary.of([title]) if vocabulary is None else vocabulary
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        ends = last or not parts[index + 1][0].isalnum()
        glued = None if ends or part in known.whole else _GLUED.fullmatch(part)
        pieces = [part]
        if glued and (glued[1] in known.seen or _is_sure(glued)):
            joiner = re.sub(r"(and|of|in)the", r"\1 the", glued[2])
            pieces = [glued[1], joiner]
        if words and (not part[0].isalnum() or not words[-1][-1].isalnum()):
            words[-1] += pieces[0]
            words.extend(pieces[1:])
        else:
            words.extend(pieces)
    return " ".join(words)


def _is_sure(glued: re.Match[str]) -> bool:
    """Tell whether a joiner is cut off though what is left of the word is not known."""
    return len(glued[1]) >= 4 and glued[2].startswith(("and", "of", "the"))
