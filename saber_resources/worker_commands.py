"""From a profile's section `workers` to the commands that start them."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from saber_resources.errors import SetupError
from saber_resources.llama_server import lacking
from saber_resources.profiles import Llm
from saber_resources.profiles import Workers as Section
from saber_resources.workers import HOST, PORT, Launch, Workers

NO_PYTHON = (
    "set workers.python to the interpreter of vLLM's own environment, such as ~/vllm/bin/python "
    "(docker/vllm-requirements.txt says what to install there)"
)
FOREIGN = {"PYTHONPATH": "", "PYTHONHOME": "", "VIRTUAL_ENV": ""}
"""Variables of ours that would lead another environment's interpreter astray."""


def launches(section: Section, model: str) -> list[Launch]:
    """Return how to start each worker.

    Args:
        section: the profile's section; its kind must not be `attach`.
        model: name under which the workers offer the model.

    Raises:
        SetupError: for GPUs that can't be shared out, a missing interpreter, model or package.
    """
    if not model:
        raise SetupError(
            f'workers.kind is "{section.kind}", but no model is named',
            "set llm.model in saber.toml or with --set llm.model=NAME",
        )
    command = {"vllm": vllm_command, "llama": llama_command}[section.kind](section, model)
    environment = FOREIGN if section.python else {}
    if not section.gpus:
        return [Launch(command, environment)]
    size = section.tensor_parallel
    if len(section.gpus) % size:
        raise SetupError(
            f"{len(section.gpus)} GPUs can't be shared out in groups of {size}",
            "set workers.gpus to a multiple of workers.tensor_parallel",
        )
    groups = [section.gpus[start : start + size] for start in range(0, len(section.gpus), size)]
    return [
        Launch(command, {**environment, "CUDA_VISIBLE_DEVICES": ",".join(map(str, group))})
        for group in groups
    ]


def vllm_command(section: Section, model: str) -> list[str]:
    """Return the command of a vLLM server; vLLM lives in an environment of its own."""
    if not section.python:
        raise SetupError("workers.python names no interpreter", NO_PYTHON)
    python = shutil.which(str(Path(section.python).expanduser()))
    if python is None:
        raise SetupError(f"there is no interpreter {section.python}", NO_PYTHON)
    return [
        *(python, "-m", "vllm.entrypoints.openai.api_server"),
        *("--model", section.model_path or model, "--served-model-name", model),
        *("--tensor-parallel-size", str(section.tensor_parallel)),
        *("--host", HOST, "--port", PORT),
        *section.arguments,
    ]


def llama_command(section: Section, model: str) -> list[str]:
    """Return the command of our own llama.cpp server, on this interpreter unless one is named."""
    path = section.model_path or model
    if not section.python:
        missing = lacking(path)
        if missing is not None:
            raise SetupError("the local language model can't be started", missing)
    return [
        *(section.python or sys.executable, "-m", "saber_resources.llama_server"),
        *("--model", path, "--alias", model, "--host", HOST, "--port", PORT),
        *section.arguments,
    ]


def make_workers(
    section: Section, llm: Llm, logs: Path, announce: Callable[[str], None]
) -> AbstractContextManager[Workers]:
    """Return the workers that a profile asks for, not started yet.

    Raises:
        SetupError: as `launches`.
    """
    return Workers(
        launches(section, llm.model),
        logs,
        section.port,
        section.start_timeout_seconds,
        section.restarts,
        announce,
    )
