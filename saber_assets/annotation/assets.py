"""Assets of the annotation stage: topic sets and solution summaries."""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg
import polars as pl

from saber_assets.annotation.annotator import Problem
from saber_assets.annotation.summaries import summarise_all
from saber_assets.annotation.tables import (
    SOLUTION_SUMMARIES,
    SUMMARY_FAILURES,
    TOPIC_FAILURES,
    TOPIC_SETS,
)
from saber_assets.annotation.topic_walk import early_stops, walk_topics
from saber_assets.annotators import annotator_values, open_annotator, pool_of
from saber_assets.materialize import declare, hand_over
from saber_assets.plots import bars, histogram, shown
from saber_resources.progress import progress
from saber_resources.settings import Settings


def problems_of(corpus: pl.DataFrame) -> list[Problem]:
    """Return the rows of DEDUPED_CORPUS as an annotator sees them."""
    return [Problem(*row) for row in corpus.select("problem_id", "problem", "solution").iter_rows()]


def assets(settings: Settings) -> list[dg.AssetsDefinition]:
    """Return the assets of this stage, configured."""
    annotation = settings.profile.annotation
    kind = annotation.annotator
    topic_values = {
        **annotator_values(settings, kind, "topic_scores"),
        "annotation": {"keep": annotation.keep, "normalise": annotation.normalise},
    }
    summary_values = annotator_values(settings, kind, "summary")

    @dg.multi_asset(
        name="assign_topics",
        outs=declare(
            [TOPIC_SETS, TOPIC_FAILURES],
            group="annotation",
            version=1,
            values=topic_values,
            kinds=("ai",) if kind == "llm" else ("heuristic",),
        ),
        pool=pool_of(kind),
    )
    def topic_sets(
        deduped_corpus: pl.DataFrame, ontology_tree: pl.DataFrame
    ) -> Iterator[dg.Output[pl.DataFrame]]:
        with (
            open_annotator(settings, kind, ontology_tree) as annotator,
            progress("assigning topics", deduped_corpus.height) as advance,
        ):
            found, failures = walk_topics(
                problems_of(deduped_corpus),
                ontology_tree,
                annotator,
                keep=annotation.keep,
                normalise=annotation.normalise,
                progress=advance,
            )
        domains = found["domains"].explode().drop_nulls().value_counts(sort=True)
        yield from hand_over(
            [(TOPIC_SETS, found), (TOPIC_FAILURES, failures)],
            topic_values,
            {
                TOPIC_SETS.name: {
                    "annotator": annotator.name,
                    "scoring calls": int(found["calls"].sum()),
                    "calls per problem": float(found["calls"].mean() or 0),  # type: ignore[arg-type]
                    "topics per problem": float(found["node_ids"].list.len().mean() or 0),  # type: ignore[arg-type]
                    "early stops": early_stops(found, ontology_tree),
                    "without any topic": int((found["node_ids"].list.len() == 0).sum()),
                    "domains": shown(
                        bars(
                            domains["domains"].to_list(),
                            domains["count"].to_list(),
                            "Problems by domain (a problem may count in several)",
                            "problems",
                        )
                    ),
                    "depths": shown(
                        histogram(found["depth"], "Depth of the deepest topic", "depth")
                    ),
                }
            },
        )

    @dg.multi_asset(
        name="summarise_solutions",
        outs=declare(
            [SOLUTION_SUMMARIES, SUMMARY_FAILURES],
            group="annotation",
            version=1,
            values=summary_values,
            kinds=("ai",) if kind == "llm" else ("heuristic",),
        ),
        pool=pool_of(kind),
    )
    def solution_summaries(
        deduped_corpus: pl.DataFrame, ontology_tree: pl.DataFrame
    ) -> Iterator[dg.Output[pl.DataFrame]]:
        with (
            open_annotator(settings, kind, ontology_tree) as annotator,
            progress("summarising solutions", deduped_corpus.height) as advance,
        ):
            found, failures = summarise_all(
                problems_of(deduped_corpus), annotator, progress=advance
            )
        words = found["core_idea"].str.split(" ").list.len()
        yield from hand_over(
            [(SOLUTION_SUMMARIES, found), (SUMMARY_FAILURES, failures)],
            summary_values,
            {
                SOLUTION_SUMMARIES.name: {
                    "annotator": annotator.name,
                    "without core idea": int(found["no_core_idea"].sum()),
                    "words": shown(histogram(words, "Words of the core idea", "words")),
                }
            },
        )

    return [topic_sets, solution_summaries]
