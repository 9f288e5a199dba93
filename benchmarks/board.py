"""What the board and its analyses take at full size: `python -m benchmarks.board`.

1000 queries with 150 candidates, 49 systems, three settings: 22 million seeded scores in 49 files
of a workdir, as retrieval leaves them. Assets run in Dagster on these files, with reading, checks,
plots and writing; the other analyses are called as `saber analyse` calls them. Every step tells CPU
seconds, elapsed seconds and the peak memory while it ran; each stands beside a usual way of doing
the same, timed in the same run, on a part of the work and scaled to all of it where it is slow.
"""

from __future__ import annotations

import argparse
import gc
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import dagster as dg
import numpy as np
import polars as pl
import pytrec_eval
from scipy import stats
from sklearn.metrics import ndcg_score

from benchmarks.clock import Clock, Step, forget_peak, peak_mb
from saber_assets.candidates.tables import CATEGORIES
from saber_assets.definitions import build_definitions
from saber_assets.evaluation.alignment import Parts, align
from saber_assets.evaluation.bootstrap import intervals
from saber_assets.evaluation.judge_swap import judge_swap
from saber_assets.evaluation.ndcg import Ndcg
from saber_assets.evaluation.pareto import frontiers
from saber_assets.evaluation.score_over_time import score_over_time
from saber_assets.kept_scores import DATA_TAG, INPUT_TAG
from saber_assets.publishing.gain_encoding import encode
from saber_assets.retrieval.registry import VERSION_KEY, inputs_of
from saber_assets.retrieval.systems import shipped_systems
from saber_assets.retrieval.tables import RETRIEVER_FAILURES, RETRIEVER_SCORES, SETTINGS
from saber_assets.retrievers import retrievers_of
from saber_resources.settings import Settings, save_settings
from saber_resources.warehouse import table_path

SEED = 1
CANDIDATES = 150
SYSTEMS = 49
DOMAINS = ("Algebra", "Calculus and Analysis", "Combinatorics", "Geometry", "Number Theory")
ASSETS = (
    *("leaderboard", "paired_tests", "rating_noise", "gain_variants", "binary_measures"),
    "signal_effect",
)
RESAMPLES, TESTS, DRAWS = 1000, 10_000, 200
HALF_OF_TIES = 0.5
MIDDLE = 2.5


class Board(NamedTuple):
    """A synthetic workdir with its Dagster instance, and what baselines need of it."""

    settings: Settings
    definitions: dg.Definitions
    instance: dg.DagsterInstance
    names: list[str]
    ratings: pl.DataFrame
    quality: np.ndarray

    @property
    def queries(self) -> int:
        """How many there are."""
        return self.ratings.height // CANDIDATES

    def materialize(self, name: str) -> None:
        """Make one table from the files of the others."""
        job = self.definitions.resolve_implicit_global_asset_job_def()
        result = job.execute_in_process(
            instance=self.instance,
            asset_selection=[dg.AssetKey(name)],
            run_config={"loggers": {"console": {"config": {"log_level": "ERROR"}}}},
        )
        assert result.success
        assert all(check.passed for check in result.get_asset_check_evaluations())

    def parts(self, setting: str) -> Parts:
        """Return the scores of one setting."""
        tables = self.settings.workdir.tables
        return Parts(
            self.names,
            lambda name: pl.read_parquet(table_path(tables, RETRIEVER_SCORES.name, name)).filter(
                pl.col("setting") == setting
            ),
        )


def rated(queries: int, generator: np.random.Generator) -> pl.DataFrame:
    """Return RELEVANCE_RATINGS with normal strengths, and the category of each candidate."""
    ids = [f"p{generator.integers(1 << 62):016x}" for _ in range(queries * (CANDIDATES + 1))]
    strength = generator.normal(0, 2.4, (queries, CANDIDATES))
    low, high = strength.min(axis=1, keepdims=True), strength.max(axis=1, keepdims=True)
    frame = pl.DataFrame(
        {
            "query_id": np.repeat(ids[:queries], CANDIDATES),
            "candidate_id": ids[queries:],
            "strength": strength.ravel(),
            "standard_error": generator.uniform(0.3, 0.7, strength.size),
            "rating": (5 * (strength - low) / (high - low)).clip(0, 5).ravel(),
            "category": list(CATEGORIES) * (strength.size // len(CATEGORIES)),
        }
    )
    return frame.sort("query_id", "candidate_id")


def scored(ratings: pl.DataFrame, name: str, quality: float, seed: int) -> pl.DataFrame:
    """Return RETRIEVER_SCORES of a system that sees the ratings through noise."""
    generator = np.random.default_rng(seed)
    frames = [
        ratings.select(
            retriever=pl.lit(name),
            version=pl.lit("synthetic"),
            setting=pl.lit(setting),
            query_id="query_id",
            candidate_id="candidate_id",
            score=pl.col("rating") * quality + pl.Series(generator.normal(size=ratings.height)),
        )
        for setting in SETTINGS
    ]
    return RETRIEVER_SCORES.conform(pl.concat(frames))


def synthetic(folder: Path, queries: int) -> Board:
    """Write the workdir, and tell Dagster of its tables."""
    generator = np.random.default_rng(SEED)
    names = sorted(shipped_systems())[:SYSTEMS]
    wanted = {
        "retrieval": {"retrievers": names},
        "evaluation": {"resamples": RESAMPLES},
    }
    settings = save_settings(folder / "work", "default", wanted)
    tables = settings.workdir.tables
    ratings = rated(queries, generator)
    quality = generator.uniform(0.1, 1.0, SYSTEMS)
    instance = dg.DagsterInstance.ephemeral()

    def hand_in(frame: pl.DataFrame, name: str, partition: str | None, version: str | None) -> None:
        path = table_path(tables, name, partition)
        path.parent.mkdir(parents=True, exist_ok=True)
        frame.write_parquet(path)
        tags = {DATA_TAG: "1"}
        if partition is not None:
            tags |= {f"{INPUT_TAG}{parent}": "1" for parent in inputs_of(partition)}
        instance.report_runless_asset_event(
            dg.AssetMaterialization(
                name,
                partition=partition,
                metadata={} if version is None else {VERSION_KEY: version},
                tags=tags,
            )
        )

    pools = ratings.select("query_id", "candidate_id", "category")
    nulls = {"penalty": 0.5, "wins": 10, "losses": 10, "component": 0}
    known = ratings.drop("category").with_columns(
        *(pl.lit(value).alias(name) for name, value in nulls.items()),
        flag=pl.lit(None, dtype=pl.String),
    )
    ids = ratings["query_id"].unique().sort()
    domains = [
        sorted(generator.choice(DOMAINS, 1 + int(two), replace=False).tolist())
        for two in generator.random(queries) < HALF_OF_TIES
    ]
    hand_in(known, "relevance_ratings", None, None)
    hand_in(pools, "candidate_pools", None, None)
    hand_in(pl.DataFrame({"query_id": ids, "domains": domains}), "benchmark_queries", None, None)
    hand_in(pl.DataFrame({"problem_id": ids}), "deduped_corpus", None, None)
    entries = retrievers_of(settings)
    for place, name in enumerate(names):
        frame = scored(ratings, name, float(quality[place]), SEED + place)
        hand_in(frame, RETRIEVER_SCORES.name, name, entries[name].version)
        hand_in(RETRIEVER_FAILURES.empty(), RETRIEVER_FAILURES.name, name, entries[name].version)
    return Board(settings, build_definitions(settings), instance, names, known, quality)


def another_judge(ratings: pl.DataFrame) -> pl.DataFrame:
    """Return the ratings of a judge that mostly agrees."""
    noise = pl.Series(np.random.default_rng(SEED).normal(0, 0.8, ratings.height))
    return ratings.with_columns(rating=(pl.col("rating") + noise).clip(0, 5))


class Usual:
    """Usual ways of doing the same, each on a part of the work."""

    def __init__(self, board: Board) -> None:
        self.board = board
        shape = (board.queries, CANDIDATES)
        self.ratings = board.ratings["rating"].to_numpy().reshape(shape)
        one = scored(board.ratings, board.names[0], float(board.quality[0]), SEED)
        two = scored(board.ratings, board.names[1], float(board.quality[1]), SEED + 1)
        self.scores = one["score"].to_numpy()[: self.ratings.size].reshape(shape)
        gains = 2.0**self.ratings - 1
        self.values, self.others = (
            np.array(
                [ndcg_score(gains[q : q + 1], scores[q : q + 1], k=10) for q in range(len(gains))]
            )
            for scores in (self.scores, two["score"].to_numpy()[: gains.size].reshape(shape))
        )

    def whole_table(self) -> int:
        """All partitions in one frame, joined with the ratings."""
        tables = self.board.settings.workdir.tables
        frames = [
            pl.read_parquet(table_path(tables, RETRIEVER_SCORES.name, name))
            for name in self.board.names
        ]
        whole = pl.concat(frames)
        placed = whole.join(
            self.board.ratings.select("query_id", "candidate_id", "rating"),
            on=["query_id", "candidate_id"],
            how="left",
        )
        return placed.group_by("retriever", "setting").agg(pl.col("score").sum()).height

    def query_loop(self) -> float:
        """One system's nDCG, query by query in numpy."""
        total = 0.0
        discounts = 1 / np.log2(np.arange(2, 12))
        for rating, score in zip(self.ratings, self.scores, strict=True):
            gains = 2.0**rating - 1
            best = gains[np.argsort(-score, kind="stable")[:10]] @ discounts
            total += best / (np.sort(gains)[::-1][:10] @ discounts)
        return total

    def sklearn_loop(self) -> float:
        """One system's nDCG by scikit-learn."""
        gains = 2.0**self.ratings - 1
        return sum(
            ndcg_score(gains[q : q + 1], self.scores[q : q + 1], k=10) for q in range(len(gains))
        )

    def trec_eval(self) -> float:
        """One system's nDCG by pytrec_eval, from dictionaries that are made here."""
        documents = [f"d{place:03d}" for place in range(CANDIDATES)]
        qrels = {
            f"q{q}": dict(zip(documents, gains, strict=True))
            for q, gains in enumerate(encode(self.ratings).tolist())
        }
        run = {
            f"q{q}": dict(zip(documents, scores, strict=True))
            for q, scores in enumerate(self.scores.tolist())
        }
        found = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10"}).evaluate(run)
        return sum(one["ndcg_cut_10"] for one in found.values())

    def binary(self) -> float:
        """One system's P, R, RR and AP at one threshold, query by query in numpy."""
        total = 0.0
        for rating, score in zip(self.ratings, self.scores, strict=True):
            hits = (rating >= MIDDLE)[np.argsort(-score, kind="stable")]
            ranks = np.flatnonzero(hits) + 1
            if ranks.size:
                total += hits[:10].sum() / 10 + hits[:10].sum() / ranks.size
                total += 1 / ranks[0] + (np.arange(1, ranks.size + 1) / ranks).mean()
        return total

    def interval(self) -> object:
        """One system's bootstrap interval by scipy."""
        return stats.bootstrap(
            (self.values,), np.mean, n_resamples=RESAMPLES, method="percentile", rng=SEED
        ).confidence_interval

    def permutation(self) -> float:
        """One pair's randomisation test by scipy."""
        found = stats.permutation_test(
            (self.values - self.others,),
            lambda d, axis: d.mean(axis=axis),
            permutation_type="samples",
            n_resamples=TESTS,
            vectorized=True,
            batch=1000,
            rng=SEED,
        )
        return float(found.pvalue)

    def shares(self) -> int:
        """Rank and category of every candidate, query by query in numpy."""
        counts = np.zeros((3, CANDIDATES), dtype=np.int64)
        kinds = np.arange(CANDIDATES) % 3
        for rating in self.ratings:
            ranked = kinds[np.argsort(-rating, kind="stable")]
            for kind in range(3):
                counts[kind] += np.cumsum(ranked == kind)
        return int(counts.sum())


def measure(board: Board) -> Iterator[tuple[str, Step, int]]:
    """Yield each step with what it took and the peak memory (MB) meanwhile."""
    clock = Clock()

    def run(name: str, work: Callable[[], Any], scale: float = 1.0) -> tuple[str, Step, int]:
        gc.collect()
        forget_peak()
        clock.time(name, lambda: (work(),), scale)
        step = clock.steps[name]
        assert step is not None
        return name, step, peak_mb()

    settings, systems = len(SETTINGS), len(board.names)
    rows = settings * systems
    pairs = settings * systems * (systems - 1) // 2
    # what is compiled at a first use, and loaded, is no part of the figures
    board.materialize("query_measures")
    usual = Usual(board)
    yield run("query_measures from the files", lambda: board.materialize("query_measures"))
    yield run("baseline: all files in one table, joined", usual.whole_table)
    aligned = align(board.parts(SETTINGS[0]), RETRIEVER_FAILURES.empty(), board.ratings)
    yield run("nDCG@10 alone, one setting", partial(aligned.values, Ndcg()))
    yield run("baseline: nDCG, numpy query by query", usual.query_loop, systems)
    yield run("baseline: nDCG, scikit-learn", usual.sklearn_loop, systems)
    yield run("baseline: nDCG, pytrec_eval", usual.trec_eval, systems)
    values = aligned.values(Ndcg())
    del aligned
    yield run("intervals alone, one setting", partial(intervals, values, RESAMPLES, SEED))
    yield run("baseline: intervals, scipy.stats.bootstrap", usual.interval, systems)
    for name in ASSETS:
        yield run(name, lambda name=name: board.materialize(name))
        if name == "leaderboard":
            domains = len(DOMAINS) + 1
            yield run("baseline: intervals, scipy.stats.bootstrap", usual.interval, rows * domains)
        elif name == "paired_tests":
            yield run("baseline: randomisation, scipy.stats", usual.permutation, pairs)
        elif name == "rating_noise":
            yield run("baseline: nDCG of each draw, numpy", usual.query_loop, rows * DRAWS)
        elif name == "gain_variants":
            yield run("baseline: nDCG of each gain, numpy", usual.query_loop, rows * 4)
        elif name == "binary_measures":
            yield run("baseline: P, R, RR, AP at a threshold, numpy", usual.binary, rows * 3)
        else:
            yield run("baseline: ranks and categories, numpy", usual.shares)
    yield from outside_the_graph(board, run)


def outside_the_graph(
    board: Board, run: Callable[..., tuple[str, Step, int]]
) -> Iterator[tuple[str, Step, int]]:
    """Yield the steps that are no assets."""
    none = RETRIEVER_FAILURES.empty()
    other = another_judge(board.ratings)
    yield run(
        "judge swap, one setting",
        lambda: judge_swap(board.parts(SETTINGS[0]), none, board.ratings, other, Ndcg()),
    )
    described = shipped_systems()
    systems = pl.DataFrame(
        {
            "retriever": board.names,
            "type_code": [described[name].type_code for name in board.names],
            "quality": board.quality,
            "latency": np.random.default_rng(SEED).lognormal(size=len(board.names)),
            "released": pl.Series(
                [described[name].released for name in board.names], dtype=pl.Date
            ),
        }
    )
    yield run(
        "frontiers, and score over time",
        lambda: (frontiers(systems), score_over_time(systems.rename({"quality": "score"}))),
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "qrels.txt"
        yield run("qrels of an export", lambda: write_qrels(board.ratings, path))


def write_qrels(ratings: pl.DataFrame, path: Path) -> int:
    """Write TREC qrels as an export does."""
    gains = encode(ratings["rating"].to_numpy()).tolist()
    pairs = ratings.select("query_id", "candidate_id").iter_rows()
    lines = [f"{q} 0 {d} {gain}\n" for (q, d), gain in zip(pairs, gains, strict=True)]
    return path.write_text("".join(lines), encoding="utf-8")


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore", dg.BetaWarning)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=1000)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        board = synthetic(Path(folder), chosen.queries)
        print(f"| {chosen.queries} queries x {CANDIDATES} x {SYSTEMS} systems x 3 settings "
              "| CPU s (elapsed s) | times ours | peak MB |")  # fmt: skip
        print("|---|---:|---:|---:|")
        ours = 0.0
        for name, step, peak in measure(board):
            is_baseline = name.startswith("baseline")
            ratio = f"{step.cpu / ours:,.1f} x" if is_baseline else ""
            print(f"| {name} | {step.text()} | {ratio} | {peak:,} |", flush=True)
            ours = ours if is_baseline else max(step.cpu, 1e-3)


if __name__ == "__main__":
    main()
