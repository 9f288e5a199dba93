"""Which judge a profile chooses: its prompts, what they make stale, and whole builds."""

from __future__ import annotations

import pytest

from saber_assets.definitions import build_definitions
from saber_resources.errors import SetupError
from saber_resources.settings import save_settings
from saber_resources.shipped import shipped
from saber_resources.warehouse import read_table
from saber_services.builder import build

JUDGMENTS = {"pairwise_judgments", "judgment_failures"}
PROMPTS = {
    "pairwise": {"pairwise_judge"},
    "majority": {"pairwise_judge"},
    "confidence": {"pairwise_judge"},
    "ordinal": {"ordinal_judge"},
    "profiled": {"technique_profile", "profiled_judge"},
}
ALL = sorted(set.union(*PROMPTS.values()))


def code_versions(settings) -> dict[str, str]:
    graph = build_definitions(settings).resolve_asset_graph()
    return {
        key.to_user_string(): graph.get(key).code_version for key in graph.materializable_asset_keys
    }


def changed(before, settings) -> set[str]:
    after = code_versions(settings)
    return {name for name in before if before[name] != after[name]}


def with_judge(folder, judge, **judging):
    return save_settings(
        folder,
        "sample",
        {
            "annotation": {"annotator": "llm"},
            "judging": {"annotator": "llm", "judge": judge, **judging},
            "llm": {"model": "m"},
        },
    )


@pytest.mark.parametrize("judge", PROMPTS)
def test_exactly_the_prompts_of_the_judge_make_judgments_stale(tmp_path, judge):
    settings = with_judge(tmp_path / "work", judge)
    before = code_versions(settings)
    settings.workdir.prompts.mkdir()
    for prompt in ALL:
        own = settings.workdir.prompts / f"{prompt}.md"
        text = (shipped("prompts") / f"{prompt}.md").read_text(encoding="utf-8")
        own.write_text(text + "\nBe brief.\n", encoding="utf-8")
        assert changed(before, settings) == (JUDGMENTS if prompt in PROMPTS[judge] else set())
        own.unlink()


def test_judge_and_votes_are_a_part_of_what_judgments_are(tmp_path):
    before = code_versions(with_judge(tmp_path, "pairwise"))
    assert changed(before, with_judge(tmp_path, "pairwise", votes=7)) == set()
    assert changed(before, with_judge(tmp_path, "confidence")) == JUDGMENTS
    five = code_versions(with_judge(tmp_path, "majority", votes=5))
    assert changed(five, with_judge(tmp_path, "majority", votes=7)) == JUDGMENTS
    warmer = with_judge(tmp_path, "majority", votes=5, vote_temperature=0.5)
    assert changed(five, warmer) == JUDGMENTS


def test_the_lexical_annotator_compares_pairs_only(tmp_path):
    with pytest.raises(SetupError, match=r"judging\.judge.*'majority'.*'lexical'"):
        save_settings(tmp_path, "sample", {"judging": {"judge": "majority"}})
    with pytest.raises(SetupError, match=r"judging\.votes"):
        with_judge(tmp_path, "majority", votes=1)


@pytest.mark.parametrize(
    ("judge", "asked"),
    [("profiled", {"technique_profile", "pairwise_judge"}), ("majority", {"pairwise_judge"})],
)
def test_a_build_with_another_judge(workdir, small, scripted_model, judge, asked):
    model = scripted_model()
    settings = save_settings(
        workdir,
        "sample",
        {
            **small,
            "judging": {"annotator": "llm", "judge": judge},
            "llm": {"model": "scripted", "endpoints": [model.url]},
        },
    )
    build(settings)
    judgments = read_table(settings.workdir.tables, "pairwise_judgments")
    assert judgments["winner"].null_count() == 0
    assert judgments["judge"].unique().to_list()[0].startswith(f"scripted ({judge}")
    assert set(model.calls) == asked
    if judge == "profiled":
        pairs, queries = judgments.height, judgments["query_id"].n_unique()
        assert model.calls["pairwise_judge"] == pairs
        sides = judgments["first_id"].to_list() + judgments["second_id"].to_list()
        assert model.calls["technique_profile"] == len(set(sides) | set(judgments["query_id"]))
        assert queries > 1
    total = model.total()
    build(settings)
    assert model.total() == total
