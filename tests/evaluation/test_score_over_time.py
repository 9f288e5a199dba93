"""Records by release date."""

from datetime import date

import polars as pl

from saber_assets.evaluation.score_over_time import score_over_time, without_date

SYSTEMS = pl.DataFrame(
    [
        ("old", "B", date(2020, 1, 1), 0.5),
        ("worse", "RB", date(2021, 1, 1), 0.4),
        ("equal", "B", date(2022, 1, 1), 0.5),
        ("twin-a", "B", date(2023, 1, 1), 0.6),
        ("twin-b", "B", date(2023, 1, 1), 0.6),
        ("same-day", "B", date(2023, 1, 1), 0.55),
        ("cross", "C", date(2021, 6, 1), 0.3),
        ("late", "RL", date(2022, 6, 1), 0.7),
        ("undated", "B", None, 0.9),
        ("typeless", "", date(2022, 1, 1), 0.9),
    ],
    schema=["retriever", "type_code", "released", "score"],
    orient="row",
)


def test_records_of_each_class():
    found = score_over_time(SYSTEMS)
    assert found["retriever"].to_list() == [
        "old", "worse", "equal", "twin-a", "twin-b", "same-day", "cross", "late",
    ]  # fmt: skip
    assert found["best"].to_list() == [0.5, 0.5, 0.5, 0.6, 0.6, 0.6, 0.3, 0.7]
    assert found.filter("is_record")["retriever"].to_list() == [
        "old", "twin-a", "twin-b", "cross", "late",
    ]  # fmt: skip
    assert without_date(SYSTEMS) == ["typeless", "undated"]
    assert score_over_time(SYSTEMS.sample(fraction=1, shuffle=True, seed=3)).equals(found)


def test_nothing():
    assert score_over_time(SYSTEMS.clear()).is_empty()
