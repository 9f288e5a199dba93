"""Prompts as people edit them: which there are, and which differ from those of the tables."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg

from saber_assets.materialize import VALUES_KEY
from saber_assets.model_prompts import prompt_of
from saber_resources.atomic import write_text
from saber_resources.errors import SetupError
from saber_resources.prompts import Prompt
from saber_resources.settings import Settings
from saber_resources.shipped import shipped


@dataclass(frozen=True)
class PromptEntry:
    """A prompt as it would be used now.

    Attributes:
        prompt: what the file gives.
        own: whether it is the workdir's own version.
        path: its file.
    """

    prompt: Prompt
    own: bool
    path: Path


@dataclass(frozen=True)
class PromptChange:
    """A prompt that differs from the one that tables were made with.

    Attributes:
        name: of the prompt.
        assets: the tables that were made with another version of it.
        before: fingerprint of that version.
        now: fingerprint of the present one.
        diff: unified diff of the two files, or None where the earlier text isn't known.
    """

    name: str
    assets: tuple[str, ...]
    before: str
    now: str
    diff: str | None


def prompt_names(settings: Settings) -> list[str]:
    """Return the names of the prompts that ship with the project or are the workdir's own."""
    folders = (shipped("prompts"), settings.workdir.prompts)
    return sorted({path.stem for folder in folders for path in folder.glob("*.md")})


def prompt_entry(settings: Settings, name: str) -> PromptEntry:
    """Return a prompt.

    Raises:
        SetupError: when there is no such prompt, or its file is faulty.
    """
    names = prompt_names(settings)
    if name not in names:
        raise SetupError(f"there is no prompt '{name}'", f"use one of {', '.join(names)}")
    prompt = prompt_of(settings, name)  # type: ignore[arg-type]
    path = Path(prompt.place)
    return PromptEntry(prompt, path.parent == settings.workdir.prompts, path)


def keep_used(settings: Settings, definitions: dg.Definitions) -> None:
    """Keep a copy of each prompt that a build uses, so that later ones can be compared with it."""
    graph = definitions.resolve_asset_graph()
    asked = {
        (name, str(fingerprint))
        for key in graph.materializable_asset_keys
        for name, fingerprint in _prompts(graph.get(key).metadata.get(VALUES_KEY)).items()
    }
    for name, fingerprint in sorted(asked):
        copy = _copy_of(settings, fingerprint)
        if copy.is_file():
            continue
        entry = prompt_entry(settings, name)
        if entry.prompt.fingerprint != fingerprint:  # edited this very moment
            continue
        text = entry.path.read_text(encoding="utf-8-sig")
        copy.parent.mkdir(parents=True, exist_ok=True)
        write_text(copy, text)


def changed_prompts(
    graph: Any, instance: dg.DagsterInstance, settings: Settings
) -> list[PromptChange]:
    """Return the prompts that differ from those which the present tables were made with.

    Args:
        graph: the asset graph of the definitions.
        instance: holds what was materialised with which prompts.
        settings: the workdir and its profile.
    """
    found: dict[tuple[str, str, str], list[str]] = {}
    for key in graph.toposorted_asset_keys:
        node = graph.get(key)
        now = _prompts(node.metadata.get(VALUES_KEY))
        if not now:
            continue
        made = instance.get_latest_materialization_event(key)
        event = made.asset_materialization if made else None
        before = _prompts(event.metadata.get(VALUES_KEY) if event else None)
        for name, fingerprint in now.items():
            old = before.get(name)
            if old is not None and old != fingerprint:
                found.setdefault((name, old, fingerprint), []).append(key.to_user_string())
    return [
        PromptChange(name, tuple(assets), old, new, _diff(settings, name, old))
        for (name, old, new), assets in found.items()
    ]


def _prompts(values: Any) -> Mapping[str, str]:
    if values is None:
        return {}
    prompts = dict(values.value).get("prompts", {})
    return prompts if isinstance(prompts, Mapping) else {}


def _copy_of(settings: Settings, fingerprint: str) -> Path:
    return settings.workdir.used_prompts / f"{fingerprint}.md"


def _diff(settings: Settings, name: str, before: str) -> str | None:
    copy = _copy_of(settings, before)
    if not copy.is_file():
        return None
    entry = prompt_entry(settings, name)
    lines = difflib.unified_diff(
        copy.read_text(encoding="utf-8").splitlines(),
        entry.path.read_text(encoding="utf-8-sig").splitlines(),
        f"{name}.md as the tables were made",
        f"{name}.md now",
        lineterm="",
    )
    return "\n".join(lines)
