"""Does a retriever match a problem by its formulas or by its words?

A statement is split into its formulas and its words. Each part alone is compared with the
documents that are rated highest for the query; the part with the higher mean score is the one
that the retriever goes by.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from saber_assets.corpus.formulas import Formula, formulas
from saber_assets.evaluation.text_scores import UnusableScoresError, text_scores
from saber_assets.retrieval.protocol import Retriever
from saber_assets.tournament.intervals import wilson

__all__ = [
    "Formula",
    "Parts",
    "Preference",
    "formulas",
    "highest_rated",
    "math_against_words",
    "preference",
    "split",
]

TOP = 5
_BLANKS = re.compile(r"\s+")

SCHEMA = {
    "query_id": pl.String,
    "math": pl.Float64,
    "words": pl.Float64,
    "by_math": pl.Boolean,
    "fault": pl.String,
}


@dataclass(frozen=True)
class Parts:
    """A text's formulas and its words, each joined by single blanks; either may be empty."""

    math: str
    words: str


@dataclass(frozen=True)
class Preference:
    """How often a retriever goes by the formulas.

    Attributes:
        queries: compared, ties included.
        by_math: of them, those where the formulas alone score higher.
        ties: of them, those where both score the same; half of them count as by formulas.
        share: (by_math + ties / 2) / queries; NaN without queries.
        low: lower end of its 95 % Wilson interval.
        high: upper end.
        failed: queries on which the retriever failed; not compared.
    """

    queries: int
    by_math: int
    ties: int
    share: float
    low: float
    high: float
    failed: int


def split(text: str) -> Parts:
    """Return a text's formulas, without their delimiters, and its words."""
    bodies: list[str] = []
    words: list[str] = []
    last = 0
    for formula in formulas(text):
        words.append(text[last : formula.start])
        bodies.append(formula.body)
        last = formula.stop
    words.append(text[last:])
    return Parts(_joined(bodies), _joined(words))


def highest_rated(ratings: pl.DataFrame, top: int = TOP) -> dict[str, list[str]]:
    """Return the ids of the highest rated candidates of each query, best first.

    Args:
        ratings: RELEVANCE_RATINGS, or its columns query_id, candidate_id and rating.
        top: how many; fewer where fewer are rated. Equal ratings are ordered by id.
    """
    kept = (
        ratings.drop_nulls("rating")
        .sort(["query_id", "rating", "candidate_id"], descending=[False, True, False])
        .group_by("query_id", maintain_order=True)
        .head(top)
    )
    return {
        str(key[0]): frame["candidate_id"].to_list()
        for key, frame in kept.group_by("query_id", maintain_order=True)
    }


def math_against_words(
    retriever: Retriever,
    statements: Mapping[str, str],
    documents: Mapping[str, Sequence[str]],
    progress: Callable[[int], None] | None = None,
) -> pl.DataFrame:
    """Compare each statement's parts with its documents.

    Args:
        retriever: what scores.
        statements: of each query, by id; a query of which either part is empty is left out.
        documents: texts of its highest rated documents, by query id.
        progress: called with the number of newly finished queries.

    Returns:
        Columns of `SCHEMA`, by query id: mean scores of the parts, and whether the formulas score
        higher (null for a tie, and with the reason in `fault` where the retriever failed).
    """
    rows = []
    for query_id in sorted(statements.keys() & documents.keys()):
        parts = split(statements[query_id])
        if parts.math and parts.words and documents[query_id]:
            rows.append((query_id, *_compared(retriever, parts, documents[query_id])))
        if progress is not None:
            progress(1)
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def preference(compared: pl.DataFrame) -> Preference:
    """Return how often formulas win, from `math_against_words`."""
    usable = compared.filter(pl.col("fault").is_null())
    by_math = int(usable["by_math"].fill_null(False).sum())
    ties = usable["by_math"].null_count()
    points = by_math + ties / 2
    low, high = wilson(points, usable.height) if usable.height else (float("nan"),) * 2
    return Preference(
        queries=usable.height,
        by_math=by_math,
        ties=ties,
        share=points / usable.height if usable.height else float("nan"),
        low=low,
        high=high,
        failed=compared.height - usable.height,
    )


def _compared(
    retriever: Retriever, parts: Parts, documents: Sequence[str]
) -> tuple[float | None, float | None, bool | None, str | None]:
    try:
        math, words = (
            float(np.mean(text_scores(retriever, part, documents)))
            for part in (parts.math, parts.words)
        )
    except UnusableScoresError as error:
        return None, None, None, str(error)
    return math, words, None if math == words else math > words, None


def _joined(parts: Sequence[str]) -> str:
    return _BLANKS.sub(" ", " ".join(parts)).strip()
