"""The quality report: what became of every record of each source, and what the kept ones are like.

All functions take frames and give frames, one row a fact, so that a table on a terminal, a page and
a test read the same numbers. Counts are of records; a document that waits for a person or was
left out counts as one, since nobody knows how many problems it holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from saber_assets.corpus.tables import DUPLICATE_GROUPS
from saber_assets.table import Column, Rule, Table

READ, DROPPED, IN_REVIEW, KEPT = "read", "dropped", "in_review", "kept"
STAGES = (READ, DROPPED, IN_REVIEW, KEPT)
QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
FEATURES = {
    "answer": "has a short answer",
    "alternatives": "has more than one solution",
    "images": "points at images that aren't there",
    "diagrams": "has the code of a drawing",
    "for_training": "may be used to train models",
}
"""What a problem may have, with what each means."""

CORPUS_FUNNEL = Table(
    name="corpus_funnel",
    description="How many records of each source were read, dropped, set aside and kept.",
    columns={
        "source": Column(pl.String, "name of the source"),
        "stage": Column(pl.String, f"one of {', '.join(STAGES)}"),
        "reason": Column(pl.String, "why dropped or in review, else empty"),
        "scope": Column(pl.String, "of duplicates: within or across sources, else empty"),
        "records": Column(pl.Int64, "how many"),
        "share": Column(pl.Float64, "of those read from the source, [0, 1]"),
    },
    key=("source", "stage", "reason", "scope"),
    rules=(
        Rule("known stage", "stage is listed", pl.col("stage").is_in(list(STAGES))),
        Rule("a count", "no negative count", pl.col("records") >= 0),
    ),
)

_SOURCE = {"source": Column(pl.String, "name of the source")}
TEXT_LENGTHS = Table(
    name="text_lengths",
    description="Quantiles of the lengths of the kept statements and solutions of each source.",
    columns={
        **_SOURCE,
        "text": Column(pl.String, "statement or solution"),
        "quantile": Column(pl.Float64, "0 is the shortest, 1 the longest"),
        "characters": Column(pl.Int64, "length at that quantile"),
    },
    key=("source", "text", "quantile"),
)
PROBLEM_FEATURES = Table(
    name="problem_features",
    description="How many of the kept problems of each source have an answer, an image and so on.",
    columns={
        **_SOURCE,
        "feature": Column(pl.String, f"one of {', '.join(FEATURES)}"),
        "problems": Column(pl.Int64, "kept problems that have it"),
        "share": Column(pl.Float64, "of the kept problems of the source, [0, 1]"),
    },
    key=("source", "feature"),
)
PROBLEM_VALUES = Table(
    name="problem_values",
    description="Languages, licences, cleaning steps and oddities of kept problems, a source.",
    columns={
        **_SOURCE,
        "what": Column(pl.String, "language, licence, step or flag"),
        "value": Column(pl.String, "which"),
        "problems": Column(pl.Int64, "kept problems that have it"),
        "share": Column(pl.Float64, "of the kept problems of the source, [0, 1]"),
    },
    key=("source", "what", "value"),
)
GROUP_SIZES = Table(
    name="group_sizes",
    description="How many groups of duplicates of each size the kept problems of a source lead.",
    columns={
        **_SOURCE,
        "size": Column(pl.Int32, "records in the group, the kept one too"),
        "groups": Column(pl.Int64, "groups of that size"),
        "displaced_within": Column(pl.Int64, "records of the same source that they displaced"),
        "displaced_across": Column(pl.Int64, "records of other sources that they displaced"),
    },
    key=("source", "size"),
)


QUALITY_TABLES = (
    CORPUS_FUNNEL,
    DUPLICATE_GROUPS,
    TEXT_LENGTHS,
    PROBLEM_FEATURES,
    PROBLEM_VALUES,
    GROUP_SIZES,
)
"""What the report consists of, in the order in which it is handed over."""


@dataclass(frozen=True)
class QualityReport:
    """What the kept problems of each source are like.

    Attributes:
        lengths: a frame of `TEXT_LENGTHS`.
        features: a frame of `PROBLEM_FEATURES`.
        values: a frame of `PROBLEM_VALUES`.
        group_sizes: a frame of `GROUP_SIZES`.
    """

    lengths: pl.DataFrame
    features: pl.DataFrame
    values: pl.DataFrame
    group_sizes: pl.DataFrame


def funnel(
    raw: pl.DataFrame,
    corpus: pl.DataFrame,
    dropped: pl.DataFrame,
    review: pl.DataFrame | None = None,
    dropped_documents: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Count what became of the records of each source.

    Args:
        raw: every record, column source.
        corpus: the kept problems, column source.
        dropped: columns source, reason and, of duplicates, scope (null elsewhere).
        review: documents that wait for a person, columns source, reason.
        dropped_documents: documents left out, columns source, reason.

    Returns:
        A frame of `CORPUS_FUNNEL`: sources with most records first, stages in the order of
        `STAGES`, reasons by falling count. Each source has a row for read and one for kept, even
        where it is 0.
    """
    documents = [frame for frame in (review, dropped_documents) if frame is not None]
    read = pl.concat([frame.select("source") for frame in (raw, *documents)])
    sources = pl.concat([read, corpus.select("source"), dropped.select("source")]).unique()
    parts = [
        _counted(sources, read, READ),
        *(_reasons(frame, DROPPED) for frame in (dropped, dropped_documents) if frame is not None),
        *(_reasons(frame, IN_REVIEW) for frame in (review,) if frame is not None),
        _counted(sources, corpus, KEPT),
    ]
    found = (
        pl.concat(parts).group_by("source", "stage", "reason", "scope").agg(pl.col("records").sum())
    )
    totals = parts[0].select("source", pl.col("records").alias("of"))
    return (
        found.join(totals, on="source", how="left")
        .with_columns(share=pl.col("records") / pl.max_horizontal("of", 1))
        .with_columns(
            place=pl.col("stage").replace_strict(
                {stage: place for place, stage in enumerate(STAGES)}, return_dtype=pl.Int32
            )
        )
        .sort(
            ["of", "source", "place", "records", "reason", "scope"],
            descending=[True, False, False, True, False, False],
        )
        .select(list(CORPUS_FUNNEL.columns))
    )


def _counted(sources: pl.DataFrame, frame: pl.DataFrame, stage: str) -> pl.DataFrame:
    counts = frame.group_by("source").agg(pl.len().cast(pl.Int64).alias("records"))
    return sources.join(counts, on="source", how="left").select(
        "source",
        pl.lit(stage).alias("stage"),
        pl.lit("").alias("reason"),
        pl.lit("").alias("scope"),
        pl.col("records").fill_null(0),
    )


def _reasons(frame: pl.DataFrame, stage: str) -> pl.DataFrame:
    scope = pl.col("scope").fill_null("") if "scope" in frame.columns else pl.lit("")
    return (
        frame.select("source", pl.lit(stage).alias("stage"), "reason", scope.alias("scope"))
        .group_by("source", "stage", "reason", "scope")
        .agg(pl.len().cast(pl.Int64).alias("records"))
    )


def funnel_faults(found: pl.DataFrame) -> list[str]:
    """Say where the counts of a funnel don't add up: read = dropped + in review + kept.

    Args:
        found: a frame of `CORPUS_FUNNEL`.

    Returns:
        One sentence for each source of which records are lost, or counted twice; else none.
    """
    is_read = pl.col("stage") == READ
    sums = found.group_by("source").agg(
        pl.col("records").filter(is_read).sum().alias("read"),
        pl.col("records").filter(~is_read).sum().alias("accounted"),
    )
    return [
        f"the source '{source}' has {read} records, but {accounted} are dropped, in review or kept"
        for source, read, accounted in sums.sort("source").iter_rows()
        if read != accounted
    ]


def report(
    raw: pl.DataFrame, corpus: pl.DataFrame, dropped: pl.DataFrame, groups: pl.DataFrame
) -> QualityReport:
    """Describe the kept problems of each source.

    Args:
        raw: columns problem_id, occurrence, steps and flags are read.
        corpus: the kept problems, a frame of `DEDUPED_CORPUS`.
        dropped: columns problem_id and occurrence are read: by them the kept rows of `raw` are
            known.
        groups: a frame of `DUPLICATE_GROUPS`.
    """
    return QualityReport(
        lengths=_lengths(corpus),
        features=_features(corpus),
        values=_values(raw, corpus, dropped),
        group_sizes=_group_sizes(groups),
    )


def _lengths(corpus: pl.DataFrame) -> pl.DataFrame:
    parts = [
        corpus.group_by("source").agg(
            pl.lit(text).alias("text"),
            pl.lit(quantile).alias("quantile"),
            pl.col(column)
            .str.len_chars()
            .quantile(quantile, "nearest")
            .cast(pl.Int64)
            .alias("characters"),
        )
        for text, column in (("statement", "problem"), ("solution", "solution"))
        for quantile in QUANTILES
    ]
    return pl.concat(parts).sort(["source", "text", "quantile"], descending=[False, True, False])


def _features(corpus: pl.DataFrame) -> pl.DataFrame:
    has = {
        "answer": pl.col("answer").fill_null("").str.strip_chars() != "",
        "alternatives": pl.col("alternatives").list.len() > 0,
        "images": pl.col("images") > 0,
        "diagrams": pl.col("diagrams").list.len() > 0,
        "for_training": pl.col("for_training"),
    }
    parts = [
        corpus.group_by("source").agg(
            pl.lit(feature).alias("feature"),
            condition.sum().cast(pl.Int64).alias("problems"),
            condition.mean().cast(pl.Float64).alias("share"),
        )
        for feature, condition in has.items()
    ]
    return pl.concat(parts).sort(
        "source", pl.col("feature").replace_strict(_places(list(FEATURES)))
    )


def _values(raw: pl.DataFrame, corpus: pl.DataFrame, dropped: pl.DataFrame) -> pl.DataFrame:
    totals = corpus.group_by("source").agg(pl.len().cast(pl.Int64).alias("of"))
    key = ["problem_id", "occurrence"]
    kept = raw.select(*key, "source", "steps", "flags", "fault").filter(pl.col("fault").is_null())
    kept = kept.join(dropped.select(key), on=key, how="anti")
    one_each = {"language": corpus["source", "language"], "licence": corpus["source", "licence"]}
    several = {
        "step": kept.select("source", pl.col("steps").list.unique()).explode("steps"),
        "flag": kept.select("source", pl.col("flags").list.unique()).explode("flags"),
    }
    parts = []
    for what, frame in (one_each | several).items():
        named = frame.rename({frame.columns[1]: "value"}).drop_nulls("value")
        parts.append(
            named.group_by("source", "value")
            .agg(pl.len().cast(pl.Int64).alias("problems"))
            .select("source", pl.lit(what).alias("what"), "value", "problems")
        )
    return (
        pl.concat(parts)
        .join(totals, on="source", how="left")
        .with_columns(share=pl.col("problems") / pl.col("of"))
        .sort(
            [
                pl.col("source"),
                pl.col("what").replace_strict(_places([*one_each, *several])),
                pl.col("problems"),
                pl.col("value"),
            ],
            descending=[False, False, True, False],
        )
        .drop("of")
    )


def _places(names: Sequence[str]) -> dict[str, int]:
    return {name: place for place, name in enumerate(names)}


def _group_sizes(groups: pl.DataFrame) -> pl.DataFrame:
    lead = groups.filter("is_kept").select("kept_problem_id", pl.col("source").alias("lead"))
    return (
        groups.join(lead, on="kept_problem_id")
        .group_by(pl.col("lead").alias("source"), "size")
        .agg(
            pl.col("is_kept").sum().cast(pl.Int64).alias("groups"),
            (pl.col("scope") == "within").sum().cast(pl.Int64).alias("displaced_within"),
            (pl.col("scope") == "across").sum().cast(pl.Int64).alias("displaced_across"),
        )
        .sort("source", "size")
    )
