"""A run that waited scores nothing a second time, unless a person asked for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import dagster as dg
import pytest

from saber_assets.retrieval.assets import LONGEST_RUN
from saber_assets.retrieval.tables import RETRIEVER_SCORES
from saber_assets.run_tags import KEY_TAG, PARENT_TAG, RUNTIME_TAG
from saber_resources.settings import load_settings, save_settings
from saber_services.builder import RUN_CONFIG, build, open_board

REQUESTED = {KEY_TAG: "k"}
SLOW = """\
import time
from pathlib import Path

LOG = Path(__file__).with_name("log")


class Slow:
    name = "slow"
    family = "lexical"

    def __init__(self):
        with LOG.open("a") as log:
            log.write("made\\n")
        time.sleep(2)

    def score(self, query, documents):
        return [float(len(text)) for text in documents]
"""
ELSEWHERE = """\
import json
import sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])
from test_scored_once import REQUESTED, run
from saber_resources.settings import load_settings
from saber_services.builder import open_board

with open_board(load_settings(Path(sys.argv[2]))) as board:
    print(json.dumps(run(board, REQUESTED)[0]))
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("once") / "work"
    settings = save_settings(
        root,
        "sample",
        {
            "selection": {"queries": 3},
            "tournament": {"rounds": 2},
            "retrieval": {"retrievers": ["random"]},
            "evaluation": {"resamples": 50},
        },
    )
    (root / "retrievers").mkdir()
    (root / "retrievers" / "slow.py").write_text(SLOW)
    build(settings)
    return root


@pytest.fixture
def board(root):
    with open_board(load_settings(root)) as opened:
        yield opened


def run(board, tags, name="slow"):
    """Make a partition as a run that Dagster starts does, and return what was recorded."""
    result = board.definitions.resolve_implicit_global_asset_job_def().execute_in_process(
        instance=board.instance,
        asset_selection=[dg.AssetKey("retriever_scores"), dg.AssetKey("retriever_failures")],
        partition_key=name,
        run_config=RUN_CONFIG,
        tags=dict(tags),
    )
    assert result.success
    made = [e.materialization.asset_key.to_user_string() for e in materializations(result)]
    return sorted(made), board.instance.get_run_by_id(result.run_id).tags


def materializations(result):
    return result.get_asset_materialization_events()


def score_file(root):
    return root / "tables" / RETRIEVER_SCORES.name / "slow.parquet"


BOTH = ["retriever_failures", "retriever_scores"]


def test_what_was_made_while_it_waited_is_not_made_again(root, board):
    before = score_file(root).stat().st_mtime_ns
    assert run(board, REQUESTED)[0] == []
    assert score_file(root).stat().st_mtime_ns == before
    states = [state for state in board.survey().states if state.partition == "slow"]
    assert {state.status for state in states} == {"fresh"}


@pytest.mark.parametrize("tags", [{}, {**REQUESTED, PARENT_TAG: "0"}])
def test_a_person_has_it_made_again(board, tags):
    assert run(board, tags)[0] == BOTH


def test_two_requests_at_the_same_moment_score_once_and_one_after_the_other(root, board):
    score_file(root).unlink()
    log = root / "retrievers" / "log"
    log.write_text("")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", ELSEWHERE, str(Path(__file__).parent), str(root)],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as other:
        while not log.read_text() and other.poll() is None:  # until it is scoring
            time.sleep(0.05)
        here = run(board, REQUESTED)[0]
        there = json.loads(other.stdout.read().splitlines()[-1])
    assert [here, there] == [[], BOTH]
    assert log.read_text().count("made") == 1


def test_the_longest_time_of_a_run_begins_with_its_scoring(root, board):
    started = time.time()
    _, tags = run(board, {})
    assert LONGEST_RUN <= float(tags[RUNTIME_TAG]) <= LONGEST_RUN + time.time() - started + 1
