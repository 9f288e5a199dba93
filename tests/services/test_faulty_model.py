"""A build whose language model fails a fifth of the time ends as if it didn't."""

from __future__ import annotations

import pytest

from saber_resources.response_store import ResponseStore
from saber_resources.settings import save_settings
from saber_resources.warehouse import read_table
from saber_services.builder import build

TABLES = ("topic_sets", "solution_summaries", "pairwise_judgments", "leaderboard")


@pytest.mark.slow
def test_a_fifth_of_faults_leaves_the_tables_as_they_are_and_pays_nothing_twice(
    asked, asking_overrides, tmp_path, scripted_answer, fault_server
):
    undisturbed, calls = asked
    server = fault_server(lambda body: scripted_answer(body)[1], share=0.2, seed=5)
    overrides = dict(asking_overrides(server.url))
    overrides["llm"] = {**overrides["llm"], "timeout_seconds": 3.0, "concurrency": 16}
    settings = save_settings(tmp_path / "faulty", "sample", overrides)
    build(settings)
    assert sum(server.faults.values()) > 20 and len(server.faults) >= 10
    assert len(server.delivered) == sum(calls.values())
    assert set(server.delivered.values()) == {1}
    for name in TABLES:
        here = read_table(settings.workdir.tables, name)
        assert here.equals(read_table(undisturbed / "tables", name)), name
    before = server.total()
    assert build(settings).made == []
    assert server.total() == before
    with ResponseStore(settings.workdir.responses) as store:
        stats = store.stats()
        assert {row.prompt for row in stats} == {"topic_scores", "summary", "pairwise_judge"}
        assert sum(row.calls for row in stats) == before
        assert sum(row.responses for row in stats) == len(server.delivered)
        assert all(row[1].parsed for part in store.rows() for row in part)
