"""The report page, on small tables that obey the contracts."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from saber_assets.annotation.tables import (
    SOLUTION_SUMMARIES,
    SUMMARY_FAILURES,
    TOPIC_FAILURES,
    TOPIC_SETS,
)
from saber_assets.candidates.tables import (
    BENCHMARK_QUERIES,
    CANDIDATE_POOLS,
    CATEGORIES,
    RELEVANCE_THRESHOLDS,
)
from saber_assets.corpus.tables import DEDUPED_CORPUS, DROPPED_PROBLEMS, RAW_PROBLEMS
from saber_assets.evaluation.tables import LEADERBOARD
from saber_assets.ontology.tables import DOMAINS
from saber_assets.retrieval.tables import RETRIEVER_FAILURES, SETTINGS
from saber_assets.table import Table
from saber_assets.tournament.tables import (
    JUDGMENT_FAILURES,
    PAIRWISE_JUDGMENTS,
    RELEVANCE_RATINGS,
)
from saber_resources.errors import SetupError
from saber_resources.warehouse import table_path
from saber_services.report.examples import cut
from saber_services.report.page import write_report

HOSTILE = '<script>alert("x")</script><img src="https://evil.example/a.png" onerror=alert(1)>'
LATEX = r"Prove that $a_1<a_2$ & \(\frac{1}{2}\sum_{k\le n} x_k^2 \geq 0\) holds."
PROBLEMS, QUERIES, POOL = 90, 8, 12
HEURISTIC = "lexical heuristic (no model)"
SECTIONS = (
    "leaderboard",
    "by-domain",
    "corpus",
    "domains",
    "thresholds",
    "ratings",
    "position",
    "examples",
    "failures",
    "colophon",
)
RETRIEVERS = {
    "ratings": ("sanity", 1.0),
    "minilm-l6": ("dense", 0.58),
    "bm25": ("lexical", 0.55),
    "tfidf": ("lexical", 0.52),
    "wordllama-256": ("dense", 0.49),
    "jaccard-whitespace": ("lexical", 0.44),
    "random": ("sanity", 0.31),
}


def make_tables(folder: Path, judge: str = HEURISTIC) -> Path:
    """Write a small benchmark whose texts are hostile and full of LaTeX."""
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(1)
    ids = [f"p{number:03}" for number in range(PROBLEMS)]
    texts = {
        "problem": [f"{LATEX} Case {number}. {HOSTILE}" for number in range(PROBLEMS)],
        "solution": [
            f"Solution {number}: {LATEX} " * (number % 15 + 1) for number in range(PROBLEMS)
        ],
    }
    origin = {
        "source": ["official" if number % 3 else "aops" for number in range(PROBLEMS)],
        "source_id": ids,
    }
    domains = [
        [DOMAINS[number % 5]] if number % 7 else sorted({DOMAINS[number % 5], "Algebra"})
        for number in range(PROBLEMS)
    ]
    domains[-1] = []

    def save(table: Table, columns: dict | list) -> None:
        frame = table.conform(pl.DataFrame(columns, schema_overrides=table.schema))
        frame.write_parquet(table_path(folder, table.name))

    def more(rows: int) -> dict:
        return {
            "language": "en",
            "answer": None,
            "alternatives": [[]] * rows,
            "diagrams": [[]] * rows,
            "images": 0,
            "licence": "MIT",
            "for_training": True,
        }

    extra = [f"d{number}" for number in range(10)]
    save(
        RAW_PROBLEMS,
        {
            "problem_id": ids + extra,
            "occurrence": 1,
            "source": origin["source"] + ["aops"] * 10,
            "source_id": ids + extra,
            "location": "problems.jsonl:1",
            "problem": texts["problem"] + [""] * 10,
            "solution": texts["solution"] + [""] * 10,
            **more(PROBLEMS + 10),
            "steps": [[]] * (PROBLEMS + 10),
            "flags": [[]] * (PROBLEMS + 10),
            "fault": None,
            "detail": None,
        },
    )
    save(DEDUPED_CORPUS, {"problem_id": ids, **origin, **texts, **more(PROBLEMS)})
    save(
        DROPPED_PROBLEMS,
        {
            "problem_id": extra,
            "occurrence": 1,
            "source": "aops",
            "source_id": extra,
            "location": "problems.jsonl:1",
            "reason": ["near_duplicate"] * 6 + ["exact_duplicate"] * 3 + ["empty_solution"],
            "kept_problem_id": None,
            "similarity": None,
            "scope": None,
            "evidence": None,
        },
    )
    save(
        TOPIC_SETS,
        {
            "problem_id": ids,
            "node_ids": [[1] if domain else [] for domain in domains],
            "paths": [["/root/x"] if domain else [] for domain in domains],
            "domains": domains,
            "calls": 3,
            "depth": 1,
            "annotator": HEURISTIC,
        },
    )
    save(
        SOLUTION_SUMMARIES,
        {
            "problem_id": ids,
            "no_core_idea": [number % 9 == 8 for number in range(PROBLEMS)],
            "core_idea": "Bound the sum $\\sum x_k^2$ from below by <b>zero</b>.",
            "supporting_ideas": [[]] * PROBLEMS,
            "keywords": [["bound"]] * PROBLEMS,
            "confidence": 0.5,
            "annotator": HEURISTIC,
        },
    )
    save(
        RELEVANCE_THRESHOLDS,
        {
            "domain": [*DOMAINS, "final"],
            "problems": [20, 19, 18, 18, 18, 89],
            "quantile": [0.1, 0.12, 0.08, 0.2, 0.15, None],
            "tau_topic": [0.86, 0.9, 0.88, 0.87, 0.91, 0.86],
            "tau_summary": [0.21, 0.25, 0.22, 0.3, 0.24, 0.21],
            "eligible": [4, 3, 3, 5, 4, 8],
            "k": 4,
        },
    )
    queries = ids[:QUERIES]
    save(
        BENCHMARK_QUERIES,
        {
            "query_id": queries,
            "domains": domains[:QUERIES],
            "combination": [" + ".join(domain) for domain in domains[:QUERIES]],
            "topic_only": 9,
            "summary_only": 8,
            "both": 7,
            "seed": 1,
        },
    )
    pairs = [
        (query, ids[QUERIES + (5 * row + place) % (PROBLEMS - QUERIES)], place)
        for row, query in enumerate(queries)
        for place in range(POOL)
    ]
    pool = {"query_id": [pair[0] for pair in pairs], "candidate_id": [pair[1] for pair in pairs]}
    save(
        CANDIDATE_POOLS,
        {
            **pool,
            "category": [CATEGORIES[pair[2] % 3] for pair in pairs],
            "topic_similarity": 0.9,
            "summary_similarity": 0.3,
            "tau_topic": 0.86,
            "tau_summary": 0.21,
            "seed": 1,
        },
    )
    ratings = [float(5 * (1 - pair[2] / (POOL - 1)) ** 1.5) for pair in pairs]
    save(
        RELEVANCE_RATINGS,
        {
            **pool,
            "strength": [rating - 2.5 for rating in ratings[:-1]] + [None],
            "standard_error": [0.4] * (len(pairs) - 1) + [None],
            "rating": ratings[:-1] + [None],
            "wins": 3,
            "losses": 3,
            "component": 0,
            "penalty": 1.0,
            "flag": [None] * (len(pairs) - 1) + ["unjudged"],
        },
    )
    rounds = [
        (query, number, pair) for query in queries for number in range(1, 6) for pair in (0, 1)
    ]
    winners = random.choice([1, 2], size=len(rounds), p=[0.56, 0.44]).tolist()
    save(
        PAIRWISE_JUDGMENTS,
        {
            "query_id": [row[0] for row in rounds],
            "round": [row[1] for row in rounds],
            "pair": [row[2] for row in rounds],
            "first_id": "a",
            "second_id": "b",
            "winner": winners[:-1] + [None],
            "confidence": None,
            "judge": judge,
            "seed": 1,
        },
    )
    board = []
    for offset, setting in enumerate(SETTINGS):
        for domain, share in (("all", 0.0), *((name, 0.03 * i) for i, name in enumerate(DOMAINS))):
            for rank, (name, (family, mean)) in enumerate(RETRIEVERS.items(), 1):
                value = min(1.0, mean + (share - 0.02 * offset) * (mean < 1))
                spread = 0.05 * (mean < 1)
                board.append(
                    {
                        "setting": setting,
                        "domain": domain,
                        "rank": rank,
                        "retriever": name,
                        "family": family,
                        "measure": 'nDCG(gain="exp2")@10',
                        "mean": value,
                        "low": value - spread,
                        "high": min(1.0, value + spread),
                        "queries": QUERIES if domain == "all" else 2,
                        "failed": int(name == "minilm-l6"),
                    }
                )
    save(LEADERBOARD, board)
    save(TOPIC_FAILURES, TOPIC_FAILURES.empty().to_dict())
    save(SUMMARY_FAILURES, SUMMARY_FAILURES.empty().to_dict())
    save(JUDGMENT_FAILURES, {"judgment": ["p001/3/0"], "reason": [f"no verdict in: {HOSTILE}\x00"]})
    (folder / RETRIEVER_FAILURES.name).mkdir()
    failure = {"retriever": "minilm-l6", "setting": SETTINGS[0], "query_id": "p001"}
    for name in ("bm25", "minilm-l6"):
        rows = [{**failure, "reason": "ran out of memory"}] if name == "minilm-l6" else []
        frame = pl.DataFrame(rows, schema=RETRIEVER_FAILURES.schema)
        frame.write_parquet(table_path(folder, RETRIEVER_FAILURES.name, name))
    set_times(folder)
    return folder


def set_times(folder: Path, seconds: int = 1_700_000_000) -> None:
    for path in folder.rglob("*.parquet"):
        os.utime(path, (seconds, seconds))


class Reader(HTMLParser):
    """Collects elements, and the text of each section."""

    VOID = frozenset({"meta", "link", "img", "br", "input"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.ids: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        if tag in ("dt", "dd", "td", "th", "h3"):
            self.text += " "

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.text += data


@pytest.fixture(scope="module")
def tables(tmp_path_factory) -> Path:
    return make_tables(tmp_path_factory.mktemp("report") / "tables")


@pytest.fixture(scope="module")
def page(tables, tmp_path_factory) -> str:
    target = tmp_path_factory.mktemp("page") / "new" / "report.html"
    assert write_report(tables, target, "Olympiad <b>sample</b>") == target
    assert [path.name for path in target.parent.iterdir()] == ["report.html"]
    return target.read_text(encoding="utf-8")


def words(page: str) -> str:
    return " ".join(Reader(page).text.split())


def test_every_section_is_there_in_order_and_well_formed(page):
    reader = Reader(page)
    assert reader.open == []
    assert [name for name in reader.ids if name in SECTIONS] == list(SECTIONS)
    assert len(reader.ids) == len(set(reader.ids))
    assert "Not made yet" not in reader.text


def test_texts_are_escaped_and_latex_stays(page):
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
    assert "<img" not in page
    assert "<b>" not in page
    assert "\x00" not in page
    reader = Reader(page)
    assert HOSTILE in reader.text
    assert LATEX in reader.text
    assert "Olympiad <b>sample</b>" in reader.text
    assert sum(tag == "script" for tag, _ in reader.elements) == 1
    assert not [name for _, attrs in reader.elements for name in attrs if name.startswith("on")]


def test_page_asks_for_nothing_outside_itself(page):
    reader = Reader(page)
    for tag, attributes in reader.elements:
        for name in ("src", "href", "xlink:href", "action", "poster", "srcset"):
            assert (attributes.get(name) or "#").startswith(("#", "data:")), (tag, attributes)
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL).group(1)
    assert "@import" not in style
    assert "url(" not in style
    texts_removed = page.replace("https://evil.example", "")
    assert not re.search(r"https?://", texts_removed)


def test_the_only_script_that_the_policy_allows_is_the_pages_own(page):
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL).group(1)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    assert len(script) < 4096


def test_headline_counts_and_names_a_heuristic(page):
    text = words(page)
    for figure in (
        "problems in the corpus 90",
        "queries 8",
        "candidates per query 12",
        "pairwise judgments 80",
    ):
        assert figure in text
    assert (
        "Judged by the lexical heuristic (no model): fine for trying the pipeline, "
        "not a benchmark to cite." in text
    )


def test_a_model_that_judges_gets_no_judging_warning(tmp_path):
    tables = make_tables(tmp_path / "tables", judge="Qwen3-32B")
    text = words(write_report(tables, tmp_path / "page.html", "x").read_text())
    assert "Judged by" not in text
    assert "Judgments Qwen3-32B" in text
    assert "Solutions summarised by the lexical heuristic" in text


def test_leaderboard_and_position_show_the_tables_numbers(page, tables):
    text = words(page)
    for setting in SETTINGS:
        assert f"in the setting {setting}" in text
    assert "0.5800" in text and "0.530–0.630 dense 8 1" in text
    winners = pl.read_parquet(table_path(tables, "pairwise_judgments"))["winner"]
    first = int((winners == 1).sum())
    assert f"shown first won {first} of 79 verdicts: {100 * first / 79:.1f} %" in text
    assert "1 of 80 judgments are without a verdict" in text
    assert "1 never judged" in text


def test_funnel_adds_up(page):
    text = words(page)
    for row in (
        "records read 100 100.0 %",
        "dropped: near duplicate 6 6.0 %",
        "kept: the corpus 90 90.0 %",
        "with topics 89 89.0 %",
        "chosen as queries 8 8.0 %",
    ):
        assert row in text


def test_examples_show_three_best_and_two_worst(page):
    reader = Reader(page)
    assert sum(attrs.get("class") == "example" for _, attrs in reader.elements) == 3
    ratings = re.findall(r'class="rating">([\d.]+)<', page)
    assert len(ratings) == 15
    assert ratings[0] == "5.00"
    assert ratings[4] == "0.00"
    texts = re.findall(r'<div class="text" dir="auto">(.*?)</div>', page, re.DOTALL)
    assert any(text.endswith(" …") for text in texts)


def test_failures_are_listed_and_empty_ones_named(page):
    text = words(page)
    assert "Judgment failures 1" in text
    assert "ran out of memory" in text
    assert "Without a failure: topic_failures, summary_failures." in text


def test_without_any_table_each_section_says_so(tmp_path):
    page = write_report(tmp_path / "none", tmp_path / "page.html", "Empty").read_text()
    reader = Reader(page)
    assert [name for name in reader.ids if name in SECTIONS] == list(SECTIONS)
    assert reader.text.count("Not made yet:") == len(SECTIONS) - 1
    assert "no tables yet" in reader.text


@pytest.mark.parametrize(
    "name",
    [
        "raw_problems",
        "deduped_corpus",
        "dropped_problems",
        "topic_sets",
        "solution_summaries",
        "relevance_thresholds",
        "benchmark_queries",
        "candidate_pools",
        "relevance_ratings",
        "pairwise_judgments",
        "leaderboard",
        "judgment_failures",
    ],
)
def test_one_missing_or_empty_table_never_breaks_the_page(tables, tmp_path, name):
    folder = tmp_path / "tables"
    shutil.copytree(tables, folder)
    path = table_path(folder, name)
    emptied = pl.read_parquet(path).clear()
    path.unlink()
    Reader(write_report(folder, tmp_path / "page.html", "x").read_text())
    emptied.write_parquet(path)
    Reader(write_report(folder, tmp_path / "page.html", "x").read_text())


def test_same_tables_same_bytes(tables, tmp_path, page):
    copy = tmp_path / "elsewhere" / "tables"
    shutil.copytree(tables, copy)
    set_times(copy)
    again = write_report(copy, tmp_path / "page.html", "Olympiad <b>sample</b>")
    assert again.read_text(encoding="utf-8") == page
    assert "2023-11-14 22:13 UTC" in page


def test_row_order_of_the_files_does_not_matter(tables, tmp_path, page):
    copy = tmp_path / "tables"
    shutil.copytree(tables, copy)
    for path in copy.glob("*.parquet"):
        pl.read_parquet(path).reverse().write_parquet(path)
    set_times(copy)
    again = write_report(copy, tmp_path / "page.html", "Olympiad <b>sample</b>")
    assert again.read_text(encoding="utf-8") == page


def test_a_torn_table_is_named(tables, tmp_path):
    shutil.copytree(tables, tmp_path / "tables")
    table_path(tmp_path / "tables", "leaderboard").write_bytes(b"PAR1 torn")
    with pytest.raises(SetupError, match="leaderboard"):
        write_report(tmp_path / "tables", tmp_path / "page.html", "x")
    assert not (tmp_path / "page.html").exists()


def test_a_title_from_an_undecodable_folder_name_is_written(tmp_path):
    title = os.fsdecode(b"caf\xe9")
    page = write_report(tmp_path, tmp_path / "page.html", title).read_text(encoding="utf-8")
    assert "caf?" in page


@pytest.mark.parametrize(
    ("text", "longest", "expected"),
    [
        ("short", 10, "short"),
        ("one two three four", 14, "one two three …"),
        ("x" * 30, 10, "x" * 10 + " …"),
        ("  padded  ", 10, "padded"),
    ],
)
def test_cut(text, longest, expected):
    assert cut(text, longest) == expected
