"""Tables of a small benchmark that obey the contracts and are full of hostile texts."""

from __future__ import annotations

import os
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
from saber_assets.evaluation.gain_variants import VARIANTS
from saber_assets.evaluation.tables import (
    BINARY_MEASURES,
    GAIN_VARIANTS,
    LEADERBOARD,
    PAIRED_TESTS,
    QUERY_MEASURES,
    RATING_NOISE,
    SIGNAL_EFFECT,
)
from saber_assets.ontology.tables import DOMAINS
from saber_assets.retrieval.tables import RETRIEVER_FAILURES, RETRIEVER_SCORES, SETTINGS
from saber_assets.table import Table
from saber_assets.tournament.tables import (
    JUDGMENT_FAILURES,
    PAIRWISE_JUDGMENTS,
    RELEVANCE_RATINGS,
)
from saber_resources.warehouse import table_path
from saber_services.report.outside import MadeTable, Outside
from saber_services.report.site import Site, write_site

HOSTILE = '<script>alert("x")</script><img src="https://evil.example/a.png" onerror=alert(1)>'
LATEX = r"Prove that $a_1<a_2$ & \(\frac{1}{2}\sum_{k\le n} x_k^2 \geq 0\) holds."
PROBLEMS, QUERIES, POOL = 90, 8, 12
HEURISTIC = "lexical heuristic (no model)"
MEASURE = 'nDCG(gain="exp2")@10'
ODD_ID = '../"<b>&?#%2e\u00e9'
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
    ids[2] = ODD_ID
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
    pools = {query: [pair[1] for pair in pairs if pair[0] == query] for query in queries}
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
            "first_id": [pools[row[0]][2 * row[2]] for row in rounds],
            "second_id": [pools[row[0]][2 * row[2] + 1] for row in rounds],
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
    save_values(save, queries, pairs, folder)
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


def save_values(save, queries: list[str], pairs: list, folder: Path) -> None:
    """Save what retrievers reached on each query, their scores, and the analyses."""
    random = np.random.default_rng(2)
    competitors = [name for name, (family, _) in RETRIEVERS.items() if family != "sanity"]
    values, tests, noise, gains = [], [], [], []
    for setting in SETTINGS:
        for name, (_, mean) in RETRIEVERS.items():
            values += [
                {"retriever": name, "setting": setting, "query_id": query, "measure": MEASURE,
                 "value": 0.0 if (name, query) == ("minilm-l6", "p001") else mean * row / QUERIES,
                 "failed": (name, query) == ("minilm-l6", "p001")}
                for row, query in enumerate(queries, 1)
            ]  # fmt: skip
        for place, first in enumerate(competitors):
            for other in competitors[place + 1 :]:
                p = 0.01 if (first, other) == (competitors[0], competitors[-1]) else 0.4
                ps = dict.fromkeys(("p_bootstrap", "p_randomisation", "adjusted_bootstrap",
                                    "adjusted_randomisation"), p)  # fmt: skip
                tests.append({"setting": setting, "first": first, "second": other, "seed": 1,
                              "difference": 0.03, "low": -0.1, "high": 0.2, **ps})  # fmt: skip
            mean = RETRIEVERS[first][1]
            noise.append({"retriever": first, "setting": setting, "mean": mean, "seed": 1,
                          "drawn_mean": mean - 0.01, "sd_ratings": 0.01, "sd_queries": 0.02,
                          "low_queries": mean - 0.05, "high_queries": mean + 0.05,
                          "low": mean - 0.08, "high": mean + 0.06})  # fmt: skip
            gains += [
                {"retriever": first, "setting": setting, "variant": str(variant),
                 "mean": mean if step % 2 else 1 - mean}
                for step, variant in enumerate(VARIANTS)
            ]  # fmt: skip
    save(QUERY_MEASURES, values)
    save(PAIRED_TESTS, tests)
    save(RATING_NOISE, noise)
    save(GAIN_VARIANTS, gains)
    save(
        BINARY_MEASURES,
        [
            {"retriever": one["retriever"], "setting": one["setting"], "mean": one["mean"],
             "measure": f"AP(rel={rel:g})", "threshold": rel, "low": 0.0, "high": 1.0}
            for one in gains if one["variant"] == str(VARIANTS[0]) for rel in (2.5, 4.0)
        ],
    )  # fmt: skip
    save(
        SIGNAL_EFFECT,
        [
            {"category": category, "rank": rank, "within": rank, "candidates": POOL,
             "share": rank / POOL, "topped": 1 / 3}
            for category in CATEGORIES for rank in range(1, POOL + 1)
        ],
    )  # fmt: skip
    (folder / RETRIEVER_SCORES.name).mkdir()
    for name in RETRIEVERS:
        rows = [
            {"retriever": name, "version": f"v-{name}", "setting": setting, "query_id": query,
             "candidate_id": candidate,
             "score": float(-place if name == "ratings" else random.integers(0, 5))}
            for setting in SETTINGS for query, candidate, place in pairs
            if (name, query) != ("minilm-l6", "p001")
        ]  # fmt: skip
        frame = RETRIEVER_SCORES.conform(pl.DataFrame(rows, schema=RETRIEVER_SCORES.schema))
        frame.write_parquet(table_path(folder, RETRIEVER_SCORES.name, name))


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


OUTSIDE = Outside(
    cards={
        "minilm-l6": {
            "description": "a small <b>encoder</b>",
            "type_code": "B",
            "size": "22M",
            "parameters": 22e6,
            "licence": "Apache-2.0",
            "released": "2021-08-30",
            "caveats": ["Reads 256 tokens."],
        },
        "bm25": {"type_code": "SB"},
        "tfidf": {"type_code": "SB"},
        "wordllama-256": {"type_code": "RC", "size": "7B", "parameters": 7e9},
    },
    seconds={"minilm-l6": 0.2, "bm25": 0.001, "tfidf": 0.002, "wordllama-256": 0.4},
    made=(
        MadeTable("topic_sets", 90, "data-1", "code-1", {"topic_walk": "f00d" * 8}),
        MadeTable("retriever_scores/minilm-l6", 9, "d2", "c2", {}, "Spearman 0.9999"),
    ),
    values=(("evaluation.seed", "1"),),
)


class Reports:
    """Makes tables and reports for the tests of the report."""

    odd_id, hostile, latex = ODD_ID, HOSTILE, LATEX
    outside, problems, queries, pool = OUTSIDE, PROBLEMS, QUERIES, POOL
    make_tables = staticmethod(make_tables)
    set_times = staticmethod(set_times)
    Reader = Reader

    @staticmethod
    def write(tables: Path, target: Path, title: str = "x", outside: Outside = OUTSIDE) -> Path:
        """Write a report and return its folder."""
        written = write_site(Site.of(tables, title, outside), target)
        assert written.index == target / "index.html"
        return target

    @staticmethod
    def read(folder: Path) -> dict[str, str]:
        """Return all pages by their path."""
        return {
            path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
            for path in sorted(folder.rglob("*.html"))
        }

    @staticmethod
    def words(page: str) -> str:
        """Return the text of a page with single blanks."""
        return " ".join(Reader(page).text.split())


@pytest.fixture(scope="session")
def reports() -> type[Reports]:
    return Reports


@pytest.fixture(scope="session")
def tables(tmp_path_factory) -> Path:
    return make_tables(tmp_path_factory.mktemp("report") / "tables")


@pytest.fixture(scope="session")
def site(tables, tmp_path_factory) -> Path:
    target = tmp_path_factory.mktemp("site") / "new" / "report"
    Reports.write(tables, target, "Olympiad <b>sample</b>")
    assert [path.name for path in target.parent.iterdir()] == ["report"]
    return target


@pytest.fixture(scope="session")
def pages(site) -> dict[str, str]:
    return Reports.read(site)
