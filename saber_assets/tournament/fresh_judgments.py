"""A judge asked about given pairs, outside any tournament."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping

import polars as pl

from saber_assets.annotation.annotator import Comparison, Failure, Problem
from saber_assets.tournament.agreement import PAIR
from saber_assets.tournament.judges.judge import PairJudge
from saber_assets.tournament.tournament import Outcome

CHUNK = 1024
"""Pairs in one call of the judge."""

SCHEMA: Mapping[str, type[pl.DataType]] = {
    "query_id": pl.String,
    "first_id": pl.String,
    "second_id": pl.String,
    "winner": pl.Int8,
}


def judge_pairs(
    pairs: pl.DataFrame,
    problems: Mapping[str, Problem],
    judge: PairJudge,
    progress: Callable[[int], None] | None = None,
) -> pl.DataFrame:
    """Ask a judge once about each pair.

    Which candidate is shown first follows from a hash of the ids: as good as drawn, and the same
    whenever the pair is asked again, so that the response store knows the answer.

    Args:
        pairs: columns query_id, low_id, high_id.
        problems: by problem_id; all that the pairs name.
        judge: see `PairJudge`.
        progress: called with the number of newly judged pairs.

    Returns:
        See SCHEMA, ordered by pair; winner is 1, 2, 0 for a tie, or null without a verdict.
    """
    shown = [_ordered(*row) for row in pairs.select(PAIR).unique().sort(PAIR).iter_rows()]
    winners: list[int | None] = []
    for start in range(0, len(shown), CHUNK):
        batch = shown[start : start + CHUNK]
        outcomes = judge.compare(
            [Comparison(*(problems[identity] for identity in row)) for row in batch]
        )
        winners += [_winner(outcome) for outcome in outcomes]
        if progress:
            progress(len(batch))
    rows = [(*row, winner) for row, winner in zip(shown, winners, strict=True)]
    return pl.DataFrame(rows, schema=dict(SCHEMA), orient="row")


def _ordered(query_id: str, low_id: str, high_id: str) -> tuple[str, str, str]:
    text = "\x1f".join((query_id, low_id, high_id)).encode("utf-8", "surrogatepass")
    turned = hashlib.blake2b(text, digest_size=1, person=b"pair-order").digest()[0] % 2
    return (query_id, high_id, low_id) if turned else (query_id, low_id, high_id)


def _winner(outcome: Outcome) -> int | None:
    if outcome is None or isinstance(outcome, Failure):
        return None
    return outcome if isinstance(outcome, int) else outcome.winner
