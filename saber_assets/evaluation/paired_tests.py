"""All pairs of systems tested on the same queries, and who cannot be told apart.

Two tests of the mean difference, both two-sided, with the same resamples for all pairs:

* Fisher's randomisation test: the signs of the per-query differences are flipped at random.
* Paired bootstrap: queries are drawn again, and p is how often the resampled mean difference is
  as far from the observed one as the observed one is from 0 (the distribution shifted to the
  null hypothesis). Its percentiles give the interval of the difference.

A sum over queries of (a - b) is a difference of two sums, so that one matrix product serves all
pairs, and memory does not grow with their number.
"""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from saber_assets.evaluation.bootstrap import resampled_means
from saber_assets.evaluation.significance import Correction, adjust, is_exact, sign_patterns

Floats = NDArray[np.float64]

ALPHA = 0.05
_LETTERS = string.ascii_letters
_ROUNDING = 1e-12

SCHEMA = {
    "first": pl.String,
    "second": pl.String,
    "difference": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "p_bootstrap": pl.Float64,
    "p_randomisation": pl.Float64,
    "adjusted_bootstrap": pl.Float64,
    "adjusted_randomisation": pl.Float64,
}


@dataclass(frozen=True)
class Group:
    """Systems that cannot be told apart.

    Attributes:
        letter: a to z, then A to Z, from the best group down; then with a stroke.
        members: consecutive in the order of means, the best one first.
    """

    letter: str
    members: tuple[str, ...]


def paired_tests(
    values: Mapping[str, ArrayLike],
    resamples: int = 10_000,
    seed: int = 0,
    correction: Correction = "holm",
    level: float = 0.95,
) -> pl.DataFrame:
    """Test every pair of systems.

    Args:
        values: (n,) measures of each system on the same n >= 2 queries in the same order.
        resamples: of each test; up to 16 queries the randomisation test is exact.
        seed: not negative.
        correction: see `significance.adjust`; over the family of all pairs, for each test.
        level: coverage of the bootstrap interval of each difference; not corrected.

    Returns:
        Columns of `SCHEMA`, one row a pair. `first` has the higher mean (or the earlier name, at
        equal means), `difference` is first minus second; rows in the order of means.

    Raises:
        ValueError: on unequal numbers of queries, fewer than two, or values that are not finite.
    """
    names, matrix = _ordered(values)
    if len(names) < 2:
        return pl.DataFrame(schema=SCHEMA)
    means = matrix.mean(axis=1)
    flipped = _randomised(matrix, resamples, seed)
    drawn = resampled_means(matrix, resamples, seed)
    rows = [
        row
        for first in range(len(names) - 1)
        for row in _against_lower(names, means, matrix, flipped, drawn, first, level)
    ]
    frame = pl.DataFrame(rows, schema=list(SCHEMA)[:7], orient="row")
    return frame.with_columns(
        pl.Series(f"adjusted_{test}", adjust(frame[f"p_{test}"].to_numpy(), correction))
        for test in ("bootstrap", "randomisation")
    ).select(pl.col(name).cast(dtype) for name, dtype in SCHEMA.items())


def cannot_be_told_apart(
    means: Mapping[str, float],
    tests: pl.DataFrame,
    alpha: float = ALPHA,
    column: str = "adjusted_randomisation",
) -> list[Group]:
    """Return the groups within which no pair differs significantly.

    The rule: systems are ordered by their means; a group is a longest run of consecutive systems
    in which the adjusted p of every pair is above alpha. A system may be in several groups; two
    systems without a common group are told apart, or stand between two that are.

    Args:
        means: of each system; equal means are ordered by name.
        tests: from `paired_tests`, of the same systems.
        alpha: family-wise error rate of the adjusted values.
        column: whose values count.

    Returns:
        Groups by the place of their best member; every system is in at least one.
    """
    names = sorted(means, key=lambda name: (-means[name], name))
    place = {name: number for number, name in enumerate(names)}
    apart = np.zeros((len(names), len(names)), dtype=np.bool_)
    for first, second, p in tests.select("first", "second", column).iter_rows():
        low, high = sorted((place[first], place[second]))
        apart[low, high] = p <= alpha
    groups: list[Group] = []
    reached = 0
    for start in range(len(names)):
        stop = start + 1
        while stop < len(names) and not apart[start:stop, stop].any():
            stop += 1
        if stop > reached:
            groups.append(Group(_letter(len(groups)), tuple(names[start:stop])))
            reached = stop
    return groups


def letters(groups: Sequence[Group]) -> dict[str, str]:
    """Return for each system the letters of its groups, such as 'ab'."""
    found: dict[str, str] = {}
    for group in groups:
        for name in group.members:
            found[name] = found.get(name, "") + group.letter
    return found


def square_of(
    names: Sequence[str], tests: pl.DataFrame, column: str = "adjusted_randomisation"
) -> Floats:
    """Return the tests as a symmetric matrix (n, n) in the order of the names, NaN inside."""
    place = {name: number for number, name in enumerate(names)}
    values = np.full((len(names), len(names)), np.nan)
    for first, second, p in tests.select("first", "second", column).iter_rows():
        values[place[first], place[second]] = values[place[second], place[first]] = p
    return values


def _ordered(values: Mapping[str, ArrayLike]) -> tuple[list[str], Floats]:
    series = {name: np.asarray(given, dtype=np.float64) for name, given in values.items()}
    sizes = {one.shape for one in series.values()}
    if len(sizes) > 1 or any(len(size) != 1 or size[0] < 2 for size in sizes):
        raise ValueError("each system needs a vector of the same two or more queries")
    if not all(np.isfinite(one).all() for one in series.values()):
        raise ValueError("values must be finite; a query that failed counts as 0")
    names = sorted(series, key=lambda name: (-series[name].mean(), name))
    return names, np.array([series[name] for name in names])


def _randomised(matrix: Floats, resamples: int, seed: int) -> Floats:
    """Return (patterns, S): the sum of each system with flipped signs."""
    with threadpool_limits(limits=1, user_api="blas"):  # rounding must not depend on threads
        blocks = [signs @ matrix.T for signs in sign_patterns(matrix.shape[1], resamples, seed)]
    return np.concatenate(blocks)


def _against_lower(
    names: list[str],
    means: Floats,
    matrix: Floats,
    flipped: Floats,
    drawn: Floats,
    first: int,
    level: float,
) -> list[tuple[object, ...]]:
    """Return the rows of one system against all with lower means."""
    n = matrix.shape[1]
    differences = means[first] - means[first + 1 :]
    # What ties with the observed sum is a hit, whatever the order of its additions.
    size = np.abs(matrix[first]).sum() + np.abs(matrix[first + 1 :]).sum(axis=1)
    slack = _ROUNDING * size
    sums = np.abs(flipped[:, first, None] - flipped[:, first + 1 :])
    hits = (sums >= n * np.abs(differences) - slack).sum(axis=0)
    total = flipped.shape[0]
    p_randomisation = hits / total if is_exact(n) else (1 + hits) / (1 + total)
    resampled = drawn[:, first, None] - drawn[:, first + 1 :]
    away = np.abs(resampled - differences)
    as_far = (away >= np.abs(differences) - slack / n).sum(axis=0)
    p_bootstrap = (1 + as_far) / (1 + drawn.shape[0])
    tail = (1 - level) / 2
    low, high = np.quantile(resampled, [tail, 1 - tail], axis=0)
    columns = (differences, low, high, p_bootstrap, p_randomisation)
    return [
        (names[first], name, *(float(column[i]) for column in columns))
        for i, name in enumerate(names[first + 1 :])
    ]


def _letter(number: int) -> str:
    return _LETTERS[number % len(_LETTERS)] + "'" * (number // len(_LETTERS))
