"""Ranks of a problem worded anew."""

import numpy as np
import polars as pl
import pytest

from saber_assets.evaluation.duplicate_finding import find_duplicates, searches, summarise

CORPUS = pl.DataFrame(
    [("q1", "red fox", "s1"), ("q2", "blue cat", "s2"), ("d1", "green dog", "t1"),
     ("d2", "red hen", "t2"), ("d3", "green dog", "t1")],
    schema=["problem_id", "problem", "solution"], orient="row",
)  # fmt: skip
POOLS = pl.DataFrame(
    [("q1", "d1"), ("q1", "d2"), ("q1", "q2"), ("q2", "d3"), ("q2", "q1")],
    schema=["query_id", "candidate_id"],
    orient="row",
)
REWORDED = {"q1": "crimson fox", "q2": "azure cat"}
STATEMENTS = dict(CORPUS.select("problem_id", "problem").iter_rows())


class Words:
    def score(self, query, documents):
        return [len(set(query.split()) & set(text.split())) for text in documents]


class Constant:
    def score(self, query, documents):
        return [0.0] * len(documents)


class Broken:
    def score(self, query, documents):
        return [np.nan] * len(documents)


def test_pools_leave_out_the_source_and_repeated_texts():
    asked = searches(REWORDED, CORPUS, POOLS, "statement-statement")
    assert [one.query for one in asked] == ["crimson fox", "azure cat"]
    assert [one.target for one in asked] == ["red fox", "blue cat"]
    assert asked[0].pool == ("d1", "d2", "d3", "q2")
    found = find_duplicates(Words(), asked, STATEMENTS)
    assert found["rank"].to_list() == [1, 1]
    # d3 repeats the text of d1
    assert found["documents"].to_list() == [4, 4]
    own = searches(REWORDED, CORPUS, POOLS, "statement-statement", full_pool=False)
    assert [one.pool for one in own] == [("d1", "d2", "q2"), ("d3", "q1")]


def test_the_other_direction():
    asked = searches(REWORDED, CORPUS, POOLS, "statement-full", "rewording")
    assert asked[0].query == "red fox"
    assert asked[0].target == "Problem: crimson fox\n\nSolution: s1"


def test_ties_go_by_id_and_failures_are_told():
    asked = searches(REWORDED, CORPUS, POOLS, "statement-statement")
    assert find_duplicates(Constant(), asked, STATEMENTS)["rank"].to_list() == [3, 4]
    broken = find_duplicates(Broken(), asked, STATEMENTS)
    assert broken["rank"].to_list() == [None, None]
    assert "finite" in broken["fault"][0]
    said = summarise(broken)
    assert (said["failed"], said["median_rank"], said["top_64"]) == (2, 4, 0)


def test_summary():
    ranks = pl.DataFrame({"rank": [1, 3, 20, 100, None], "documents": [151] * 5})
    said = summarise(ranks)
    assert said["queries"] == 5
    assert said["median_rank"] == 20
    assert [said[f"top_{k}"] for k in (1, 4, 16, 64)] == [0.2, 0.4, 0.4, 0.6]
    assert np.isnan(summarise(ranks.clear())["median_rank"])


def test_a_stranger_is_refused():
    with pytest.raises(ValueError, match="of no query"):
        searches({"d1": "x"}, CORPUS, POOLS, "statement-full")
