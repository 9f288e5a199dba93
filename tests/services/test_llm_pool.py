"""Assets that ask a language model share one slot, and a run that was killed gives it back."""

from __future__ import annotations

import datetime
import logging
from types import SimpleNamespace

import dagster as dg
from dagster._core.utils import make_new_run_id
from dagster._daemon.monitoring import concurrency

from saber_assets.definitions import build_definitions
from saber_resources.profiles import load_profile
from saber_resources.settings import Settings, Workdir
from saber_services.instance import open_instance

ASK = {"annotation": {"annotator": "llm"}, "judging": {"annotator": "llm"}}


def pools(root, overrides):
    settings = Settings(Workdir(root), load_profile("sample", overrides))
    graph = build_definitions(settings).resolve_asset_graph()
    return {
        key.to_user_string(): graph.get(key).pools
        for key in graph.toposorted_asset_keys
        if graph.get(key).is_materializable
    }


def test_what_asks_a_model_is_in_the_pool_and_nothing_else(tmp_path):
    in_pool = {name for name, names in pools(tmp_path, ASK).items() if names == {"llm"}}
    assert in_pool == {
        *("topic_sets", "topic_failures", "solution_summaries", "summary_failures"),
        *("pairwise_judgments", "judgment_failures"),
    }
    assert not any(names == {"llm"} for names in pools(tmp_path, {}).values())


def test_a_killed_run_frees_its_slot(tmp_path, monkeypatch):
    with open_instance(Workdir(tmp_path / "work")) as instance:
        run = instance.add_run(dg.DagsterRun(job_name="any", run_id=make_new_run_id()))
        storage = instance.event_log_storage
        storage.initialize_concurrency_limit_to_default("llm")
        assert storage.claim_concurrency_slot("llm", run.run_id, "step").is_claimed
        assert not storage.claim_concurrency_slot("llm", make_new_run_id(), "step").is_claimed
        instance.report_run_failed(run, message="killed")
        later = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=120)
        monkeypatch.setattr(concurrency, "get_current_datetime", lambda: later)
        context = SimpleNamespace(instance=instance)
        list(concurrency.execute_concurrency_slots_iteration(context, logging.getLogger()))
        assert run.run_id not in storage.get_concurrency_run_ids()
        assert storage.get_concurrency_info("llm").active_slot_count == 0
