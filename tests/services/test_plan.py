"""A plan agrees with the build that follows it, and changes nothing."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from click.testing import CliRunner

from saber_resources.profiles import load_profile
from saber_resources.settings import load_settings, preview_settings, save_settings
from saber_resources.shipped import shipped
from saber_resources.warehouse import read_table
from saber_services.builder import build
from saber_services.cli.llm import command as llm
from saber_services.cli.plan import command as plan_command
from saber_services.cli.prompts import command as prompts
from saber_services.display import shortened
from saber_services.planning.estimates import billions, rates_of, speed_of
from saber_services.planning.lookup import Calls
from saber_services.planning.plan import plan_build

JUDGMENTS = {"pairwise_judgments", "judgment_failures"}
ANALYSES = {"signal_effect", "gain_variants", "binary_measures", "paired_tests", "rating_noise"}
FROM_JUDGMENTS = {
    *ANALYSES,
    "relevance_ratings",
    "retriever_scores",
    "retriever_failures",
    "query_measures",
    "leaderboard",
}


def by_action(plan) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {"make": set(), "follow": set(), "keep": set()}
    for asset in plan.assets:
        found[asset.action].add(asset.name)
    return found


def calls_of(plan, prompt):
    [found] = [calls for calls in plan.calls if calls.prompt == prompt]
    return found


def snapshot(root) -> dict[str, tuple[int, int]]:
    """Sizes and times of what matters; the sidecar files of SQLite come and go."""
    return {
        str(path.relative_to(root)): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in root.rglob("*")
        if path.is_file() and not path.name.endswith(("-wal", "-shm", ".sqlite", ".db"))
    }


def edit(settings, name, old, new):
    settings.workdir.prompts.mkdir(exist_ok=True)
    text = (shipped("prompts") / f"{name}.md").read_text(encoding="utf-8")
    assert text.count(old) == 1
    own = settings.workdir.prompts / f"{name}.md"
    own.write_text(text.replace(old, new), encoding="utf-8")
    return own


def test_the_plan_of_a_new_workdir_knows_the_first_calls_and_leaves_no_trace(
    tmp_path, asking_overrides
):
    root = tmp_path / "new"
    plan = plan_build(preview_settings(root, "sample", asking_overrides("http://127.0.0.1:9/v1")))
    assert not root.exists()
    summaries = calls_of(plan, "summary")
    assert summaries.missing == calls_of(plan, "topic_scores").missing == 48
    assert (summaries.cached, summaries.estimated) == (0, 0)
    topics = calls_of(plan, "topic_scores")
    assert topics.estimated > 0 and "the tree's depth" in topics.rule
    judge = calls_of(plan, "pairwise_judge")
    # 6 queries with pools of 3 candidates: 3 pairs, as no two meet twice
    assert (judge.missing, judge.estimated) == (0, 18)
    assert all(calls.tokens_in > 0 and calls.gpu_hours > 0 for calls in plan.calls)
    assert by_action(plan)["keep"] == set()


def test_nothing_is_planned_where_everything_is_fresh(asked_workdir):
    plan = plan_build(load_settings(asked_workdir))
    assert plan.calls == []
    assert by_action(plan)["make"] == by_action(plan)["follow"] == set()


def test_one_word_of_the_judge_prompt_is_planned_and_built_exactly(
    asked, asked_workdir, asking_overrides, scripted_model
):
    model = scripted_model()
    settings = save_settings(asked_workdir, None, asking_overrides(model.url))
    own = edit(settings, "pairwise_judge", "decisive step", "crucial step")
    before = snapshot(settings.workdir.root)
    plan = plan_build(settings)
    assert snapshot(settings.workdir.root) == before

    assert by_action(plan)["make"] == JUDGMENTS
    assert by_action(plan)["follow"] == FROM_JUDGMENTS
    [scores] = [asset for asset in plan.assets if asset.name == "retriever_scores"]
    assert scores.partitions == ("ratings",), "no other retriever reads the ratings"
    [calls] = plan.calls
    assert calls.prompt == "pairwise_judge"
    assert calls.cached == 0
    assert calls.missing >= 6, "the first round is known exactly"
    pairs = asked[1]["pairwise_judge"]
    assert calls.missing + calls.estimated == pairs

    outcome = build(settings)
    assert model.calls == Counter(pairwise_judge=pairs)
    assert set(outcome.made) == JUDGMENTS | {
        "relevance_ratings",
        "retriever_failures[ratings]",  # a step of two tables is named after one of them
        "query_measures",
        "leaderboard",
        *ANALYSES,
    }

    own.unlink()
    [calls] = plan_build(settings).calls
    assert (calls.cached, calls.missing, calls.estimated) == (pairs, 0, 0)
    assert calls.tokens_in == calls.tokens_out == 0
    build(settings)
    assert model.total() == pairs, "reverting the word costs nothing"


def test_more_rounds_are_planned_on_top_of_those_that_are_known(
    asked_workdir, asking_overrides, scripted_model
):
    model = scripted_model()
    overrides = asking_overrides(model.url) | {"thresholds": {"k": 2, "min_queries": 1}}
    settings = save_settings(asked_workdir, None, overrides | {"tournament": {"rounds": 1}})
    build(settings)
    first = model.total()
    settings = save_settings(asked_workdir, None, {"tournament": {"rounds": 3}})
    calls = calls_of(plan_build(settings), "pairwise_judge")
    # a pair of a later round may be known from the build that this workdir is a copy of
    assert calls.cached >= read_table(settings.workdir.tables, "pairwise_judgments").height
    build(settings)
    added = model.total() - first
    assert calls.missing <= added <= calls.missing + calls.estimated
    assert calls.missing > 0 and calls.estimated > 0


def test_an_edited_topic_prompt_is_planned_from_the_last_build(asked, asked_workdir):
    settings = load_settings(asked_workdir)
    edit(settings, "topic_scores", "How to score:", "How to give scores:")
    plan = plan_build(settings)
    calls = calls_of(plan, "topic_scores")
    assert calls.missing == 48
    assert "mean of the last build" in calls.rule
    # the scripted model answers another wording with other topics, but about as many
    assert calls.missing + calls.estimated == pytest.approx(asked[1]["topic_scores"], abs=1)
    judge = calls_of(plan, "pairwise_judge")
    assert judge.missing == 0 and judge.estimated > 0
    assert "summary" not in {calls.prompt for calls in plan.calls}


def test_measured_lengths_take_the_place_of_assumed_ones(asked_workdir):
    settings = load_settings(asked_workdir)
    edit(settings, "summary", "You name the one idea", "You name the single idea")
    plan = plan_build(settings)
    assert plan.rates.tokens_out["summary"] == 5, "what the scripted model bills"
    calls = calls_of(plan, "summary")
    assert calls.tokens_out == 5 * calls.missing == 5 * 48


def test_a_price_in_the_profile_gives_a_price_in_the_plan(asked_workdir):
    priced = {"llm": {"price_per_million": {"input": 2.0, "output": 10.0}}}
    settings = save_settings(asked_workdir, None, priced)
    edit(settings, "summary", "You name the one idea", "You name the single idea")
    calls = calls_of(plan_build(settings), "summary")
    assert calls.price == pytest.approx((calls.tokens_in * 2 + calls.tokens_out * 10) / 1e6)


def test_the_verbs_print_tables_and_json(asked_workdir):
    settings = load_settings(asked_workdir)
    edit(settings, "pairwise_judge", "decisive step", "crucial step")
    where = ["--workdir", str(asked_workdir)]
    runner = CliRunner()
    shown = runner.invoke(plan_command, where, catch_exceptions=False).stdout
    words = " ".join(shown.replace("│", " ").split())
    assert "pairwise_judgments make prompt 'pairwise_judge'" in words
    planned = json.loads(runner.invoke(plan_command, [*where, "--json"]).stdout)
    assert planned["total"]["missing"] == planned["calls"][0]["missing"] > 0

    text = runner.invoke(prompts, ["diff", *where], catch_exceptions=False).stdout
    assert [line[0] for line in text.splitlines() if " step of the query" in line] == ["-", "+"]
    [change] = json.loads(runner.invoke(prompts, ["diff", *where, "--json"]).stdout)
    assert change["name"] == "pairwise_judge"
    assert set(change["assets"]) == JUDGMENTS
    assert change["calls"][0]["missing"] > 0

    listed = json.loads(runner.invoke(prompts, ["list", *where, "--json"]).stdout)
    assert {row["name"] for row in listed if row["own"]} == {"pairwise_judge"}
    own = runner.invoke(prompts, ["show", "pairwise_judge", *where]).stdout
    assert own == (settings.workdir.prompts / "pairwise_judge.md").read_text(encoding="utf-8")
    assert runner.invoke(llm, ["stats", *where]).exit_code == 0


def test_no_prompt_differs_after_a_build(asked_workdir):
    result = CliRunner().invoke(prompts, ["diff", "--workdir", str(asked_workdir)])
    assert "no prompt differs" in result.stdout


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("Qwen3-8B", 8),
        ("Qwen/Qwen3-30B-A3B-Instruct", 3),
        ("meta-llama/Llama-3.1-70B-Instruct", 70),
        ("Qwen2.5-0.5B", 0.5),
        ("gpt-4o-mini", None),
        ("mixtral-8x7b", 7),
        ("bge-3bit", None),
    ],
)
def test_a_models_size_is_read_from_its_name(name, size):
    assert billions(name) == size


def test_own_speeds_go_before_the_table():
    base = {"model": "Qwen3-8B"}
    llm_section = load_profile("sample", {"llm": base}).llm
    assert speed_of(llm_section).model_class == "up to 9 B"
    own = {"gpu_tokens_in_per_second": 3600.0, "gpu_tokens_out_per_second": 36.0}
    speed = speed_of(load_profile("sample", {"llm": base | own}).llm)
    assert speed.hours(3600 * 3600, 36 * 3600) == pytest.approx(2.0)
    assert "profile" in speed.source


def test_characters_of_a_token_are_measured_where_there_are_enough():
    llm_section = load_profile("sample", {"llm": {"model": "m"}}).llm
    few = rates_of(llm_section, ["summary"], [Calls(known_characters=100, known_tokens=10)], [])
    assert few.characters_per_token == 3.6
    many = rates_of(llm_section, ["summary"], [Calls(known_characters=9000, known_tokens=3000)], [])
    assert many.characters_per_token == 3.0


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0"), (9999, "9,999"), (25661, "25.7 k"), (7163210, "7.16 M"), (1.2e12, "1,200 G")],
)
def test_counts_are_shortened(count, text):
    assert shortened(count) == text
