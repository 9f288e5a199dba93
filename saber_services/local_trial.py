"""A trial of the whole language-model path with a small model, and an honest account of it."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from saber_assets.annotation.annotator import Comparison, Problem
from saber_assets.annotation.lexical import LexicalAnnotator
from saber_assets.annotation.tables import SUMMARY_FAILURES, TOPIC_FAILURES
from saber_assets.annotation.topic_walk import walk_topics
from saber_assets.tournament.intervals import wilson
from saber_assets.tournament.position import PositionEffect, position_effect
from saber_assets.tournament.tables import JUDGMENT_FAILURES
from saber_resources.atomic import write_text
from saber_resources.response_store import PromptStats, ResponseStore
from saber_resources.settings import Settings
from saber_resources.warehouse import read_table, table_files

FAILURES = (TOPIC_FAILURES.name, SUMMARY_FAILURES.name, JUDGMENT_FAILURES.name)
CORPUS = "problems.jsonl"


@dataclass(frozen=True)
class Share:
    """A share with its 95 % Wilson interval; `of` may be 0."""

    count: int
    of: int

    def __str__(self) -> str:
        if self.of == 0:
            return "none to compare"
        low, high = wilson(self.count, self.of)
        share = self.count / self.of
        return f"{self.count} of {self.of} ({share:.0%}, 95 % interval {low:.0%} to {high:.0%})"


@dataclass(frozen=True)
class Account:
    """What a trial came to.

    Attributes:
        problems: in the deduplicated corpus.
        walked: with a topic set, of which `without_topic` hold no topic.
        without_topic: see `walked`.
        summarised: with a summary.
        same_domain: of the problems to which both annotators gave a domain, those with one in
            common.
        same_winner: of the pairs that both judged, those with the same winner.
        first_shown: position effect of the model.
        lexical_first_shown: that of the lexical annotator, on the same pairs.
        failures: rows of each table of failures, with the reasons.
        calls: made by the model, for all steps and earlier builds in the workdir.
        tokens_in: of prompts, those found in the prefix cache included.
        tokens_out: of answers.
        seconds_in_calls: summed over the calls.
        server_megabytes: most memory that one server process used, or None.
    """

    problems: int
    walked: int
    without_topic: int
    summarised: int
    same_domain: Share
    same_winner: Share
    first_shown: PositionEffect | None
    lexical_first_shown: PositionEffect | None
    failures: dict[str, list[str]]
    calls: int
    tokens_in: int
    tokens_out: int
    seconds_in_calls: float
    server_megabytes: float | None


def write_corpus(files: Sequence[Path], target: Path, count: int) -> int:
    """Write the shortest problems of some JSONL files, the same number of each; return how many.

    Args:
        files: each with `problem` and `solution`.
        target: JSONL file.
        count: how many in all, at most.
    """
    short = []
    for file in files:
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]
        rows.sort(key=lambda row: len(row["problem"]) + len(row["solution"]))
        short.append(rows)
    chosen = [row for together in zip(*short, strict=False) for row in together][:count]
    write_text(target, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in chosen))
    return len(chosen)


def account(annotated: Settings, judged: Settings) -> Account:
    """Return what the model did, beside the lexical annotator on the same items.

    Args:
        annotated: the workdir whose topics and summaries the model made.
        judged: the workdir whose pairs it judged; it may be the same one.
    """
    problems = _problems(annotated)
    tree = read_table(annotated.workdir.tables, "ontology_tree")
    lexical = LexicalAnnotator(tree)
    topics = _table(annotated, "topic_sets")
    judgments = _table(judged, "pairwise_judgments")
    other = _lexical_verdicts(lexical, _problems(judged), judgments)
    stats: list[PromptStats] = []
    for path in {annotated.workdir.responses, judged.workdir.responses}:
        with ResponseStore(path) as store:
            stats += store.stats()
    return Account(
        problems=len(problems),
        walked=0 if topics is None else topics.height,
        without_topic=0 if topics is None else int((topics["node_ids"].list.len() == 0).sum()),
        summarised=_height(_table(annotated, "solution_summaries")),
        same_domain=_same_domain(lexical, problems, topics, tree),
        same_winner=_same_winner(judgments, other),
        first_shown=None if judgments is None else position_effect(judgments),
        lexical_first_shown=None if other is None else position_effect(other),
        failures={
            name: _reasons(_table(judged if name == JUDGMENT_FAILURES.name else annotated, name))
            for name in FAILURES
        },
        calls=sum(row.calls for row in stats),
        tokens_in=sum(row.tokens_in for row in stats),
        tokens_out=sum(row.tokens_out for row in stats),
        seconds_in_calls=sum(row.latency for row in stats),
        server_megabytes=_peak_of_children(),
    )


def _problems(settings: Settings) -> dict[str, Problem]:
    corpus = read_table(settings.workdir.tables, "deduped_corpus")
    columns = corpus.select("problem_id", "problem", "solution")
    return {row[0]: Problem(*row) for row in columns.iter_rows()}


def _table(settings: Settings, name: str) -> pl.DataFrame | None:
    tables = settings.workdir.tables
    return read_table(tables, name) if table_files(tables, name) else None


def _height(table: pl.DataFrame | None) -> int:
    return 0 if table is None else table.height


def _reasons(table: pl.DataFrame | None) -> list[str]:
    return [] if table is None else table["reason"].to_list()


def _same_domain(
    lexical: LexicalAnnotator,
    problems: dict[str, Problem],
    topics: pl.DataFrame | None,
    tree: pl.DataFrame,
) -> Share:
    if topics is None:
        return Share(0, 0)
    walked, _ = walk_topics(list(problems.values()), tree, lexical)
    both = topics.join(walked, on="problem_id", suffix="_lexical").filter(
        (pl.col("domains").list.len() > 0) & (pl.col("domains_lexical").list.len() > 0)
    )
    common = pl.col("domains").list.set_intersection("domains_lexical").list.len() > 0
    return Share(both.filter(common).height, both.height)


def _lexical_verdicts(
    lexical: LexicalAnnotator, problems: dict[str, Problem], judgments: pl.DataFrame | None
) -> pl.DataFrame | None:
    """Return the pairs with the lexical annotator's winner, shown in the same order."""
    if judgments is None:
        return None
    pairs = judgments.select("query_id", "first_id", "second_id").iter_rows()
    verdicts = lexical.compare([Comparison(*(problems[one] for one in pair)) for pair in pairs])
    winners = [verdict if isinstance(verdict, int) else None for verdict in verdicts]
    return judgments.with_columns(pl.Series("winner", winners, dtype=pl.Int8))


def _same_winner(judgments: pl.DataFrame | None, other: pl.DataFrame | None) -> Share:
    if judgments is None or other is None:
        return Share(0, 0)
    decided = judgments["winner"].is_in([1, 2]) & other["winner"].is_in([1, 2])
    same = (judgments["winner"] == other["winner"]) & decided
    return Share(int(same.sum()), int(decided.sum()))


def _peak_of_children() -> float | None:
    """Return the peak memory of the largest process that ended below us, in megabytes."""
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    scale = 1 if sys.platform == "darwin" else 1024  # bytes there, kilobytes here
    return peak * scale / 1e6 if peak else None
