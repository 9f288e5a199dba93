"""A small benchmark with awkward ids and texts, tied scores and unjudged candidates."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from saber_assets.evaluation.leaderboard import measure_queries
from saber_assets.evaluation.ndcg import Ndcg
from saber_assets.publishing.benchmark import Benchmark

SETTING = "statement-full"
DOCUMENTS, QUERIES, POOL = 40, 7, 25
RETRIEVER = "tied"


def awkward(number: int) -> str:
    return ("plain-{}", "with blank {}", "per%cent {}", "tab\t{}", "Übung/{}", "a\u2028b{}")[
        number % 6
    ].format(number)


def make_benchmark() -> Benchmark:
    """Queries are documents too, of other pools; the last query is no document."""
    random = np.random.default_rng(5)
    ids = [awkward(number) for number in range(DOCUMENTS)]
    documents = pl.DataFrame(
        {
            "problem_id": ids,
            "source": ["official", "aops"] * (DOCUMENTS // 2),
            "problem": [f'Find $x_{n}$ < {n}\nand \u2028 > "{n}".' for n in range(DOCUMENTS)],
            "solution": [
                f"Use \\frac{{{n}}}{{2}}.\n\nSolution: again {n}" for n in range(DOCUMENTS)
            ],
        }
    )
    queries, pools, runs = [], [], []
    for number in range(QUERIES):
        last = number == QUERIES - 1
        query = "asked alone" if last else ids[number]
        queries.append(
            (
                query,
                "Prove it." if last else documents["problem"][number],
                "" if last else documents["solution"][number],
                [["Algebra"], ["Algebra", "Geometry"], []][number % 3],
            )
        )
        members = sorted(random.choice(range(QUERIES, DOCUMENTS), POOL, replace=False))
        ratings = random.uniform(0, 5, POOL)
        ratings[random.integers(POOL)], ratings[random.integers(POOL)] = 0.0, 5.0
        for place, member in enumerate(members):
            unjudged = number == 2 and place == 3
            pools.append((query, ids[member], None if unjudged else float(ratings[place])))
            runs.append((RETRIEVER, query, ids[member], float(random.integers(6)) / 3 - 1))
    benchmark = Benchmark(
        documents=documents.sort("problem_id"),
        queries=pl.DataFrame(
            queries, ["query_id", "problem", "solution", "domains"], orient="row"
        ).sort("query_id"),
        pools=pl.DataFrame(pools, ["query_id", "candidate_id", "rating"], orient="row").sort(
            "query_id", "candidate_id"
        ),
        runs=pl.DataFrame(runs, ["retriever", "query_id", "candidate_id", "score"], orient="row"),
    )
    rated = benchmark.rated
    pair = rated.filter(pl.col("query_id") == rated["query_id"][0])["candidate_id"]
    verdicts = [(rated["query_id"][0], pair[0], pair[n], n % 3) for n in range(1, 6)]
    return Benchmark(
        benchmark.documents,
        benchmark.queries,
        benchmark.pools,
        pl.DataFrame(
            verdicts,
            {
                "query_id": pl.String,
                "first_id": pl.String,
                "second_id": pl.String,
                "winner": pl.Int8,
            },
            orient="row",
        ),
        benchmark.runs,
    )


def our_ndcg(benchmark: Benchmark, retriever: str = RETRIEVER) -> dict[str, float]:
    scores = benchmark.runs.filter(pl.col("retriever") == retriever).with_columns(
        setting=pl.lit(SETTING)
    )
    failures = pl.DataFrame(
        schema={"retriever": pl.String, "setting": pl.String, "query_id": pl.String}
    )
    found = measure_queries(scores, failures, benchmark.pools, Ndcg())
    return dict(found.select("query_id", "value").iter_rows())


@pytest.fixture(scope="session")
def benchmark():
    return make_benchmark()


@pytest.fixture(scope="session")
def ours(benchmark):
    """Our nDCG@10 of the retriever with ties, by query."""
    return our_ndcg(benchmark)


@pytest.fixture(scope="session")
def ranked(benchmark):
    """The retriever's scores made distinct in our order, by query: what tools can't reorder."""
    run = benchmark.runs.join(benchmark.rated, on=["query_id", "candidate_id"], how="semi")
    ordered = run.sort("query_id", pl.col("score").neg(), "candidate_id")
    found: dict[str, dict[str, float]] = {}
    for query, document in ordered.select("query_id", "candidate_id").iter_rows():
        pool = found.setdefault(query, {})
        pool[document] = float(-len(pool))
    return found
