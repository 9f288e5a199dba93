"""The report of an imported release: nothing of Python's, and nothing advised that can't help."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from saber_assets.retrieval.tables import RETRIEVER_FAILURES, SETTINGS
from saber_resources.warehouse import table_path
from saber_services.report.discreet import discreet
from saber_services.report.examples import cut
from saber_services.report.names import page_of
from saber_services.report.release import MADE, Release
from saber_services.report.site import Site, write_site

JUDGE = "lexical heuristic (no model), according to the release"
NULL = {
    "candidate_pools": ("category", "topic_similarity", "summary_similarity", "seed"),
    "relevance_ratings": ("strength", "standard_error", "wins", "losses", "penalty", "flag"),
    "pairwise_judgments": ("round", "seed", "confidence"),
}


@pytest.fixture(scope="module")
def released(tables, tmp_path_factory) -> Path:
    """Tables as an import leaves them."""
    folder = tmp_path_factory.mktemp("released") / "tables"
    shutil.copytree(tables, folder)
    for path in sorted(folder.iterdir()):
        if path.name.split(".")[0] in MADE:
            continue
        path.unlink()
    for name, columns in NULL.items():
        frame = pl.read_parquet(table_path(folder, name))
        nothing = [pl.lit(None, frame.schema[column]).alias(column) for column in columns]
        frame.with_columns(nothing).write_parquet(table_path(folder, name))
    judged = pl.read_parquet(table_path(folder, "pairwise_judgments"))
    judged.with_columns(judge=pl.lit(JUDGE)).write_parquet(table_path(folder, "pairwise_judgments"))
    for name in ("rating_noise", "signal_effect"):
        pl.read_parquet(table_path(folder, name)).clear().write_parquet(table_path(folder, name))
    return folder


@pytest.fixture(scope="module")
def found(released, tmp_path_factory, reports) -> dict[str, str]:
    target = tmp_path_factory.mktemp("of_release") / "site"
    release = Release({"topics": ["lexical heuristic (no model)"], "judgments": ["a"]})
    write_site(Site.of(released, "x", release=release), target)
    return {name: reports.words(page) for name, page in reports.read(target).items()}


def test_no_page_shows_none_or_advises_a_build(found):
    for name, text in found.items():
        assert "None" not in text.replace("None is recorded.", ""), name
        assert "Not made yet" not in text, name
        assert "saber build" not in text, name


def test_what_a_release_lacks_is_said_to_be_not_in_it(found):
    assert found["analyses.html"].count("Not in the release: ") == 2
    assert found["benchmark.html"].count("Not in the release: ") == 3
    assert "Summaries not in the release" in found["index.html"]
    assert "No language model was asked" not in found["provenance.html"]
    for never in ("relevance_thresholds", "topic_sets", "raw_problems"):
        assert never not in found["provenance.html"]
    assert "Ratings and their errors relevance_ratings the release" in found["provenance.html"]
    assert "Why in the pool" not in found[page_of("q", "p001")]


def test_a_heuristic_of_a_release_is_warned_of(found):
    assert "Topics lexical heuristic (no model), according to the release" in found["index.html"]
    assert (
        "according to the release: fine for trying the pipeline, not a benchmark to cite"
        in (found["index.html"])
    )


def test_nobody_says_which_candidate_a_release_showed_first(found):
    assert "The candidate shown first won" not in found["judging.html"]
    assert "does not say which candidate was shown first" in found["judging.html"]
    assert "candidate 3 was named first in the release" in found[page_of("q", "p001")]


def test_wins_are_counted_from_the_matches(released):
    pools = Site.of(released, "x", release=Release()).pools
    assert pools is not None
    judged = pl.read_parquet(table_path(released, "pairwise_judgments")).drop_nulls("winner")
    won = judged.select(
        "query_id",
        candidate_id=pl.when(pl.col("winner") == 1).then("first_id").otherwise("second_id"),
    )
    expected = won.group_by("query_id", "candidate_id").len()
    told = pools.rows.filter(pl.col("wins") > 0).select("query_id", "candidate_id", "wins")
    assert sorted(told.rows()) == sorted(expected.rows())
    assert pools.rows["losses"].sum() == judged.height


def test_failures_are_grouped_by_reason_with_examples(tables, tmp_path, reports):
    folder = tmp_path / "tables"
    shutil.copytree(tables, folder)
    rows = [
        {
            "retriever": "bm25",
            "setting": SETTINGS[0],
            "query_id": f"p00{number}",
            "reason": "its file /home/me/secret/x.tsv is gone" if number < 5 else "too long",
        }
        for number in range(8)
        if number != 2
    ]
    frame = pl.DataFrame(rows, schema=RETRIEVER_FAILURES.schema)
    frame.write_parquet(table_path(folder, RETRIEVER_FAILURES.name, "bm25"))
    page = reports.read(reports.write(folder, tmp_path / "site"))["failures.html"]
    text = reports.words(page)
    assert "Retriever failures 8" in text
    assert f"bm25 {SETTINGS[0]} its file x.tsv is gone 4 p000, p001, p003 bm25" in text
    assert f"bm25 {SETTINGS[0]} too long 3 p005, p006, p007" in text
    assert f'<a href="{page_of("r", "bm25")}#failures">bm25</a>' in page
    assert f'<a href="{page_of("q", "p005")}">p005</a>' in page


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Own retriever /tmp/a/b.py:Mine.", "Own retriever b.py:Mine."),
        ("Precomputed scores of ~/runs/x.tsv.", "Precomputed scores of x.tsv."),
        ("of C:\\me\\runs\\x.tsv and /a/y.tsv", "of x.tsv and y.tsv"),
        ("behind http://127.0.0.1:18431/score.", "behind an HTTP endpoint."),
        ("(https://me:pw@host/x?y=1) is down", "(an HTTP endpoint) is down"),
        ("BAAI/bge-m3, query/document, 3 / 4, a /b", "BAAI/bge-m3, query/document, 3 / 4, a /b"),
    ],
)  # fmt: skip
def test_a_site_tells_no_places(text, expected):
    assert discreet(text) == expected


def test_a_card_tells_no_places(tables, tmp_path, reports):
    cards = {"bm25": {"description": "Own retriever /srv/me/r.py:R."}}
    outside = replace(reports.outside, cards=cards)
    page = reports.read(reports.write(tables, tmp_path / "site", outside=outside))
    assert "/srv/me" not in page[page_of("r", "bm25")]
    assert "Own retriever r.py:R." in reports.words(page[page_of("r", "bm25")])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one two $$a + b + c$$ three", "one two $$a + b + c$$ …"),
        ("one two three $$a + b$$ four five", "one two three …"),
        ("$$a + b + c + d + e$$", "$$a + b + c + d + e$$"),
        ("one two $a + b$.Then more words", "one two $a + b$ …"),
    ],
)
def test_texts_are_cut_outside_formulas(text, expected):
    assert cut(text, 16) == expected
