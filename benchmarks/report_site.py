"""What the report site takes at full size: `python -m benchmarks.report_site`.

1000 queries with 150 candidates of 70,000 problems, 49 systems, three settings, 1500 judgments a
query, with the texts of the shipped sample under other ids. Told are CPU and elapsed seconds, peak
memory, and the pages and bytes of the site.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.clock import Clock, forget_peak, peak_mb
from saber_assets.candidates.tables import BENCHMARK_QUERIES, CANDIDATE_POOLS, CATEGORIES
from saber_assets.corpus.tables import DEDUPED_CORPUS
from saber_assets.evaluation.leaderboard import ALL_DOMAINS
from saber_assets.evaluation.tables import LEADERBOARD, QUERY_MEASURES
from saber_assets.ontology.tables import DOMAINS
from saber_assets.retrieval.tables import RETRIEVER_SCORES, SETTINGS
from saber_assets.table import Table
from saber_assets.tournament.tables import PAIRWISE_JUDGMENTS, RELEVANCE_RATINGS
from saber_resources.warehouse import table_path
from saber_services.report.site import Site, write_site

PROBLEMS, CANDIDATES, ROUNDS = 70_000, 150, 20
MEASURE = 'nDCG(gain="exp2")@10'
MEGABYTE = 1e6


def make(tables: Path, texts: pl.DataFrame, queries: int, systems: int) -> None:
    """Write the tables of a synthetic benchmark.

    Args:
        tables: an empty folder.
        texts: columns problem and solution, to be used over and over.
        queries: how many.
        systems: how many retrievers.
    """
    random = np.random.default_rng(1)
    ids = np.array([f"p{number:016x}" for number in range(PROBLEMS)])
    rows = random.integers(0, texts.height, PROBLEMS)

    def save(table: Table, columns: dict, partition: str | None = None) -> None:
        path = table_path(tables, table.name, partition)
        path.parent.mkdir(parents=True, exist_ok=True)
        full = {name: columns.get(name) for name in table.columns}
        frame = pl.DataFrame(full, schema_overrides=table.schema, strict=False)
        frame.write_parquet(path)

    save(
        DEDUPED_CORPUS,
        {
            "problem_id": ids,
            "problem": texts["problem"].gather(rows),
            "solution": texts["solution"].gather(rows),
            "source": "synthetic",
            "licence": "Apache-2.0",
        },
    )
    asked = ids[:queries]
    domains = [[DOMAINS[number % len(DOMAINS)]] for number in range(queries)]
    save(BENCHMARK_QUERIES, {"query_id": asked, "domains": domains, "seed": 1})
    pools = np.stack(
        [random.choice(PROBLEMS - queries, CANDIDATES, False) + queries for _ in asked]
    )
    pair = {"query_id": np.repeat(asked, CANDIDATES), "candidate_id": ids[pools.ravel()]}
    size = pools.size
    kinds = np.array(CATEGORIES)[random.integers(0, 3, size)]
    save(CANDIDATE_POOLS, {**pair, "category": kinds, "seed": 1})
    strength = random.normal(0, 1.5, pools.shape)
    low, high = strength.min(axis=1, keepdims=True), strength.max(axis=1, keepdims=True)
    rating = 5 * (strength - low) / (high - low)
    save(
        RELEVANCE_RATINGS,
        {
            **pair,
            "strength": strength.ravel(),
            "standard_error": 0.4,
            "rating": rating.ravel(),
            "wins": 10,
            "losses": 10,
            "penalty": 1.0,
        },
    )
    parts = []
    for place, query in enumerate(asked):
        drawn = np.stack([random.permutation(CANDIDATES) for _ in range(ROUNDS)])
        one, other = drawn[:, ::2].ravel(), drawn[:, 1::2].ravel()
        parts.append(
            pl.DataFrame(
                {
                    "query_id": np.full(one.size, query),
                    "round": np.repeat(np.arange(1, ROUNDS + 1), CANDIDATES // 2),
                    "pair": np.tile(np.arange(CANDIDATES // 2), ROUNDS),
                    "first_id": ids[pools[place, one]],
                    "second_id": ids[pools[place, other]],
                    "winner": np.where(strength[place, one] > strength[place, other], 1, 2),
                    "judge": "synthetic",
                    "seed": 1,
                }
            )
        )
    pl.concat(parts).write_parquet(table_path(tables, PAIRWISE_JUDGMENTS.name))
    _save_systems(save, asked, pair, rating.ravel(), systems, random)


def _save_systems(save, asked, pair, rating, systems, random) -> None:
    board, values = [], []
    for number in range(systems):
        name = f"system-{number:02}"
        scores = []
        for setting in SETTINGS:
            score = rating + random.normal(0, 1 + number / 10, rating.size)
            scores.append(pl.DataFrame({"setting": setting, **pair, "score": score}))
            reached = random.beta(4, 3 + number / 10, len(asked))
            values.append(
                pl.DataFrame(
                    {"retriever": name, "setting": setting, "query_id": asked, "measure": MEASURE,
                     "value": reached, "failed": False}
                )
            )  # fmt: skip
            for domain in (ALL_DOMAINS, *DOMAINS):
                mean = float(reached.mean())
                board.append(
                    {"setting": setting, "domain": domain, "rank": number + 1, "retriever": name,
                     "family": "dense", "measure": MEASURE, "mean": mean, "low": mean - 0.02,
                     "high": mean + 0.02, "queries": len(asked), "failed": 0}
                )  # fmt: skip
        frame = pl.concat(scores).with_columns(retriever=pl.lit(name), version=pl.lit("1"))
        save(RETRIEVER_SCORES, frame.to_dict(), name)
    save(QUERY_MEASURES, pl.concat(values).to_dict())
    save(LEADERBOARD, pl.DataFrame(board).to_dict())


def main() -> None:
    """Make a synthetic benchmark, write its report twice, and print what that takes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--systems", type=int, default=49)
    parser.add_argument("--keep", type=Path, help="a folder for the tables and the site")
    given = parser.parse_args()
    sample = Path(__file__).parents[1] / "saber_assets" / "corpus" / "sample"
    texts = pl.concat(
        [
            pl.read_ndjson(file).select("problem", "solution")
            for file in sorted(sample.glob("*.jsonl"))
        ]
    )
    with tempfile.TemporaryDirectory() as folder:
        root = given.keep or Path(folder)
        tables = root / "tables"
        if not tables.is_dir():
            make(tables, texts, given.queries, given.systems)
        clock = Clock()
        forget_peak()
        site = clock.time("gather", lambda: Site.of(tables, "synthetic"))
        gathered = peak_mb()
        written = clock.time("write", lambda: write_site(site, root / "report"))
        for name, step in clock.steps.items():
            print(f"{name}: {step.text() if step else '-'} s CPU (elapsed)")
        print(f"{written.pages:,} pages, {written.size / MEGABYTE:,.0f} MB")
        print(f"peak memory: {gathered:,} MB gathering, {peak_mb():,} MB in all")
        print(f"{site.setter.formulas:,} formulas, {site.setter.left:,} left as written")


if __name__ == "__main__":
    main()
