"""The tournaments of all queries, round by round, resumable at any pair (SPEC, section 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import polars as pl

from saber_assets.annotation.annotator import Failure, Verdict
from saber_assets.tournament.swiss import Order, Standings
from saber_assets.tournament.tables import JUDGMENT_FAILURES, PAIRWISE_JUDGMENTS


class Pairing(NamedTuple):
    """Two candidates of one query that meet; `first_id` is shown first."""

    query_id: str
    round: int
    pair: int
    first_id: str
    second_id: str


Outcome = int | Verdict | Failure | None
"""1 or 2: the first or the second is preferred; 0: a tie; a Verdict: the same, with confidence;
a Failure or None: there is no verdict."""

Judge = Callable[[list[Pairing]], Sequence[Outcome]]
"""Returns one outcome for each pairing, in order; may run them concurrently."""

Known = Callable[[Pairing], Outcome]
"""Returns what is already known of a pairing; None where nothing is."""

Record = Callable[[list[tuple[Pairing, Outcome]]], None]
"""Keeps new outcomes; called once for each chunk, before the next one is judged."""

NO_REASON = "the judge gave no verdict"


def run_tournaments(
    pools: Mapping[str, Sequence[str]],
    judge: Judge,
    *,
    rounds: int = 20,
    seed: int,
    judge_name: str,
    order: Order = "random",
    chunk: int | None = None,
    known: Known | None = None,
    record: Record | None = None,
    progress: Callable[[int], None] | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Play `rounds` Swiss rounds for every query and return all judgments.

    All queries advance together: the judge gets a whole round of all queries as one batch, in
    the order (query_id, pair), so that thousands of calls can be in flight. The schedule depends
    only on the pools, the seed and the verdicts; a rerun that is given the verdicts so far as
    `known` restores every win and ends with the same frame, bit for bit, as an undisturbed run.

    Args:
        pools: candidate ids of each query; storage order does not matter.
        judge: is asked for what is not known. An exception that it raises passes through; all
            chunks before it have been recorded.
        rounds: R, at least 0.
        seed: of the pairing and of the order shown; kept with each judgment.
        judge_name: goes into the column `judge`.
        order: 'random', or 'id' for the published code's order; see `Standings.pair`.
        chunk: most pairings in one call of the judge; None for a whole round.
        known: earlier outcomes, see `recall` and `Journal.bind`.
        record: keeps new outcomes, chunk by chunk.
        progress: called with the number of newly finished pairings, known ones included.

    Returns:
        Frames of PAIRWISE_JUDGMENTS, ordered by (round, query_id, pair), and JUDGMENT_FAILURES.
        A pairing without a verdict counts as played, nobody wins, and is in both frames. A tie is
        half a win for both.

    Raises:
        ValueError: on repeated candidates, or a judge's answer of the wrong length or value.
    """
    if rounds < 0 or (chunk is not None and chunk < 1):
        raise ValueError(f"rounds {rounds} must be >= 0 and chunk {chunk} >= 1")
    standings = [Standings(query_id, pools[query_id]) for query_id in sorted(pools)]
    played: list[pl.DataFrame] = []
    failures: list[tuple[str, str]] = []
    for round_number in range(1, rounds + 1):
        pairs = [standing.pair(round_number, seed, order) for standing in standings]
        pairings = [
            Pairing(standing.query_id, round_number, number, ids[first], ids[second])
            for standing, drawn in zip(standings, pairs, strict=True)
            for ids in (standing.candidate_ids,)
            for number, (first, second) in enumerate(drawn.tolist())
        ]
        if not pairings:
            break
        outcomes = _settle(pairings, judge, chunk, known, record, progress)
        winners = [_winner(outcome) for outcome in outcomes]
        remaining = iter(winners)
        for standing, drawn in zip(standings, pairs, strict=True):
            standing.record(drawn, list(islice(remaining, len(drawn))))
        sureness = [o.confidence if isinstance(o, Verdict) else None for o in outcomes]
        played.append(_frame(pairings, winners, sureness, judge_name, seed))
        failures.extend(_failures(pairings, outcomes))
    judgments = pl.concat(played) if played else PAIRWISE_JUDGMENTS.empty()
    failed = pl.DataFrame(failures, schema=JUDGMENT_FAILURES.schema, orient="row")
    return PAIRWISE_JUDGMENTS.conform(judgments), JUDGMENT_FAILURES.conform(failed)


def recall(judgments: pl.DataFrame) -> Known:
    """Return a lookup of the verdicts of an earlier PAIRWISE_JUDGMENTS frame.

    Pairings without a verdict are not known, so that they are asked again.
    """
    rows = judgments.filter(pl.col("winner").is_not_null())
    verdicts: dict[tuple[str, str, str], Outcome] = {
        (query_id, first_id, second_id): winner
        if confidence is None
        else Verdict(winner, confidence)
        for query_id, first_id, second_id, winner, confidence in rows.select(
            "query_id", "first_id", "second_id", "winner", "confidence"
        ).iter_rows()
    }
    return lambda pairing: verdicts.get((pairing.query_id, pairing.first_id, pairing.second_id))


def judgment_id(pairing: Pairing) -> str:
    """Return how JUDGMENT_FAILURES names a pairing."""
    return (
        f"{pairing.query_id} round {pairing.round} pair {pairing.pair}: "
        f"{pairing.first_id} / {pairing.second_id}"
    )


def _settle(
    pairings: list[Pairing],
    judge: Judge,
    chunk: int | None,
    known: Known | None,
    record: Record | None,
    progress: Callable[[int], None] | None,
) -> list[Outcome]:
    """Return the outcome of each pairing, asking the judge only for what is not known."""
    outcomes: list[Outcome] = [known(pairing) if known else None for pairing in pairings]
    for outcome in outcomes:
        _check(outcome, "an earlier run")
    open_places = [place for place, outcome in enumerate(outcomes) if outcome is None]
    if progress and len(open_places) < len(pairings):
        progress(len(pairings) - len(open_places))
    for places in _chunks(open_places, chunk):
        batch = [pairings[place] for place in places]
        answers = judge(batch)
        if len(answers) != len(batch):
            raise ValueError(f"the judge gave {len(answers)} answers to {len(batch)} pairings")
        fresh: list[tuple[Pairing, Outcome]] = []
        for place, pairing, answer in zip(places, batch, answers, strict=True):
            _check(answer, "the judge")
            outcome = Failure(NO_REASON) if answer is None else answer
            outcomes[place] = outcome
            fresh.append((pairing, outcome))
        if record:
            record(fresh)
        if progress:
            progress(len(places))
    return outcomes


def _check(outcome: Outcome, source: str) -> None:
    if outcome is None or isinstance(outcome, Failure):
        return
    if isinstance(outcome, Verdict) and not 0.5 <= outcome.confidence <= 1:
        raise ValueError(f"{source} has the confidence {outcome.confidence!r}, not in [0.5, 1]")
    winner = _winner(outcome)
    if isinstance(winner, bool) or winner not in (0, 1, 2):
        raise ValueError(f"{source} answered {outcome!r}, not 1, 2, 0 or a Failure")


def _winner(outcome: Outcome) -> int | None:
    if isinstance(outcome, Verdict):
        return outcome.winner
    return outcome if isinstance(outcome, int) else None


def _chunks(places: list[int], size: int | None) -> Iterator[list[int]]:
    step = size or max(len(places), 1)
    for start in range(0, len(places), step):
        yield places[start : start + step]


def _frame(
    pairings: list[Pairing],
    winners: list[int | None],
    sureness: list[float | None],
    judge_name: str,
    seed: int,
) -> pl.DataFrame:
    frame = pl.DataFrame(pairings, schema=list(Pairing._fields), orient="row")
    return frame.with_columns(
        winner=pl.Series(winners, dtype=pl.Int8),
        confidence=pl.Series(sureness, dtype=pl.Float64),
        judge=pl.lit(judge_name),
        seed=pl.lit(seed, dtype=pl.Int64),
    ).select(pl.col(name).cast(dtype) for name, dtype in PAIRWISE_JUDGMENTS.schema.items())


def _failures(pairings: list[Pairing], outcomes: list[Outcome]) -> Iterator[tuple[str, str]]:
    for pairing, outcome in zip(pairings, outcomes, strict=True):
        if isinstance(outcome, Failure):
            yield judgment_id(pairing), outcome.reason
