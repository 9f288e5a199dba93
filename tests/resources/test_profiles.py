"""Profiles refuse what the stages would refuse only later, in the middle of a build."""

import pytest

from saber_resources.errors import SetupError
from saber_resources.profiles import load_profile, profile_names


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [
        ("thresholds", "empty_jaccard", 0.5),
        ("annotation", "keep", 0.0),
        ("corpus", "dedup_seed", 2**32),
        ("tournament", "seed", 2**63),
        ("selection", "seed", -1),
        ("ratings", "penalty", float("inf")),
        ("retrieval", "retrievers", []),
        ("evaluation", "resamples", 10**11),
    ],
)
def test_a_value_that_no_stage_takes_is_refused_with_its_key(section, key, value):
    with pytest.raises(SetupError, match=f"'{section}.{key}' can't be"):
        load_profile("default", {section: {key: value}})


@pytest.mark.parametrize("name", profile_names())
def test_every_shipped_profile_is_whole(name):
    load_profile(name)


def test_the_paper_preset_differs_by_values_alone():
    paper, default = load_profile("paper"), load_profile("default")
    assert (default.annotation.normalise, paper.annotation.normalise) == (True, False)
    assert (default.thresholds.precision, paper.thresholds.precision) == ("float64", "float16")
    assert (default.thresholds.empty_jaccard, paper.thresholds.empty_jaccard) == (0, 1)
    assert (default.tournament.order, paper.tournament.order) == ("random", "id")
