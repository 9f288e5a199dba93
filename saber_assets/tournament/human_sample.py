"""Pairs for people to judge, drawn evenly over rank differences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from saber_assets.tournament.agreement import PAIR, RANK_DIFFERENCES, rank_differences


def draw_pairs(
    count: int,
    pairs: pl.DataFrame,
    ratings: pl.DataFrame,
    seed: int,
    thresholds: Sequence[int] = RANK_DIFFERENCES,
) -> pl.DataFrame:
    """Draw pairs, as evenly as possible over the strata of rank difference.

    With thresholds 0, 25, 50 the strata are 0 to 24, 25 to 49, and 50 or more places. Where a
    stratum has too few pairs, the others give more. The rows are shuffled, and which candidate
    is `a` is drawn for each, so that neither tells what the ratings prefer.

    Args:
        count: pairs wanted; fewer are returned where there are not as many.
        pairs: columns query_id, low_id, high_id; those with an unrated candidate are left out.
        ratings: columns query_id, candidate_id, rating.
        seed: any non-negative integer.
        thresholds: least rank differences; 0 is added.

    Returns:
        Columns query_id, a, b.
    """
    known = rank_differences(ratings, pairs).drop_nulls().sort(PAIR)
    edges = sorted({0, *thresholds})
    stratum = np.searchsorted(edges, known["rank_difference"].to_numpy(), side="right") - 1
    rng = np.random.default_rng(seed)
    members = [rng.permutation(np.nonzero(stratum == place)[0]) for place in range(len(edges))]
    quotas = even_quotas(count, [len(member) for member in members])
    drawn = np.concatenate(
        [member[:quota] for member, quota in zip(members, quotas, strict=True)]
    ).astype(np.int64)
    chosen = known[rng.permutation(drawn)]
    turned = pl.Series(rng.integers(0, 2, chosen.height).astype(bool))
    return chosen.with_columns(turned=turned).select(
        "query_id",
        a=pl.when("turned").then("high_id").otherwise("low_id"),
        b=pl.when("turned").then("low_id").otherwise("high_id"),
    )


def even_quotas(count: int, sizes: Sequence[int]) -> list[int]:
    """Split a count as evenly as the sizes allow; earlier strata get the remainder.

    Returns:
        One quota for each size, none above it; together min(count, sum of sizes).
    """
    quotas = [0] * len(sizes)
    left = min(count, sum(sizes))
    while left > 0:
        open_places = [place for place, size in enumerate(sizes) if quotas[place] < size]
        share = max(1, left // len(open_places))
        for place in open_places:
            more = min(share, sizes[place] - quotas[place], left)
            quotas[place] += more
            left -= more
    return quotas
