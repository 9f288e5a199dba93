r"""Removes near-duplicate problems, keeping the member of the source with the highest priority.

Two statements are duplicates when their tokens (`shingle_tokens`) are equal, or when all of
this holds:

* their decisive tokens (numbers, operators, relations, LaTeX commands, bounds, names of one or two
  letters) are the same in the same order;
* MinHash-LSH proposes the pair, and the exact Jaccard similarity of their shingle sets reaches the
  threshold;
* they differ in wording only: no word of the subject stands for another (`decisive.py`);
* their answers, where both are short, do not differ.

This is strict on purpose: in a long text one changed number or word leaves the similarity far
above any threshold, and yet it is another problem. The price is that copies that differ in a sign
stay two problems.

Statements that point at a figure are duplicates only if their solutions agree as well, because
the text alone does not say which figure.

There is no transitive merging: records are taken in order of priority, and one is dropped only
for its own similarity to a record that was kept (SPEC, "Corpus", Dedup). That one pass is
deduplication within each source and then across sources, with one care taken: a record that went
within its source, for one that then goes across sources itself, is judged again on its own. Two
passes without that would drop the far end of a chain for a problem that it isn't like. Each
dropped record says whether what it is like is of its own source ("within") or another ("across").

Texts are read twice, some at a time, and no tokens are kept: the first reading finds equal
statements and equal decisive tokens (a hash of each), the second signs the statements that may
have a near-duplicate. A record is compared only with kept records of its LSH buckets, so a
cluster of n copies costs n comparisons, and no list of pairs is ever made.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from saber_assets.corpus.decisive import decisive_tokens, differ_in_wording_only
from saber_assets.corpus.figure_mentions import refers_to_figure
from saber_assets.corpus.minhash import (
    band_keys,
    banding,
    buckets,
    exact_jaccard,
    signature_batches,
)
from saber_assets.corpus.readers import normalise_content
from saber_assets.corpus.tables import DEDUPED_CORPUS, DROPPED_PROBLEMS
from saber_assets.corpus.tokens import shingle_tokens, shingles

_READ_AT_ONCE = 4096
_CACHED = 4096
_SHORT_ANSWER = 8
"""Tokens at most of a solution that is taken for the answer itself."""
_SHORT_CHARACTERS = 400


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
        raw: a frame of `RAW_PROBLEMS`; rows with a fault are dropped for it first. Of the columns
            after the solution, `answer` alone is read, and none need be there.
        source_priority: source names, highest priority first.
        threshold: exact Jaccard of shingle sets from which statements are near-duplicates, (0, 1].
        num_perm: hash values in a MinHash signature.
        shingle: tokens in a shingle; shorter statements are compared for equality only.
        seed: of the MinHash permutations.
        progress: called with the number of newly read records, `raw.height` in all; what follows
            the reading is short beside it.

    Returns:
        Frames of the columns of `DEDUPED_CORPUS` that `raw` has (by problem_id), and of
        `DROPPED_PROBLEMS` (by problem_id, occurrence). Each dropped duplicate names a kept record
        that it is itself similar to.

    Raises:
        ValueError: for a threshold, `num_perm` or `shingle` out of range.
    """
    if shingle < 1:
        raise ValueError(f"shingle must be at least 1, got {shingle}")
    banding(threshold, num_perm)
    report = progress if progress is not None else _ignore
    texts = _Texts(raw, _order_of_priority(raw, source_priority))
    report(raw.height - len(texts))
    statements = _Statements.read(texts, shingle, report)
    edges = _Buckets.of(statements, threshold, num_perm, shingle, seed)
    keeper = _Keeper(statements, edges, threshold, shingle)
    for row in range(len(texts)):
        keeper.take(row)
    return _frames(raw, keeper)


def _ignore(_: int) -> None:
    """Report progress to nobody."""


def _order_of_priority(raw: pl.DataFrame, source_priority: Sequence[str]) -> NDArray[np.uint32]:
    """Return the positions of the records without a fault, highest priority first."""
    ranks = {source: rank for rank, source in reversed(list(enumerate(source_priority)))}
    ordered = (
        raw.select("source", "problem_id", "occurrence", "fault")
        .with_row_index("position")
        .filter(pl.col("fault").is_null())
        .with_columns(
            pl.col("source")
            .replace_strict(ranks, default=len(source_priority), return_dtype=pl.Int64)
            .alias("rank")
        )
        .sort("rank", "source", "problem_id", "occurrence")
    )
    return ordered["position"].to_numpy()


@dataclass(frozen=True)
class _Texts:
    """The records in order of priority, read from the frame when they are asked for."""

    raw: pl.DataFrame
    position: NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.position)

    def get(self, column: str, row: int) -> str:
        """Return one text of the record that is `row`-th in priority."""
        return str(self.raw[column][int(self.position[row])])

    def answer(self, row: int) -> list[str] | None:
        """Return the tokens of the answer, or of a solution that is as short; None without."""
        answers = self.raw["answer"] if "answer" in self.raw.columns else None
        given = answers[int(self.position[row])] if answers is not None else None
        if given:
            return shingle_tokens(given)
        solution = self.get("solution", row)
        tokens = shingle_tokens(solution) if len(solution) <= _SHORT_CHARACTERS else []
        return tokens if 0 < len(tokens) <= _SHORT_ANSWER else None

    def statements(self, rows: NDArray[np.int64]) -> Iterator[str]:
        """Yield the statements of some records, a slice in memory at a time."""
        problems = self.raw["problem"]
        for start in range(0, len(rows), _READ_AT_ONCE):
            yield from problems.gather(self.position[rows[start : start + _READ_AT_ONCE]])


@dataclass(frozen=True)
class _Statements:
    """The records' distinct statements ("keys"), numbered in order of priority."""

    texts: _Texts
    key_of_row: NDArray[np.int32]
    row_of_key: NDArray[np.int64]
    block_of_key: NDArray[np.uint64]
    is_long: NDArray[np.bool_]

    @classmethod
    def read(cls, texts: _Texts, shingle: int, report: Callable[[int], None]) -> _Statements:
        """Tokenise every statement, and keep two hashes of it."""
        numbers: dict[bytes, int] = {}
        key_of_row, row_of_key = array("i"), array("q")
        blocks, is_long = array("Q"), array("b")
        for row, text in enumerate(texts.statements(np.arange(len(texts)))):
            tokens = shingle_tokens(text)
            digest = _digest(tokens or ["\x1e", normalise_content(text)])
            key = numbers.setdefault(digest, len(numbers))
            if key == len(row_of_key):
                row_of_key.append(row)
                is_long.append(len(tokens) >= shingle)
                blocks.append(int.from_bytes(_digest(decisive_tokens(tokens))[:8], "little"))
            key_of_row.append(key)
            report(1)
        return cls(
            texts,
            np.array(key_of_row, dtype=np.int32),
            np.array(row_of_key, dtype=np.int64),
            np.array(blocks, dtype=np.uint64),
            np.array(is_long, dtype=np.bool_),
        )

    def tokens(self, key: int) -> list[str]:
        """Tokenise a statement again."""
        return shingle_tokens(self.texts.get("problem", int(self.row_of_key[key])))


def _digest(tokens: Sequence[str]) -> bytes:
    return hashlib.blake2b("\x1f".join(tokens).encode(), digest_size=16).digest()


@dataclass(frozen=True)
class _Buckets:
    """Which LSH buckets a statement shares with another, and the kept statements in each."""

    place_of_key: NDArray[np.int32]
    starts: NDArray[np.int64]
    numbers: NDArray[np.int32]
    kept: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(
        cls, statements: _Statements, threshold: float, num_perm: int, shingle: int, seed: int
    ) -> _Buckets:
        """Sign the statements that may have a near-duplicate, and sort them into buckets."""
        # only statements whose decisive tokens occur twice can have a near-duplicate
        blocks = statements.block_of_key
        _, which, sizes = np.unique(blocks, return_inverse=True, return_counts=True)
        signed = np.flatnonzero(statements.is_long & (sizes[which] > 1))
        place_of_key = np.full(len(blocks), -1, dtype=np.int32)
        place_of_key[signed] = np.arange(len(signed))
        texts = statements.texts.statements(statements.row_of_key[signed])
        keys = np.empty((len(signed), banding(threshold, num_perm)[0]), dtype=np.uint64)
        done = 0
        for batch in signature_batches(map(shingle_tokens, texts), shingle, num_perm, seed):
            end = done + len(batch)
            keys[done:end] = band_keys(batch, threshold, blocks[signed[done:end]])
            done = end
        return cls(place_of_key, *buckets(keys))

    def of_key(self, key: int) -> list[int]:
        """Return the buckets of a statement; none where nothing is like it."""
        place = int(self.place_of_key[key])
        if place < 0:
            return []
        numbers: list[int] = self.numbers[self.starts[place] : self.starts[place + 1]].tolist()
        return numbers

    def kept_near(self, key: int) -> set[int]:
        """Return the kept statements that share a bucket with this one."""
        return {near for bucket in self.of_key(key) for near in self.kept[bucket]} - {key}

    def keep(self, key: int) -> None:
        """Enter a kept statement into its buckets."""
        for bucket in self.of_key(key):
            self.kept[bucket].append(key)


@dataclass
class _Keeper:
    """Takes the records in order of priority and decides on each, once."""

    statements: _Statements
    buckets: _Buckets
    threshold: float
    shingle: int
    kept: list[int] = field(default_factory=list)
    dropped: dict[int, tuple[int, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._kept_with_key: dict[int, list[int]] = defaultdict(list)
        self._compared = lru_cache(maxsize=_CACHED)(self._compared_of)

    def take(self, row: int) -> None:
        """Keep the record, or drop it for the most similar kept one (the first of equals)."""
        key = int(self.statements.key_of_row[row])
        equal = self._kept_with_key.get(key, ())
        for other in equal:
            if self._may_merge(row, other):
                self.dropped[row] = (other, 1.0)
                return
        best: tuple[float, int] | None = None
        for near in self.buckets.kept_near(key):
            similarity = self._similarity(key, near)
            if similarity < self.threshold or (best is not None and similarity < -best[0]):
                continue
            for other in self._kept_with_key[near]:
                if (
                    (best is None or (-similarity, other) < best)
                    and self._may_merge(row, other)
                    and self._answers_agree(row, other)
                ):
                    best = (-similarity, other)
        if best is not None:
            self.dropped[row] = (best[1], -best[0])
            return
        if not equal:
            self.buckets.keep(key)
        self.kept.append(row)
        self._kept_with_key[key].append(row)

    def _similarity(self, left: int, right: int) -> float:
        """Return the exact Jaccard similarity, or 0 where something that matters differs."""
        tokens, decisive, known = self._compared(left)
        others, other_decisive, other_known = self._compared(right)
        if decisive != other_decisive:
            return 0.0
        similarity = exact_jaccard(known, other_known)
        if similarity < self.threshold or not differ_in_wording_only(tokens, others):
            return 0.0
        return similarity

    def _compared_of(
        self, key: int
    ) -> tuple[list[str], tuple[str, ...], frozenset[tuple[str, ...]]]:
        tokens = self.statements.tokens(key)
        return tokens, decisive_tokens(tokens), shingles(tokens, self.shingle)

    def _may_merge(self, row: int, other: int) -> bool:
        """Tell whether the figure rule lets two similar records be one."""
        get = self.statements.texts.get
        if not (refers_to_figure(get("problem", row)) or refers_to_figure(get("problem", other))):
            return True
        return _same_content(get("solution", row), get("solution", other))

    def _answers_agree(self, row: int, other: int) -> bool:
        """Tell whether both problems may have one answer, as far as their answers are short."""
        left, right = self.statements.texts.answer(row), self.statements.texts.answer(other)
        if left is None or right is None:
            return True
        return (decisive_tokens(left) or left) == (decisive_tokens(right) or right)


def _same_content(left: str, right: str) -> bool:
    tokens = shingle_tokens(left)
    if tokens or shingle_tokens(right):
        return tokens == shingle_tokens(right)
    return normalise_content(left) == normalise_content(right)


def _frames(raw: pl.DataFrame, keeper: _Keeper) -> tuple[pl.DataFrame, pl.DataFrame]:
    position = keeper.statements.texts.position
    columns = list(DROPPED_PROBLEMS.columns)
    kept_columns = [column for column in DEDUPED_CORPUS.columns if column in raw.columns]
    corpus = raw[kept_columns][position[keeper.kept]].sort("problem_id")
    gone = position[list(keeper.dropped)]
    others = position[[other for other, _ in keeper.dropped.values()]]
    evidence = pl.Series(_evidence(keeper), dtype=pl.String)
    within = raw["source"].gather(gone) == raw["source"].gather(others)
    given = [column for column in columns if column in raw.columns]
    duplicates = raw[given][gone].with_columns(
        (evidence == "similar_tokens")
        .replace_strict({True: "near_duplicate", False: "exact_duplicate"}, return_dtype=pl.String)
        .alias("reason"),
        raw["problem_id"].gather(others).alias("kept_problem_id"),
        pl.Series("similarity", [value for _, value in keeper.dropped.values()], dtype=pl.Float64),
        within.replace_strict({True: "within", False: "across"}, return_dtype=pl.String).alias(
            "scope"
        ),
        evidence.alias("evidence"),
    )
    faulted = raw.filter(pl.col("fault").is_not_null()).with_columns(
        pl.col("fault").alias("reason"),
        pl.lit(None, dtype=pl.Float64).alias("similarity"),
        *(
            pl.lit(None, dtype=pl.String).alias(name)
            for name in ("kept_problem_id", "scope", "evidence")
        ),
    )
    dropped = pl.concat([duplicates.select(columns), faulted.select(columns)])
    return corpus, dropped.sort("problem_id", "occurrence")


def _evidence(keeper: _Keeper) -> list[str]:
    """Return what shows that each dropped record is a duplicate, a name of `EVIDENCE`."""
    keys, get = keeper.statements.key_of_row, keeper.statements.texts.get
    found = []
    for row, (other, _) in keeper.dropped.items():
        if keys[row] != keys[other]:
            found.append("similar_tokens")
        elif normalise_content(get("problem", row)) == normalise_content(get("problem", other)):
            found.append("equal_text")
        else:
            found.append("equal_tokens")
    return found
