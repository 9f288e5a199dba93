"""Does a retriever find a problem again when its statement is worded anew?

Two directions. `source`: the rewording asks, and the source problem is to be found. `rewording`:
the source asks, and the rewording is to be found among the documents. In both, the other
documents are the pool without the source problem, without repeated texts, and without any that
equals the target.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from saber_assets.evaluation.text_scores import UnusableScoresError, text_scores
from saber_assets.retrieval.protocol import Retriever
from saber_assets.retrieval.texts import document_text, query_text

Direction = Literal["source", "rewording"]
TOPS = (1, 4, 16, 64)

SCHEMA = {
    "query_id": pl.String,
    "rank": pl.Int64,
    "documents": pl.Int64,
    "fault": pl.String,
}


@dataclass(frozen=True)
class Search:
    """One search for a duplicate.

    Attributes:
        query_id: the source problem.
        query: the text that asks.
        target: the text of the document to be found.
        pool: ids of the other documents.
    """

    query_id: str
    query: str
    target: str
    pool: tuple[str, ...]


def searches(
    rewordings: Mapping[str, str],
    corpus: pl.DataFrame,
    pools: pl.DataFrame,
    setting: str,
    direction: Direction = "source",
    full_pool: bool = True,
) -> list[Search]:
    """Return the searches, by query id.

    Args:
        rewordings: statement of each query, worded anew, by query id.
        corpus: columns problem_id, problem and solution; holds all queries and candidates.
        pools: CANDIDATE_POOLS, or its columns query_id and candidate_id.
        setting: what text each side shows; a reworded document keeps its solution.
        direction: what is to be found.
        full_pool: search all candidates of all queries; else those of the query alone.

    Raises:
        ValueError: for a rewording of a problem that isn't a query.
    """
    texts = {key: (problem, solution) for key, problem, solution in corpus.select(
        "problem_id", "problem", "solution"
    ).iter_rows()}  # fmt: skip
    own = {
        str(key[0]): tuple(sorted(set(frame["candidate_id"])))
        for key, frame in pools.group_by("query_id")
    }
    strangers = sorted(rewordings.keys() - own.keys())
    if strangers:
        raise ValueError(f"{len(strangers)} rewordings are of no query, first {strangers[0]}")
    everything = tuple(sorted(set(pools["candidate_id"])))
    found = []
    for query_id in sorted(rewordings):
        statement, solution = texts[query_id]
        asking, sought = rewordings[query_id], statement
        if direction == "rewording":
            asking, sought = sought, asking
        pool = everything if full_pool else own[query_id]
        found.append(
            Search(
                query_id,
                query_text(asking, solution, setting),
                document_text(sought, solution, setting),
                tuple(key for key in pool if key != query_id),
            )
        )
    return found


def find_duplicates(
    retriever: Retriever,
    asked: Sequence[Search],
    documents: Mapping[str, str],
    progress: Callable[[int], None] | None = None,
) -> pl.DataFrame:
    """Return the rank of each target.

    Equal scores are ranked by document id, the target under the id of its query.

    Args:
        retriever: what scores.
        asked: from `searches`.
        documents: text of each document, by id.
        progress: called with the number of newly finished searches.

    Returns:
        Columns of `SCHEMA`: rank from 1, null with the reason in `fault` where the retriever
        failed; `documents` counts the target as well.
    """
    rows: list[tuple[str, int | None, int, str | None]] = []
    for search in asked:
        ids, texts = _distinct(search, documents)
        try:
            scores = text_scores(retriever, search.query, texts)
            rows.append((search.query_id, _rank(scores, ids), len(ids), None))
        except UnusableScoresError as error:
            rows.append((search.query_id, None, len(ids), str(error)))
        if progress is not None:
            progress(1)
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def summarise(ranks: pl.DataFrame, tops: Sequence[int] = TOPS) -> dict[str, float]:
    """Return queries, failed, median_rank, and the share found in each top k.

    A search on which the retriever failed counts as not found, at the last rank.

    Args:
        ranks: from `find_duplicates`, of one retriever.
        tops: the k.
    """
    placed = ranks["rank"].fill_null(ranks["documents"]).to_numpy()
    found = np.where(ranks["rank"].is_null().to_numpy(), np.inf, placed)
    empty = placed.size == 0
    return {
        "queries": float(placed.size),
        "failed": float(ranks["rank"].null_count()),
        "median_rank": float("nan") if empty else float(np.median(placed)),
        **{f"top_{k}": float("nan") if empty else float((found <= k).mean()) for k in tops},
    }


def _distinct(search: Search, documents: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Return ids and texts, the target last under the query's id, each text once."""
    seen = {search.target}
    ids, texts = [], []
    for key in search.pool:
        text = documents[key]
        if text not in seen:
            seen.add(text)
            ids.append(key)
            texts.append(text)
    return [*ids, search.query_id], [*texts, search.target]


def _rank(scores: np.ndarray, ids: Sequence[str]) -> int:
    target = scores[-1]
    above = int((scores > target).sum())
    equal = np.flatnonzero(scores == target)
    return 1 + above + sum(ids[place] < ids[-1] for place in equal.tolist())
