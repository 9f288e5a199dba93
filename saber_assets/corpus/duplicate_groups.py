"""Groups of duplicates: each kept problem that displaced others, with those."""

from __future__ import annotations

import polars as pl

from saber_assets.corpus.tables import DUPLICATE_GROUPS


def duplicate_groups(corpus: pl.DataFrame, dropped: pl.DataFrame) -> pl.DataFrame:
    """Return the groups that `deduplicate` found, one row a member.

    A group is a kept problem and the records that were dropped for it; every one of them is
    similar to the kept one itself, so groups never chain.

    Args:
        corpus: the kept problems, columns problem_id, source, source_id.
        dropped: a frame of `DROPPED_PROBLEMS`; rows without a `kept_problem_id` are in no group.

    Returns:
        A frame of `DUPLICATE_GROUPS`, the largest groups first, then by kept_problem_id; in a
        group the kept one first, then by falling similarity. A kept record of a content that
        others repeat has the occurrence that none of them has.
    """
    gone = dropped.filter(pl.col("kept_problem_id").is_not_null()).select(
        "kept_problem_id",
        "problem_id",
        "occurrence",
        pl.lit(False).alias("is_kept"),
        "source",
        "source_id",
        "similarity",
        "scope",
        "evidence",
    )
    kept = corpus.select("problem_id", "source", "source_id").join(
        gone.select(pl.col("kept_problem_id").unique()),
        left_on="problem_id",
        right_on="kept_problem_id",
        how="semi",
    )
    taken = dropped.group_by("problem_id").agg(pl.col("occurrence").alias("taken"))
    kept = kept.join(taken, on="problem_id", how="left").select(
        pl.col("problem_id").alias("kept_problem_id"),
        "problem_id",
        pl.col("taken")
        .map_elements(_first_free, return_dtype=pl.Int32, skip_nulls=True)
        .fill_null(1)
        .alias("occurrence"),
        pl.lit(True).alias("is_kept"),
        "source",
        "source_id",
        pl.lit(1.0).alias("similarity"),
        pl.lit(None, dtype=pl.String).alias("scope"),
        pl.lit(None, dtype=pl.String).alias("evidence"),
    )
    return (
        pl.concat([kept, gone.with_columns(pl.col("occurrence").cast(pl.Int32))])
        .with_columns(pl.len().cast(pl.Int32).over("kept_problem_id").alias("size"))
        .sort(
            ["size", "kept_problem_id", "is_kept", "similarity", "problem_id", "occurrence"],
            descending=[True, False, True, True, False, False],
        )
        .select(list(DUPLICATE_GROUPS.columns))
    )


def _first_free(taken: pl.Series) -> int:
    """Return the least occurrence, from 1, that isn't taken."""
    used = set(taken.to_list())
    return next(number for number in range(1, len(used) + 2) if number not in used)
