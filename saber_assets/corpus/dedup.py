r"""Removes near-duplicate problems, keeping the member of the source with the highest priority.

Two statements are duplicates when their tokens (`shingle_tokens`) are equal, or when all of
this holds: their decisive tokens (numbers, operators, relations, LaTeX commands, bounds, names
of one or two letters) are the same in the same order; MinHash-LSH proposes the pair; and the exact
Jaccard similarity of their shingle sets reaches the threshold. The first condition is strict on
purpose: in a long text one changed number leaves the similarity far above any threshold, and yet
it is another problem. The price is that copies that differ in a sign stay two problems.

Statements that point at a figure are duplicates only if their solutions agree as well, because
the text alone does not say which figure.

There is no transitive merging: records are taken in order of priority, and one is dropped only
for its own similarity to a record that was kept (SPEC, "Corpus", Dedup).
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from saber_assets.corpus.minhash import candidate_pairs, exact_jaccard, signatures
from saber_assets.corpus.readers import normalise_content
from saber_assets.corpus.tables import DEDUPED_CORPUS, DROPPED_PROBLEMS
from saber_assets.corpus.tokens import decisive_tokens, shingle_tokens, shingles

_FIGURE = re.compile(
    r"\b(?:figures?|fig\.|diagrams?|pictures?|pictured|shown|drawing|illustrat\w+|sketched)"
    r"|\b(?:graph|table|chart|image|map|grid|number line)s? (?:\w+ ){0,4}"
    r"(?:below|above|right|left|given|here|represents?|shows?)\b"
    r"|\b(?:below|above|following|given|this) (?:\w+ ){0,2}(?:graph|table|chart|image|map|grid)s?\b"
    r"|\[(?:image|img|figure|graph|asy)|!\[|<img|\\includegraphics|\\begin\{(?:asy|tikz|pspic|pict)",
    re.IGNORECASE,
)


def refers_to_figure(statement: str) -> bool:
    """Tell whether a statement points at a figure, diagram, graph, table or image, or holds one."""
    return _FIGURE.search(statement) is not None


def deduplicate(
    raw: pl.DataFrame,
    source_priority: Sequence[str] = (),
    threshold: float = 0.85,
    num_perm: int = 128,
    shingle: int = 5,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split the records into a corpus without near-duplicates and the records left out.

    The order of priority is: sources as listed, then the others by name; within a source by
    problem_id, then by occurrence. So neither the order of the rows nor their ids matter.

    Args:
        raw: a frame of `RAW_PROBLEMS`; rows with a fault are dropped for it first.
        source_priority: source names, highest priority first.
        threshold: exact Jaccard of shingle sets from which statements are near-duplicates, (0, 1].
        num_perm: hash values in a MinHash signature.
        shingle: tokens in a shingle; shorter statements are compared for equality only.
        seed: of the MinHash permutations.
        progress: called with the number of newly finished records, `raw.height` in all.

    Returns:
        Frames of `DEDUPED_CORPUS` (by problem_id) and `DROPPED_PROBLEMS` (by problem_id,
        occurrence). Each dropped duplicate names a kept record that it is itself similar to.

    Raises:
        ValueError: for a threshold, `num_perm` or `shingle` out of range.
    """
    ranks = {source: rank for rank, source in reversed(list(enumerate(source_priority)))}
    ordered = (
        raw.filter(pl.col("fault").is_null())
        .with_columns(
            pl.col("source")
            .replace_strict(ranks, default=len(source_priority), return_dtype=pl.Int64)
            .alias("rank")
        )
        .sort("rank", "source", "problem_id", "occurrence")
    )
    report = progress if progress is not None else _ignore
    report(raw.height - ordered.height)
    statements = _Statements.of(ordered, shingle)
    edges = _candidate_edges(statements, threshold, num_perm, shingle, seed)
    keeper = _Keeper(statements, edges, threshold, shingle)
    for row in range(ordered.height):
        keeper.take(row)
        report(1)
    return _frames(raw, ordered, keeper)


def _ignore(_: int) -> None:
    """Report progress to nobody."""


@dataclass(frozen=True)
class _Statements:
    """The records in order of priority, and their distinct statements ("keys")."""

    texts: list[str]
    solutions: list[str]
    problem_ids: list[str]
    key_of_row: list[int]
    text_of_key: list[str]
    tokens_of_key: list[list[str]]
    block_of_key: NDArray[np.uint64]

    @classmethod
    def of(cls, ordered: pl.DataFrame, shingle: int) -> _Statements:
        """Tokenise the statements; only texts long enough for a shingle keep their tokens."""
        numbers: dict[bytes, int] = {}
        key_of_row: list[int] = []
        text_of_key: list[str] = []
        tokens_of_key: list[list[str]] = []
        blocks: list[int] = []
        texts = ordered["problem"].to_list()
        for text in texts:
            tokens = shingle_tokens(text)
            digest = _digest(tokens or ["\x1e", normalise_content(text)])
            key = numbers.setdefault(digest, len(numbers))
            if key == len(text_of_key):
                text_of_key.append(text)
                tokens_of_key.append(tokens if len(tokens) >= shingle else [])
                blocks.append(int.from_bytes(_digest(decisive_tokens(tokens))[:8], "little"))
            key_of_row.append(key)
        return cls(
            texts,
            ordered["solution"].to_list(),
            ordered["problem_id"].to_list(),
            key_of_row,
            text_of_key,
            tokens_of_key,
            np.array(blocks, dtype=np.uint64),
        )


def _digest(tokens: Sequence[str]) -> bytes:
    return hashlib.blake2b("\x1f".join(tokens).encode(), digest_size=16).digest()


def _candidate_edges(
    statements: _Statements, threshold: float, num_perm: int, shingle: int, seed: int
) -> dict[int, list[int]]:
    """Return, for each distinct statement, those that LSH proposes as near-duplicates of it."""
    if shingle < 1:
        raise ValueError(f"shingle must be at least 1, got {shingle}")
    # only statements whose decisive tokens occur twice can have a near-duplicate
    _, which, sizes = np.unique(statements.block_of_key, return_inverse=True, return_counts=True)
    long = [
        key
        for key, tokens in enumerate(statements.tokens_of_key)
        if tokens and sizes[which[key]] > 1
    ]
    matrix = signatures((statements.tokens_of_key[key] for key in long), shingle, num_perm, seed)
    pairs = candidate_pairs(matrix, threshold, statements.block_of_key[long])
    edges: dict[int, list[int]] = defaultdict(list)
    for left, right in pairs.tolist():
        edges[long[left]].append(long[right])
        edges[long[right]].append(long[left])
    return edges


@dataclass
class _Keeper:
    """Takes the records in order of priority and decides on each, once."""

    statements: _Statements
    edges: dict[int, list[int]]
    threshold: float
    shingle: int
    kept: list[int] = field(default_factory=list)
    dropped: dict[int, tuple[str, int, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._kept_with_key: dict[int, list[int]] = defaultdict(list)
        self._shingles = lru_cache(maxsize=65536)(self._shingles_of)
        self._decisive = lru_cache(maxsize=65536)(self._decisive_of)

    def take(self, row: int) -> None:
        """Keep the record, or drop it for the most similar kept one (the first of equals)."""
        key = self.statements.key_of_row[row]
        for other in self._kept_with_key[key]:
            if self._may_merge(row, other):
                self.dropped[row] = ("exact_duplicate", other, 1.0)
                return
        best: tuple[float, int] | None = None
        for near in self.edges.get(key, ()):
            for other in self._kept_with_key.get(near, ()):
                similarity = self._similarity(key, near)
                if similarity < self.threshold or not self._may_merge(row, other):
                    continue
                if best is None or (-similarity, other) < (-best[0], best[1]):
                    best = (similarity, other)
        if best is not None:
            self.dropped[row] = ("near_duplicate", best[1], best[0])
            return
        self.kept.append(row)
        self._kept_with_key[key].append(row)

    def _similarity(self, left: int, right: int) -> float:
        if self._decisive(left) != self._decisive(right):
            return 0.0
        return exact_jaccard(self._shingles(left), self._shingles(right))

    def _shingles_of(self, key: int) -> frozenset[tuple[str, ...]]:
        return shingles(self.statements.tokens_of_key[key], self.shingle)

    def _decisive_of(self, key: int) -> tuple[str, ...]:
        return decisive_tokens(self.statements.tokens_of_key[key])

    def _may_merge(self, row: int, other: int) -> bool:
        """Tell whether the figure rule lets two similar records be one."""
        texts, solutions = self.statements.texts, self.statements.solutions
        if not (refers_to_figure(texts[row]) or refers_to_figure(texts[other])):
            return True
        return _same_content(solutions[row], solutions[other])


def _same_content(left: str, right: str) -> bool:
    tokens = shingle_tokens(left)
    if tokens or shingle_tokens(right):
        return tokens == shingle_tokens(right)
    return normalise_content(left) == normalise_content(right)


def _frames(
    raw: pl.DataFrame, ordered: pl.DataFrame, keeper: _Keeper
) -> tuple[pl.DataFrame, pl.DataFrame]:
    corpus = ordered[keeper.kept].select(list(DEDUPED_CORPUS.columns)).sort("problem_id")
    rows = list(keeper.dropped)
    evidence = list(keeper.dropped.values())
    duplicates = ordered[rows].with_columns(
        pl.Series("reason", [reason for reason, _, _ in evidence], dtype=pl.String),
        pl.Series(
            "kept_problem_id",
            [keeper.statements.problem_ids[other] for _, other, _ in evidence],
            dtype=pl.String,
        ),
        pl.Series("similarity", [value for _, _, value in evidence], dtype=pl.Float64),
    )
    faulted = raw.filter(pl.col("fault").is_not_null()).with_columns(
        pl.col("fault").alias("reason"),
        pl.lit(None, dtype=pl.String).alias("kept_problem_id"),
        pl.lit(None, dtype=pl.Float64).alias("similarity"),
    )
    columns = list(DROPPED_PROBLEMS.columns)
    dropped = pl.concat([duplicates.select(columns), faulted.select(columns)])
    return corpus, dropped.sort("problem_id", "occurrence")
