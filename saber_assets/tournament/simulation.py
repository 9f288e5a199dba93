"""Tournaments whose judge is known: how well each schedule ranks (SPEC, section 2, 'Evaluation').

A judge knows strengths theta ~ N(0, spread^2) and answers a comparison of i, shown first, with j
in favour of i with probability 1 / (1 + exp(-((theta_i - theta_j) / noise + bias))). Whatever
chance decides is drawn once for each pair, so that the same question always has the same answer,
as with a model at temperature 0, and all schedules meet the same judge.

What a ranking is measured against is the exhaustive one: the Bradley-Terry ranking of all
n (n - 1) / 2 verdicts of the same judge without its bias.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from saber_assets.tournament.bradley_terry import Fit, fit
from saber_assets.tournament.swiss import Order, Standings

ROUNDS = (5, 10, 15, 20, 30, 40, 50)
SCHEDULES = ("swiss", "random", "exhaustive")

Floats = NDArray[np.float64]
Indices = NDArray[np.int32]
Winners = NDArray[np.int8]

COLUMNS: dict[str, type[pl.DataType]] = {
    "repetition": pl.Int32,
    "bias": pl.Float64,
    "order": pl.String,
    "schedule": pl.String,
    "rounds": pl.Int32,
    "matches": pl.Int32,
    "first_share": pl.Float64,
    "position_term": pl.Boolean,
    "position": pl.Float64,
    "inversions": pl.Int32,
    "inversions_true": pl.Int32,
}
"""`first_share`: verdicts for the one shown first; `position`: the fitted bias; `inversions`:
pairs ordered differently from the exhaustive ranking; `inversions_true`: from the strengths.
`rounds` is 0 for the exhaustive schedule."""


@dataclass(frozen=True)
class Scenario:
    """A judge's bias and how the order shown is chosen.

    Attributes:
        bias: log odds that the candidate shown first gains.
        order: 'random' draws the order of each pair, 'id' shows the smaller id first.
    """

    bias: float = 0.0
    order: Order = "random"


@dataclass(frozen=True)
class World:
    """What all repetitions have in common.

    Attributes:
        candidates: n, at least 2.
        spread: standard deviation of the strengths.
        noise: the strengths count divided by it; 1 is Bradley-Terry at their own scale.
        penalty: of the fits, see `bradley_terry.fit`.
    """

    candidates: int = 150
    spread: float = 2.4
    noise: float = 1.0
    penalty: float = 1.0


class Matches(NamedTuple):
    """Verdicts in the order in which they fell: who was shown first, second, who won (1, 2)."""

    first: Indices
    second: Indices
    winner: Winners


@dataclass(frozen=True)
class Judge:
    """A judge with known strengths.

    Attributes:
        strengths: float64 (n,).
        thresholds: float64 (n, n), for i < j a logistic draw; i wins where the margin exceeds it.
        noise: see `World`.
    """

    strengths: Floats
    thresholds: Floats
    noise: float

    def winners(self, first: Indices, second: Indices, bias: float) -> Winners:
        """Return 1 or 2 for each comparison (m,)."""
        low, high = np.minimum(first, second), np.maximum(first, second)
        margin = (self.strengths[low] - self.strengths[high]) / self.noise
        margin = margin + np.where(first == low, bias, -bias)
        low_wins = margin > self.thresholds[low, high]
        return np.where(low_wins == (first == low), 1, 2).astype(np.int8)


def draw_judge(world: World, seed: int, repetition: int) -> Judge:
    """Draw a judge; it depends only on the world, the seed and the repetition."""
    rng = np.random.default_rng([seed, repetition, 0])
    n = world.candidates
    return Judge(rng.normal(0.0, world.spread, n), rng.logistic(0.0, 1.0, (n, n)), world.noise)


def simulate(
    world: World = World(),
    scenarios: Sequence[Scenario] = (Scenario(),),
    rounds: Sequence[int] = ROUNDS,
    repetitions: int = 20,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> pl.DataFrame:
    """Play Swiss, random and exhaustive schedules, and count the inversions of their rankings.

    Args:
        world: candidates, strengths and noise.
        scenarios: each is played with and without a position term in the fit.
        rounds: after which rounds R to rank; a random schedule of R rounds has R (n // 2)
            distinct pairs, each equally likely.
        repetitions: judges drawn.
        seed: any non-negative integer.
        progress: called with the number of newly finished repetitions.

    Returns:
        See COLUMNS, one row for each fit.

    Raises:
        ValueError: when there are fewer than two candidates, or rounds outside [1, n - 1]: then
            there would be no new pairs left.
    """
    n = world.candidates
    if n < 2 or not rounds or min(rounds) < 1 or max(rounds) > n - 1:
        raise ValueError(f"{n} candidates can play 1 to {n - 1} rounds, not {list(rounds)}")
    rows: list[dict[str, object]] = []
    with threadpool_limits(limits=1, user_api="blas"):  # many small systems: threads only cost
        for repetition in range(repetitions):
            rows.extend(_repetition(world, scenarios, sorted(rounds), seed, repetition))
            if progress:
                progress(1)
    return pl.DataFrame(rows, schema=COLUMNS)


def _repetition(
    world: World, scenarios: Sequence[Scenario], rounds: Sequence[int], seed: int, repetition: int
) -> Iterator[dict[str, object]]:
    judge = draw_judge(world, seed, repetition)
    fair = _exhaustive(judge, Scenario(), np.random.default_rng([seed, repetition, 1]))
    truth = _fit(world, fair, position_term=False).strengths
    for scenario in scenarios:
        for schedule, number, matches in _schedules(judge, scenario, rounds, seed, repetition):
            for position_term in (False, True):
                fitted = _fit(world, matches, position_term)
                yield {
                    "repetition": repetition,
                    "bias": scenario.bias,
                    "order": scenario.order,
                    "schedule": schedule,
                    "rounds": number,
                    "matches": matches.winner.size,
                    "first_share": float((matches.winner == 1).mean()),
                    "position_term": position_term,
                    "position": fitted.position,
                    "inversions": inversions(fitted.strengths, truth),
                    "inversions_true": inversions(fitted.strengths, judge.strengths),
                }


def _schedules(
    judge: Judge, scenario: Scenario, rounds: Sequence[int], seed: int, repetition: int
) -> Iterator[tuple[str, int, Matches]]:
    """Yield the matches of each schedule after each number of rounds."""
    yield (
        "exhaustive",
        0,
        _exhaustive(judge, scenario, np.random.default_rng([seed, repetition, 1])),
    )
    played = _swiss(judge, scenario, max(rounds), seed, repetition)
    for number in rounds:
        yield "swiss", number, _joined(played[:number])
    drawn = _random(judge, scenario, max(rounds), np.random.default_rng([seed, repetition, 2]))
    for number in rounds:
        size = number * (judge.strengths.size // 2)
        yield (
            "random",
            number,
            Matches(drawn.first[:size], drawn.second[:size], drawn.winner[:size]),
        )


def _fit(world: World, matches: Matches, position_term: bool) -> Fit:
    return fit(world.candidates, *matches, world.penalty, position_term)


def _exhaustive(judge: Judge, scenario: Scenario, rng: np.random.Generator) -> Matches:
    low, high = np.triu_indices(judge.strengths.size, 1)
    return _judged(judge, scenario, low.astype(np.int32), high.astype(np.int32), rng)


def _random(judge: Judge, scenario: Scenario, rounds: int, rng: np.random.Generator) -> Matches:
    n = judge.strengths.size
    low, high = np.triu_indices(n, 1)
    chosen = rng.permutation(low.size)[: rounds * (n // 2)]
    first, second = low[chosen].astype(np.int32), high[chosen].astype(np.int32)
    return _judged(judge, scenario, first, second, rng)


def _judged(
    judge: Judge, scenario: Scenario, low: Indices, high: Indices, rng: np.random.Generator
) -> Matches:
    if scenario.order == "random":
        turned = rng.random(low.size) < 0.5
        low, high = np.where(turned, high, low), np.where(turned, low, high)
    return Matches(low, high, judge.winners(low, high, scenario.bias))


def _swiss(
    judge: Judge, scenario: Scenario, rounds: int, seed: int, repetition: int
) -> list[Matches]:
    n = judge.strengths.size
    width = len(str(n))
    standings = Standings(str(repetition), [f"{number:0{width}d}" for number in range(n)])
    played = []
    for number in range(1, rounds + 1):
        pairs = standings.pair(number, seed, scenario.order)
        first, second = pairs[:, 0], pairs[:, 1]
        winner = judge.winners(first, second, scenario.bias)
        standings.record(pairs, winner.tolist())
        played.append(Matches(first, second, winner))
    return played


def _joined(played: Sequence[Matches]) -> Matches:
    first, second, winner = zip(*played, strict=True)
    return Matches(np.concatenate(first), np.concatenate(second), np.concatenate(winner))


def inversions(ratings: Floats, truth: Floats) -> int:
    """Return how many pairs two ratings (n,) order in opposite ways; equal ones are in none."""
    differ = np.sign(ratings[:, None] - ratings) * np.sign(truth[:, None] - truth) < 0
    return int(differ.sum()) // 2


def summarise(results: pl.DataFrame) -> pl.DataFrame:
    """Return mean and standard deviation over the repetitions of each cell.

    Args:
        results: from `simulate`.

    Returns:
        Columns bias, order, schedule, rounds, position_term, repetitions, matches, first_share,
        position (means), inversions_mean, inversions_sd, inversions_true_mean,
        inversions_true_sd (null with one repetition), in the order of `results`.
    """
    keys = ("bias", "order", "schedule", "rounds", "position_term")
    return results.group_by(keys, maintain_order=True).agg(
        pl.len().cast(pl.Int32).alias("repetitions"),
        pl.col("matches", "first_share", "position").mean(),
        *(
            aggregate
            for name in ("inversions", "inversions_true")
            for aggregate in (
                pl.col(name).mean().alias(f"{name}_mean"),
                pl.col(name).std().alias(f"{name}_sd"),
            )
        ),
    )
