"""The usual ways to join all pairs, for some query rows, as the candidates benchmark needs them.

* Dense rows: a row of a sparse product, and numpy over the Lin table.
* Every pair, compiled: both similarities of each pair from their definitions, in machine code on
  one thread, no score written. It stands in for the C extension of the published code, which no
  package index holds.
* DuckDB: a join of the token tables, Jaccard only.
* sparse_dot_topn, where it is installed: a sparse product in C++, Jaccard only.
"""

from __future__ import annotations

import importlib.util

import duckdb
import numpy as np
import polars as pl
from numba import njit
from scipy.sparse import csr_array, csr_matrix

from saber_assets.candidates.features import Features, JoinArrays

THREADS = 2


def dense_rows(features: Features, rows: np.ndarray, taus: tuple[float, float]) -> np.ndarray:
    """Count the categories of some rows the usual way: sparse product, numpy over Lin."""
    arrays, lin = features.arrays, features.arrays.lin
    tokens = csr_array(
        (np.ones(arrays.tokens.size), arrays.tokens, arrays.token_start),
        shape=(len(features), arrays.posting_start.size - 1),
    )
    sizes, starts = np.diff(arrays.token_start), arrays.set_start[:-1]
    counts = []
    for row in rows:
        common = (tokens @ tokens[[row]].T).toarray().ravel()
        near_summary = common / np.maximum(sizes + sizes[row] - common, 1) >= taus[1]
        own = arrays.set_of[row]
        mine = arrays.set_nodes[arrays.set_start[own] : arrays.set_start[own + 1]]
        related = np.zeros((mine.size, lin.row.size))
        for place, topic in enumerate(mine):
            first, last, begin = lin.first[topic], lin.last[topic], lin.row[topic]
            related[place, first:last] = lin.values[begin + first : begin + last]
        table = related[:, arrays.set_nodes]
        forward = np.maximum.reduceat(table, starts, axis=1).sum(axis=0)
        total = forward + np.add.reduceat(table.max(axis=0), starts)
        average = total / (np.diff(arrays.set_start) + mine.size)
        near_topic = (average >= taus[0])[arrays.set_of]
        near_topic[row] = near_summary[row] = False
        both = near_topic & near_summary
        counts.append((near_topic.sum() - both.sum(), near_summary.sum() - both.sum(), both.sum()))
    return np.array(counts)


@njit(nogil=True)
def _best_sum(arrays: JoinArrays, one: int, two: int) -> float:
    """Return the sum over one set's topics of the best Lin with a topic of the other."""
    lin, total = arrays.lin, 0.0
    for left in range(arrays.set_start[one], arrays.set_start[one + 1]):
        topic, best = arrays.set_nodes[left], 0.0
        for right in range(arrays.set_start[two], arrays.set_start[two + 1]):
            other = arrays.set_nodes[right]
            if lin.first[topic] <= other < lin.last[topic]:
                best = max(best, lin.values[lin.row[topic] + other])
        total += best
    return total


@njit(nogil=True)
def _shared_tokens(arrays: JoinArrays, one: int, two: int) -> int:
    left, right, shared = arrays.token_start[one], arrays.token_start[two], 0
    while left < arrays.token_start[one + 1] and right < arrays.token_start[two + 1]:
        mine, theirs = arrays.tokens[left], arrays.tokens[right]
        shared += mine == theirs
        left += mine <= theirs
        right += theirs <= mine
    return shared


@njit(nogil=True)
def _count_pairs(
    arrays: JoinArrays, rows: np.ndarray, taus: tuple[float, float], counts: np.ndarray
) -> None:
    starts, tokens = arrays.set_start, arrays.token_start
    for place in range(rows.shape[0]):
        row = rows[place]
        own, size = arrays.set_of[row], tokens[row + 1] - tokens[row]
        for other in range(arrays.set_of.shape[0]):
            if other == row:
                continue
            theirs = arrays.set_of[other]
            topics = starts[own + 1] - starts[own] + starts[theirs + 1] - starts[theirs]
            total = _best_sum(arrays, own, theirs) + _best_sum(arrays, theirs, own)
            near_topic = total / max(topics, 1) >= taus[0]
            shared = _shared_tokens(arrays, row, other)
            union = size + tokens[other + 1] - tokens[other] - shared
            near_summary = shared / max(union, 1) >= taus[1]
            if near_topic and near_summary:
                counts[place, 2] += 1
            elif near_topic:
                counts[place, 0] += 1
            elif near_summary:
                counts[place, 1] += 1


def compiled_rows(features: Features, rows: np.ndarray, taus: tuple[float, float]) -> np.ndarray:
    """Count the categories of some rows by computing every pair, compiled."""
    counts = np.zeros((len(rows), 3), dtype=np.int64)
    _count_pairs(features.arrays, rows, taus, counts)
    return counts


def duckdb_rows(features: Features, rows: int, tau: float) -> int:
    """Join the summaries of the first rows with all in DuckDB; return the pairs found."""
    arrays = features.arrays
    sizes = np.diff(arrays.token_start)
    tokens = pl.DataFrame(  # noqa: F841 - DuckDB reads it by name
        {
            "row": np.repeat(np.arange(len(features)), sizes),
            "token": arrays.tokens,
            "size": np.repeat(sizes, sizes),
        }
    )
    with duckdb.connect() as connection:
        connection.execute(f"SET threads = {THREADS}")
        found = connection.sql(
            f"""SELECT count(*) FROM (
            SELECT a.row, b.row AS other FROM tokens a JOIN tokens b USING (token)
            WHERE a.row < {rows} AND a.row <> b.row GROUP BY a.row, b.row, a.size, b.size
            HAVING count(*) / (a.size + b.size - count(*)) >= {tau})"""
        ).fetchall()
    return int(found[0][0])


def sparse_dot_topn_rows(features: Features, rows: int, tau: float) -> int | None:
    """Join the summaries of the first rows with all by sparse_dot_topn; None without it."""
    if importlib.util.find_spec("sparse_dot_topn") is None:
        return None
    from sparse_dot_topn import sp_matmul

    arrays = features.arrays
    tokens = csr_matrix(
        (np.ones(arrays.tokens.size, dtype=np.float32), arrays.tokens, arrays.token_start),
        shape=(len(features), arrays.posting_start.size - 1),
    )
    common = sp_matmul(tokens[:rows], tokens.T.tocsr(), n_threads=THREADS).tocoo()
    sizes = np.diff(arrays.token_start)
    union = sizes[common.row] + sizes[common.col] - common.data
    return int(((common.data / union >= tau) & (common.row != common.col)).sum())
