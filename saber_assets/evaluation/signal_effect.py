"""Which signal's candidates are rated highest: topic only, summary only, or both."""

from __future__ import annotations

import polars as pl

from saber_assets.candidates.tables import CATEGORIES

_DOCUMENT = ["query_id", "candidate_id"]


def signal_effect(ratings: pl.DataFrame, pools: pl.DataFrame) -> pl.DataFrame:
    """Return how many of a category's candidates are among the top r of their queries.

    Candidates are ranked within their query by rating, equal ratings by id; those without a
    rating are left out. Counts are pooled over the queries.

    Args:
        ratings: RELEVANCE_RATINGS, or its columns query_id, candidate_id and rating.
        pools: CANDIDATE_POOLS, or its columns query_id, candidate_id and category.

    Returns:
        Columns category, rank (r, from 1), within (candidates of that category ranked r or
        better), candidates (all rated ones of it), share (within / candidates) and topped (the
        category's share of all candidates ranked r or better). Every category that has a rated
        candidate has a row for each r up to the longest pool; ordered by category as in
        `CATEGORIES`, then r.
    """
    ranked = (
        ratings.select(*_DOCUMENT, "rating")
        .drop_nulls("rating")
        .join(pools.select(*_DOCUMENT, "category"), on=_DOCUMENT)
        .sort(["query_id", "rating", "candidate_id"], descending=[False, True, False])
        .with_columns(rank=pl.int_range(1, pl.len() + 1).over("query_id"))
    )
    ranks = pl.DataFrame({"rank": range(1, _longest(ranked) + 1)}, schema={"rank": pl.Int64})
    present = [name for name in CATEGORIES if name in set(ranked["category"])]
    grid = pl.DataFrame({"category": present}, schema={"category": pl.String}).join(
        ranks, how="cross"
    )
    counted = ranked.group_by("category", "rank").len("found").cast({"rank": pl.Int64})
    return (
        grid.join(counted, on=["category", "rank"], how="left", maintain_order="left")
        .with_columns(
            within=pl.col("found").fill_null(0).cast(pl.Int64).cum_sum().over("category"),
        )
        .with_columns(candidates=pl.col("within").max().over("category"))
        .with_columns(
            share=pl.col("within") / pl.col("candidates"),
            topped=pl.col("within") / pl.col("within").sum().over("rank"),
        )
        .select("category", "rank", "within", "candidates", "share", "topped")
    )


def at_ranks(effect: pl.DataFrame, ranks: tuple[int, ...] = (1, 5, 10, 25, 50)) -> pl.DataFrame:
    """Return one row a category with the shares at some ranks and the area under its curve.

    The area is the mean of `share` over all ranks: 1/2 for candidates placed at random, more for
    those that are placed higher.
    """
    kept = [rank for rank in ranks if rank <= _longest(effect)]
    return effect.group_by("category", maintain_order=True).agg(
        pl.col("candidates").first(),
        *(
            pl.col("share").filter(pl.col("rank") == rank).first().alias(f"top {rank}")
            for rank in kept
        ),
        area=pl.col("share").mean(),
    )


def _longest(frame: pl.DataFrame) -> int:
    return int(frame.select(pl.col("rank").max().fill_null(0)).item())
