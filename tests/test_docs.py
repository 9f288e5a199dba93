"""The documentation tells the truth about keys, verbs, files and the ten-line retriever."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from pydantic import BaseModel

from saber_assets.retrieval.builtin import BUILTIN
from saber_assets.retrieval.own.own_class import load_own
from saber_resources.profiles import FOLDER, Profile, load_profile, profile_names
from saber_resources.settings import WORKDIR_VARIABLE
from saber_services.cli.main import VERBS, cli

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
CONFIGURATION = "".join(
    (ROOT / "docs" / name).read_text(encoding="utf-8")
    for name in ("configuration.md", "model-settings.md")
)
TEXT = {page: page.read_text(encoding="utf-8") for page in PAGES}

MACHINE = re.compile(r"(?<![\w.:/])/(?:home|root|work|opt|tmp|Users|mnt)/")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| `([a-z_]+\.[a-z_]+)` \| ([^|]+) \|", re.MULTILINE)


def keys() -> list[str]:
    found = []
    for section, field in Profile.model_fields.items():
        model = field.annotation
        assert isinstance(model, type)
        assert issubclass(model, BaseModel)
        found += [f"{section}.{name}" for name in model.model_fields]
    return found


def value_of(profile: Profile, key: str) -> Any:
    section, name = key.split(".")
    return getattr(getattr(profile, section), name)


def anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {
        re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings
    }


def python_block(page: str) -> str:
    blocks = [body for language, body in BLOCK.findall(TEXT[ROOT / page]) if language == "python"]
    assert len(blocks) == 1
    return blocks[0]


def test_every_key_has_one_row_in_the_table() -> None:
    assert sorted(key for key, _ in ROW.findall(CONFIGURATION)) == sorted(keys())


def test_defaults_in_the_table_are_those_of_the_profile() -> None:
    default = load_profile("default")
    wrong = []
    for key, cell in ROW.findall(CONFIGURATION):
        value = value_of(default, key)
        shown = cell.strip()
        if key == "retrieval.retrievers":
            optional = {"minilm-l6", "minilm-maxsim", "splade-tiny"}
            assert set(BUILTIN) - set(value) == optional
            assert shown == "all built-in but `minilm-l6`, `minilm-maxsim` and `splade-tiny`"
        elif value is None or value == ():
            if not shown.startswith("none: "):
                wrong.append((key, shown, value))
        elif isinstance(value, (str, tuple)):
            written = shown.strip("`").split("` ")[0]
            text = json.dumps(list(value) if isinstance(value, tuple) else value)
            if written != text:
                wrong.append((key, shown, value))
        elif isinstance(value, bool):
            if shown != str(value).lower():
                wrong.append((key, shown, value))
        elif float(shown.split()[0]) != value:
            wrong.append((key, shown, value))
    assert not wrong


@pytest.mark.parametrize("name", [name for name in profile_names() if name != "default"])
def test_what_a_profile_changes_is_told(name: str) -> None:
    assert re.search(rf"^\| `{name}` \|", CONFIGURATION, re.MULTILINE)
    changed = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    changed.pop("base", None)
    paragraph = CONFIGURATION.split(" differs in ")[1].split("\n\n")[0]
    told = " ".join(paragraph.replace("`", "").replace('"', "").split())
    for section, values in changed.items():
        for key, value in values.items():
            text = str(value).lower() if isinstance(value, bool) else str(value)
            assert f"{section}.{key} = {text}" in told


@pytest.mark.parametrize("verb", list(VERBS))
def test_every_verb_is_mentioned_and_only_real_options_are_shown(verb: str) -> None:
    assert any(f"saber {verb}" in text for text in TEXT.values())
    command = cli.get_command(None, verb)  # type: ignore[arg-type]
    assert command is not None
    below = command.commands.values() if isinstance(command, click.Group) else ()
    options = [option for one in (command, *below) for option in one.params]
    known = {name for option in options for name in option.opts} | {"--help"}
    lines = [
        line.split("#")[0]
        for text in TEXT.values()
        for _, body in BLOCK.findall(text)
        for line in body.replace("\\\n", " ").splitlines()
        if line.strip().startswith(f"saber {verb}")
    ]
    shown = {option for line in lines for option in re.findall(r"(?<!\S)--[a-z-]+", line)}
    assert shown <= known


def test_verbs_in_commands_exist() -> None:
    bodies = [body for text in TEXT.values() for _, body in BLOCK.findall(text)]
    used = {verb for body in bodies for verb in re.findall(r"^saber ([a-z-]+)", body, re.MULTILINE)}
    assert used <= set(VERBS)


@pytest.mark.parametrize("group", ["llm", "prompts", "analyse"])
def test_every_verb_of_a_group_is_mentioned_and_no_other(group: str) -> None:
    command = cli.get_command(None, group)  # type: ignore[arg-type]
    assert isinstance(command, click.Group)
    used = {
        verb
        for text in TEXT.values()
        for verb in re.findall(rf"(?:^|`)saber {group} ([a-z-]+)", text, re.MULTILINE)
    }
    assert used == set(command.commands)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_relative_links_resolve(page: Path) -> None:
    for target in LINK.findall(re.sub(r"`[^`\n]*`", "", TEXT[page])):
        if re.match(r"[a-z]+:", target):
            continue
        place, _, anchor = target.partition("#")
        file = (page.parent / place).resolve() if place else page
        assert file.exists(), target
        if anchor:
            assert anchor in anchors(file.read_text(encoding="utf-8")), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_page_is_short_and_names_no_machine(page: Path) -> None:
    text = TEXT[page]
    assert not MACHINE.search(text)
    assert len(text.splitlines()) <= 150
    if page.name != "README.md":
        assert f"docs/{page.name}" in TEXT[ROOT / "README.md"]


def test_the_graph_shows_every_table_and_no_other() -> None:
    from saber_assets.definitions import build_definitions
    from saber_resources.settings import load_settings

    picture = (ROOT / "docs" / "graph.svg").read_text(encoding="utf-8")
    drawn = set(re.findall(r'<text class="pill"[^>]*>([a-z_]+)</text>', picture))
    graph = build_definitions(load_settings(Path("nowhere"))).resolve_asset_graph()
    assert drawn == {key.to_user_string() for key in graph.toposorted_asset_keys}


def test_variables_are_told() -> None:
    for name in (WORKDIR_VARIABLE, load_profile("default").llm.api_key_variable):
        assert name in CONFIGURATION


@pytest.mark.parametrize("page", ["README.md", "docs/own-retriever.md"])
def test_the_example_retriever_runs(page: str, tmp_path: Path) -> None:
    code = python_block(page)
    assert len(code.strip().splitlines()) <= 10
    (tmp_path / "my_retriever.py").write_text(code, encoding="utf-8")
    entry = load_own(f"{tmp_path}/my_retriever.py:MyRetriever")
    scores = np.asarray(entry.make().score("even primes", ["odd", "even numbers and primes"]))
    assert scores.shape == (2,)
    assert np.isfinite(scores).all()
    assert scores[1] > scores[0]
