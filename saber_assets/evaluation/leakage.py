"""Hidden duplicates among the documents that are rated highest: what an audit's replies say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from saber_assets.evaluation.llm_replies import Flag, read_audit
from saber_assets.evaluation.word_math_split import highest_rated
from saber_assets.json_reply import ReplyError

TOP = 50

FLAGGED = {
    "query_id": pl.String,
    "candidate_id": pl.String,
    "rank": pl.Int64,
    "reason": pl.String,
}
UNREAD = {"query_id": pl.String, "reason": pl.String}

Answer = tuple[Flag, ...] | str
"""The documents that a reply flags, or why there is none to read."""


@dataclass(frozen=True)
class Audit:
    """What one call of the audit shows.

    Attributes:
        query_id: the query.
        candidate_ids: its highest rated candidates, best first; document 1 is the first.
    """

    query_id: str
    candidate_ids: tuple[str, ...]


@dataclass(frozen=True)
class Leakage:
    """The result of an audit.

    Attributes:
        queries: whose replies could be read.
        pairs: of query and document that these replies cover.
        flagged: columns of `FLAGGED`, by query and rank; rank 1 is the highest rated.
        unread: columns of `UNREAD`: queries without a reply, or with one that can't be read.
            They are no part of `pairs`: nothing is known of them.
    """

    queries: int
    pairs: int
    flagged: pl.DataFrame
    unread: pl.DataFrame


def audits(ratings: pl.DataFrame, top: int = TOP) -> list[Audit]:
    """Return what is to be audited, by query id.

    Args:
        ratings: RELEVANCE_RATINGS, or its columns query_id, candidate_id and rating.
        top: documents a query; fewer where fewer are rated.
    """
    return [Audit(query, tuple(ids)) for query, ids in highest_rated(ratings, top).items()]


def texts_of(audit: Audit, statements: Mapping[str, str]) -> dict[str, object]:
    """Return the values that the prompt `leakage_audit` is rendered with.

    Args:
        audit: what is shown.
        statements: of every problem, by id.
    """
    return {
        "query": statements[audit.query_id],
        "documents": [statements[key] for key in audit.candidate_ids],
    }


def read_replies(asked: Sequence[Audit], replies: Mapping[str, str | None]) -> dict[str, Answer]:
    """Return, by query, what its reply flags, or why it can't be read.

    Args:
        asked: from `audits`.
        replies: the model's answer to each query's audit, None where the call failed.
    """
    answers: dict[str, Answer] = {}
    for audit in asked:
        reply = replies.get(audit.query_id)
        if reply is None:
            continue
        try:
            answers[audit.query_id] = read_audit(reply, len(audit.candidate_ids))
        except ReplyError as error:
            answers[audit.query_id] = str(error)
    return answers


def aggregate(asked: Sequence[Audit], answers: Mapping[str, Answer]) -> Leakage:
    """Put the answers together.

    Args:
        asked: from `audits`.
        answers: by query, the flagged documents, or why they aren't known.
    """
    flagged, unread = [], []
    pairs = 0
    for audit in asked:
        answer = answers.get(audit.query_id, "there is no reply")
        if isinstance(answer, str):
            unread.append((audit.query_id, answer))
            continue
        pairs += len(audit.candidate_ids)
        flagged += [
            (audit.query_id, audit.candidate_ids[flag.document - 1], flag.document, flag.reason)
            for flag in answer
        ]
    return Leakage(
        queries=len(asked) - len(unread),
        pairs=pairs,
        flagged=pl.DataFrame(flagged, schema=FLAGGED, orient="row").sort("query_id", "rank"),
        unread=pl.DataFrame(unread, schema=UNREAD, orient="row"),
    )
