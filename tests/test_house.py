"""The rules that keep the house in order, where import-linter can't state them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
STAGES = (
    "corpus",
    "ontology",
    "annotation",
    "candidates",
    "tournament",
    "retrieval",
    "evaluation",
    "publishing",
)
MOST_LINES = 400


def stage_files() -> list[Path]:
    return [
        path for stage in STAGES for path in sorted((ROOT / "saber_assets" / stage).rglob("*.py"))
    ]


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


@pytest.mark.parametrize("path", stage_files(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_stage_imports_the_assets_of_another(path: Path) -> None:
    stage = path.relative_to(ROOT / "saber_assets").parts[0]
    rooms = {
        name
        for name in imports(path)
        for other in STAGES
        if other != stage
        if re.fullmatch(rf"saber_assets\.{other}\.(\w+\.)*(assets|checks)", name)
    }
    assert not rooms


def test_modules_are_small() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for package in ("saber_assets", "saber_resources", "saber_services")
        for path in (ROOT / package).rglob("*.py")
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > MOST_LINES
    }
    assert not long


def test_no_profile_name_is_asked_for_in_code() -> None:
    presets = {"paper", "default"}
    for package in ("saber_assets",):
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Compare):
                    values = {
                        item.value
                        for item in ast.walk(node)
                        if isinstance(item, ast.Constant) and isinstance(item.value, str)
                    }
                    assert not values & presets, f"{path}:{node.lineno}"
