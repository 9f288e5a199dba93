"""The candidates stage from 20K to 283K problems: `python -m benchmarks.candidates`.

Each size runs in a process of its own, on the corpus of `full_scale.py`, and prints CPU seconds
(user and system, all threads), elapsed seconds, the bytes of the block files that a step writes,
and the peak memory of the process, inputs included. The counts are also made by worker processes
and, where it is installed, on Ray; their CPU seconds are those of indexes and blocks in the
workers and of the process that reads the results, without the start of Python. Baselines do the
same work in the same run on a sample of query rows, scaled to all; see `join_baselines.py`.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.clock import Clock, Step, peak_mb
from benchmarks.full_scale import Corpus, full_scale_corpus
from benchmarks.join_baselines import (
    compiled_rows,
    dense_rows,
    duckdb_rows,
    sparse_dot_topn_rows,
)
from saber_assets.candidates.blocks import BlockRunner
from saber_assets.candidates.categories import count_categories, domain_capacities
from saber_assets.candidates.features import Features, build_features
from saber_assets.candidates.histograms import domain_members, similarity_histograms
from saber_assets.candidates.joint_grid import eligible_grid
from saber_assets.candidates.near_pairs import NearPairs
from saber_assets.candidates.near_topics import near_index, near_topic_sets
from saber_assets.candidates.pairs import blocked_pairs
from saber_assets.candidates.precision import FLOAT64_BINS
from saber_assets.candidates.sampling import sample_pools

SEED = 1
TAUS = 0.8579101562504547, 0.21057128906295475
"""The published thresholds."""
K = 50
GRID = 16
LOOSE = 0.7, 0.15
"""Lower end of the grid of joint thresholds."""
DENSE_ROWS, COMPILED_ROWS, JOIN_ROWS, SPARSE_ROWS = 20, 100, 50, 1000
COUNTS = "both, with category counts"
JACCARD = "all-pairs Jaccard"
BASELINES = {
    "baseline: dense rows": COUNTS,
    "baseline: every pair, compiled": COUNTS,
    "baseline: DuckDB join, Jaccard only": JACCARD,
    "baseline: sparse_dot_topn, Jaccard only": JACCARD,
}
"""The step that each is compared with."""
WARM_UP = 1500


def packed(corpus: Corpus, problems: int | None = None) -> Features:
    """Return the features of the first problems of a corpus."""
    first = slice(None, problems)
    return build_features(
        corpus.ids[first], corpus.topic_sets[first], corpus.ideas[first], corpus.tree
    )


def jaccard_pairs(features: Features) -> int:
    """Join the summaries alone; return the pairs at the threshold."""
    pairs = NearPairs.build(features, blocked_pairs(features), 2.0, TAUS[1])
    found = pairs.over(
        np.arange(len(features)),
        lambda block: int(np.bitwise_count(block.near).sum(dtype=np.int64)),
        near=True,
        overlaps=False,
    )
    return sum(count for _, count in found)


def topic_pairs(features: Features) -> int:
    """Join the topic sets alone, on one thread; return the pairs of problems."""
    weight = features.arrays.set_weight
    sets = np.arange(len(weight), dtype=np.int32)
    start, near, _ = near_topic_sets(features.arrays, near_index(features, TAUS[0]), sets)
    return int((np.repeat(weight, np.diff(start)) * weight[near]).sum()) - len(features)


def grid_bins() -> np.ndarray:
    """Return (2, 16) bins of topic and summary thresholds, up to the published pair."""
    steps = [np.linspace(low, high, GRID) for low, high in zip(LOOSE, TAUS, strict=True)]
    return (np.array(steps) * FLOAT64_BINS).astype(np.int32)


def line(
    features: Features, domains: list[list[str]], runner: BlockRunner | None = None
) -> list[np.ndarray]:
    """Evaluate 16 joint thresholds for every problem and domain; return eligible queries."""
    member = domain_members(domains)
    every = np.repeat(grid_bins()[None], member.shape[1], axis=0)
    capacities = domain_capacities(features, member, every, precision="float64", runner=runner)
    return [(capacity >= K).sum(axis=0) for capacity in capacities]


def grid(
    features: Features, domains: list[list[str]], runner: BlockRunner | None = None
) -> np.ndarray:
    """Evaluate 16 x 16 joint thresholds for every problem; return eligible queries."""
    member = domain_members(domains)
    return eligible_grid(features, member, *grid_bins(), K, precision="float64", runner=runner)


def pools(features: Features, counts: np.ndarray, runner: BlockRunner) -> int:
    """Sample the pools of up to 1000 eligible queries; return how many there are."""
    eligible = np.flatnonzero(counts.min(axis=1) >= K)
    queries = [features.problem_ids[row] for row in eligible[:1000]]
    return sample_pools(features, queries, K, TAUS, SEED, runner=runner).height // (3 * K)


def warm_up(corpus: Corpus) -> None:
    """Compile what there is to compile."""
    small, domains = packed(corpus, WARM_UP), corpus.domains[:WARM_UP]
    jaccard_pairs(small), topic_pairs(small), count_categories(small, *TAUS)
    line(small, domains), grid(small, domains)
    loose = count_categories(small, *LOOSE).min(axis=1)
    sample_pools(small, [small.problem_ids[loose.argmax()]], int(loose.max()), LOOSE, SEED)
    similarity_histograms(small, domains, topic_floor=FLOAT64_BINS // 2)
    dense_rows(small, np.arange(2), TAUS), compiled_rows(small, np.arange(2), TAUS)


def elsewhere(clock: Clock, features: Features, counts: np.ndarray) -> dict[str, int]:
    """Make the counts on other workers; return the peak memory of one."""
    peaks = {}
    for kind in ("processes", "ray"):
        name = f"the same counts, runner `{kind}`"
        if kind == "ray" and importlib.util.find_spec("ray") is None:
            clock.steps[name] = None
            continue
        found = clock.blocks(
            name, kind, lambda runner: count_categories(features, *TAUS, runner=runner)
        )
        assert (found == counts).all(), "other workers count otherwise"
        peaks[f"peak memory of a worker, `{kind}` (MB)"] = clock.worker_peak
    return peaks


def baselines(clock: Clock, features: Features, counts: np.ndarray) -> None:
    """Do the same work the usual ways, on samples."""
    dense, compiled, join, sparse = BASELINES
    problems = len(features)
    for name, count, work in (
        (dense, DENSE_ROWS, dense_rows),
        (compiled, COMPILED_ROWS, compiled_rows),
    ):
        rows = np.linspace(0, problems - 1, count).astype(int)
        usual = clock.time(name, partial(work, features, rows, TAUS), problems / count)
        assert (usual == counts[rows]).all(), "the baseline counts otherwise"
    for name, count, joined in (
        (join, JOIN_ROWS, duckdb_rows),
        (sparse, SPARSE_ROWS, sparse_dot_topn_rows),
    ):
        found = clock.time(name, partial(joined, features, count, TAUS[1]), problems / count)
        assert found in (None, counts[:count, 1:].sum()), "the baseline finds other pairs"


def measure(problems: int, ontology: Path | None) -> dict[str, object]:
    """Run every step at one size, and the baselines on samples."""
    corpus = full_scale_corpus(problems, SEED, ontology)
    warm_up(corpus)
    inputs, clock = peak_mb(), Clock()
    features = clock.time("pack features, information content, Lin", lambda: packed(corpus))
    summaries = clock.time(JACCARD, lambda: jaccard_pairs(features))
    topics = clock.time("all-pairs best-match average", lambda: topic_pairs(features))
    counts = clock.blocks(
        COUNTS, "threads", lambda runner: count_categories(features, *TAUS, runner=runner)
    )
    queries = clock.blocks(
        "50 of each category, 1000 queries",
        "threads",
        lambda runner: pools(features, counts, runner),
    )
    clock.blocks(
        "histograms (topics from 0.7 on)",
        "threads",
        lambda runner: similarity_histograms(
            features, corpus.domains, topic_floor=int(LOOSE[0] * FLOAT64_BINS), runner=runner
        ),
    )
    on_line = clock.blocks(
        "16 joint thresholds a problem",
        "threads",
        lambda runner: line(features, corpus.domains, runner),
    )
    on_grid = clock.blocks(
        "16 x 16 joint thresholds a problem",
        "threads",
        lambda runner: grid(features, corpus.domains, runner),
    )
    assert (on_grid[:, range(GRID), range(GRID)] == on_line).all(), "the grid counts otherwise"
    peak = peak_mb()
    workers = elsewhere(clock, features, counts)
    baselines(clock, features, counts)
    facts = {
        "distinct topic sets": len(features.arrays.set_weight),
        "topics in use": len(features.nodes),
        "pairs near in summary": summaries,
        "pairs near in topic": topics,
        "eligible queries sampled": queries,
        "memory before, inputs (MB)": inputs,
        "peak memory (MB)": peak,
        **workers,
        "both scores of all pairs in float16, never written (GB)": problems**2 * 4 // 10**9,
    }
    return {"steps": clock.steps, "facts": facts}


def table(sizes: list[int], found: list[dict[str, dict]]) -> Iterator[str]:
    """Yield the lines of one table over all sizes."""
    yield "| CPU s (elapsed s) disk | " + " | ".join(f"{size:,}" for size in sizes) + " |"
    yield "|---|" + "---:|" * len(found)
    steps = [{name: step and Step(*step) for name, step in one["steps"].items()} for one in found]
    for name in steps[0]:
        cells = [one[name].text() if one[name] else "not installed" for one in steps]
        yield f"| {name} | {' | '.join(cells)} |"
    for baseline, ours in BASELINES.items():
        if all(one[baseline] for one in steps):
            ratios = [f"{one[baseline].cpu / one[ours].cpu:,.0f} x" for one in steps]
            yield f"| CPU ratio, {baseline.removeprefix('baseline: ')} | {' | '.join(ratios)} |"
    for name in found[0]["facts"]:
        yield f"| {name} | {' | '.join(format(one['facts'][name], ',') for one in found)} |"


def main() -> None:
    """Print one table over all sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[20_000, 71_000, 283_000])
    parser.add_argument("--ontology", type=Path, help="mathworld_tree_saber.json.gz")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child is not None:
        print(json.dumps(measure(chosen.child, chosen.ontology)))
        return
    options = ["--ontology", str(chosen.ontology)] if chosen.ontology else []
    found = []
    for size in chosen.sizes:
        command = [sys.executable, "-m", "benchmarks.candidates", "--child", str(size), *options]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        found.append(json.loads(done.stdout.splitlines()[-1]))
    print("\n".join(table(chosen.sizes, found)))


if __name__ == "__main__":
    main()
