"""What Swiss rounds and fits take beside the judging: `python -m benchmarks.tournaments`.

Every query has 150 candidates of normal strengths; a judge that knows them draws each verdict by
Bradley-Terry, and its own time is not counted. CPU seconds of the whole process, elapsed seconds:

* pairing: the pairs of every round; bookkeeping: wins and who has met whom;
* the tournaments as the stage runs them, frames of judgments included, and the fits: strengths,
  standard errors and ratings of every candidate, as a frame.

Baselines do the same on a sample of the queries, scaled to all: SPEC's pairing rule in Python with
sorted lists, and choix on the same verdicts (`opt_pairwise` has our optimum; `ilsr_pairwise` is its
fastest, with another prior and no standard errors).
"""

from __future__ import annotations

import argparse
from functools import partial

import choix
import numpy as np
import polars as pl
from threadpoolctl import threadpool_limits

from benchmarks.clock import Clock
from saber_assets.tournament.bradley_terry import rate
from saber_assets.tournament.swiss import Standings
from saber_assets.tournament.tournament import Pairing, run_tournaments

SEED = 1
CANDIDATES, ROUNDS = 150, 20
SPREAD = 2.4
SAMPLE = 20
NAMES = [f"d{place:03d}" for place in range(CANDIDATES)]
PLACE = {name: place for place, name in enumerate(NAMES)}


class Judge:
    """Draws verdicts; those of a round at once."""

    def __init__(self, queries: int) -> None:
        generator = np.random.default_rng(SEED)
        self.strength = generator.normal(0, SPREAD, (queries, CANDIDATES))
        self.luck = generator.logistic(size=(queries, CANDIDATES, CANDIDATES)).astype(np.float32)

    def winners(self, query: int, pairs: np.ndarray) -> list[int]:
        """Return 1 or 2 for each pair of candidates."""
        first, second = pairs.T
        margin = self.strength[query, first] - self.strength[query, second]
        return np.where(margin > self.luck[query, first, second], 1, 2).tolist()

    def __call__(self, pairings: list[Pairing]) -> list[int]:
        """Return 1 or 2 for each pairing."""
        places = [(int(p.query_id), PLACE[p.first_id], PLACE[p.second_id]) for p in pairings]
        query, first, second = np.array(places).T
        margin = self.strength[query, first] - self.strength[query, second]
        return np.where(margin > self.luck[query, first, second], 1, 2).tolist()


def rounds(clock: Clock, judge: Judge, queries: int) -> None:
    """Time pairing and bookkeeping, without the judge."""
    standings = [Standings(f"{query:04d}", NAMES) for query in range(queries)]

    def record(drawn: list[np.ndarray], verdicts: list[list[int]]) -> int:
        for standing, pairs, winners in zip(standings, drawn, verdicts, strict=True):
            standing.record(pairs, winners)
        return len(standings)

    for number in range(1, ROUNDS + 1):
        drawn = clock.add(
            "pairing", lambda number=number: [s.pair(number, SEED) for s in standings]
        )
        verdicts = [judge.winners(query, pairs) for query, pairs in enumerate(drawn)]
        clock.add("bookkeeping: wins, who has met whom", partial(record, drawn, verdicts))


def python_pairs(wins: list[float], met: list[set[int]], shuffled: list[int]) -> list[list[int]]:
    """Pair one round by the rule of SPEC, with lists and sets."""
    waiting = sorted(shuffled, key=lambda candidate: wins[candidate])
    pairs = []
    while waiting:
        one = waiting.pop(0)
        others = [other for other in waiting if other not in met[one]]
        if others:
            two = min(others, key=lambda other: abs(wins[other] - wins[one]))
            waiting.remove(two)
            pairs.append([one, two])
    return pairs


def python_tournaments(judge: Judge, queries: int) -> int:
    """Play tournaments in Python; return the judgments."""
    generator, judgments = np.random.default_rng(SEED), 0
    for query in range(queries):
        wins, met = [0.0] * CANDIDATES, [set[int]() for _ in range(CANDIDATES)]
        for _ in range(ROUNDS):
            pairs = python_pairs(wins, met, generator.permutation(CANDIDATES).tolist())
            for (one, two), winner in zip(
                pairs, judge.winners(query, np.array(pairs)), strict=True
            ):
                met[one].add(two), met[two].add(one)
                wins[one if winner == 1 else two] += 1
            judgments += len(pairs)
    return judgments


def choix_fits(judgments: pl.DataFrame, queries: int, method: str) -> int:
    """Fit the verdicts of the first queries with choix; return how many it could."""
    fitted = 0
    for _, part in judgments.sort("query_id").group_by("query_id", maintain_order=True):
        if fitted == queries:
            break
        pairs = [
            (PLACE[a], PLACE[b]) if winner == 1 else (PLACE[b], PLACE[a])
            for a, b, winner in part.select("first_id", "second_id", "winner").iter_rows()
        ]
        getattr(choix, method)(CANDIDATES, pairs, alpha=0.5 if method == "opt_pairwise" else 0.01)
        fitted += 1
    return fitted


def measure(queries: int) -> Clock:
    """Run every step."""
    clock, judge = Clock(), Judge(queries)
    pools = {f"{query:04d}": NAMES for query in range(queries)}
    names = pl.DataFrame(
        [(query, name) for query, ids in pools.items() for name in ids],
        schema=["query_id", "candidate_id"],
        orient="row",
    )
    few = dict(list(pools.items())[:2])
    played, _ = run_tournaments(few, judge, rounds=ROUNDS, seed=SEED, judge_name="j")  # compiles
    rate(played, names.filter(pl.col("query_id").is_in(list(few))))
    rounds(clock, judge, queries)
    played, _ = clock.time(
        "the tournaments, verdicts and frames included",
        lambda: run_tournaments(pools, judge, rounds=ROUNDS, seed=SEED, judge_name="j"),
    )
    ratings = clock.time("fits, standard errors and ratings", lambda: rate(played, names))
    assert ratings.height == queries * CANDIDATES
    sample = min(SAMPLE, queries)
    clock.time(
        "baseline: pairing with bookkeeping in Python",
        lambda: python_tournaments(judge, sample),
        queries / sample,
    )
    with threadpool_limits(limits=1, user_api="blas"):
        for method in ("opt_pairwise", "ilsr_pairwise"):
            clock.time(
                f"baseline: choix.{method}",
                lambda method=method: choix_fits(played, sample, method),
                queries / sample,
            )
    print(f"{played.height:,} judgments")
    return clock


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=1000)
    chosen = parser.parse_args()
    clock = measure(chosen.queries)
    size = f"{chosen.queries} queries x {CANDIDATES} candidates x {ROUNDS} rounds"
    print(f"| {size} | CPU s (elapsed s) |")
    print("|---|---:|")
    for name, step in clock.steps.items():
        print(f"| {name} | {step.text() if step else 'not installed'} |")


if __name__ == "__main__":
    main()
