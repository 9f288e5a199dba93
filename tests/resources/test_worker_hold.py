"""Workers of a profile: their commands, their GPUs, and that they start only when a call is due."""

from __future__ import annotations

import socket
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from saber_resources.errors import SetupError
from saber_resources.profiles import load_profile
from saber_resources.settings import Settings, Workdir
from saber_resources.worker_commands import launches
from saber_resources.worker_hold import hold_workers, worker_opener

FAKE = Path(__file__).with_name("fake_worker.py")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return min(probe.getsockname()[1], 65000)


def section(**values):
    return load_profile("default", {"workers": values}).workers


@pytest.fixture
def python(tmp_path):
    """An interpreter of another environment, whose vLLM is the fake server."""
    script = tmp_path / "python"
    script.write_text(
        f"""#!/bin/sh
while [ "$1" != "--port" ]; do shift; done
exec {sys.executable} {FAKE} "$2" 0 "fake"
"""
    )
    script.chmod(0o755)
    return str(script)


@pytest.fixture
def settings(tmp_path, python):
    workers = {"kind": "vllm", "python": python, "port": free_port(), "start_timeout_seconds": 20}
    profile = load_profile("default", {"workers": workers, "llm": {"model": "some/model"}})
    return Settings(Workdir(tmp_path / "work"), profile)


@dataclass
class Question:
    text: str
    schema = None
    sampling: dict = field(default_factory=dict)
    attempt: int = 0

    @property
    def messages(self):
        return [{"role": "user", "content": self.text}]


@pytest.fixture
def store(settings):
    settings.workdir.root.mkdir()
    return settings.workdir.responses


def test_workers_start_with_the_first_call_that_is_due_and_stay_for_the_build(settings, store):
    said = []
    asked = [Question(str(number)) for number in range(5)]
    with hold_workers(said.append):
        for _ in range(2):
            with worker_opener(settings)(settings.profile.llm, store) as chat:
                assert [reply.text for reply in chat.complete(asked)] == ["fake"] * 5
        with worker_opener(settings)(settings.profile.llm, store) as chat:
            more = [*asked, Question("new")]
            assert sorted(place for place, _ in chat.complete_stream(more)) == list(range(6))
    assert sum("is ready" in line for line in said) == 1


def test_a_build_whose_answers_are_all_stored_starts_nothing(settings, store):
    asked = [Question("a"), Question("b")]
    with worker_opener(settings)(settings.profile.llm, store) as chat:
        chat.complete(asked)
    log = settings.workdir.logs / "worker-0.log"
    log.unlink()
    with worker_opener(settings)(settings.profile.llm, store) as chat:
        assert [reply.stored for reply in chat.complete(asked)] == [True, True]
        assert [reply.stored for _, reply in chat.complete_stream(asked)] == [True, True]
    assert not log.exists()


def test_existing_endpoints_need_no_workers():
    profile = load_profile("default")
    assert profile.workers.kind == "attach"
    assert worker_opener(Settings(Workdir(Path("x")), profile)) is None


def test_gpus_are_shared_out_in_groups(python):
    found = launches(
        section(kind="vllm", python=python, gpus=[0, 1, 2, 3], tensor_parallel=2), "some/model"
    )
    assert [launch.environment["CUDA_VISIBLE_DEVICES"] for launch in found] == ["0,1", "2,3"]
    command = list(found[0].command)
    assert command[:3] == [python, "-m", "vllm.entrypoints.openai.api_server"]
    assert command[command.index("--tensor-parallel-size") + 1] == "2"
    assert command[command.index("--host") + 1] == "127.0.0.1"
    assert command[command.index("--port") + 1] == "{port}"
    assert command[command.index("--served-model-name") + 1] == "some/model"
    assert found[0].environment["PYTHONPATH"] == "", "ours would lead its interpreter astray"


def test_a_model_path_is_loaded_under_the_model_s_name(python):
    values = {"kind": "vllm", "python": python, "model_path": "/models/m"}
    (launch,) = launches(section(**values, arguments=["--max-model-len", "8192"]), "name")
    command = list(launch.command)
    assert command[command.index("--model") + 1] == "/models/m"
    assert command[command.index("--served-model-name") + 1] == "name"
    assert command[-2:] == ["--max-model-len", "8192"]
    assert "CUDA_VISIBLE_DEVICES" not in launch.environment


@pytest.mark.parametrize(
    ("values", "model", "message"),
    [
        ({"kind": "vllm", "python": ""}, "m", "names no interpreter"),
        ({"kind": "vllm", "python": "/nowhere/python"}, "m", "no interpreter /nowhere/python"),
        ({"kind": "vllm", "python": sys.executable}, "", "no model is named"),
        (
            {"kind": "vllm", "python": sys.executable, "gpus": [0, 1, 2], "tensor_parallel": 2},
            "m",
            "3 GPUs can't be shared out in groups of 2",
        ),
        ({"kind": "llama", "model_path": "/nowhere.gguf"}, "m", "can't be started"),
        ({"kind": "llama", "model_path": "package:no-such-package"}, "m", "can't be started"),
    ],
)
def test_what_is_missing_is_told_in_one_sentence(values, model, message):
    with pytest.raises(SetupError, match=message):
        launches(section(**values), model)


def test_unknown_kinds_and_keys_are_refused():
    with pytest.raises(SetupError, match=r"workers\.kind"):
        section(kind="ollama")
    with pytest.raises(SetupError, match=r"workers\.gpu'"):
        section(gpu=[0])
