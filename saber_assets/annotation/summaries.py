"""The summary of every solution of a corpus, in batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from saber_assets.annotation.annotator import Annotator, Failure, Problem
from saber_assets.annotation.tables import SOLUTION_SUMMARIES, SUMMARY_FAILURES

BATCH = 2048
"""Problems handed to the annotator at once; it decides how many of them run together."""


def summarise_all(
    problems: Sequence[Problem],
    annotator: Annotator,
    progress: Callable[[int], None] | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the core idea of each solution (SPEC section 2, "Summary").

    Args:
        problems: in any order.
        annotator: who summarises.
        progress: called with the number of newly finished problems.

    Returns:
        Frames of SOLUTION_SUMMARIES and of SUMMARY_FAILURES, each sorted by problem_id; every
        problem is in exactly one of them.
    """
    rows: list[tuple[object, ...]] = []
    failures: list[tuple[str, str]] = []
    ordered = sorted(problems, key=lambda problem: problem.problem_id)
    for start in range(0, len(ordered), BATCH):
        batch = ordered[start : start + BATCH]
        for problem, summary in zip(batch, annotator.summarise(batch), strict=True):
            if isinstance(summary, Failure):
                failures.append((problem.problem_id, summary.reason))
                continue
            rows.append(
                (
                    problem.problem_id,
                    summary.no_core_idea,
                    summary.core_idea,
                    list(summary.supporting_ideas),
                    list(summary.keywords),
                    summary.confidence,
                    annotator.name,
                )
            )
        if progress is not None:
            progress(len(batch))
    return (
        pl.DataFrame(rows, schema=SOLUTION_SUMMARIES.schema, orient="row"),
        pl.DataFrame(failures, schema=SUMMARY_FAILURES.schema, orient="row"),
    )
