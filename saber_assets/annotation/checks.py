"""Asset checks of the annotation stage."""

from __future__ import annotations

import dagster as dg
import polars as pl

from saber_assets.annotation.tables import (
    SOLUTION_SUMMARIES,
    SUMMARY_FAILURES,
    TOPIC_FAILURES,
    TOPIC_SETS,
)
from saber_assets.checks import Verdict, contract, few_failures, no_orphans, table_check
from saber_assets.corpus.tables import DEDUPED_CORPUS
from saber_assets.ontology.tables import ONTOLOGY_TREE
from saber_resources.settings import Settings

PAIRS = ((TOPIC_SETS, TOPIC_FAILURES), (SOLUTION_SUMMARIES, SUMMARY_FAILURES))


def checks(settings: Settings) -> list[dg.AssetChecksDefinition]:
    """Return the checks of this stage."""
    found = [contract(settings, table) for pair in PAIRS for table in pair]
    for table, failures in PAIRS:
        found += [
            few_failures(settings, table.name, failures.name),
            no_orphans(settings, table.name, "problem_id", DEDUPED_CORPUS.name, "problem_id"),
            table_check(
                settings,
                table.name,
                "everything_done",
                "Every problem is annotated or listed as failed.",
                _everything_done,
                [failures.name, DEDUPED_CORPUS.name],
            ),
        ]
    found.append(
        table_check(
            settings,
            TOPIC_SETS.name,
            "nodes_known",
            "Every topic is a node of the tree.",
            _nodes_known,
            [ONTOLOGY_TREE.name],
        )
    )
    return found


def _everything_done(done: pl.DataFrame, failed: pl.DataFrame, corpus: pl.DataFrame) -> Verdict:
    counts = {"done": done.height, "failed": failed.height, "problems": corpus.height}
    return done.height + failed.height == corpus.height, counts


def _nodes_known(topic_sets: pl.DataFrame, tree: pl.DataFrame) -> Verdict:
    used = topic_sets["node_ids"].explode().drop_nulls().unique()
    unknown = used.filter(~used.is_in(tree["node_id"].implode()))
    return unknown.is_empty(), {"unknown": unknown.len()}
