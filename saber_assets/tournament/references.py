"""What people are compared with: the judge, the ratings, and other judges' tables."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from saber_assets.errors import InputError
from saber_assets.tournament.agreement import preferences_of_judgments, preferences_of_ratings
from saber_assets.tournament.bradley_terry import rate

JUDGMENT_COLUMNS = ("query_id", "first_id", "second_id", "winner")
SCORE_NAMES = ("rating", "score")

References = dict[str, pl.DataFrame]
"""Preferences (query_id, low_id, high_id, choice) by the name of who has them."""


def own_references(
    judgments: pl.DataFrame, ratings: pl.DataFrame, pairs: pl.DataFrame
) -> References:
    """Return the preferences of the benchmark's own judge and of its ratings.

    Args:
        judgments: PAIRWISE_JUDGMENTS; a pair that never met has no preference.
        ratings: RELEVANCE_RATINGS.
        pairs: the pairs that people judged.
    """
    found: References = {}
    for judge in judgments["judge"].unique().sort().to_list():
        found[judge] = preferences_of_judgments(judgments.filter(pl.col("judge") == judge))
    found["ratings"] = preferences_of_ratings(ratings, pairs)
    return found


def table_references(
    name: str, table: pl.DataFrame, pools: pl.DataFrame, pairs: pl.DataFrame
) -> References:
    """Return the preferences in another table: of a pairwise judge, or of a judge that scores.

    Args:
        name: how the judge is called.
        table: either the columns query_id, first_id, second_id, winner: then its verdicts, and
            the ratings fitted to them, are two references; or query_id, candidate_id and one of
            rating, score: then the higher score is preferred.
        pools: columns query_id and candidate_id, such as CANDIDATE_POOLS.
        pairs: the pairs that people judged.

    Raises:
        InputError: when it has neither set of columns, or names candidates that are in no pool.
    """
    if set(JUDGMENT_COLUMNS) <= set(table.columns):
        return _pairwise(name, table, pools, pairs)
    score = next((column for column in SCORE_NAMES if column in table.columns), None)
    if score is None or not {"query_id", "candidate_id"} <= set(table.columns):
        raise InputError(
            f"the table of '{name}' has the columns {', '.join(table.columns)}",
            f"give one with {', '.join(JUDGMENT_COLUMNS)}, or with query_id, candidate_id, score",
        )
    scores = table.select("query_id", "candidate_id", rating=pl.col(score).cast(pl.Float64))
    repeated = scores.select(pl.struct("query_id", "candidate_id").is_duplicated().sum()).item()
    if repeated:
        raise InputError(
            f"the table of '{name}' scores {repeated} candidates more than once",
            "leave one row for each query and candidate",
        )
    return {name: preferences_of_ratings(scores, pairs)}


def _pairwise(
    name: str, table: pl.DataFrame, pools: pl.DataFrame, pairs: pl.DataFrame
) -> References:
    wrong = table.filter(~pl.col("winner").is_in([0, 1, 2]))
    if wrong.height:
        raise InputError(
            f"the table of '{name}' has the winner {wrong['winner'][0]}",
            "a winner is 1, 2, 0 for a tie, or null for no verdict",
        )
    asked = pairs.select("query_id").unique()
    verdicts = table.join(asked, on="query_id", how="semi")
    try:
        ratings = rate(verdicts, pools.join(asked, on="query_id", how="semi"))
    except ValueError as error:
        raise InputError(
            f"the table of '{name}' does not fit this benchmark ({error})",
            "take judgments on its own candidate pools",
        ) from error
    return {
        name: preferences_of_judgments(verdicts),
        f"{name}, Bradley-Terry": preferences_of_ratings(ratings, pairs),
    }


def met_pairs(judgments: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs that the judge has a verdict on: query_id, low_id, high_id."""
    return preferences_of_judgments(judgments).drop("choice")


def all_pairs(pools: pl.DataFrame) -> pl.DataFrame:
    """Return all pairs of candidates of each query: query_id, low_id, high_id."""
    members = pools.select("query_id", low_id="candidate_id")
    others = pools.select("query_id", high_id="candidate_id")
    return members.join(others, on="query_id").filter(pl.col("low_id") < pl.col("high_id"))


def with_texts(drawn: pl.DataFrame, problems: pl.DataFrame) -> pl.DataFrame:
    """Add statement and solution of the query and both candidates to drawn pairs.

    Args:
        drawn: columns query_id, a, b.
        problems: columns problem_id, problem, solution.
    """
    found = drawn
    for side in ("query_id", "a", "b"):
        name = side.removesuffix("_id")
        texts = problems.select(
            pl.col("problem_id").alias(side),
            pl.col("problem").alias(f"{name}_problem"),
            pl.col("solution").alias(f"{name}_solution"),
        )
        found = found.join(texts, on=side, how="left", maintain_order="left")
    return found


def merged(groups: Sequence[References]) -> References:
    """Return all references together.

    Raises:
        InputError: when two have the same name.
    """
    found: References = {}
    for references in groups:
        for name, preferences in references.items():
            if name in found:
                raise InputError(f"two judges are called '{name}'", "give each FILE=NAME its own")
            found[name] = preferences
    return found
