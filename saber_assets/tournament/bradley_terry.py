"""Bradley-Terry strengths by penalised maximum likelihood (SPEC, section 2, 'Ratings').

P(i beats j) = 1 / (1 + exp(-(theta_i - theta_j + b))), where i is shown first and b is the
advantage of being shown first, 0 unless it is asked for. Minimised is

    sum of log-losses + (penalty / 2) * (sum of theta_i^2 + b^2),

so that every strength is finite, also of candidates that won or lost everything. With penalty 1
this is scikit-learn's LogisticRegression(C=1, fit_intercept=False), followed to its optimum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numba import njit
from numpy.typing import NDArray
from scipy.linalg import lapack
from threadpoolctl import threadpool_limits

from saber_assets.tournament.connectivity import components
from saber_assets.tournament.tables import RELEVANCE_RATINGS

TOP_RATING = 5.0
_TOLERANCE = 1e-10
_MOST_STEPS = 200
_EQUAL = 1e-8

Floats = NDArray[np.float64]
Integers = NDArray[np.integer]


@dataclass(frozen=True)
class Fit:
    """The strengths of one query's candidates.

    Attributes:
        strengths: float64 (n,), log strengths; they sum to 0 within each connected part.
        standard_errors: float64 (n,), on the scale of `strengths`: roots of the diagonal of the
            inverse Hessian of the penalised objective (a posterior deviation under the normal
            prior that the penalty amounts to, hence at most 1/sqrt(penalty)).
        position: log odds won by being shown first; 0 when it was not fitted.
        steps: Newton steps taken.
    """

    strengths: Floats
    standard_errors: Floats
    position: float
    steps: int


class _Query(NamedTuple):
    """Verdicts of one query as indices into its candidates, ascending by id."""

    query_id: str
    candidate_ids: list[str]
    first: Integers
    second: Integers
    winner: Integers


def fit(
    n: int,
    first: Integers,
    second: Integers,
    winner: Integers,
    penalty: float = 1.0,
    position_term: bool = False,
) -> Fit:
    """Fit the strengths of n candidates by Newton's method, to a last step below 1e-10.

    The result does not depend on the order of the verdicts.

    Args:
        n: candidates.
        first: (m,) index in [0, n) of the candidate shown first.
        second: (m,) index of the candidate shown second.
        winner: (m,) 1 or 2, or 0 for a tie: half a win for each.
        penalty: lambda > 0, the L2 penalty.
        position_term: also fit the advantage b of being shown first, under the same penalty (as
            an extra column of the logistic regression would be), so that it stays finite when
            the first always wins.

    Raises:
        ValueError: on a penalty that is not positive, a winner other than 0, 1 and 2, or a
            candidate compared with itself.
    """
    if not penalty > 0 or not np.isfinite(penalty):
        raise ValueError(f"penalty {penalty} must be a positive number")
    if not np.isin(winner, (0, 1, 2)).all():
        raise ValueError("winner must be 1, 2 or 0 (a tie)")
    if (np.asarray(first) == np.asarray(second)).any():
        raise ValueError("a candidate is compared with itself")
    points = np.where(winner == 0, 0.5, np.where(winner == 1, 1.0, 0.0))
    if not position_term:  # then who was shown first must not matter, not even in rounding
        turned = first > second
        first, second = np.where(turned, second, first), np.where(turned, first, second)
        points = np.where(turned, 1.0 - points, points)
    # Counts and half wins are exact in binary, so sums over verdicts do not depend on their order.
    games = np.zeros((n, n))
    won = np.zeros((n, n))
    np.add.at(games, (first, second), 1.0)
    np.add.at(won, (first, second), points)
    rows, columns = np.nonzero(games)
    pairs = (rows, columns, games[rows, columns], won[rows, columns])
    return _newton(n, pairs, penalty, position_term)


def _newton(
    n: int, pairs: tuple[Integers, Integers, Floats, Floats], penalty: float, position_term: bool
) -> Fit:
    size = n + 1 if position_term else n
    x = np.zeros(size)
    hessian = np.empty((size, size))
    slope = np.empty(size)
    value = _derivatives(x, n, *pairs, penalty, slope, hessian)
    steps, longest = 0, np.inf
    while longest >= _TOLERANCE:
        steps += 1
        if steps > _MOST_STEPS:
            raise ArithmeticError(f"no convergence in {_MOST_STEPS} Newton steps")
        factor, _ = lapack.dpotrf(hessian, lower=1)
        step, _ = lapack.dpotrs(factor, slope, lower=1)
        longest = float(np.abs(step).max(initial=0.0))
        length = 1.0
        new_value = _derivatives(x - step, n, *pairs, penalty, slope, hessian)
        while new_value > value + 1e-9 * max(1.0, abs(value)) and length > 1e-6:
            length /= 2
            new_value = _derivatives(x - length * step, n, *pairs, penalty, slope, hessian)
        x = x - length * step
        value = new_value
    factor, _ = lapack.dpotrf(hessian, lower=1)
    inverse, _ = lapack.dpotri(factor, lower=1)
    return Fit(
        strengths=x[:n],
        standard_errors=np.sqrt(np.diag(inverse)[:n]),
        position=float(x[n]) if position_term else 0.0,
        steps=steps,
    )


@njit(cache=True)
def _derivatives(
    x: Floats,
    n: int,
    rows: Integers,
    columns: Integers,
    games: Floats,
    won: Floats,
    penalty: float,
    slope: Floats,
    hessian: Floats,
) -> float:
    """Fill in slope and Hessian of the objective at x and return its value."""
    size = x.size
    hessian[:, :] = 0.0
    value = 0.0
    for k in range(size):
        slope[k] = penalty * x[k]
        hessian[k, k] = penalty
        value += 0.5 * penalty * x[k] * x[k]
    for k in range(rows.size):
        i, j = rows[k], columns[k]
        z = x[i] - x[j]
        if size > n:
            z += x[n]
        lost = np.exp(-abs(z))
        p = 1.0 / (1.0 + lost) if z >= 0 else lost / (1.0 + lost)
        value += games[k] * (max(z, 0.0) + np.log1p(lost)) - won[k] * z
        surplus = games[k] * p - won[k]
        weight = games[k] * p * (1.0 - p)
        slope[i] += surplus
        slope[j] -= surplus
        hessian[i, i] += weight
        hessian[j, j] += weight
        hessian[i, j] -= weight
        hessian[j, i] -= weight
        if size > n:
            slope[n] += surplus
            hessian[n, n] += weight
            hessian[i, n] += weight
            hessian[n, i] += weight
            hessian[j, n] -= weight
            hessian[n, j] -= weight
    return value


def rate(
    judgments: pl.DataFrame,
    pools: pl.DataFrame,
    penalty: float = 1.0,
    position_term: bool = False,
    progress: Callable[[int], None] | None = None,
) -> pl.DataFrame:
    """Rate every candidate of every query from its pairwise judgments.

    rating = 5 (theta - min) / (max - min) over the judged candidates of the query.

    Args:
        judgments: PAIRWISE_JUDGMENTS, or its columns query_id, first_id, second_id and winner;
            a null winner is no verdict, 0 is a tie (half a win for each).
        pools: columns query_id and candidate_id, such as CANDIDATE_POOLS.
        penalty: lambda > 0, see `fit`.
        position_term: fit the advantage of being shown first, for each query.
        progress: called with the number of newly finished queries.

    Returns:
        RELEVANCE_RATINGS, ordered by (query_id, candidate_id). Flags: 'unjudged' for a candidate
        without any verdict (strength, standard error and rating are null); 'all_equal' for all
        judged candidates of a query whose strengths are equal (all rated 0); 'disconnected' for
        all judged candidates of a query whose comparison graph has several parts, the common
        scale of which is only that of the penalty. Ties are neither wins nor losses.

    Raises:
        ValueError: when a judgment names a query or candidate that is not in the pools, or the
            pools list a candidate twice.
    """
    queries = list(_queries(judgments, pools))
    parts: list[pl.DataFrame] = []
    with threadpool_limits(limits=1, user_api="blas"):  # many small systems: threads only cost
        for query in queries:
            parts.append(_rate_query(query, penalty, position_term))
            if progress:
                progress(1)
    return RELEVANCE_RATINGS.conform(pl.concat(parts) if parts else RELEVANCE_RATINGS.empty())


def _queries(judgments: pl.DataFrame, pools: pl.DataFrame) -> Iterator[_Query]:
    """Yield each query of the pools with its verdicts as indices, ascending by query id."""
    keys = ["query_id", "candidate_id"]
    members = pools.select(keys).sort(keys)
    repeated = members.filter(members.is_duplicated())
    if repeated.height:
        raise ValueError(f"pools list {repeated.row(0)} more than once")
    members = members.with_columns(index=pl.int_range(pl.len()).over("query_id"))
    verdicts = judgments.filter(pl.col("winner").is_not_null())
    for side in ("first", "second"):
        verdicts = verdicts.join(
            members.select(
                "query_id", pl.col("candidate_id").alias(f"{side}_id"), pl.col("index").alias(side)
            ),
            on=["query_id", f"{side}_id"],
            how="left",
        )
    strangers = verdicts.filter(pl.col("first").is_null() | pl.col("second").is_null())
    if strangers.height:
        example = strangers.sort("query_id", "first_id", "second_id")
        raise ValueError(
            f"{strangers.height} judgments name candidates outside their query's pool, "
            f"first {example.select('query_id', 'first_id', 'second_id').row(0)}"
        )
    by_query = {
        str(key[0]): group
        for key, group in verdicts.select("query_id", "first", "second", "winner").group_by(
            "query_id"
        )
    }
    nothing = np.empty(0, dtype=np.int64)
    for key, group in members.group_by("query_id", maintain_order=True):
        query_id = str(key[0])
        found = by_query.get(query_id)
        sides = (
            [found[name].to_numpy() for name in ("first", "second", "winner")]
            if found is not None
            else [nothing, nothing, nothing]
        )
        yield _Query(query_id, group["candidate_id"].to_list(), *sides)


def _rate_query(query: _Query, penalty: float, position_term: bool) -> pl.DataFrame:
    n = len(query.candidate_ids)
    fitted = fit(n, query.first, query.second, query.winner, penalty, position_term)
    part = components(n, query.first, query.second)
    judged = np.zeros(n, dtype=np.bool_)
    judged[query.first] = judged[query.second] = True
    won_by = np.where(query.winner == 1, query.first, query.second)
    lost_by = np.where(query.winner == 1, query.second, query.first)
    decided = query.winner != 0
    ratings, all_equal = scale(fitted.strengths, judged)
    flag = _flag(all_equal, np.unique(part[judged]).size)
    return pl.DataFrame(
        {
            "query_id": [query.query_id] * n,
            "candidate_id": query.candidate_ids,
            "strength": _or_null(fitted.strengths, judged),
            "standard_error": _or_null(fitted.standard_errors, judged),
            "rating": _or_null(ratings, judged),
            "wins": np.bincount(won_by[decided], minlength=n).astype(np.int32),
            "losses": np.bincount(lost_by[decided], minlength=n).astype(np.int32),
            "component": part,
            "penalty": np.full(n, penalty),
            "flag": pl.Series([flag if seen else "unjudged" for seen in judged], dtype=pl.String),
        },
        schema_overrides=RELEVANCE_RATINGS.schema,
    )


def _flag(all_equal: bool, judged_parts: int) -> str | None:
    if all_equal:
        return "all_equal"
    return "disconnected" if judged_parts > 1 else None


def _or_null(values: Floats, judged: NDArray[np.bool_]) -> pl.Series:
    return pl.Series(values).set(pl.Series(~judged), None)


def scale(strengths: Floats, judged: NDArray[np.bool_]) -> tuple[Floats, bool]:
    """Map log strengths to ratings in [0, 5] over the judged candidates.

    Args:
        strengths: (n,) log strengths.
        judged: (n,) who counts; the ratings of the others are 0 and mean nothing.

    Returns:
        Ratings (n,), and whether all judged candidates are equally strong (then all are 0).
    """
    ratings = np.zeros(strengths.size)
    if not judged.any():
        return ratings, False
    low, high = strengths[judged].min(), strengths[judged].max()
    if high - low <= _EQUAL:
        return ratings, True
    ratings[judged] = np.clip(TOP_RATING * (strengths[judged] - low) / (high - low), 0, TOP_RATING)
    return ratings, False
