"""What a change makes stale: exactly what depends on it, and no more."""

from __future__ import annotations

import json
import os
import shutil
import time

import polars as pl
import pytest

from saber_assets.annotators import verdict_maker
from saber_assets.corpus.quality import QUALITY_TABLES
from saber_assets.definitions import build_definitions
from saber_assets.errors import InputError
from saber_assets.judges import judge_values
from saber_assets.ontology.readers import read_ontology
from saber_assets.ontology.tree import unfold
from saber_assets.retrieval.own.own_list import Own, add_own
from saber_resources.errors import SetupError
from saber_resources.settings import load_settings, save_settings
from saber_resources.shipped import shipped
from saber_resources.warehouse import read_table
from saber_services.builder import build, open_board
from saber_services.staleness import changed_values


def survey(settings):
    with open_board(settings) as board:
        return board.survey().states


def directly_changed(settings) -> set[str]:
    """Assets that are stale for a reason of their own, not only because of what is upstream."""
    return {
        state.name
        for state in survey(settings)
        if any(not reason.startswith("upstream ") for reason in state.reasons)
    }


def not_fresh(settings) -> set[str]:
    return {state.name for state in survey(settings) if state.status != "fresh"}


QUALITY = {table.name for table in QUALITY_TABLES}
CORPUS = {"raw_problems", "deduped_corpus", "dropped_problems"} | QUALITY
LISTED = {"listed_duplicates"}
TOPICS = {"topic_sets", "topic_failures"}
SUMMARIES = {"solution_summaries", "summary_failures"}
CANDIDATES = {"relevance_thresholds", "benchmark_queries", "candidate_pools"}
JUDGMENTS = {"pairwise_judgments", "judgment_failures"}
ANALYSES = {"signal_effect", "gain_variants", "binary_measures", "paired_tests", "rating_noise"}
OF_MEASURES = ANALYSES - {"signal_effect"}
MEASURED = {"query_measures", "leaderboard"} | OF_MEASURES
BOARD = {"retriever_scores", "retriever_failures", "signal_effect"} | MEASURED
FROM_JUDGMENTS = JUDGMENTS | {"relevance_ratings"} | BOARD
FROM_POOLS = {"candidate_pools"} | FROM_JUDGMENTS

CHANGES = [
    ({"corpus": {"dedup_threshold": 0.8}}, {"deduped_corpus", "dropped_problems"},
     CORPUS - {"raw_problems"} | LISTED | TOPICS | SUMMARIES | CANDIDATES | FROM_POOLS),
    ({"corpus": {"bad_rows": "set_aside"}}, {"raw_problems"},
     CORPUS | LISTED | TOPICS | SUMMARIES | CANDIDATES | FROM_POOLS),
    ({"ontology": {"max_nodes": 5000}}, {"ontology_tree"},
     {"ontology_tree"} | TOPICS | SUMMARIES | CANDIDATES | FROM_POOLS),
    ({"annotation": {"keep": 0.8}}, TOPICS, TOPICS | CANDIDATES | FROM_POOLS),
    ({"thresholds": {"k": 5}}, CANDIDATES, CANDIDATES | FROM_POOLS),
    ({"thresholds": {"min_queries": 11}}, {"relevance_thresholds"}, CANDIDATES | FROM_POOLS),
    ({"selection": {"queries": 5}}, {"benchmark_queries"}, {"benchmark_queries"} | FROM_POOLS),
    ({"selection": {"seed": 9}}, {"benchmark_queries", "candidate_pools"},
     {"benchmark_queries"} | FROM_POOLS),
    ({"tournament": {"rounds": 3}}, JUDGMENTS, FROM_JUDGMENTS),
    ({"ratings": {"penalty": 2.0}}, {"relevance_ratings"}, {"relevance_ratings"} | BOARD),
    ({"evaluation": {"gain": "linear"}}, {"query_measures", "rating_noise"}, MEASURED),
    ({"evaluation": {"resamples": 50}}, {"leaderboard", "rating_noise", "binary_measures"},
     {"leaderboard", "rating_noise", "binary_measures"}),
    ({"checks": {"max_failure_share": 0.5}}, set(), set()),
    ({"llm": {"concurrency": 3}}, set(), set()),
]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "direct", "all_of_them"), CHANGES, ids=[json.dumps(change[0]) for change in CHANGES]
)
def test_a_changed_value_makes_stale_what_depends_on_it(workdir, change, direct, all_of_them):
    settings = save_settings(workdir, None, change)
    assert directly_changed(settings) == direct
    assert not_fresh(settings) == all_of_them


def test_listed_duplicates_leave_each_others_pools(workdir):
    settings = load_settings(workdir)
    corpus = read_table(settings.workdir.tables, "deduped_corpus")
    source_ids = dict(corpus.select("problem_id", "source_id").iter_rows())
    pools = read_table(settings.workdir.tables, "candidate_pools")
    query, candidate = pools.select("query_id", "candidate_id").row(0)
    file = workdir / "same.csv"
    file.write_text(f"first,second\n{source_ids[candidate]},{query}\n", encoding="utf-8")
    settings = save_settings(workdir, None, {"selection": {"duplicates": "same.csv"}})
    assert directly_changed(settings) == LISTED
    assert not_fresh(settings) == LISTED | CANDIDATES | FROM_POOLS
    outcome = build(settings)
    assert set(outcome.made) >= CANDIDATES
    ids = {query, candidate}
    pools = read_table(settings.workdir.tables, "candidate_pools")
    assert not any({*pair} == ids for pair in pools.select("query_id", "candidate_id").iter_rows())
    assert not_fresh(settings) == set()

    # the same pair from the other side: the list is read again, and nothing else is made
    assert outcome.notes == []
    file.write_text(f"first,second\n{query},{candidate}\nnobody,{query}\n", encoding="utf-8")
    assert directly_changed(settings) == LISTED
    outcome = build(settings)
    assert outcome.made == ["listed_duplicates"]
    assert outcome.notes == ["listed_duplicates: 1 of 2 pairs have ids of no record"]

    file.write_text(f"first,second\n{query},\n", encoding="utf-8")
    with pytest.raises(InputError, match="same.csv line 2 has no id"):
        build(settings)
    file.unlink()
    assert directly_changed(settings) == LISTED
    with pytest.raises(InputError, match="can't be read .No such file"):
        build(settings)


def test_reasons_name_the_value(workdir):
    settings = save_settings(workdir, None, {"tournament": {"rounds": 3}})
    reasons = {state.name: state.reasons for state in survey(settings)}
    assert reasons["pairwise_judgments"] == ("tournament.rounds: 4 -> 3",)
    assert reasons["relevance_ratings"] == ("upstream pairwise_judgments is stale",)


@pytest.mark.parametrize(
    ("prompt", "touched"),
    [("pairwise_judge", JUDGMENTS), ("summary", SUMMARIES), ("topic_scores", TOPICS)],
)
def test_an_edited_prompt_touches_only_its_own_step(tmp_path, prompt, touched):
    settings = save_settings(
        tmp_path / "work",
        "sample",
        {
            "annotation": {"annotator": "llm"},
            "judging": {"annotator": "llm"},
            "llm": {"model": "m"},
        },
    )
    before = code_versions(settings)
    settings.workdir.prompts.mkdir()
    text = (shipped("prompts") / f"{prompt}.md").read_text(encoding="utf-8")
    (settings.workdir.prompts / f"{prompt}.md").write_text(text + "\nBe brief.\n", encoding="utf-8")
    after = code_versions(settings)
    assert {name for name in before if before[name] != after[name]} == touched


def code_versions(settings) -> dict[str, str]:
    graph = build_definitions(settings).resolve_asset_graph()
    return {
        key.to_user_string(): graph.get(key).code_version for key in graph.materializable_asset_keys
    }


def test_a_retriever_more_is_one_partition_more(workdir):
    names = ["bm25", "random", "ratings", "jaccard"]
    settings = save_settings(workdir, None, {"retrieval": {"retrievers": names}})
    missing = {(s.name, s.partition) for s in survey(settings) if s.status == "missing"}
    assert missing == {("retriever_scores", "jaccard"), ("retriever_failures", "jaccard")}
    outcome = build(settings)
    assert outcome.made[:2] == ["retriever_failures[jaccard]", "query_measures"]
    assert set(outcome.made[2:]) == {"leaderboard"} | OF_MEASURES
    assert not not_fresh(settings)


def test_new_ratings_leave_the_scores_of_texts_alone(workdir):
    settings = save_settings(workdir, None, {"ratings": {"penalty": 2.0}})
    stale = {s.partition for s in survey(settings) if s.status == "stale" and s.partition}
    assert stale == {"ratings"}
    made = build(settings).made
    assert made[0] == "relevance_ratings"
    assert set(made) == {"relevance_ratings", "retriever_failures[ratings]"} | MEASURED | ANALYSES
    assert not not_fresh(settings)


def test_a_retriever_that_cannot_run_is_told_and_holds_nothing_up(workdir, tmp_path):
    """It was on the board; then its file broke; then the pools changed, so its scores are void."""
    file = tmp_path / "mine.py"
    file.write_text("class Mine:\n    def score(self, q, ds):\n        return [0.0] * len(ds)\n")
    settings = load_settings(workdir)
    add_own(settings.workdir.own_retrievers, Own("mine", f"{file}:Mine"))
    assert "retriever_failures[mine]" in build(settings).made
    file.write_text("class Mine(\n")
    assert list(build(settings).skipped) == ["mine"]
    assert "mine" not in on_board(settings), "these are the scores of another version"
    settings = save_settings(workdir, None, {"selection": {"seed": 9}})
    assert list(build(settings).skipped) == ["mine"]
    assert build(settings).made == [], "what can't be made is not due"
    assert {s.partition for s in survey(settings) if s.status != "fresh"} == {"mine"}


def on_board(settings) -> set[str]:
    return set(read_table(settings.workdir.tables, "leaderboard")["retriever"])


def test_a_retriever_less_changes_the_board_alone(workdir):
    settings = save_settings(workdir, None, {"retrieval": {"retrievers": ["bm25", "ratings"]}})
    assert not_fresh(settings) == MEASURED


def test_a_file_that_is_gone_is_made_again(workdir):
    settings = load_settings(workdir)
    (settings.workdir.tables / "relevance_ratings.parquet").unlink()
    assert {s.name for s in survey(settings) if s.status == "missing"} == {"relevance_ratings"}
    made = build(settings).made
    assert made == ["relevance_ratings"], "the same content keeps what follows fresh"


def test_new_pools_go_through_to_the_board(workdir):
    """While one retriever is scored anew, the others still hold scores of the old pools."""
    outcome = build(save_settings(workdir, None, {"selection": {"seed": 9}}))
    assert {"candidate_pools", "query_measures", "leaderboard"} <= set(outcome.made)
    assert not not_fresh(load_settings(workdir))


def test_verdicts_of_the_heuristic_end_with_the_ontology_it_read(workdir, tmp_path):
    """The journal must not replay what was decided by the topics of another ontology."""
    text = (shipped("ontology") / "topics.csv").read_text(encoding="utf-8")
    other = tmp_path / "topics.csv"
    other.write_text(text.replace("elementary algebra|", "", 1), encoding="utf-8")
    settings = load_settings(workdir)
    tree = read_table(settings.workdir.tables, "ontology_tree")
    changed = unfold(read_ontology(other))
    who = judge_values(settings)
    assert verdict_maker(who, "lexical", tree) != verdict_maker(who, "lexical", changed)
    assert verdict_maker(who, "llm", tree) == verdict_maker(who, "llm", changed)


def test_a_second_build_does_nothing(workdir):
    outcome = build(load_settings(workdir))
    assert outcome.made == []
    assert "leaderboard" in outcome.fresh


def test_a_changed_input_row_is_noticed_and_a_repeat_stops_early(workdir, tmp_path):
    sample = sorted((shipped("prompts").parent / "saber_assets/corpus/sample").glob("*.jsonl"))
    folder = tmp_path / "corpus"
    folder.mkdir()
    files = [str(shutil.copy(path, folder)) for path in sample]
    settings = save_settings(workdir, None, {"corpus": {"files": files}})
    assert not directly_changed(settings), "the same files elsewhere are the same input"

    record = json.loads((folder / "algebra.jsonl").read_text(encoding="utf-8").splitlines()[0])
    with (folder / "algebra.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({**record, "id": "a-repeat"}) + "\n")
    assert directly_changed(settings) == {"raw_problems"}
    made = build(settings).made
    assert set(made) == CORPUS | LISTED
    assert not not_fresh(settings)


def test_changed_values_are_named_by_their_place():
    before = {"tournament": {"rounds": 20, "seed": 1}, "prompts": {"summary": "a"}}
    now = {"tournament": {"rounds": 5, "seed": 1}, "prompts": {"summary": "b"}}
    assert changed_values(before, now) == ["prompt 'summary' changed", "tournament.rounds: 20 -> 5"]


def test_a_table_that_somebody_changed_is_made_again(workdir):
    settings = load_settings(workdir)
    file = settings.workdir.tables / "relevance_ratings.parquet"
    before = pl.read_parquet(file)
    os.utime(file, (time.time() + 60, time.time() + 60))
    assert not not_fresh(settings), "a copy with the same rows is as good"
    before.with_columns(rating=pl.lit(2.5)).write_parquet(file)
    os.utime(file, (time.time() + 60, time.time() + 60))
    assert directly_changed(settings) == {"relevance_ratings"}
    assert "relevance_ratings" in build(settings).made
    assert pl.read_parquet(file).equals(before)


def test_a_lost_settings_file_never_makes_another_benchmark(workdir):
    (workdir / "saber.toml").unlink()
    with pytest.raises(SetupError, match=r"holds tables, but its saber\.toml is gone"):
        save_settings(workdir, None, {})
    with pytest.raises(SetupError, match="is gone"):
        load_settings(workdir)
