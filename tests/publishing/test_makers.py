"""Who annotated and judged stays known from one export to the next."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from saber_assets.errors import InputError
from saber_assets.publishing.import_tables import import_tables
from saber_assets.publishing.manifest import MANIFEST_FILE, PARTS, stated_makers
from saber_assets.publishing.readers import read_release
from saber_assets.publishing.writers import EXPORT_FORMATS, write_release

MADE_BY = {"topics": ["a model"], "summaries": [], "judgments": ["lexical heuristic (no model)"]}


@pytest.mark.parametrize("kind", EXPORT_FORMATS)
def test_every_format_states_who_made_it(kind, benchmark, tmp_path) -> None:
    write_release(kind, replace(benchmark, made_by=MADE_BY), tmp_path, "statement-full")
    assert stated_makers(tmp_path) == MADE_BY


def test_judgments_of_a_release_name_its_judge(benchmark, tmp_path) -> None:
    write_release("saber", benchmark, tmp_path, "statement-full")
    found = read_release("saber-release", tmp_path)
    for judges, told in (
        (MADE_BY["judgments"], "lexical heuristic (no model), according to the release"),
        ([], "judge of saber-release"),
    ):
        tables = {
            table.name: frame for table, frame in import_tables(found, "saber-release", judges)
        }
        assert set(tables["pairwise_judgments"]["judge"]) == {told}


def test_folders_of_others_name_nobody_and_broken_names_are_refused(tmp_path) -> None:
    assert stated_makers(tmp_path) == {part: [] for part in PARTS}
    for broken in ("me", {"topics": "me"}, {"topics": [1]}):
        (tmp_path / MANIFEST_FILE).write_text(json.dumps({"format": "saber", "made_by": broken}))
        with pytest.raises(InputError, match="made_by is no object with lists of names"):
            stated_makers(tmp_path)
