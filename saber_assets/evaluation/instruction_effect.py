"""What telling a retriever its task does to its score: three instructions against none.

An instruction goes to the query only, into the model's instruction field where it has one, in
front of the query else; documents are read without one.
"""

from __future__ import annotations

import polars as pl

from saber_assets.evaluation.alignment import measure_matrix
from saber_assets.evaluation.bootstrap import intervals

NONE = "none"

INSTRUCTIONS = {
    "i1": (
        "Retrieve solved mathematics problems whose solutions rest on the same ideas and "
        "techniques as the solution of the given problem, however differently they are worded."
    ),
    "i2": (
        "Retrieve solved mathematics problems that are solved by the same steps as the given "
        "problem. Shared variables, numbers, objects or phrases do not count."
    ),
    "i3": "Retrieve the documents that are most relevant to the query.",
}
"""I1 names the similarity that is rated, I2 warns of looks, I3 says nothing about mathematics."""

SCHEMA = {
    "retriever": pl.String,
    "instruction": pl.String,
    "mean": pl.Float64,
    "difference": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
}


def differences(means: pl.DataFrame, none: str = NONE) -> pl.DataFrame:
    """Return, from means alone, what each instruction changes and which one is best.

    Args:
        means: columns retriever, instruction and mean.
        none: the name under which the means without an instruction stand.

    Returns:
        Columns retriever, mean (without), one for each instruction (its mean minus that; null
        where it was not run) and best: the name with the highest mean, `none` before the others
        and then the earlier one at equal means. By mean without, descending. Retrievers without
        a mean without instruction are left out.
    """
    names = [none, *sorted(set(means["instruction"]) - {none})]
    wide = means.pivot(on="instruction", index="retriever", values="mean")
    wide = wide.with_columns(
        pl.lit(None, dtype=pl.Float64).alias(name) for name in names if name not in wide.columns
    ).filter(pl.col(none).is_not_null())
    best = pl.coalesce(
        pl.when(pl.col(name) == pl.max_horizontal(names)).then(pl.lit(name)) for name in names
    )
    return (
        wide.with_columns(best=best)
        .select(
            "retriever",
            pl.col(none).alias("mean"),
            *(pl.col(name) - pl.col(none) for name in names[1:]),
            "best",
        )
        .sort(["mean", "retriever"], descending=[True, False])
    )


def instruction_effect(
    measures: pl.DataFrame, none: str = NONE, resamples: int = 1000, seed: int = 0
) -> pl.DataFrame:
    """Return the effect of each instruction with a paired interval.

    Args:
        measures: QUERY_MEASURES of one setting and measure, with a column instruction.
        none: its value where there was none.
        resamples: of the paired query bootstrap.
        seed: not negative.

    Returns:
        Columns of `SCHEMA`: one row for each retriever and instruction, `difference` being the
        mean with minus the mean without on the same queries, with its 95 % interval. By
        retriever, then instruction. Retrievers without a run without instruction are left out.
    """
    rows = []
    for key, frame in sorted(measures.group_by("retriever"), key=lambda item: item[0]):
        renamed = frame.drop("retriever").rename({"instruction": "retriever"})
        matrix = measure_matrix(renamed)
        if none not in matrix.retrievers:
            continue
        base = matrix.values[matrix.retrievers.index(none)]
        others = [place for place, name in enumerate(matrix.retrievers) if name != none]
        if not others:
            continue
        gained = matrix.values[others] - base
        low, high = intervals(gained, resamples, seed)
        rows += [
            (
                str(key[0]),
                matrix.retrievers[place],
                float(matrix.values[place].mean()),
                float(gained[i].mean()),
                float(low[i]),
                float(high[i]),
            )
            for i, place in enumerate(others)
        ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")
