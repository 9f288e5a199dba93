"""What the judge wrote stands beside its verdict, and what another one wrote doesn't."""

from __future__ import annotations

import re
import sqlite3

import polars as pl
import pytest

from saber_resources.warehouse import table_path
from saber_services.report.names import page_of
from saber_services.report.outside import Judged, MadeTable, Outside

ASKED, OTHER = "ab" * 32, "cd" * 32
MADE = (MadeTable("pairwise_judgments", 9, "d1", "c1", {"pairwise_judge": ASKED}),)
ITEM = "q|a|b"


def keep(store, *rows) -> Outside:
    """Write answers: item, text, model, fingerprint, parsed, error."""
    with sqlite3.connect(store) as connection:
        connection.execute(
            "CREATE TABLE responses (id INTEGER PRIMARY KEY, item, response, model, prompt, "
            "prompt_fingerprint, parsed, error, fault)"
        )
        connection.executemany(
            "INSERT INTO responses VALUES (NULL, ?, ?, ?, 'pairwise_judge', ?, ?, ?, NULL)", rows
        )
    return Outside(store=store, made=MADE)


@pytest.mark.parametrize("folder", ["plain", "what?mode=rwc", "a #1", "100 %25"])
def test_the_page_shows_it_whatever_the_folder_is_called(folder, tables, tmp_path, reports) -> None:
    pair = pl.read_parquet(table_path(tables, "pairwise_judgments")).row(0, named=True)
    item = f"{pair['query_id']}|{pair['first_id']}|{pair['second_id']}"
    judge, said = pair["judge"], str(pair["winner"])
    (tmp_path / folder).mkdir()
    outside = keep(
        tmp_path / folder / "responses.sqlite",
        (item, "an older answer", judge, ASKED, said, None),
        (item, f"Both bound {reports.hostile}", judge, ASKED, said, None),
        (item, "cut off", judge, ASKED, said, "timeout"),
        (item, "another judge", "judge-2", ASKED, said, None),
        (item, "another prompt", judge, OTHER, said, None),
        (pair["query_id"], "no pair", judge, ASKED, said, None),
    )
    found = reports.read(reports.write(tables, tmp_path / "report", outside=outside))
    page = found[page_of("q", pair["query_id"])]
    text = reports.words(page)
    assert f"Both bound {reports.hostile}" in text
    assert f"{judge}, prompt pairwise_judge abababababab" in text
    assert len(re.findall('class="reply"', page)) == 1


def test_a_store_that_cannot_be_read_costs_nothing_else(tables, tmp_path, reports) -> None:
    store = tmp_path / "responses.sqlite"
    store.write_bytes(b"no database")
    reports.write(tables, tmp_path / "report", outside=Outside(store=store, made=MADE))


@pytest.mark.parametrize("order", [1, -1])
def test_of_two_judges_the_one_of_the_table(order, tmp_path) -> None:
    rows = [
        (ITEM, "mine", "big/model", ASKED, "1", None),
        (ITEM, "its", "small/model", ASKED, "1", None),
    ]
    outside = keep(tmp_path / "store", *rows[::order])
    assert outside.replies({ITEM: Judged("big/model", 1)})[ITEM].text == "mine"
    assert outside.replies({ITEM: Judged("small/model (majority of 5)", 1)})[ITEM].text == "its"
    assert outside.replies({ITEM: Judged("model", 1)}) == {}


def test_of_several_votes_one_that_says_the_same(tmp_path) -> None:
    sure = '{"winner": 2, "confidence": 0.9}'
    outside = keep(
        tmp_path / "store",
        (ITEM, "for", "m", ASKED, "1", None),
        (ITEM, "against", "m", ASKED, "2", None),
        ("q|c|d", "sure", "m", ASKED, sure, None),
        ("q|e|f", "not read", "m", ASKED, None, None),
    )

    def said(item: str, winner: int | None) -> str | None:
        found = outside.replies({item: Judged("m (majority of 5)", winner)})
        return found[item].text if found else None

    assert [said(ITEM, winner) for winner in (1, 2, 0, None)] == ["for", *["against"] * 3]
    assert [said("q|c|d", winner) for winner in (1, 2)] == [None, "sure"]
    assert said("q|e|f", 1) == "not read"


def test_without_a_record_of_the_prompts_nothing_is_shown(tmp_path) -> None:
    kept = keep(tmp_path / "store", (ITEM, "mine", "m", ASKED, "1", None))
    assert Outside(store=kept.store).replies({ITEM: Judged("m", 1)}) == {}
