"""Run the algorithm benchmarks: `python -m benchmarks [--problems N]`.

Each row is one step: seconds of ours, seconds of the baseline on the same input in the same run,
and their ratio. Absolute seconds depend on the machine; the ratios are what to read.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import choix
import numpy as np
import polars as pl
from rank_bm25 import BM25Okapi
from sklearn.metrics import ndcg_score

from benchmarks.candidates import TAUS
from benchmarks.join_baselines import dense_rows
from benchmarks.synthetic import pools_of_text, topic_and_summary_corpus
from saber_assets.candidates.categories import count_categories
from saber_assets.candidates.features import build_features
from saber_assets.evaluation.ndcg import Ndcg
from saber_assets.evaluation.rankings import of_run
from saber_assets.retrieval.bm25 import Bm25
from saber_assets.tournament.bradley_terry import fit, rate
from saber_assets.tournament.tournament import run_tournaments

SEED = 1


def timed(work: Callable[[], object]) -> float:
    """Return the seconds of a second run, after one that compiles what there is to compile."""
    work()
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def joins(problems: int) -> tuple[float, float]:
    """Both similarities of all pairs with category counts, against rows of scipy and numpy."""
    ids, topic_sets, ideas, tree = topic_and_summary_corpus(problems, SEED)
    features = build_features(ids, topic_sets, ideas, tree)
    ours = timed(lambda: count_categories(features, 0.8, 0.2, workers=1))
    rows = np.arange(min(problems, 50))
    usual = timed(lambda: dense_rows(features, rows, TAUS))
    return ours, usual * problems / rows.size


def tournaments(queries: int) -> tuple[float, float]:
    """Swiss rounds and fits of 150 candidates, against choix on the same verdicts."""
    generator = np.random.default_rng(SEED)
    names = [f"d{place:03d}" for place in range(150)]
    strength = dict(zip(names, generator.normal(0, 2.4, 150), strict=True))
    pools = {f"q{place}": names for place in range(queries)}
    frame = pl.DataFrame(
        [(query, name) for query, ids in pools.items() for name in ids],
        schema=["query_id", "candidate_id"],
        orient="row",
    )
    verdicts: list[pl.DataFrame] = []

    def ours() -> None:
        played, _ = run_tournaments(
            pools,
            lambda pairings: [
                1 if strength[pairing.first_id] > strength[pairing.second_id] else 2
                for pairing in pairings
            ],
            seed=SEED,
            judge_name="stronger wins",
        )
        verdicts.append(played)
        rate(played, frame)

    seconds = timed(ours)
    place = {name: number for number, name in enumerate(names)}
    matches = [
        [
            (place[first], place[second]) if winner == 1 else (place[second], place[first])
            for first, second, winner in part.select("first_id", "second_id", "winner").iter_rows()
        ]
        for _, part in verdicts[-1].group_by("query_id", maintain_order=True)
    ]
    start = time.perf_counter()
    for pairs in matches:
        choix.opt_pairwise(150, pairs, alpha=0.5)
    return seconds, time.perf_counter() - start


def fits(queries: int) -> tuple[float, float]:
    """The fit alone, against choix.opt_pairwise."""
    generator = np.random.default_rng(SEED)
    sides = generator.permuted(np.tile(np.arange(150), (queries * 10, 1)), axis=1)[:, :150]
    first, second = sides[:, :75].reshape(queries, -1), sides[:, 75:].reshape(queries, -1)
    winner = generator.integers(1, 3, first.shape)

    def ours() -> None:
        for place in range(queries):
            fit(150, first[place], second[place], winner[place])

    def baseline() -> None:
        for place in range(queries):
            pairs = [
                (a, b) if w == 1 else (b, a)
                for a, b, w in zip(first[place], second[place], winner[place], strict=True)
            ]
            choix.opt_pairwise(150, pairs, alpha=0.5)

    return timed(ours), timed(baseline)


def bm25(queries: int) -> tuple[float, float]:
    """BM25 of pools of 150, tokens included, against rank_bm25."""
    pools = pools_of_text(queries, 150, SEED)
    retriever = Bm25("whitespace")

    def ours() -> None:
        for query, documents in pools:
            retriever.score(query, documents)

    def baseline() -> None:
        for query, documents in pools:
            index = BM25Okapi([text.lower().split() for text in documents])
            index.get_scores(query.lower().split())

    return timed(ours), timed(baseline)


def measures(queries: int) -> tuple[float, float]:
    """nDCG@10 of one system on pools of 150, against scikit-learn."""
    generator = np.random.default_rng(SEED)
    ratings = generator.uniform(0, 5, (queries, 150))
    scores = generator.normal(size=(queries, 150))
    names = [f"d{place:03d}" for place in range(150)]
    qrels = {f"q{q}": dict(zip(names, ratings[q], strict=True)) for q in range(queries)}
    run = {f"q{q}": dict(zip(names, scores[q], strict=True)) for q in range(queries)}
    ours = timed(lambda: of_run(Ndcg(), qrels, run))
    baseline = timed(
        lambda: [ndcg_score([2**r - 1], [s], k=10) for r, s in zip(ratings, scores, strict=True)]
    )
    return ours, baseline


def main() -> None:
    """Print one row a step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=4000, help="size of the joins' corpus")
    parser.add_argument("--queries", type=int, default=20, help="tournaments, fits and pools")
    chosen = parser.parse_args()
    steps = {
        "all-pairs joins with counts | scipy and numpy rows": lambda: joins(chosen.problems),
        "Swiss 20 rounds and fits | choix fits alone": lambda: tournaments(chosen.queries),
        "Bradley-Terry fit | choix.opt_pairwise": lambda: fits(chosen.queries),
        "BM25 per pool | rank_bm25": lambda: bm25(chosen.queries),
        "nDCG@10 | scikit-learn": lambda: measures(10 * chosen.queries),
    }
    print(f"{'ours | baseline':52} {'ours s':>9} {'base s':>9} {'ratio':>8}")
    for name, step in steps.items():
        ours, baseline = step()
        print(f"{name:52} {ours:9.3f} {baseline:9.3f} {baseline / ours:7.1f}x")


if __name__ == "__main__":
    main()
