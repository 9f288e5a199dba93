"""Topic sets and summary tokens of a corpus, packed into arrays that the joins can stream."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from saber_assets.candidates.lin_blocks import LinBlocks, from_matrices, of_tree
from saber_assets.corpus.tokens import summary_tokens
from saber_assets.ontology.information_content import assignment_counts, information_content

IntArray = NDArray[np.int32]
FloatArray = NDArray[np.float64]

MOST_TOPICS = 4096
"""Largest topic set: both sides together stay within the exact sums of `lin_blocks.LIN_GRID`."""


class JoinArrays(NamedTuple):
    """What the join kernels read; all lists are in CSR form (start offsets and a flat list).

    Attributes:
        set_of: (n,) the distinct topic set of each problem.
        set_weight: (s,) problems that have that set.
        set_start: (s + 1,) offsets into `set_nodes`.
        set_nodes: topics of `lin`, ascending within a set; sets are in lexicographic order.
        lin: Lin similarity of the m used nodes.
        token_start: (n + 1,) offsets into `tokens`.
        tokens: token ids by ascending document frequency, then alphabetically.
        posting_start: (v + 1,) offsets into `postings`.
        postings: problems that have the token, ascending.
        empty_jaccard: similarity of two empty token sets.
    """

    set_of: IntArray
    set_weight: NDArray[np.int64]
    set_start: NDArray[np.int64]
    set_nodes: IntArray
    lin: LinBlocks
    token_start: NDArray[np.int64]
    tokens: IntArray
    posting_start: NDArray[np.int64]
    postings: IntArray
    empty_jaccard: float


@dataclass(frozen=True)
class Features:
    """A corpus ready for the joins.

    Attributes:
        problem_ids: (n,) in the order of all row numbers of this stage.
        nodes: (m,) node_ids of the tree behind the topics of `arrays.lin`.
        arrays: what the kernels read.
    """

    problem_ids: tuple[str, ...]
    nodes: IntArray
    arrays: JoinArrays

    def __len__(self) -> int:
        """Return the number of problems."""
        return len(self.problem_ids)

    def rows_of(self, problem_ids: Iterable[str]) -> NDArray[np.int64]:
        """Return the row numbers of some problems, in their order.

        Raises:
            ValueError: for an id that is not in the corpus.
        """
        row_of = {problem_id: row for row, problem_id in enumerate(self.problem_ids)}
        try:
            rows = [row_of[problem_id] for problem_id in problem_ids]
        except KeyError as error:
            raise ValueError(f"problem {error.args[0]!r} is not in the corpus") from error
        return np.array(rows, dtype=np.int64)


def build_features(
    problem_ids: Sequence[str],
    topic_sets: Sequence[Iterable[int]],
    core_ideas: Sequence[str],
    tree: pl.DataFrame,
    *,
    empty_jaccard: float = 0.0,
    tokenize: Callable[[str], Iterable[str]] = summary_tokens,
) -> Features:
    """Compute information content and Lin from the topic sets, and pack everything.

    Args:
        problem_ids: n distinct ids.
        topic_sets: n sets of node_ids of the tree; a set may be empty.
        core_ideas: n summaries; a text may be empty.
        tree: a frame with the columns node_id (0, 1, 2, ...), parent_id and depth.
        empty_jaccard: similarity of two summaries without tokens: 0 (strict) or 1 (paper).
        tokenize: makes the tokens of one summary.

    Returns:
        The features, rows in the order of `problem_ids`.

    Raises:
        ValueError: for lists of different lengths, repeated ids, or nodes outside the tree.

    Source: SPEC section 2, "Topic similarity" and "Summary similarity".
    """
    ordered = tree.sort("node_id")
    sets = [sorted(set(nodes)) for nodes in topic_sets]
    used = np.unique(np.fromiter((node for nodes in sets for node in nodes), dtype=np.int32))
    if used.size and not 0 <= used[0] <= used[-1] < ordered.height:
        outside = used[0] if used[0] < 0 else used[-1]
        raise ValueError(f"node {outside} is not in the tree of {ordered.height} nodes")
    _check_ids(problem_ids, topic_sets, core_ideas)
    nodes, lin = _lin_of_used(ordered, sets, used)
    tokens = (frozenset(tokenize(text)) for text in core_ideas)
    return _pack(tuple(problem_ids), sets, tokens, nodes, lin, empty_jaccard)


def _lin_of_used(
    tree: pl.DataFrame, sets: Sequence[Sequence[int]], used: IntArray
) -> tuple[IntArray, LinBlocks]:
    if used.size == 0:
        return used, from_matrices([])
    parent = tree["parent_id"].to_numpy()
    counts = assignment_counts(parent, sets)
    ic = information_content(counts, sum(len(nodes) for nodes in sets))
    return of_tree(parent, tree["depth"].to_numpy(), ic, used)


def pack_features(
    problem_ids: Sequence[str],
    topic_sets: Sequence[Iterable[int]],
    token_sets: Sequence[frozenset[str]],
    nodes: Sequence[int] | IntArray,
    lin: FloatArray,
    *,
    empty_jaccard: float = 0.0,
) -> Features:
    """Pack topic sets, token sets and a Lin table.

    Args:
        problem_ids: n distinct ids.
        topic_sets: n sets of members of `nodes`.
        token_sets: n sets of tokens.
        nodes: (m,) node_ids of the rows and columns of `lin`, ascending.
        lin: (m, m) symmetric, in [0, 1]; rounded to the grid of `lin_blocks.LIN_GRID`.
        empty_jaccard: similarity of two empty token sets, 0 or 1.

    Returns:
        The features, rows in the order of `problem_ids`.

    Raises:
        ValueError: for lists of different lengths, repeated ids, unknown nodes, a topic set of
            more than `MOST_TOPICS` members, or another value of `empty_jaccard`.
    """
    _check_ids(problem_ids, topic_sets, token_sets)
    columns = np.asarray(nodes, dtype=np.int32)
    blocks = from_matrices([np.asarray(lin, dtype=np.float64)])
    return _pack(tuple(problem_ids), topic_sets, token_sets, columns, blocks, empty_jaccard)


def _check_ids(
    ids: Sequence[str], topic_sets: Sequence[Iterable[int]], summaries: Sequence[object]
) -> None:
    if not len(ids) == len(topic_sets) == len(summaries):
        raise ValueError(
            f"{len(ids)} problems, {len(topic_sets)} topic sets and {len(summaries)} summaries "
            "must be equally many"
        )
    if len(set(ids)) != len(ids):
        repeated = [problem_id for problem_id, count in Counter(ids).items() if count > 1]
        raise ValueError(f"problem ids are repeated, first {repeated[0]!r}")


def _pack(
    ids: tuple[str, ...],
    topic_sets: Sequence[Iterable[int]],
    token_sets: Iterable[frozenset[str]],
    nodes: IntArray,
    lin: LinBlocks,
    empty_jaccard: float,
) -> Features:
    if empty_jaccard not in (0.0, 1.0):
        raise ValueError(f"empty_jaccard is 0 or 1, got {empty_jaccard}")
    set_of, set_start, set_nodes = _pack_topic_sets(topic_sets, nodes)
    token_start, tokens, posting_start, postings = _pack_tokens(token_sets)
    arrays = JoinArrays(
        set_of=set_of,
        set_weight=np.bincount(set_of, minlength=len(set_start) - 1).astype(np.int64),
        set_start=set_start,
        set_nodes=set_nodes,
        lin=lin,
        token_start=token_start,
        tokens=tokens,
        posting_start=posting_start,
        postings=postings,
        empty_jaccard=float(empty_jaccard),
    )
    return Features(problem_ids=ids, nodes=nodes, arrays=arrays)


def _offsets(lengths: Iterable[int]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(np.fromiter(lengths, dtype=np.int64)))).astype(np.int64)


def _pack_topic_sets(
    topic_sets: Sequence[Iterable[int]], nodes: IntArray
) -> tuple[IntArray, NDArray[np.int64], IntArray]:
    """Return the distinct set of each problem, and the distinct sets in lexicographic order."""
    column_of = {int(node): column for column, node in enumerate(nodes)}
    try:
        packed = [tuple(sorted({column_of[int(node)] for node in s})) for s in topic_sets]
    except KeyError as error:
        raise ValueError(f"node {error.args[0]} is not among the nodes of the table") from error
    distinct = sorted(set(packed))
    largest = max(map(len, distinct), default=0)
    if largest > MOST_TOPICS:
        raise ValueError(f"a topic set has {largest} members; at most {MOST_TOPICS} are possible")
    number = {topics: position for position, topics in enumerate(distinct)}
    set_of = np.fromiter((number[topics] for topics in packed), dtype=np.int32, count=len(packed))
    flat = np.fromiter((column for topics in distinct for column in topics), dtype=np.int32)
    return set_of, _offsets(map(len, distinct)), flat


def _pack_tokens(
    token_sets: Iterable[frozenset[str]],
) -> tuple[NDArray[np.int64], IntArray, NDArray[np.int64], IntArray]:
    """Return the token lists of the problems and, for each token, the problems that have it."""
    number: dict[str, int] = {}
    flat = array("i")  # no string outlives its summary, or 3 million of them fill the memory
    lengths = array("i")
    for tokens in token_sets:
        flat.extend([number.setdefault(token, len(number)) for token in tokens])
        lengths.append(len(tokens))
    seen = np.array(flat, dtype=np.int64)
    frequency = np.bincount(seen, minlength=len(number)).tolist()
    names = list(number)
    order = sorted(range(len(names)), key=lambda token: (frequency[token], names[token]))
    rank = np.empty(len(names), dtype=np.int64)
    rank[order] = np.arange(len(names))
    row = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
    ranked = rank[seen]
    by_row = np.sort(row * max(len(names), 1) + ranked) % max(len(names), 1)
    by_token = np.sort(ranked * max(len(lengths), 1) + row) % max(len(lengths), 1)
    posting_start = _offsets(frequency[token] for token in order)
    return _offsets(lengths), by_row.astype(np.int32), posting_start, by_token.astype(np.int32)
