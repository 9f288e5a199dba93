"""Agreement of judges with people, and of people with each other (SPEC, section 2, 'Evaluation').

A preference is 1 (low_id), -1 (high_id) or 0 (a tie). Two preferences agree with 1 point where
they are equal, 1/2 where one of them is a tie, 0 where they are opposite. A pair that several
people judged counts once, with the mean of their points.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from saber_assets.tournament.intervals import binomial_p, normal_p, wilson

RANK_DIFFERENCES = (0, 25, 50)
PAIR = ("query_id", "low_id", "high_id")


@dataclass(frozen=True)
class Agreement:
    """How far one reference agrees with people.

    Attributes:
        reference: a judge, a ranking, or other people.
        rank_difference: only pairs whose places differ by this or more are counted.
        pairs: pairs that people judged and the reference has a preference for.
        points: their points.
        share: points / pairs; NaN without pairs.
        low: lower end of its 95 % Wilson interval.
        high: upper end.
        p_value: two-sided exact binomial, against one half; half points are rounded towards it.
        p_normal: its normal approximation, which is what was published.
        chance_corrected: (share - chance) / (1 - chance), where chance = (1 + t^2) / 2 is what
            two people with the same share of ties t and no preference for a side would reach by
            chance; only between people, else None.
    """

    reference: str
    rank_difference: int
    pairs: int
    points: float
    share: float
    low: float
    high: float
    p_value: float
    p_normal: float
    chance_corrected: float | None = None


def preferences_of_judgments(judgments: pl.DataFrame) -> pl.DataFrame:
    """Return what a judge preferred, one row a pair.

    A pair that was judged several times (in both orders, say) has the preference of the majority.

    Args:
        judgments: columns query_id, first_id, second_id, winner (1, 2; 0: a tie; null: none).

    Returns:
        Columns query_id, low_id, high_id, choice.
    """
    points = pl.when(pl.col("winner") == 1).then(1).when(pl.col("winner") == 2).then(-1)
    turned = pl.col("first_id") > pl.col("second_id")
    return (
        judgments.filter(pl.col("winner").is_not_null())
        .select(
            "query_id",
            low_id=pl.min_horizontal("first_id", "second_id"),
            high_id=pl.max_horizontal("first_id", "second_id"),
            points=points.otherwise(0) * pl.when(turned).then(-1).otherwise(1),
        )
        .group_by(PAIR)
        .agg(choice=pl.col("points").sum().sign().cast(pl.Int8))
        .sort(PAIR)
    )


def preferences_of_ratings(ratings: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """Return which candidate of each pair is rated higher; equal ratings are a tie.

    Args:
        ratings: columns query_id, candidate_id, rating; pairs with an unrated one are left out.
        pairs: columns query_id, low_id, high_id.

    Returns:
        Columns query_id, low_id, high_id, choice.
    """
    difference = pl.col("low") - pl.col("high")
    return (
        _beside(pairs, ratings, "rating")
        .drop_nulls()
        .select(*PAIR, choice=difference.sign().cast(pl.Int8))
    )


def rank_differences(ratings: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """Return by how many places the candidates of each pair differ in their query's ranking.

    Args:
        ratings: columns query_id, candidate_id, rating; equal ratings share their mean place.
        pairs: columns query_id, low_id, high_id.

    Returns:
        Columns query_id, low_id, high_id, rank_difference; null where one is unrated.
    """
    ranks = ratings.select(
        "query_id", "candidate_id", rank=pl.col("rating").rank("average").over("query_id")
    )
    difference = (pl.col("low") - pl.col("high")).abs()
    return _beside(pairs, ranks, "rank").select(*PAIR, rank_difference=difference)


def _beside(pairs: pl.DataFrame, values: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the distinct pairs with the values of both candidates, as 'low' and 'high'."""
    found = pairs.select(PAIR).unique().sort(PAIR)
    for side in ("low", "high"):
        one = values.select(
            "query_id", pl.col("candidate_id").alias(f"{side}_id"), pl.col(name).alias(side)
        )
        found = found.join(one, on=["query_id", f"{side}_id"], how="left", maintain_order="left")
    return found


def agreement(
    reference: str,
    human: pl.DataFrame,
    preferences: pl.DataFrame,
    differences: pl.DataFrame,
    thresholds: Sequence[int] = RANK_DIFFERENCES,
) -> list[Agreement]:
    """Compare a reference with people, once for each threshold.

    Args:
        reference: its name.
        human: columns of PAIR, choice, annotator; see human_judgments.SCHEMA.
        preferences: columns of PAIR and choice; pairs that people did not judge are ignored.
        differences: see `rank_differences`; a pair without one counts only at threshold 0.
        thresholds: least rank differences.
    """
    other = preferences.select(*PAIR, other="choice")
    scored = human.join(other, on=PAIR, how="inner").select(*PAIR, points=_points("other"))
    return _by_threshold(reference, scored, differences, thresholds)


def inter_annotator(
    human: pl.DataFrame,
    differences: pl.DataFrame,
    thresholds: Sequence[int] = RANK_DIFFERENCES,
) -> list[Agreement]:
    """Compare people with each other, on the pairs that several of them judged.

    A pair's points are the mean over all couples of its annotators.

    Args:
        human: see `agreement`.
        differences: see `rank_differences`.
        thresholds: least rank differences.
    """
    other = human.select(*PAIR, other="choice", partner="annotator")
    couples = human.join(other, on=PAIR, how="inner").filter(
        pl.col("annotator") < pl.col("partner")
    )
    scored = couples.select(*PAIR, points=_points("other"))
    both = pl.concat([couples["choice"], couples["other"]])
    ties = float((both == 0).mean() or 0.0)  # type: ignore[arg-type]
    chance = (1 + ties * ties) / 2
    found = _by_threshold("each other", scored, differences, thresholds)
    return [_corrected(row, chance) for row in found]


def _points(other: str) -> pl.Expr:
    apart = (pl.col("choice").cast(pl.Float64) - pl.col(other).cast(pl.Float64)).abs()
    return 1 - apart / 2


def _corrected(row: Agreement, chance: float) -> Agreement:
    corrected = (row.share - chance) / (1 - chance) if chance < 1 else math.nan
    return Agreement(**{**row.__dict__, "chance_corrected": corrected})


def _by_threshold(
    reference: str, scored: pl.DataFrame, differences: pl.DataFrame, thresholds: Sequence[int]
) -> list[Agreement]:
    pairs = (
        scored.group_by(PAIR)
        .agg(pl.col("points").mean())
        .join(differences, on=PAIR, how="left")
        .sort(PAIR)
    )
    found = []
    for threshold in thresholds:
        far = pl.col("rank_difference") >= threshold
        kept = pairs if threshold <= 0 else pairs.filter(far)
        found.append(summary(reference, threshold, kept.height, float(kept["points"].sum())))
    return found


def summary(reference: str, rank_difference: int, pairs: int, points: float) -> Agreement:
    """Return the share, its interval and its p values.

    Args:
        reference: its name.
        rank_difference: the threshold.
        pairs: number of pairs, the trials.
        points: between 0 and `pairs`.
    """
    low, high = wilson(points, pairs)
    return Agreement(
        reference=reference,
        rank_difference=rank_difference,
        pairs=pairs,
        points=points,
        share=points / pairs if pairs else math.nan,
        low=low,
        high=high,
        p_value=binomial_p(points, pairs),
        p_normal=normal_p(points, pairs),
    )
