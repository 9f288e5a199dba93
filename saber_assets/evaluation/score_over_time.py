"""The best score so far, by release date, for the two classes of systems apart."""

from __future__ import annotations

import polars as pl

from saber_assets.evaluation.pareto import CLASSES, class_of

COLUMNS = ["retriever", "class", "released", "score", "best", "is_record"]


def score_over_time(systems: pl.DataFrame) -> pl.DataFrame:
    """Return each system with the best score of its class up to its release.

    A record is a score above every one of its class that was released earlier or on the same
    day; of equal best scores of one day, all are records.

    Args:
        systems: columns retriever, type_code, released (a date; null where it isn't known) and
            score.

    Returns:
        Columns retriever, class, released, score, best (up to and on that day) and is_record; by
        class, date, score descending, name. Systems without a date or class are left out.
    """
    named = systems.with_columns(
        pl.Series(
            "class", [class_of(code or "") for code in systems["type_code"]], dtype=pl.String
        ),
        pl.col("released").cast(pl.Date),
        pl.col("score").cast(pl.Float64),
    ).filter(pl.col("class").is_not_null() & pl.col("released").is_not_null())
    ordered = named.with_columns(
        place=pl.col("class").replace_strict(
            list(CLASSES), list(range(len(CLASSES))), return_dtype=pl.Int64
        )
    ).sort(["place", "released", "score", "retriever"], descending=[False, False, True, False])
    days = (
        ordered.group_by("class", "released", maintain_order=True)
        .agg(of_day=pl.col("score").max())
        .with_columns(best=pl.col("of_day").cum_max().over("class"))
        .with_columns(before=pl.col("best").shift(1).over("class"))
    )
    joined = ordered.join(days, on=["class", "released"], how="left", maintain_order="left")
    record = (pl.col("score") == pl.col("of_day")) & (
        pl.col("before").is_null() | (pl.col("of_day") > pl.col("before"))
    )
    return joined.with_columns(is_record=record).select(COLUMNS)


def without_date(systems: pl.DataFrame) -> list[str]:
    """Return the systems that no curve can hold for want of a date or a class, ascending."""
    kept = set(score_over_time(systems)["retriever"])
    return sorted(name for name in systems["retriever"] if name not in kept)
