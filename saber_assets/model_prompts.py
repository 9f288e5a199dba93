"""Which version of a prompt is asked, and the pool of the assets that ask a language model."""

from __future__ import annotations

from saber_resources.prompts import Prompt, load_prompt
from saber_resources.settings import Settings
from saber_resources.shipped import shipped

LLM_POOL = "llm"
"""The pool of assets that ask a language model: one at a time uses the workers' GPUs."""


def prompt_of(settings: Settings, step: str) -> Prompt:
    """Return a prompt: the workdir's own, else that of the profile's set, else the usual one."""
    chosen = settings.profile.llm.prompts
    folders = [settings.workdir.prompts, *([shipped("prompts") / chosen] if chosen else [])]
    return load_prompt(step, next((at for at in folders if (at / f"{step}.md").is_file()), None))
