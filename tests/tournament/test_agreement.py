"""Agreement scores worked out by hand, thresholds, and several annotators of one pair."""

import math

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.errors import InputError
from saber_assets.tournament.agreement import (
    agreement,
    inter_annotator,
    preferences_of_judgments,
    preferences_of_ratings,
    rank_differences,
)
from saber_assets.tournament.human_judgments import SCHEMA
from saber_assets.tournament.human_sample import draw_pairs, even_quotas
from saber_assets.tournament.references import all_pairs, merged, met_pairs, table_references

PREFERENCES = {"query_id": pl.String, "low_id": pl.String, "high_id": pl.String, "choice": pl.Int8}
JUDGMENTS = {
    "query_id": pl.String,
    "first_id": pl.String,
    "second_id": pl.String,
    "winner": pl.Int8,
}


def people(*rows):
    return pl.DataFrame(rows, schema=dict(SCHEMA), orient="row")


def preferences(*rows):
    return pl.DataFrame(rows, schema=PREFERENCES, orient="row")


def ladder(n, query="q"):
    """n candidates c000, c001, ... rated from best to worst."""
    ids = [f"c{number:03d}" for number in range(n)]
    return pl.DataFrame(
        {"query_id": [query] * n, "candidate_id": ids, "rating": [float(n - k) for k in range(n)]}
    )


def test_scores_of_1_half_and_0():
    human = people(
        ("q", "a", "b", 1, "x"),  # same: 1
        ("q", "a", "c", -1, "x"),  # opposite: 0
        ("q", "a", "d", 0, "x"),  # the person says tie: 1/2
        ("q", "b", "c", 1, "x"),  # the judge says tie: 1/2
        ("q", "b", "d", 0, "x"),  # both say tie: 1
        ("q", "c", "d", 1, "x"),  # the judge has no verdict: not counted
    )
    judge = preferences(
        ("q", "a", "b", 1),
        ("q", "a", "c", 1),
        ("q", "a", "d", -1),
        ("q", "b", "c", 0),
        ("q", "b", "d", 0),
        ("other", "c", "d", 1),
    )
    (row,) = agreement(
        "judge", human, judge, preferences().rename({"choice": "rank_difference"}), [0]
    )
    assert (row.pairs, row.points, row.share) == (5, 3.0, 0.6)


def test_a_pair_judged_by_several_people_counts_once():
    human = people(
        ("q", "a", "b", 1, "x"), ("q", "a", "b", -1, "y"), ("q", "a", "b", 1, "z"),
        ("q", "a", "c", 1, "x"),
    )  # fmt: skip
    judge = preferences(("q", "a", "b", 1), ("q", "a", "c", 1))
    differences = rank_differences(ladder(3), human)
    (row,) = agreement("judge", human, judge, differences, [0])
    assert row.pairs == 2 and row.points == pytest.approx(1 + 2 / 3)
    (between,) = inter_annotator(human, differences, [0])
    assert between.pairs == 1 and between.points == pytest.approx(1 / 3)  # x-y 0, x-z 1, y-z 0
    assert between.chance_corrected == pytest.approx((1 / 3 - 1 / 2) / (1 / 2))


def test_people_who_always_tie_have_no_chance_corrected_figure():
    human = people(("q", "a", "b", 0, "x"), ("q", "a", "b", 0, "y"))
    (between,) = inter_annotator(human, rank_differences(ladder(2), human), [0])
    assert between.share == 1.0 and math.isnan(between.chance_corrected)


def test_rank_difference_thresholds_include_their_bound():
    ratings = ladder(60)
    human = people(
        ("q", "c000", "c024", 1, "x"),
        ("q", "c000", "c025", 1, "x"),
        ("q", "c000", "c050", -1, "x"),
        ("q", "c000", "unrated", 1, "x"),
    )
    differences = rank_differences(ratings, human)
    assert differences["rank_difference"].to_list() == [24.0, 25.0, 50.0, None]
    known = preferences_of_ratings(ratings, human)
    rows = agreement("ratings", human, known, differences)
    assert [(row.rank_difference, row.pairs, row.points) for row in rows] == [
        (0, 3, 2.0),
        (25, 2, 1.0),
        (50, 1, 0.0),
    ]


def test_verdicts_are_read_in_either_order_and_by_majority():
    judgments = pl.DataFrame(
        [
            ("q", "a", "b", 1),
            ("q", "b", "a", 2),  # a twice
            ("q", "a", "c", 1),
            ("q", "c", "a", 1),  # follows the position: a tie
            ("q", "d", "c", 1),
            ("q", "e", "f", 0),
            ("q", "e", "g", None),
        ],
        schema=JUDGMENTS,
        orient="row",
    )
    assert preferences_of_judgments(judgments).rows() == [
        ("q", "a", "b", 1),
        ("q", "a", "c", 0),
        ("q", "c", "d", -1),
        ("q", "e", "f", 0),
    ]


def test_equal_ratings_are_a_tie():
    ratings = pl.DataFrame(
        {"query_id": ["q"] * 3, "candidate_id": ["a", "b", "c"], "rating": [1.0, 1.0, None]}
    )
    found = preferences_of_ratings(ratings, all_pairs(ratings))
    assert found.rows() == [("q", "a", "b", 0)]


@given(st.lists(st.tuples(st.integers(-1, 1), st.integers(-1, 1)), min_size=1, max_size=20))
@settings(max_examples=40, deadline=None)
def test_agreement_is_symmetric_and_unchanged_by_swapping_sides(choices):
    pairs = [("q", f"a{k:02d}", f"b{k:02d}") for k in range(len(choices))]
    nothing = preferences().rename({"choice": "rank_difference"})

    def score(ours, theirs):
        human = people(*((*pair, one, "x") for pair, one in zip(pairs, ours, strict=True)))
        judge = preferences(*((*pair, one) for pair, one in zip(pairs, theirs, strict=True)))
        return agreement("judge", human, judge, nothing, [0])[0].points

    ours, theirs = zip(*choices, strict=True)
    points = score(ours, theirs)
    assert points == score(theirs, ours)
    assert points == score([-one for one in ours], [-one for one in theirs])
    assert score(ours, ours) == len(ours)
    decided = [one for one in choices if 0 not in one]
    assert points + score(ours, [-one for one in theirs]) >= len(decided)


def test_another_judges_table_gives_its_verdicts_and_its_ratings():
    pools = ladder(3).drop("rating")
    pairs = all_pairs(pools)
    verdicts = pl.DataFrame(
        [("q", "c000", "c001", 1), ("q", "c001", "c002", 1)], schema=JUDGMENTS, orient="row"
    )
    found = table_references("other", verdicts, pools, pairs)
    assert found["other"].height == 2
    assert found["other, Bradley-Terry"]["choice"].to_list() == [1, 1, 1]  # c000 > c001 > c002
    scores = ladder(3).rename({"rating": "score"})
    assert (
        table_references("ordinal", scores, pools, pairs)["ordinal"]["choice"].to_list() == [1] * 3
    )


@pytest.mark.parametrize(
    ("table", "told"),
    [
        (pl.DataFrame({"x": [1]}), "has the columns x"),
        (
            pl.DataFrame([("q", "c000", "c001", 3)], schema=JUDGMENTS, orient="row"),
            "has the winner 3",
        ),
        (
            pl.DataFrame([("q", "c000", "stranger", 1)], schema=JUDGMENTS, orient="row"),
            "outside their query's pool",
        ),
        (pl.concat([ladder(2), ladder(2)]), "more than once"),
    ],
)
def test_tables_that_do_not_fit_are_refused(table, told):
    pools = ladder(3).drop("rating")
    with pytest.raises(InputError, match=told):
        table_references("other", table, pools, all_pairs(pools))


def test_two_judges_of_one_name_are_refused():
    with pytest.raises(InputError, match="two judges are called 'x'"):
        merged([{"x": preferences()}, {"x": preferences()}])


def test_drawn_pairs_are_even_over_the_strata_and_reproducible():
    ratings = ladder(100)
    pairs = all_pairs(ratings).sort("low_id", "high_id", descending=True)
    drawn = draw_pairs(60, pairs, ratings, seed=4)
    assert drawn.equals(draw_pairs(60, pairs.sort("high_id"), ratings, seed=4))
    assert not drawn.equals(draw_pairs(60, pairs, ratings, seed=5))
    apart = (drawn["a"].str.slice(1).cast(int) - drawn["b"].str.slice(1).cast(int)).abs().to_list()
    strata = [
        sum(low <= gap < high for gap in apart) for low, high in ((0, 25), (25, 50), (50, 99))
    ]
    assert strata == [20, 20, 20]
    better_first = (drawn["a"] < drawn["b"]).sum()
    assert 15 < better_first < 45
    assert drawn.unique().height == 60


def test_quotas():
    assert even_quotas(10, [100, 2, 100]) == [4, 2, 4]
    assert even_quotas(7, [1, 1, 1]) == [1, 1, 1]
    assert even_quotas(2, [5, 5, 5]) == [1, 1, 0]
    assert even_quotas(3, [0, 0]) == [0, 0]


def test_met_pairs_are_those_with_a_verdict():
    judgments = pl.DataFrame(
        [("q", "b", "a", 1), ("q", "c", "a", None)], schema=JUDGMENTS, orient="row"
    )
    assert met_pairs(judgments).rows() == [("q", "a", "b")]
