"""The sample: two signals tell its planted families apart; names and storage don't count."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from saber_assets import corpus
from saber_assets.candidates.features import build_features
from saber_assets.candidates.jaccard_join import summary_similarities
from saber_assets.candidates.topic_join import topic_similarities
from saber_assets.corpus.readers import problem_id_of
from saber_resources.settings import save_settings
from saber_resources.warehouse import read_table
from saber_services.builder import build

SAMPLE = Path(corpus.__file__).parent / "sample"


def records() -> list[dict]:
    return [
        json.loads(line)
        for path in sorted(SAMPLE.glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]


@pytest.fixture(scope="module")
def means(built):
    """Mean similarity of pairs by signal, same topic family, same technique family."""
    tables = built / "tables"
    problems = (
        read_table(tables, "topic_sets")
        .join(read_table(tables, "solution_summaries"), on="problem_id")
        .sort("problem_id")
    )
    ids = problems["problem_id"].to_list()
    features = build_features(
        ids,
        problems["node_ids"].to_list(),
        problems["core_idea"].to_list(),
        read_table(tables, "ontology_tree"),
    )
    rows = np.arange(len(ids), dtype=np.int64)
    known = {problem_id_of(r["problem"], r["solution"]): r for r in records()}
    same = {
        family: np.equal.outer(labels, labels)
        for family in ("topic_family", "technique_family")
        if len(labels := np.array([known[name][family] for name in ids])) == len(ids)
    }
    others = ~np.eye(len(ids), dtype=bool)
    topic, technique = same["topic_family"], same["technique_family"]
    groups = {
        "topic alone": others & topic & ~technique,
        "technique alone": others & ~topic & technique,
        "neither": others & ~topic & ~technique,
    }
    signals = {
        "topic": topic_similarities(features, rows),
        "summary": summary_similarities(features, rows),
    }
    return {
        (signal, group): float(values[mask].mean())
        for signal, values in signals.items()
        for group, mask in groups.items()
    }


def test_the_topic_signal_finds_the_topic_families(means):
    assert means["topic", "topic alone"] > 3 * means["topic", "neither"]
    assert means["topic", "topic alone"] > 1.2 * means["topic", "technique alone"]


def test_the_summary_signal_finds_the_technique_families(means):
    assert means["summary", "technique alone"] > 2 * means["summary", "neither"]
    assert means["summary", "technique alone"] > means["summary", "topic alone"]


def test_renaming_and_reordering_documents_changes_nothing(built, tmp_path, small):
    renamed = [{**record, "id": f"x{number}"} for number, record in enumerate(reversed(records()))]
    file = tmp_path / "renamed.jsonl"
    file.write_text("\n".join(json.dumps(record) for record in renamed), encoding="utf-8")
    settings = save_settings(
        tmp_path / "work", "sample", {**small, "corpus": {"files": [str(file)]}}
    )
    build(settings)
    for name in ("candidate_pools", "relevance_ratings", "leaderboard"):
        here = read_table(settings.workdir.tables, name)
        assert here.equals(read_table(built / "tables", name)), name


def test_every_domain_has_queries_and_pools_are_whole(built, small):
    pools = read_table(built / "tables", "candidate_pools")
    sizes = pools.group_by("query_id", "category").len()["len"].unique().to_list()
    assert sizes == [6]
    queries = read_table(built / "tables", "benchmark_queries")
    assert queries.height == small["selection"]["queries"]
    assert queries["domains"].explode().n_unique() == 5
    judged = read_table(built / "tables", "pairwise_judgments")
    assert set(judged["judge"].unique()) == {"lexical heuristic (no model)"}
    assert judged.filter(pl.col("winner").is_null()).is_empty()
