"""Killed at any moment, a rerun continues, pays nothing twice, and ends with the same result."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import dagster as dg
import polars as pl

from saber_assets import corpus
from saber_assets.tournament.journal import Journal
from saber_resources.settings import save_settings
from saber_resources.shipped import shipped
from saber_resources.warehouse import read_table
from saber_services.builder import RUN_TAG, build
from saber_services.instance import OPEN_STATUSES, open_instance

CONCURRENCY = 2
KILLS = 10
SAMPLE = Path(corpus.__file__).parent / "sample"
COMMAND = [sys.executable, "-c", "from saber_services.cli.main import main; main()"]


def with_model(small, model):
    return {
        **small,
        "judging": {"annotator": "llm"},
        "llm": {"model": "scripted", "endpoints": [model.url], "concurrency": CONCURRENCY},
    }


def start(workdir):
    return subprocess.Popen(
        [*COMMAND, "build", "--workdir", str(workdir), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_ten_kills_end_bit_for_bit_as_an_undisturbed_build(
    workdir, small, scripted_model, tmp_path
):
    undisturbed = scripted_model()
    other = tmp_path / "undisturbed"
    build(save_settings(other, "sample", with_model(small, undisturbed)))
    expected = undisturbed.total()
    assert expected > 60

    slow = scripted_model(seconds=0.03)
    save_settings(workdir, "sample", with_model(small, slow))
    moments = sorted(random.Random(KILLS).sample(range(expected - 10), KILLS))
    for moment in moments:
        process = start(workdir)
        deadline = time.monotonic() + 120
        while slow.total() <= moment and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    assert slow.total() < expected + KILLS * CONCURRENCY

    again = start(workdir)
    _, errors = again.communicate(timeout=300)
    assert again.returncode == 0, errors.decode()
    assert slow.total() <= expected + KILLS * CONCURRENCY, "only calls in flight are paid twice"
    for name in ("pairwise_judgments", "relevance_ratings", "leaderboard"):
        here, there = (
            (folder / "tables" / f"{name}.parquet").read_bytes() for folder in (workdir, other)
        )
        assert here == there, name


def test_an_edited_judge_prompt_asks_the_judge_alone(tmp_path, small, scripted_model):
    model = scripted_model()
    overrides = with_model(small, model) | {
        "corpus": {"files": [str(SAMPLE / "algebra.jsonl")]},
        "annotation": {"annotator": "llm"},
        "thresholds": {"k": 1, "min_queries": 1},  # the scripted model's topics are arbitrary
    }
    settings = save_settings(tmp_path / "work", "sample", overrides)
    build(settings)
    first = dict(model.calls)
    assert set(first) == {"topic_scores", "summary", "pairwise_judge"}
    sets = read_table(settings.workdir.tables, "topic_sets")
    assert sets["annotator"].unique().to_list() == ["scripted"]

    settings.workdir.prompts.mkdir()
    text = (shipped("prompts") / "pairwise_judge.md").read_text(encoding="utf-8")
    own = settings.workdir.prompts / "pairwise_judge.md"
    own.write_text(text + "\nTake your time.\n", encoding="utf-8")
    made = build(settings).made
    assert "pairwise_judgments" in made
    assert not {"topic_sets", "solution_summaries", "candidate_pools"} & set(made)
    second = model.calls - type(model.calls)(first)
    assert set(second) == {"pairwise_judge"}

    own.unlink()
    build(settings)
    third = model.calls - type(model.calls)(first) - second
    assert not third, "the answers to the first wording are still in the store"


def test_a_heuristic_tournament_resumes_from_its_journal(workdir):
    settings = save_settings(workdir, "sample", {"tournament": {"rounds": 2}})
    before = read_table(settings.workdir.tables, "pairwise_judgments")
    with Journal(settings.workdir.judgments) as journal:
        kept = len(journal)
    build(settings)
    after = read_table(settings.workdir.tables, "pairwise_judgments")
    assert after.equals(before.filter(pl.col("round") <= 2))
    with Journal(settings.workdir.judgments) as journal:
        assert len(journal) == kept, "the first two rounds were known"


def test_runs_of_a_killed_build_are_closed(workdir, small, scripted_model):
    slow = scripted_model(seconds=0.05)
    settings = save_settings(workdir, "sample", with_model(small, slow))
    process = start(workdir)
    while slow.total() < 3 and process.poll() is None:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    filters = dg.RunsFilter(statuses=OPEN_STATUSES, tags={RUN_TAG: "build"})
    with open_instance(settings.workdir) as instance:
        assert len(instance.get_runs(filters)) == 1
    slow.seconds = 0.0
    build(settings)
    with open_instance(settings.workdir) as instance:
        assert instance.get_runs(filters) == []
